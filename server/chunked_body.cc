#include "server/chunked_body.h"

#include <algorithm>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

constexpr int kMaxDigits = 15;  // a chunk size never overflows 64 bits
constexpr std::size_t kMaxExtension = 256;
constexpr std::size_t kMaxTrailers = 8 * 1024;

}  // namespace

ChunkedBody::State ChunkedBody::Enter(State state) { return state_ = state; }

ChunkedBody::State ChunkedBody::Feed(std::string_view wire, std::string* body,
                                     std::size_t* consumed) {
  std::size_t at = 0;
  while (state_ == State::kMore && at < wire.size()) {
    if (step_ == Step::kData) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(chunk_, wire.size() - at));
      body->append(wire.data() + at, count);
      at += count;
      chunk_ -= count;
      if (chunk_ == 0) step_ = Step::kDataCr;
      continue;
    }
    Take(wire[at++]);
    if (step_ == Step::kData && chunk_ > limit_ - std::min(limit_, body->size())) {
      Enter(State::kTooLarge);
    }
  }
  *consumed = at;
  return state_;
}

ChunkedBody::State ChunkedBody::Take(char c) {
  switch (step_) {
    case Step::kSize:
      if (const int value = base::HexDigit(c); value >= 0) {
        if (++digits_ > kMaxDigits) return Enter(State::kMalformed);
        chunk_ = chunk_ * 16 + static_cast<std::uint64_t>(value);
        return state_;
      }
      if (digits_ == 0) return Enter(State::kMalformed);
      line_ = 0;
      if (c == '\r') {
        step_ = Step::kSizeLf;
      } else if (c == ';' || c == ' ' || c == '\t') {
        step_ = Step::kExtension;
      } else {
        return Enter(State::kMalformed);
      }
      return state_;
    case Step::kExtension:
      if (c == '\r') {
        step_ = Step::kSizeLf;
      } else if (c == '\n' || ++line_ > kMaxExtension) {
        return Enter(State::kMalformed);
      }
      return state_;
    case Step::kSizeLf:
      if (c != '\n') return Enter(State::kMalformed);
      digits_ = 0;
      line_empty_ = true;
      step_ = chunk_ == 0 ? Step::kTrailer : Step::kData;
      return state_;
    case Step::kDataCr:
      if (c != '\r') return Enter(State::kMalformed);
      step_ = Step::kDataLf;
      return state_;
    case Step::kDataLf:
      if (c != '\n') return Enter(State::kMalformed);
      step_ = Step::kSize;
      return state_;
    case Step::kTrailer:
      if (++trailers_ > kMaxTrailers || c == '\n') return Enter(State::kMalformed);
      if (c == '\r') {
        step_ = Step::kTrailerLf;
      } else {
        line_empty_ = false;
      }
      return state_;
    case Step::kTrailerLf:
      if (c != '\n') return Enter(State::kMalformed);
      if (line_empty_) {
        step_ = Step::kEnd;
        return Enter(State::kDone);
      }
      line_empty_ = true;
      step_ = Step::kTrailer;
      return state_;
    case Step::kData:
    case Step::kEnd:
      break;
  }
  return Enter(State::kMalformed);
}

}  // namespace hotel::server
