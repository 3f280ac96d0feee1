// What a chat-completions answer says: whole bodies and stream frames.
#ifndef HOTEL_WIRE_CHAT_H_
#define HOTEL_WIRE_CHAT_H_

#include <string_view>

namespace hotel::wire {

/// One frame of a chat stream (facts f, "What is an output frame").
struct ChatFrame {
  enum class Kind {
    kTerminator,  ///< `[DONE]`
    kError,       ///< its `error` member carries something
    kOutput,      ///< model output: text, reasoning, a named tool call, ...; also any unknown form
    kNoOutput,    ///< role-only opener, usage, finish_reason alone, empty delta
    kMalformed,   ///< not JSON
  };
  Kind kind = Kind::kNoOutput;
  /// kError: `error.code` when it is 400-599 as a number or numeric string, or the status that
  /// `error.type` stands for when it is a word with one meaning (overloaded_error 529,
  /// rate_limit_error 429, ...); 502 otherwise, also for server_error and invalid_request_error,
  /// which providers write on anything.
  int error_status = 0;
  /// A choice carries a non-empty finish_reason.
  bool finish_reason = false;
};

/// `event_name` is the SSE event field ("" when absent): `error` makes any frame an error. Pure and
/// reentrant; accepts any bytes.
ChatFrame ReadChatFrame(std::string_view event_name, std::string_view data);

/// A non-streaming 2xx body of the chat dialect (facts a; decisions 5 and 6).
struct ChatAnswer {
  enum class Kind {
    kGood,
    kEmptyServed,   ///< no text but a finish_reason or usage that explains it: served, not charged
    kEmptyCharged,  ///< no text, a finish_reason that does not explain it: served, charged
    kEmpty,         ///< decoded, carries nothing and no finish_reason: a failed attempt
    kHiddenError,   ///< a bare error body (R24); `error_status` is its numeric code or 502 (R25)
    kUndecodable,   ///< not JSON, or not a completion
  };
  Kind kind = Kind::kUndecodable;
  int error_status = 0;
};
/// Pure and reentrant; accepts any bytes. Text that is not UTF-8 is no reason to refuse an answer.
ChatAnswer ReadChatAnswer(std::string_view body);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_CHAT_H_
