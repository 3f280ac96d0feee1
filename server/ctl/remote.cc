#include "server/ctl/remote.h"

#include <memory>

#include <curl/curl.h>
#include <fmt/format.h>

#include "libhotel/base/strings.h"

namespace hotel::ctl {
namespace {

constexpr long kConnectSeconds = 5;
constexpr long kAnswerSeconds = 60;
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;

size_t TakeBytes(char* bytes, size_t size, size_t count, void* user) {
  auto& piece = *static_cast<const std::function<bool(std::string_view)>*>(user);
  return piece(std::string_view(bytes, size * count)) ? size * count : 0;
}

}  // namespace

Remote::Remote(std::string url, Secret token) : url_(std::move(url)), token_(std::move(token)) {}

absl::Status Remote::Run(const std::string& method, const std::string& path,
                         const std::string& body, bool has_body, bool lasts,
                         const std::function<bool(std::string_view)>& piece) const {
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return absl::UnavailableError("no memory for a connection");
  std::string base = url_;
  while (!base.empty() && base.back() == '/') base.pop_back();
  const std::string url = base + path;
  std::string authorization = fmt::format("Authorization: Bearer {}", token_.Reveal());
  curl_slist* fields = curl_slist_append(nullptr, authorization.c_str());
  fields = curl_slist_append(fields, "Content-Type: application/json");
  fields = curl_slist_append(fields, "Expect:");
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> holder(fields, &curl_slist_free_all);
  bool stopped = false;
  std::string refusal;
  long code = 0;
  const std::function<bool(std::string_view)> take = [&](std::string_view bytes) {
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
    if (code >= 200 && code <= 299) {
      stopped = !piece(bytes);
      return !stopped;
    }
    refusal.append(bytes.substr(0, kMaxAnswer - refusal.size()));
    return true;
  };
  CURL* const handle = curl.get();
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  if (!lasts) curl_easy_setopt(handle, CURLOPT_TIMEOUT, kAnswerSeconds);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method.c_str());
  if (has_body || method == "POST") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.c_str());
  }
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &TakeBytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &take);
  const CURLcode result = curl_easy_perform(handle);
  if (result != CURLE_OK && !stopped) {
    return absl::UnavailableError(
        fmt::format("cannot ask {}: {} (is hoteld running there? see --url)", base,
                    curl_easy_strerror(result)));
  }
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  if (code >= 200 && code <= 299) return absl::OkStatus();
  if (code == 401) refusal += " (see --token and ADMIN_TOKEN)";
  return absl::FailedPreconditionError(fmt::format("{}: {}", code, refusal));
}

absl::StatusOr<Json> Remote::Call(const std::string& method, const std::string& path,
                                  const Json* body) const {
  std::string answer;
  const absl::Status status = Run(method, path, body == nullptr ? "" : body->dump(),
                                  body != nullptr, false, [&answer](std::string_view bytes) {
                                    answer.append(bytes);
                                    return answer.size() <= kMaxAnswer;
                                  });
  if (!status.ok()) return status;
  if (answer.empty()) return Json(nullptr);
  Json json = Json::parse(answer, nullptr, false);
  if (json.is_discarded()) {
    return absl::InternalError("the answer is no JSON: is this the address of a hoteld?");
  }
  return json;
}

absl::Status Remote::Follow(const std::string& path,
                            const std::function<bool(std::string_view)>& piece) const {
  return Run("GET", path, "", false, true, piece);
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (base::IsAsciiAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

std::string QueryText(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string text;
  for (const auto& [name, value] : items) {
    if (value.empty()) continue;
    text += fmt::format("{}{}={}", text.empty() ? "?" : "&", name, Escaped(value));
  }
  return text;
}

}  // namespace hotel::ctl
