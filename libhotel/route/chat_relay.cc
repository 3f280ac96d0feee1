#include "libhotel/route/chat_relay.h"

#include <algorithm>
#include <utility>

#include "libhotel/wire/chat.h"

namespace hotel::route {

bool ChatRelay::OnEvent(const wire::SseEvent& event) {
  if (!event.has_data) return true;
  const wire::ChatFrame frame = wire::ReadChatFrame(event.name, event.data);
  finish_reason_ |= frame.finish_reason;
  switch (frame.kind) {
    case wire::ChatFrame::Kind::kTerminator:
      done_ = true;
      break;
    case wire::ChatFrame::Kind::kError:
      error_ = true;
      error_status_ = frame.error_status;
      error_data_ = event.data.substr(0, kErrorDataLimit);
      break;
    case wire::ChatFrame::Kind::kOutput:
    case wire::ChatFrame::Kind::kMalformed:  // an unknown dialect is never cut (facts f)
      output_ = true;
      any_frame_ = true;
      ++frames_;
      break;
    case wire::ChatFrame::Kind::kNoOutput:
      any_frame_ = true;
      ++frames_;
      break;
  }
  if (stopped()) stop_offset_ = event.end_offset;
  return !stopped();
}

void ChatRelay::Feed(std::string_view bytes) {
  direct_ = {};
  if (stopped()) return;
  buffer_.erase(0, taken_);
  ready_ -= taken_;
  taken_ = 0;
  const std::uint64_t chunk_start = splitter_.offset();
  const auto status = splitter_.Feed(bytes, [this](const wire::SseEvent& e) { return OnEvent(e); });
  too_large_ = status == wire::SseSplitter::Status::kTooLarge;

  // Everything in front of `boundary` belongs to whole events (or to the part before the stop).
  const bool ended = done_ || error_;
  const std::uint64_t boundary = ended ? stop_offset_ : splitter_.block_start();
  const std::uint64_t in_chunk = boundary > chunk_start ? boundary - chunk_start : 0;
  const std::size_t whole =
      static_cast<std::size_t>(std::min<std::uint64_t>(in_chunk, bytes.size()));
  const bool advanced = boundary >= chunk_start && boundary > last_boundary_;
  last_boundary_ = std::max(last_boundary_, boundary);
  const std::string_view rest = stopped() ? std::string_view{} : bytes.substr(whole);

  if (committed_ && buffer_.empty() && whole > 0) {
    direct_ = bytes.substr(0, whole);
    buffer_.assign(rest);
  } else {
    buffer_.append(bytes.substr(0, whole));
    if (advanced) ready_ = buffer_.size();
    buffer_.append(rest);
  }
  if (advanced) inside_event_ = false;
  if (committed_) ReleaseOversized();
}

void ChatRelay::ReleaseOversized() {
  // Past the limit even an unfinished event is let go: a frame of megabytes is not held whole.
  if (stopped() || buffer_.size() - ready_ <= kHoldLimit) return;
  ready_ = buffer_.size();
  inside_event_ = true;
}

void ChatRelay::Finish() {
  if (stopped()) return;
  const auto status = splitter_.Finish([this](const wire::SseEvent& e) { return OnEvent(e); });
  too_large_ = status == wire::SseSplitter::Status::kTooLarge;
  if (buffer_.size() > ready_) inside_event_ = true;
  ready_ = buffer_.size();
}

std::string_view ChatRelay::Take() {
  if (!committed_) {
    committed_ = true;
    ReleaseOversized();
  }
  if (!direct_.empty()) return std::exchange(direct_, {});
  const std::string_view out = std::string_view(buffer_).substr(taken_, ready_ - taken_);
  taken_ = ready_;
  return out;
}

}  // namespace hotel::route
