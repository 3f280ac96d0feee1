// The client's request body: what routing must know of it, and the splice of the model name.
#ifndef HOTEL_WIRE_REQUEST_H_
#define HOTEL_WIRE_REQUEST_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "absl/status/statusor.h"
#include "libhotel/wire/json.h"  // JsonString

namespace hotel::wire {

/// The routing members of a request body.
struct RequestPeek {
  std::string model;             ///< unescaped
  std::size_t model_offset = 0;  ///< of the JSON string token, opening quote included
  std::size_t model_length = 0;  ///< of the token, both quotes included
  bool stream = false;
};

/// Reads the top-level members `model` and `stream`. InvalidArgument with the sentence for the
/// client: not a JSON object, not valid JSON or UTF-8, no model, model not a string, empty or over
/// 1024 bytes, stream not a boolean (null counts as absent), a routing member given twice (also in
/// an escaped spelling, F155). Numbers of any size, escapes incl. lone surrogates (but in `model`)
/// and unknown members are fine. Nesting deeper than 512 is refused.
absl::StatusOr<RequestPeek> PeekRequest(std::string_view body);

/// The body with `model` as the model's value and every other byte as it was. Copies nothing of
/// `body`. REQUIRES: `peek` came from this body.
Body WithModel(const std::shared_ptr<const std::string>& body, const RequestPeek& peek,
               std::string_view model);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_REQUEST_H_
