// The bytes of an answer around its body.
#ifndef SERVER_RESPONSE_HEAD_H_
#define SERVER_RESPONSE_HEAD_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "hotel/types.h"

namespace hotel::server {

/// Appends status line, fields, `Connection: close` unless `keep`, `extra` (whole lines) and the
/// blank line. Fields whose name or value could break the framing are left out, and so are those
/// that state it: Content-Length (unless `stated_length`), Transfer-Encoding, Connection.
void AppendResponseHead(int status, const HeaderList& headers, bool keep, std::string_view extra,
                        std::string* out, bool stated_length = false);

/// Appends one chunk of the chunked coding. REQUIRES: bytes not empty.
void AppendChunk(std::string_view bytes, std::string* out);

/// Appends a head made with AppendResponseHead without its blank line, the length of the body, and
/// the blank line.
void AppendWholeHead(std::string_view head, std::size_t body_size, std::string* out);

}  // namespace hotel::server

#endif  // SERVER_RESPONSE_HEAD_H_
