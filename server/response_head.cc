#include "server/response_head.h"

#include <charconv>

#include "libhotel/base/strings.h"
#include "server/status_text.h"

namespace hotel::server {
namespace {

bool SafeName(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    if (c <= 0x20 || c >= 0x7f || c == ':') return false;
  }
  return true;
}

bool SafeValue(std::string_view value) {
  for (const char c : value) {
    if (c == '\r' || c == '\n' || c == '\0') return false;
  }
  return true;
}

bool IsFraming(std::string_view name, bool stated_length) {
  return base::EqualsIgnoreCase(name, "transfer-encoding") ||
         base::EqualsIgnoreCase(name, "connection") ||
         (!stated_length && base::EqualsIgnoreCase(name, "content-length"));
}

void AppendNumber(std::size_t number, int base, std::string* out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), number, base);
  out->append(text, end.ptr);
}

}  // namespace

void AppendResponseHead(int status, const HeaderList& headers, bool keep, std::string_view extra,
                        std::string* out, bool stated_length) {
  out->append("HTTP/1.1 ");
  AppendNumber(static_cast<std::size_t>(status), 10, out);
  out->append(" ").append(StatusText(status)).append("\r\n");
  for (const Header& header : headers) {
    if (!SafeName(header.name) || !SafeValue(header.value)) continue;
    if (IsFraming(header.name, stated_length)) continue;
    out->append(header.name).append(": ").append(header.value).append("\r\n");
  }
  if (!keep) out->append("Connection: close\r\n");
  out->append(extra).append("\r\n");
}

void AppendChunk(std::string_view bytes, std::string* out) {
  AppendNumber(bytes.size(), 16, out);
  out->append("\r\n").append(bytes).append("\r\n");
}

void AppendWholeHead(std::string_view head, std::size_t body_size, std::string* out) {
  out->append(head).append("Content-Length: ");
  AppendNumber(body_size, 10, out);
  out->append("\r\n\r\n");
}

}  // namespace hotel::server
