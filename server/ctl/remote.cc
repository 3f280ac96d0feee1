#include "server/ctl/remote.h"

#include <memory>

#include <curl/curl.h>
#include <fmt/format.h>

#include "libhotel/base/strings.h"

namespace hotel::ctl {
namespace {

constexpr long kConnectSeconds = 5;
constexpr long kAnswerSeconds = 60;
/// Without a byte of a stream that lasts; a comment comes every 30 seconds.
constexpr long kSilenceSeconds = 90;
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;

size_t TakeBytes(char* bytes, size_t size, size_t count, void* user) {
  auto& piece = *static_cast<const std::function<bool(std::string_view)>*>(user);
  return piece(std::string_view(bytes, size * count)) ? size * count : 0;
}

/// Also without a scheme.
bool IsUrl(const std::string& text) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> url(curl_url(), &curl_url_cleanup);
  return url != nullptr && curl_url_set(url.get(), CURLUPART_URL, text.c_str(),
                                        CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK;
}

}  // namespace

Remote::Remote(std::string url, Secret token) : url_(std::move(url)), token_(std::move(token)) {}

absl::Status Remote::Run(const Question& question,
                         const std::function<bool(std::string_view)>& piece) const {
  const auto no_url = [this] {
    return absl::InvalidArgumentError(fmt::format("--url: {} is not http://HOST:PORT", url_));
  };
  if (!IsUrl(url_)) return no_url();
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return absl::UnavailableError("no memory for a connection");
  std::string base = url_;
  while (!base.empty() && base.back() == '/') base.pop_back();
  const std::string url = base + question.path;
  std::string authorization = fmt::format("Authorization: Bearer {}", token_.Reveal());
  curl_slist* fields = curl_slist_append(nullptr, authorization.c_str());
  fields = curl_slist_append(fields, "Content-Type: application/json");
  fields = curl_slist_append(fields, "Expect:");
  if (!question.last_id.empty()) {
    fields = curl_slist_append(fields, ("Last-Event-ID: " + question.last_id).c_str());
  }
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
  if (question.lasts) {
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, kSilenceSeconds);
  } else {
    curl_easy_setopt(handle, CURLOPT_TIMEOUT, kAnswerSeconds);
  }
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, question.method.c_str());
  if (question.has_body || question.method == "POST") {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(question.body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, question.body.c_str());
  }
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &TakeBytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &take);
  const CURLcode result = curl_easy_perform(handle);
  if (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL) return no_url();
  if (result != CURLE_OK && !stopped) {
    return absl::UnavailableError(
        fmt::format("cannot ask {}: {} (is hoteld running there? see --url)", base,
                    curl_easy_strerror(result)));
  }
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  if (code >= 200 && code <= 299) return absl::OkStatus();
  if (code == 401) refusal += " (see --token and ADMIN_TOKEN)";
  const std::string said = fmt::format("{}: {}", code, refusal);
  return code >= 500 ? absl::UnavailableError(said) : absl::FailedPreconditionError(said);
}

absl::StatusOr<Json> Remote::Call(const std::string& method, const std::string& path,
                                  const Json* body) const {
  std::string answer;
  Question question{method, path};
  if (body != nullptr) {
    try {
      question.body = body->dump();
    } catch (const Json::type_error&) {
      return absl::InvalidArgumentError("what was given is not UTF-8");
    }
    question.has_body = true;
  }
  const absl::Status status = Run(question, [&answer](std::string_view bytes) {
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

absl::Status Remote::Follow(const std::string& path, const std::string& last_id,
                            const std::function<bool(std::string_view)>& piece) const {
  Question question{"GET", path};
  question.lasts = true;
  question.last_id = last_id;
  return Run(question, piece);
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
