// What a request asks for, out of its body: JSON or a multipart form.
#ifndef HOTEL_SERVER_SIM_ASKED_H_
#define HOTEL_SERVER_SIM_ASKED_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/sim/http_request.h"

namespace hotel::sim {

/// One part of a form.
struct FormField {
  std::string name;
  std::string file_name;   ///< "" for a plain field
  std::string_view bytes;  ///< of the request's body
};

struct Asked {
  std::string model;
  bool stream = false;
  bool include_usage = false;
  int inputs = 1;       ///< entries of `input` or `documents`
  bool base64 = false;  ///< `encoding_format`
  std::vector<FormField> fields;
};

/// Reads the body as its content type says. nullopt when it is neither a JSON object nor a form, is
/// malformed or cut, or has no `model`. May enlarge the body's capacity; `fields` point into it.
std::optional<Asked> ReadAsked(HttpRequest* request);

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_ASKED_H_
