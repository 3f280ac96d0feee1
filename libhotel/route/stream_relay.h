// A stream on its way through: what may be forwarded, and what the frames say.
//
// Forwarded bytes are the provider's own, whole events at a time, so that an answer which breaks
// off inside an event never leaves half of it in front of the terminal error event. An event that
// grows beyond the hold-back limit is passed on piece by piece.
#ifndef HOTEL_ROUTE_STREAM_RELAY_H_
#define HOTEL_ROUTE_STREAM_RELAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/route/usage_estimate.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/sse.h"

namespace hotel::route {

class StreamRelay {
 public:
  /// Bound of what is held back, before the commit and inside an unfinished event (decisions, 5).
  static constexpr std::size_t kHoldLimit = std::size_t{64} << 10;

  static constexpr std::size_t kErrorDataLimit = std::size_t{1} << 20;

  /// `hide_usage`: events that tell nothing but usage are not forwarded (F065).
  explicit StreamRelay(wire::Dialect dialect = wire::Dialect::kChat, bool hide_usage = false)
      : dialect_(dialect), hide_usage_(hide_usage) {}

  /// Looks at the next bytes of the stream. Bytes behind a stop are dropped.
  void Feed(std::string_view bytes);
  /// The stream ended the way its framing says: an unterminated last event counts.
  void Finish();
  /// The bytes that may be forwarded now, and not again later. Valid until the next Feed.
  std::string_view Take();

  /// A frame with model output was seen.
  bool output() const noexcept { return output_; }
  /// A frame with data was seen, a bare terminator aside.
  bool any_frame() const noexcept { return any_frame_; }
  /// How many there were.
  std::uint64_t frames() const noexcept { return frames_; }
  /// The stream could end here and be whole although no terminator came: in the chat dialect a
  /// choice gave its finish_reason.
  bool finished() const noexcept { return finished_; }
  /// The terminator of the dialect was seen.
  bool done() const noexcept { return done_; }
  /// The provider's own error frame was seen; its status.
  bool error() const noexcept { return error_; }
  int error_status() const noexcept { return error_status_; }
  /// Its data, cut at kErrorDataLimit.
  const std::string& error_data() const noexcept { return error_data_; }
  /// One event exceeded the splitter's bound.
  bool too_large() const noexcept { return too_large_; }
  /// Nothing further will be looked at.
  bool stopped() const noexcept { return done_ || error_ || too_large_; }
  /// More is held than may be: commit now, whatever the frames say.
  bool overfull() const noexcept { return buffer_.size() - taken_ > kHoldLimit; }
  /// What was handed out ends inside an event: a blank line must stand before anything added.
  bool inside_event() const noexcept { return inside_event_; }
  /// The tokens that the frames stated so far.
  const std::optional<TokenUsage>& usage() const noexcept { return usage_; }
  /// A guess at the tokens of the output so far.
  std::int64_t output_estimate() const noexcept { return meter_.Tokens(); }

 private:
  // Bytes of the stream, by their offsets.
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  using Ranges = std::vector<Range>;

  bool OnEvent(const wire::SseEvent& event, Ranges* hidden);
  void Erase(const Ranges& hidden, std::uint64_t end, bool first_is_out);
  void ReleaseOversized();

  wire::SseSplitter splitter_;
  // buffer_[taken_, ready_) may be handed out, what follows belongs to an unfinished event.
  // `direct_` is set instead when a chunk of whole events goes through without being copied.
  std::string buffer_;
  std::size_t taken_ = 0;
  std::size_t ready_ = 0;
  std::string_view direct_;
  std::uint64_t stop_offset_ = 0;
  std::uint64_t last_boundary_ = 0;
  std::uint64_t frames_ = 0;
  std::optional<TokenUsage> usage_;
  OutputMeter meter_;
  std::string error_data_;
  int error_status_ = 0;
  wire::Dialect dialect_;
  bool hide_usage_;
  bool committed_ = false;
  bool finishing_ = false;
  bool output_ = false;
  bool any_frame_ = false;
  bool finished_ = false;
  bool done_ = false;
  bool error_ = false;
  bool too_large_ = false;
  bool inside_event_ = false;
};

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_STREAM_RELAY_H_
