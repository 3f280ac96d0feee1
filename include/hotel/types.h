// Vocabulary shared by every public header: time, headers, bodies, secrets, error kinds.
//
// Everything here is a value type. Values may be copied between threads; a single object must not
// be written by one thread while another one uses it.
#ifndef HOTEL_TYPES_H_
#define HOTEL_TYPES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hotel {

/// Every span of time in the library. Zero means "none" or "off" where a field says so; negative
/// spans are never valid input.
using Duration = std::chrono::nanoseconds;

/// An instant on the monotonic clock. Deadlines, cooldowns and backoff use this and only this.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

/// An instant on the civil clock (UTC, milliseconds): for records that people and databases read.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

/// One HTTP header field. Names compare case-insensitively; values hold no CR, LF or NUL.
struct Header {
  std::string name;
  std::string value;
};

/// Header fields in the order they were received or are to be sent.
using HeaderList = std::vector<Header>;

/// Returns the value of the first field called `name` (ASCII case-insensitive), or an empty view.
/// The view lives as long as `headers` is unchanged.
std::string_view FindHeader(const HeaderList& headers, std::string_view name) noexcept;

/// What a receiver of bytes wants next: more of them, or silence until it calls `Resume`.
enum class Flow { kContinue, kPause };

/// The API family a request speaks. It decides how answers are judged and how errors are written
/// (facts i).
enum class Endpoint {
  kChatCompletions,   ///< POST /v1/chat/completions (OpenAI chat dialect)
  kMessages,          ///< POST /v1/messages (Anthropic Messages), to providers that speak it
  kResponses,         ///< POST /v1/responses (OpenAI Responses), to providers that speak it
  kEmbeddings,        ///< POST /v1/embeddings
  kRerank,            ///< POST /v1/rerank
  kImageGenerations,  ///< POST /v1/images/generations
  kImageEdits,        ///< POST /v1/images/edits (multipart)
  kImageVariations,   ///< POST /v1/images/variations (multipart)
  kSpeech,            ///< POST /v1/audio/speech
  kTranscriptions,    ///< POST /v1/audio/transcriptions (multipart)
  kTranslations,      ///< POST /v1/audio/translations (multipart)
  kPassthrough,       ///< any method, /p/<provider>/*: bytes go through unchanged
};

/// The word of an endpoint in records, logs and metrics (`chat`, `messages`, ...). Static storage.
const char* EndpointName(Endpoint endpoint) noexcept;

/// Why a request or an attempt ended badly. The closed list of `error_kind` words that request
/// records and metrics use (facts g, and two for the limits of callers); `kNone` means it did not.
enum class ErrorKind {
  kNone,
  kClientDisconnect,        ///< the caller left or cancelled
  kProviderError,           ///< 5xx, transport failure, undecodable or empty answer
  kProviderModelGone,       ///< 404
  kProviderNotEntitled,     ///< 401, 402, 403: credential, billing or plan
  kProviderBadRequest,      ///< any other 4xx: the provider refused the payload
  kProviderSaturated,       ///< busy: a 429 that says so, no slot, or every circuit open
  kProviderQuotaExhausted,  ///< spent: a 429 that says so, or every skip waits out a quota pin
  kProviderTimeout,         ///< no head, no first output, no more output in time
  kHedgeSuperseded,         ///< another candidate won the race
  kFailoverTimeout,         ///< the request's overall deadline passed
  kInternal,                ///< the gateway itself: shutdown, lost key
  kValidation,              ///< the request could not be understood or names nothing
  kAuth,                    ///< the caller may not do this
  kRateLimit,               ///< the caller has had its requests or tokens of the moment
  kBudget,                  ///< the caller has spent its money of the period
};
inline constexpr ErrorKind kLastErrorKind = ErrorKind::kBudget;

/// The lower-case wire word of a kind (`provider_timeout`); "" for kNone. Static storage.
const char* ErrorKindName(ErrorKind kind) noexcept;

/// A string that cannot be printed by accident: no stream operator, no formatter, no implicit
/// conversion. The memory is overwritten when the object is destroyed or assigned over.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value);
  Secret(const Secret& other);
  Secret(Secret&& other) noexcept;
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  /// The plain text, for the one place that must send or derive from it. The view dies with the
  /// object.
  std::string_view Reveal() const noexcept { return value_; }
  bool empty() const noexcept { return value_.empty(); }

  /// Constant-time in the content (not in the length).
  friend bool operator==(const Secret& a, const Secret& b) noexcept;

 private:
  std::string value_;
};

/// An immutable request body made of parts, so that the attempts of one request share the bytes
/// the client sent and each attempt adds only the bytes it changes. Cheap to copy.
class Body {
 public:
  Body() = default;
  explicit Body(std::shared_ptr<const std::string> bytes);

  /// A body that equals this one with `length` bytes at `offset` replaced. Shares all other bytes,
  /// also with a body that was spliced itself. REQUIRES: offset + length <= size().
  Body Splice(std::size_t offset, std::size_t length, std::string replacement) const;

  std::size_t size() const noexcept { return size_; }

  /// Copies up to `capacity` bytes that start at `offset` into `out`; returns how many (0 at the
  /// end). Thread-safe: the bytes never change.
  std::size_t Read(std::size_t offset, char* out, std::size_t capacity) const noexcept;

  /// The whole body as one string: for tests and logs of sizes, not for the request path.
  std::string ToString() const;

 private:
  struct Part {
    std::shared_ptr<const std::string> owner;
    std::size_t offset = 0;
    std::size_t length = 0;
  };
  std::vector<Part> parts_;
  std::size_t size_ = 0;
};

}  // namespace hotel

#endif  // HOTEL_TYPES_H_
