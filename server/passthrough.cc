#include "server/passthrough.h"

#include <algorithm>
#include <cstddef>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

constexpr std::string_view kPrefix = "/p/";

/// With every `%XX` as the byte it stands for; anything else stays.
std::string PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? base::HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? base::HexDigit(text[i + 2]) : -1;
    if (low < 0) {
      decoded += text[i];
    } else {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

/// Decoded as often as anybody on the way could do it.
std::string FullyDecoded(std::string_view text) {
  std::string now(text);
  while (true) {  // ends: every round that changes something makes it shorter
    std::string next = PercentDecode(now);
    if (next.size() == now.size()) return now;
    now = std::move(next);
  }
}

bool LeadsElsewhere(std::string_view path) {
  const std::string decoded = FullyDecoded(path);
  if (decoded.find('\\') != std::string::npos) return true;
  for (std::string_view segment : base::Split(decoded, '/')) {
    segment = segment.substr(0, segment.find(';'));  // some servers drop parameters first
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

/// Field names the client has declared to be about its own connection.
std::string ConnectionFields(const HeaderList& headers) {
  std::string names = ",";
  for (const Header& header : headers) {
    if (!base::EqualsIgnoreCase(header.name, "connection")) continue;
    for (const auto name : base::Split(header.value, ',')) {
      names.append(base::Lower(base::Trim(name))).append(",");
    }
  }
  return names;
}

HeaderList FieldsThatGo(const HeaderList& headers) {
  const std::string connection = ConnectionFields(headers);
  HeaderList kept;
  for (const Header& header : headers) {
    const std::string name = base::Lower(header.name);
    const auto& fields = PassthroughFields();
    if (std::find(fields.begin(), fields.end(), name) == fields.end()) continue;
    if (connection.find("," + name + ",") != std::string::npos) continue;
    kept.push_back({name, header.value});
  }
  return kept;
}

}  // namespace

const std::vector<std::string_view>& PassthroughFields() {
  static const std::vector<std::string_view> fields = {
      "accept",         "accept-language",   "content-type",
      "anthropic-beta", "anthropic-version", "openai-beta",
  };
  return fields;
}

bool IsPassthrough(std::string_view path) noexcept {
  if (!base::StartsWith(path, kPrefix)) return false;
  const std::size_t slash = path.find('/', kPrefix.size());
  return slash != std::string_view::npos && slash > kPrefix.size();
}

std::optional<RequestError> CheckPassthrough(const RequestHead& head) {
  const std::string_view target = head.target;
  if (target.find('#') != std::string_view::npos || LeadsElsewhere(head.path())) {
    return RequestError{400, decide::ErrorCode::kInvalidTarget,
                        "the path behind the provider's name must not lead out of it"};
  }
  if (head.method == "HEAD" && head.has_body()) {
    return RequestError{400, decide::ErrorCode::kInvalidRequest, "HEAD takes no body"};
  }
  return std::nullopt;
}

PassthroughRequest ReadPassthrough(std::string_view method, std::string_view target,
                                   const HeaderList& headers) {
  const std::size_t slash = target.find('/', kPrefix.size());
  PassthroughRequest request;
  request.provider = PercentDecode(target.substr(kPrefix.size(), slash - kPrefix.size()));
  request.method = method;
  request.target = target.substr(slash);
  request.headers = FieldsThatGo(headers);
  return request;
}

}  // namespace hotel::server
