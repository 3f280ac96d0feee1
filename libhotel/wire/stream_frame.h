// What one event of a stream says, in each dialect (facts f; R35).
#ifndef HOTEL_WIRE_STREAM_FRAME_H_
#define HOTEL_WIRE_STREAM_FRAME_H_

#include <optional>
#include <string_view>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/wire/endpoints.h"

namespace hotel::wire {

struct StreamFrame {
  enum class Kind {
    kTerminator,  ///< nothing follows: `[DONE]`, message_stop, response.completed, ...
    kError,       ///< the provider's own error event (response.failed and `error` included)
    kOutput,      ///< model output: text, reasoning, a named tool call, ...; also any unknown form
    kNoOutput,    ///< role-only opener, ping, usage, finish_reason alone, empty delta
    kMalformed,   ///< not JSON
  };
  Kind kind = Kind::kNoOutput;
  /// kError: the status it stands for, 400-599 (R25; the words of `error.type` that have one
  /// meaning); 502 when it names none.
  int error_status = 0;
  /// The stream is whole even if nothing follows: a non-empty finish_reason (chat).
  bool finished = false;
  /// kTerminator: it holds model output itself, perhaps the only one of the stream
  /// (response.completed repeats the whole answer).
  bool output_inside = false;
  /// A frame that tells only usage (`choices` empty or absent, `usage` an object): it may be kept
  /// from a client that has not asked for it (F065).
  bool usage_only = false;
  /// What it says about tokens, in any shape of chunk (F067). Messages spread it over
  /// message_start and message_delta: see MergeUsage.
  std::optional<TokenUsage> usage;
};

/// `event_name` is the SSE event field ("" when absent); `error` makes any frame an error. Pure and
/// reentrant; accepts any bytes; allocates nothing.
/// Responses: `response.failed` is an error whenever it comes; a stream that ends with it behind
/// output is nevertheless whole (R35). `response.incomplete` terminates.
StreamFrame ReadStreamFrame(Dialect dialect, std::string_view event_name, std::string_view data);

/// What is known of a stream's usage after one more frame: the larger of each count.
void MergeUsage(const TokenUsage& more, std::optional<TokenUsage>* usage);

/// What a whole, clean stream still lacks behind its last frame: `data: [DONE]` with its blank line
/// in the chat dialect, nothing elsewhere.
std::string_view MissingTerminator(Dialect dialect) noexcept;

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_STREAM_FRAME_H_
