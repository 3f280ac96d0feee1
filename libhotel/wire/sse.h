// Server-sent events: incremental framing over any chunk boundary.
//
// The splitter observes; it never rewrites. Whoever relays a stream forwards the provider's own
// bytes and uses `end_offset` to know how far an event reaches.
#ifndef HOTEL_WIRE_SSE_H_
#define HOTEL_WIRE_SSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

namespace hotel::wire {

/// One dispatched block. Views die when the callback returns.
struct SseEvent {
  std::string_view name;  ///< the last `event:` field, "" if none
  std::string_view data;  ///< `data:` lines joined by '\n'
  bool has_data = false;  ///< false: the block held only comments, id, retry, event or bare data
  std::uint64_t end_offset = 0;  ///< offset in the stream just behind the block's blank line
};

/// Line ends LF, CRLF and CR are accepted, a leading BOM is skipped, the space behind the colon is
/// optional. Bytes are never decoded, so a split character cannot be damaged.
class SseSplitter {
 public:
  enum class Status {
    kOk,
    kStopped,   ///< the callback asked to stop; what followed was not looked at
    kTooLarge,  ///< one event exceeded the limit; the splitter is finished
  };
  /// Return false to stop.
  using OnEvent = absl::FunctionRef<bool(const SseEvent&)>;

  /// `max_event_bytes` bounds what one event may take, and with it the memory held (plus one chunk).
  explicit SseSplitter(std::size_t max_event_bytes = std::size_t{32} << 20)
      : max_event_bytes_(max_event_bytes) {}

  /// Looks at the next bytes of the stream. Events that lie whole in `bytes` are not copied.
  Status Feed(std::string_view bytes, OnEvent on_event);

  /// The stream ended cleanly: dispatches an event that lacks its blank line (F059).
  Status Finish(OnEvent on_event);

  /// Bytes seen so far.
  std::uint64_t offset() const noexcept { return offset_; }
  /// Offset behind the last complete block (where the current one begins).
  std::uint64_t block_start() const noexcept { return block_start_; }

 private:
  bool Line(std::string_view line, std::uint64_t end, OnEvent on_event);
  bool Dispatch(std::uint64_t end, OnEvent on_event);

  std::size_t max_event_bytes_;
  std::string line_;         // an unfinished line carried over between chunks
  std::string data_;         // joined data when an event has more than one data line or is carried over
  std::string name_;
  bool has_data_line_ = false;
  bool any_field_ = false;
  bool saw_cr_ = false;      // the chunk ended behind CR: a following LF belongs to it
  bool at_start_ = true;
  std::uint64_t offset_ = 0;
  std::uint64_t block_start_ = 0;
  std::size_t block_bytes_ = 0;
};

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_SSE_H_
