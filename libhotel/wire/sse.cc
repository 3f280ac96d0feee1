#include "libhotel/wire/sse.h"

#include <utility>

namespace hotel::wire {
namespace {

constexpr std::string_view kBom = "\xEF\xBB\xBF";
// Buffers that one large event has blown up are given back behind it.
constexpr std::size_t kKeepCapacity = std::size_t{64} << 10;

void Reset(std::string* buffer) {
  if (buffer->capacity() > kKeepCapacity) {
    std::string().swap(*buffer);
  } else {
    buffer->clear();
  }
}

// Finds the next byte of one kind, looking at every byte of the chunk at most once.
class NextByte {
 public:
  NextByte(std::string_view bytes, char wanted) : bytes_(bytes), wanted_(wanted) {}
  std::size_t From(std::size_t pos) {
    if (!valid_ || at_ < pos) {
      at_ = bytes_.find(wanted_, pos);
      if (at_ == std::string_view::npos) at_ = bytes_.size();
      valid_ = true;
    }
    return at_;
  }

 private:
  std::string_view bytes_;
  char wanted_;
  bool valid_ = false;
  std::size_t at_ = 0;
};

}  // namespace

void SseSplitter::Held::Adopt(std::string* line, std::string_view text) {
  const std::size_t start = line->size() - text.size();
  own_ = std::move(*line);
  line->clear();
  view_ = std::string_view(own_).substr(start);
}

void SseSplitter::Held::Append(char c, std::string_view text) {
  Keep();
  const std::size_t start = own_.size() - view_.size();
  own_.push_back(c);
  own_.append(text);
  view_ = std::string_view(own_).substr(start);
}

void SseSplitter::Held::Keep() {
  if (!own_.empty()) return;
  own_.assign(view_);
  view_ = own_;
}

void SseSplitter::Held::Clear() {
  Reset(&own_);
  view_ = {};
}

SseSplitter::Status SseSplitter::End(Status status, std::uint64_t offset) {
  status_ = status;
  offset_ = offset;
  line_ = std::string();
  data_.Clear();
  name_.Clear();
  return status;
}

// A BOM may be split over chunks; what only looked like the start of one belongs to the first line.
std::size_t SseSplitter::SkipBom(std::string_view bytes) {
  std::size_t pos = 0;
  while (pos < bytes.size() && bom_bytes_ < kBom.size() && bytes[pos] == kBom[bom_bytes_]) {
    ++pos;
    ++bom_bytes_;
  }
  if (bom_bytes_ == kBom.size()) {
    at_start_ = false;
  } else if (pos < bytes.size()) {
    at_start_ = false;
    line_.append(kBom.substr(0, bom_bytes_));
  }
  return pos;
}

void SseSplitter::Line(std::string_view line, bool carried) {
  any_line_ = true;
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (field == "data") {
    has_data_ = has_data_ || !value.empty();
    if (any_data_) {
      data_.Append('\n', value);
    } else if (carried) {
      data_.Adopt(&line_, value);
    } else {
      data_.Set(value);
    }
    any_data_ = true;
  } else if (field == "event") {
    name_.Clear();
    if (carried) {
      name_.Adopt(&line_, value);
    } else {
      name_.Set(value);
    }
  }
}

// Ends the block at `end`; false when the callback wants no more.
bool SseSplitter::Dispatch(std::uint64_t end, OnEvent on_event) {
  const bool more = on_event(SseEvent{name_.view(), data_.view(), has_data_, end});
  data_.Clear();
  name_.Clear();
  any_line_ = any_data_ = has_data_ = false;
  block_start_ = end;
  return more;
}

SseSplitter::Status SseSplitter::Feed(std::string_view bytes, OnEvent on_event) {
  if (status_ != Status::kOk) return status_;
  const std::uint64_t base = offset_;
  std::size_t pos = at_start_ ? SkipBom(bytes) : 0;
  NextByte next_lf(bytes, '\n');
  NextByte next_cr(bytes, '\r');
  while (pos < bytes.size()) {
    if (after_cr_) {
      after_cr_ = false;
      const bool lf = bytes[pos] == '\n';
      if (lf) ++pos;
      lf_style_ = lf;
      if (std::exchange(end_waits_, false) && !Dispatch(base + pos, on_event)) {
        return End(Status::kStopped, base + pos);
      }
      if (lf) continue;
    }
    const std::size_t lf = next_lf.From(pos);
    const std::size_t cr = next_cr.From(pos);
    const std::size_t end = lf < cr ? lf : cr;
    if (TooLarge(base + end)) return End(Status::kTooLarge, base + end);
    std::string_view line = bytes.substr(pos, end - pos);
    const bool carried = !line_.empty();
    if (carried || end == bytes.size()) line_.append(line);
    if (end == bytes.size()) break;
    pos = end + 1;
    after_cr_ = cr < lf;
    const bool was_lf_style = std::exchange(lf_style_, !after_cr_);
    if (carried) line = line_;
    if (!line.empty()) {
      Line(line, carried);
      Reset(&line_);
    } else if (!any_line_) {
      block_start_ = base + pos;
    } else if (after_cr_ && was_lf_style) {
      // The LF that completes this CRLF is on its way; a stream of bare CRs must not wait for it.
      end_waits_ = true;
    } else if (!Dispatch(base + pos, on_event)) {
      return End(Status::kStopped, base + pos);
    }
  }
  data_.Keep();
  name_.Keep();
  offset_ = base + bytes.size();
  return Status::kOk;
}

SseSplitter::Status SseSplitter::Finish(OnEvent on_event) {
  if (status_ != Status::kOk) return status_;
  if (at_start_) line_.append(kBom.substr(0, bom_bytes_));
  at_start_ = false;
  if (!line_.empty()) Line(std::string_view(line_), true);
  line_.clear();
  after_cr_ = end_waits_ = false;
  if (any_line_ && !Dispatch(offset_, on_event)) return End(Status::kStopped, offset_);
  return Status::kOk;
}

}  // namespace hotel::wire
