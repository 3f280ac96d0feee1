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
  /// Offset in the stream just behind the block's blank line. A CR there takes a following LF with
  /// it (in streams that mix bare CR and CRLF inside one block the LF is left to the next block).
  std::uint64_t end_offset = 0;
};

/// Line ends LF, CRLF and CR are accepted, a leading BOM is skipped, the space behind the colon is
/// optional. Bytes are never decoded, so a split character cannot be damaged. The events and their
/// offsets depend on the stream alone, not on how it was cut into chunks. Blank lines that end no
/// block dispatch nothing.
class SseSplitter {
 public:
  enum class Status {
    kOk,
    kStopped,   ///< the callback asked to stop; what followed was not looked at
    kTooLarge,  ///< one event exceeded the limit
  };
  /// Return false to stop.
  using OnEvent = absl::FunctionRef<bool(const SseEvent&)>;

  /// `max_event_bytes` bounds the bytes of one block, line ends and comments included, and with it
  /// the memory held: at most a small multiple of the current block, plus one chunk.
  explicit SseSplitter(std::size_t max_event_bytes = std::size_t{32} << 20)
      : max_event_bytes_(max_event_bytes) {}

  SseSplitter(const SseSplitter&) = delete;
  SseSplitter& operator=(const SseSplitter&) = delete;

  /// Looks at the next bytes of the stream. Events that lie whole in `bytes` are not copied, unless
  /// they join several data lines. Any answer but kOk is final: later calls repeat it.
  Status Feed(std::string_view bytes, OnEvent on_event);

  /// The stream ended cleanly: dispatches an event that lacks its blank line (F059).
  Status Finish(OnEvent on_event);

  /// Bytes seen so far; after kStopped the end of the event that stopped.
  std::uint64_t offset() const noexcept { return offset_; }
  /// Offset behind the last complete block (where the current one begins).
  std::uint64_t block_start() const noexcept { return block_start_; }

 private:
  // Text that is looked at in place as long as its bytes are there, and copied when they go.
  class Held {
   public:
    void Set(std::string_view text) { view_ = text; }
    // Takes the whole of `line`, of which `text` is the end.
    void Adopt(std::string* line, std::string_view text);
    void Append(char c, std::string_view text);
    void Keep();
    void Clear();
    std::string_view view() const noexcept { return view_; }

   private:
    std::string own_;  // not empty: `view_` is the end of it
    std::string_view view_;
  };

  std::size_t SkipBom(std::string_view bytes);
  bool TooLarge(std::uint64_t end) const noexcept { return end - block_start_ > max_event_bytes_; }
  void Line(std::string_view line, bool carried);
  bool Dispatch(std::uint64_t end, OnEvent on_event);
  Status End(Status status, std::uint64_t offset);

  std::size_t max_event_bytes_;
  Status status_ = Status::kOk;
  std::string line_;  // an unfinished line carried over between chunks
  Held data_;
  Held name_;
  bool any_line_ = false;   // the block has a line
  bool any_data_ = false;   // ... a data line
  bool has_data_ = false;   // ... a data line that is not bare
  bool after_cr_ = false;   // the last byte was CR: a following LF belongs to it
  bool end_waits_ = false;  // ... and that CR ends a block whose end is known with the next byte
  bool lf_style_ = false;   // the last line ended with LF or CRLF
  bool at_start_ = true;    // only (a part of) a BOM was seen yet
  std::size_t bom_bytes_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t block_start_ = 0;
};

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_SSE_H_
