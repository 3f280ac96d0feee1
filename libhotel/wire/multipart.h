// A multipart/form-data body (RFC 7578): where its `model` field stands.
#ifndef HOTEL_WIRE_MULTIPART_H_
#define HOTEL_WIRE_MULTIPART_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "libhotel/wire/request.h"

namespace hotel::wire {

/// Reads the fields `model` and `stream` without copying or decoding any other part.
/// InvalidArgument with the sentence for the client: `content_type` is not multipart/form-data or
/// names no usable boundary (1-70 characters, RFC 2046), the parts are malformed or cut, more than
/// 1000 parts, a part's head larger than 8 KiB, no model or an empty one, one over 1024 bytes or
/// with control characters, a routing field given twice, `stream` neither true nor false.
/// Linear in the body's size; bounded memory.
absl::StatusOr<RequestPeek> PeekMultipart(std::string_view content_type, std::string_view body);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_MULTIPART_H_
