#include "libhotel/route/stream_relay.h"

#include <algorithm>
#include <utility>

#include "libhotel/wire/stream_frame.h"

namespace hotel::route {

bool StreamRelay::OnEvent(const wire::SseEvent& event, Ranges* hidden) {
  if (!event.has_data) {
    // A block that breaks off in front of its data is no more than its name; that may be the name
    // of the end which did not come.
    if (finishing_ && dialect_ != wire::Dialect::kPlain) {
      hidden->push_back({splitter_.block_start(), event.end_offset});
    }
    return true;
  }
  const wire::StreamFrame frame = wire::ReadStreamFrame(dialect_, event.name, event.data);
  finished_ |= frame.finished;
  if (frame.usage) wire::MergeUsage(*frame.usage, &usage_);
  switch (frame.kind) {
    case wire::StreamFrame::Kind::kTerminator:
      done_ = true;
      // A last event may hold the whole answer: then it is no bare terminator.
      output_ |= frame.output_inside;
      any_frame_ |= frame.output_inside;
      break;
    case wire::StreamFrame::Kind::kError:
      error_ = true;
      error_status_ = frame.error_status;
      error_data_ = event.data.substr(0, kErrorDataLimit);
      break;
    case wire::StreamFrame::Kind::kMalformed:
      // Half an event at the end of a stream; a whole one is of a dialect that is not known, and
      // never cut (facts f).
      if (finishing_) {
        hidden->push_back({splitter_.block_start(), event.end_offset});
        break;
      }
      [[fallthrough]];
    case wire::StreamFrame::Kind::kOutput:
      output_ = true;
      any_frame_ = true;
      ++frames_;
      meter_.Add(event.data);
      break;
    case wire::StreamFrame::Kind::kNoOutput:
      any_frame_ = true;
      ++frames_;
      if (hide_usage_ && frame.usage_only) {
        hidden->push_back({splitter_.block_start(), event.end_offset});
      }
      break;
  }
  if (stopped()) stop_offset_ = event.end_offset;
  return !stopped();
}

void StreamRelay::Feed(std::string_view bytes) {
  direct_ = {};
  if (stopped()) return;
  buffer_.erase(0, taken_);
  ready_ -= taken_;
  taken_ = 0;
  // What was held up to the commit is seldom needed again: events mostly come whole.
  if (committed_ && buffer_.empty()) buffer_ = std::string();
  const std::uint64_t chunk_start = splitter_.offset();
  Ranges hidden;
  const auto status =
      splitter_.Feed(bytes, [&](const wire::SseEvent& e) { return OnEvent(e, &hidden); });
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

  if (committed_ && buffer_.empty() && whole > 0 && hidden.empty()) {
    direct_ = bytes.substr(0, whole);
    buffer_.assign(rest);
  } else {
    buffer_.append(bytes.substr(0, whole));
    if (!hidden.empty()) {
      const bool first_is_out = inside_event_ && hidden.front().begin < chunk_start;
      Erase(hidden, chunk_start + whole, first_is_out);
    }
    if (advanced) ready_ = buffer_.size();
    buffer_.append(rest);
  }
  if (advanced) inside_event_ = false;
  if (committed_) ReleaseOversized();
}

/// Takes events out of the buffer, whose last byte stands in front of `end`. `first_is_out`: a part
/// of the first one has been handed out, so the rest of it follows.
void StreamRelay::Erase(const Ranges& hidden, std::uint64_t end, bool first_is_out) {
  const std::size_t size = buffer_.size();
  // From the back, so that what is in front stays where it is.
  for (auto range = hidden.rbegin(); range != hidden.rend(); ++range) {
    if (first_is_out && range + 1 == hidden.rend()) break;
    buffer_.erase(size - static_cast<std::size_t>(end - range->begin),
                  static_cast<std::size_t>(range->end - range->begin));
  }
}

void StreamRelay::ReleaseOversized() {
  // Past the limit even an unfinished event is let go: a frame of megabytes is not held whole.
  if (stopped() || buffer_.size() - ready_ <= kHoldLimit) return;
  ready_ = buffer_.size();
  inside_event_ = true;
}

void StreamRelay::Finish() {
  if (stopped()) return;
  finishing_ = true;
  Ranges hidden;
  const auto status =
      splitter_.Finish([&](const wire::SseEvent& e) { return OnEvent(e, &hidden); });
  too_large_ = status == wire::SseSplitter::Status::kTooLarge;
  if (!hidden.empty()) Erase(hidden, splitter_.offset(), inside_event_);
  if (buffer_.size() > ready_) inside_event_ = true;
  ready_ = buffer_.size();
}

std::string_view StreamRelay::Take() {
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
