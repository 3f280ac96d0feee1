#include "server/request_head.h"

#include <algorithm>
#include <array>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

constexpr std::array<std::string_view, 8> kMethods = {"GET",    "HEAD",  "POST",    "PUT",
                                                      "DELETE", "PATCH", "OPTIONS", "TRACE"};

bool IsTokenChar(char c) noexcept {
  return base::IsAsciiAlnum(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool IsToken(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}
bool IsVisible(char c) noexcept { return c > 0x20 && c < 0x7f; }
bool IsValueChar(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return u == '\t' || (u >= 0x20 && u != 0x7f);
}

std::string_view TrimBlanks(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

RequestError Malformed(const char* message) {
  return {400, decide::ErrorCode::kMalformedRequest, message};
}

std::optional<RequestError> ParseRequestLine(std::string_view line, const HeadLimits& limits,
                                             RequestHead* out) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return Malformed("the request line is not METHOD TARGET VERSION");
  }
  const auto method = line.substr(0, first);
  const auto target = line.substr(first + 1, last - first - 1);
  const auto version = line.substr(last + 1);
  if (!IsToken(method)) return Malformed("the method is not a token");
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/") {
    return Malformed("the request line does not name an HTTP version");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return RequestError{505, decide::ErrorCode::kHttpVersionNotSupported,
                        "only HTTP/1.1 and HTTP/1.0 are spoken here"};
  }
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    return RequestError{501, decide::ErrorCode::kMethodNotImplemented,
                        "this method is not known here"};
  }
  if (target.size() > limits.max_target) {
    return RequestError{414, decide::ErrorCode::kUriTooLong, "the request target is too long"};
  }
  if (target.empty() || target[0] != '/' || !std::all_of(target.begin(), target.end(), IsVisible)) {
    return Malformed("the request target must be a path of visible ASCII characters");
  }
  out->method = method;
  out->target = target;
  out->http10 = version == "HTTP/1.0";
  return std::nullopt;
}

std::optional<RequestError> ReadLength(std::string_view value, RequestHead* out) {
  if (value.empty() || !std::all_of(value.begin(), value.end(), base::IsAsciiDigit)) {
    return Malformed("Content-Length is not a number");
  }
  std::uint64_t length = 0;
  for (const char c : value) {
    if (length > std::uint64_t{1} << 56) {
      return RequestError{413, decide::ErrorCode::kRequestTooLarge,
                          "the request body is too large"};
    }
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  out->content_length = length;
  return std::nullopt;
}

/// Works out body framing and persistence from the fields.
std::optional<RequestError> ApplyFields(RequestHead* out) {
  int lengths = 0;
  int codings = 0;
  int hosts = 0;
  bool close = false;
  bool keep = false;
  for (const auto& field : out->headers) {
    if (base::EqualsIgnoreCase(field.name, "content-length")) {
      ++lengths;
      if (auto error = ReadLength(field.value, out)) return error;
    } else if (base::EqualsIgnoreCase(field.name, "transfer-encoding")) {
      ++codings;
      if (!base::EqualsIgnoreCase(field.value, "chunked")) {
        return RequestError{501, decide::ErrorCode::kTransferCodingNotImplemented,
                            "chunked is the only transfer coding understood here"};
      }
    } else if (base::EqualsIgnoreCase(field.name, "content-encoding")) {
      if (!base::EqualsIgnoreCase(field.value, "identity")) {
        return RequestError{415, decide::ErrorCode::kUnsupportedContentEncoding,
                            "the request body must be sent without content coding"};
      }
    } else if (base::EqualsIgnoreCase(field.name, "host")) {
      ++hosts;
    } else if (base::EqualsIgnoreCase(field.name, "connection")) {
      for (const auto piece : base::Split(field.value, ',')) {
        close = close || base::EqualsIgnoreCase(base::Trim(piece), "close");
        keep = keep || base::EqualsIgnoreCase(base::Trim(piece), "keep-alive");
      }
    } else if (base::EqualsIgnoreCase(field.name, "expect")) {
      if (!base::EqualsIgnoreCase(field.value, "100-continue")) {
        return RequestError{417, decide::ErrorCode::kExpectationFailed,
                            "this expectation can not be met"};
      }
      out->expects_continue = !out->http10;
    }
  }
  if (lengths > 1) return Malformed("more than one Content-Length");
  if (codings > 1) return Malformed("more than one Transfer-Encoding");
  if (lengths == 1 && codings == 1) return Malformed("Content-Length beside Transfer-Encoding");
  if (codings == 1 && out->http10) return Malformed("Transfer-Encoding in an HTTP/1.0 request");
  if (hosts > 1 || (hosts == 0 && !out->http10)) return Malformed("exactly one Host is needed");
  out->chunked = codings == 1;
  out->has_length = lengths == 1;
  out->keep_alive = !close && (!out->http10 || keep);
  return std::nullopt;
}

}  // namespace

HeadScan ScanHead(std::string_view bytes) noexcept {
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    if (at == 0 || bytes[at - 1] != '\r') return {HeadScan::State::kMalformed, 0};
    if (at >= 3 && bytes.substr(at - 3, 3) == "\r\n\r") return {HeadScan::State::kComplete, at + 1};
  }
  return {};
}

std::string_view PathOfBrokenHead(std::string_view bytes) noexcept {
  std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  line.remove_prefix(std::min(line.find(' '), line.size()));
  if (line.size() < 2 || line[1] != '/') return {};
  line.remove_prefix(1);
  return line.substr(0, line.find_first_of(" ?#"));
}

std::optional<RequestError> ParseRequestHead(std::string_view bytes, const HeadLimits& limits,
                                             RequestHead* out) {
  if (bytes.size() > limits.max_bytes) {
    return RequestError{431, decide::ErrorCode::kRequestHeadTooLarge,
                        "the request head is too large"};
  }
  *out = RequestHead();
  bool first = true;
  while (true) {
    const auto end = bytes.find("\r\n");
    if (end == std::string_view::npos) return Malformed("the request head does not end");
    const auto line = bytes.substr(0, end);
    bytes.remove_prefix(end + 2);
    if (first) {
      if (auto error = ParseRequestLine(line, limits, out)) return error;
      first = false;
      continue;
    }
    if (line.empty()) break;
    if (out->headers.size() == limits.max_fields) {
      return RequestError{431, decide::ErrorCode::kTooManyHeaders,
                          "the request has too many header fields"};
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
      return Malformed("a header field has no proper name");
    }
    const auto value = TrimBlanks(line.substr(colon + 1));
    if (!std::all_of(value.begin(), value.end(), IsValueChar)) {
      return Malformed("a header field holds a control character");
    }
    out->headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  }
  return ApplyFields(out);
}

}  // namespace hotel::server
