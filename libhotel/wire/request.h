// The client's request body: what routing must know of it, and the splice of the model name.
#ifndef HOTEL_WIRE_REQUEST_H_
#define HOTEL_WIRE_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/statusor.h"
#include "libhotel/wire/json.h"  // JsonString

namespace hotel::wire {

/// Longer names exist nowhere; they would end up in messages, records and metrics.
inline constexpr std::size_t kMaxModelBytes = 1024;

/// The routing members of a request body.
struct RequestPeek {
  std::string model;             ///< unescaped
  std::size_t model_offset = 0;  ///< of the JSON string token, opening quote included
  std::size_t model_length = 0;  ///< of the token, both quotes included
  /// The body is a multipart form: the token is the bare field value, without quotes or escapes.
  bool multipart = false;
  bool stream = false;
  /// How long an answer may get: the largest of `max_tokens`, `max_completion_tokens` and
  /// `max_output_tokens`; 0 when none of them is a number from 1 on. Whether it makes sense is the
  /// provider's to say.
  std::int64_t max_output = 0;
  std::int64_t choices = 1;  ///< `n`, likewise
  /// The client asked for usage in its stream: `stream_options.include_usage` is true.
  bool wants_usage = false;
  /// Where WithModel asks for usage, and over how many bytes.
  enum class UsagePlace {
    kValue,    ///< the value of `include_usage`
    kOptions,  ///< nothing, just behind the opening brace of `stream_options`
    kNull,     ///< the null that stands for `stream_options`
    kBody,     ///< nothing, just behind the opening brace of the body
    kNowhere,  ///< options of a strange form, or a multipart form: left as they are
  };
  UsagePlace usage_place = UsagePlace::kNowhere;
  std::size_t usage_offset = 0;
  std::size_t usage_length = 0;
  bool usage_alone = false;  ///< the object is empty: no comma follows what is put in
};

/// Reads the top-level members `model`, `stream`, `stream_options` and those of the answer's
/// length. InvalidArgument with the sentence for the client: not a JSON object, not valid JSON or
/// UTF-8, no model, model not a string, empty or over 1024 bytes, stream not a boolean (null counts
/// as absent), a routing member given twice (also in an escaped spelling, F155; include_usage
/// inside the options is one). Numbers of any size, escapes incl. lone surrogates (but in `model`)
/// and unknown members are fine. Nesting deeper than 512 is refused.
absl::StatusOr<RequestPeek> PeekRequest(std::string_view body);

/// The body with `model` as the model's value and every other byte as it was; with `ask_usage` also
/// with `stream_options.include_usage` true (decisions, 7), unless it is already or there is no
/// place for it. Copies nothing of `body`. Control characters, which could end a field, are left
/// out of a model that goes into a multipart form. REQUIRES: `peek` came from this body.
Body WithModel(const std::shared_ptr<const std::string>& body, const RequestPeek& peek,
               std::string_view model, bool ask_usage = false);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_REQUEST_H_
