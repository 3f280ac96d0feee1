// Header fields of multipart/form-data: that of the form and those of its parts.
#ifndef HOTEL_WIRE_FORM_HEAD_H_
#define HOTEL_WIRE_FORM_HEAD_H_

#include <optional>
#include <string>
#include <string_view>

namespace hotel::wire {

/// The boundary that a Content-Type names: 1-70 of the characters of RFC 2046. None when the type
/// is not multipart/form-data, or the parameter is absent, unusable or given twice.
std::optional<std::string> FormBoundary(std::string_view content_type);

struct FormField {
  std::string name;
  bool file = false;     ///< it has a file name
  bool encoded = false;  ///< a transfer encoding that changes the bytes
};
/// Reads the head of a part, without its last line end. None when it is malformed, folded, without
/// a `Content-Disposition: form-data` with a name, or when readers could disagree on the name: a
/// second disposition or name, a `name*`.
std::optional<FormField> ReadFormHead(std::string_view head);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_FORM_HEAD_H_
