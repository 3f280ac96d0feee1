// The rows of facts g: status, words, code and kind of an answer the gateway writes.
#include "libhotel/decide/terminal.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "libhotel/decide/error_codes.h"
#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

using How = Finish::How;
using Reason = Finish::Reason;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{std::chrono::hours(1)};
const TerminalNames kNames{"hotel/glm-4.6", "acme"};

Finish Gateway(Reason reason, ErrorKind kind, int contacted = 2) {
  Finish finish;
  finish.how = How::kGatewayError;
  finish.reason = reason;
  finish.kind = kind;
  finish.contacted = contacted;
  return finish;
}

Finish Upstream(int status) {
  Finish finish = Gateway(Reason::kUpstreamStatus, KindOfStatus(status));
  finish.status = status;
  return finish;
}

void Check(const TerminalAnswer& answer, int status, const std::string& code,
           const std::string& message, ErrorKind kind) {
  CHECK(answer.status == status);
  CHECK(answer.code == code);
  CHECK(answer.message == message);
  CHECK(answer.kind == kind);
}

}  // namespace

TEST_CASE("bad model form: 400 that says which forms exist") {
  Check(BadModelForm(""), 400, "invalid_model_format",
        R"(invalid model format: expected "provider/model" or "hotel/group")",
        ErrorKind::kValidation);
}

TEST_CASE("decisions 7: a bad form that names a group suggests it") {
  CHECK(BadModelForm("hotel/glm-4.6").message ==
        R"(invalid model format: expected "provider/model" or "hotel/group"; )"
        R"(did you mean "hotel/glm-4.6"?)");
}

TEST_CASE("bad JSON: 400 with the reader's sentence") {
  Check(BadRequest("no model"), 400, "invalid_request", "no model", ErrorKind::kValidation);
}

TEST_CASE("unknown group: 404 model not found") {
  Check(ModelNotFound("hotel/nope"), 404, "model_not_found", "model not found: hotel/nope",
        ErrorKind::kValidation);
}

TEST_CASE("group off, group empty: 404") {
  Check(GroupDisabled(), 404, "failover_group_disabled", "failover group disabled",
        ErrorKind::kValidation);
  Check(GroupEmpty(), 404, "failover_group_empty", "no entries in failover group",
        ErrorKind::kValidation);
}

TEST_CASE("decisions 7: all keys undecryptable: 500") {
  Check(KeysUndecryptable(3), 500, "keys_undecryptable",
        "all 3 candidate(s) failed key decryption (wrong master key?)", ErrorKind::kInternal);
}

TEST_CASE("zero candidates behind open circuits: 429 with the earliest retry") {
  Finish finish = Gateway(Reason::kAllCircuitsOpen, ErrorKind::kProviderSaturated, 0);
  finish.retry_at = kNow + seconds(12);
  const TerminalAnswer answer = MakeTerminal(finish, kNames, kNow);
  Check(answer, 429, "no_available_provider",
        "no available provider for hotel/glm-4.6; earliest retry in 12s",
        ErrorKind::kProviderSaturated);
  CHECK(answer.retry_after_seconds == 12);
}

TEST_CASE("F119 Retry-After is rounded up and stays within 1 to 60 seconds") {
  struct Row {
    std::optional<TimePoint> retry_at;
    int seconds;
  };
  const Row rows[] = {
      {std::nullopt, 1},
      {kNow - seconds(5), 1},
      {kNow, 1},
      {kNow + Duration(1), 1},
      {kNow + milliseconds(1001), 2},
      {kNow + milliseconds(2999), 3},
      {kNow + seconds(3), 3},
      {kNow + milliseconds(59'001), 60},
      {kNow + seconds(60), 60},
      {kNow + std::chrono::hours(24), 60},
      {TimePoint::max(), 60},
  };
  for (const Row& row : rows) {
    Finish finish = Gateway(Reason::kAllCircuitsOpen, ErrorKind::kProviderSaturated, 0);
    finish.retry_at = row.retry_at;
    CHECK(MakeTerminal(finish, kNames, kNow).retry_after_seconds == row.seconds);
  }
}

TEST_CASE("zero candidates, no open circuit: 502 without Retry-After") {
  const TerminalAnswer answer =
      MakeTerminal(Gateway(Reason::kNoProvider, ErrorKind::kProviderError, 0), kNames, kNow);
  Check(answer, 502, "no_available_provider", "no available provider for hotel/glm-4.6",
        ErrorKind::kProviderError);
  CHECK_FALSE(answer.retry_after_seconds.has_value());
}

TEST_CASE("all failed, the last by transport or probe: 502 with the last one's kind") {
  Check(MakeTerminal(Gateway(Reason::kAllFailed, ErrorKind::kProviderTimeout), kNames, kNow), 502,
        "all_providers_failed", "all providers failed for model hotel/glm-4.6",
        ErrorKind::kProviderTimeout);
  Check(MakeTerminal(Gateway(Reason::kAllFailed, ErrorKind::kProviderError, 1), kNames, kNow), 502,
        "all_providers_failed", "provider request failed for model hotel/glm-4.6",
        ErrorKind::kProviderError);
}

TEST_CASE("last is an HTTP error: that status, the reason, the provider and the upstream status") {
  Check(MakeTerminal(Upstream(404), kNames, kNow), 404, "provider_model_gone",
        "the provider no longer serves this model (provider acme, upstream HTTP 404)",
        ErrorKind::kProviderModelGone);
  for (const int status : {401, 402, 403}) {
    Check(MakeTerminal(Upstream(status), kNames, kNow), status, "provider_not_entitled",
          "the provider rejected this request for billing or plan reasons (provider acme, "
          "upstream HTTP " +
              std::to_string(status) + ")",
          ErrorKind::kProviderNotEntitled);
  }
  for (const int status : {500, 503, 529, 407, 499}) {
    Check(MakeTerminal(Upstream(status), kNames, kNow), status, "provider_error",
          "the provider failed to serve this request (provider acme, upstream HTTP " +
              std::to_string(status) + ")",
          ErrorKind::kProviderError);
  }
  Check(MakeTerminal(Upstream(429), kNames, kNow), 429, "provider_saturated",
        "the provider is at capacity; retry shortly (provider acme, upstream HTTP 429)",
        ErrorKind::kProviderSaturated);
}

TEST_CASE("last is a payload refusal: words for the record and the envelope") {
  Finish finish = Upstream(422);
  finish.how = How::kProviderError;
  Check(MakeTerminal(finish, kNames, kNow), 422, "provider_bad_request",
        "the provider rejected the request payload (provider acme, upstream HTTP 422)",
        ErrorKind::kProviderBadRequest);
}

TEST_CASE("a provider's own error event behind the commit: words for the record") {
  Finish finish = Upstream(529);
  finish.how = How::kServedError;
  finish.reason = Reason::kNone;
  Check(MakeTerminal(finish, kNames, kNow), 529, "provider_error",
        "the provider failed to serve this request (provider acme, upstream HTTP 529)",
        ErrorKind::kProviderError);
}

TEST_CASE("a sentence without a provider name leaves it out") {
  CHECK(MakeTerminal(Upstream(500), TerminalNames{"hotel/x", ""}, kNow).message ==
        "the provider failed to serve this request (upstream HTTP 500)");
}

TEST_CASE("an answer over the gateway's cap: 502") {
  Check(MakeTerminal(Gateway(Reason::kAnswerTooLarge, ErrorKind::kProviderError), kNames, kNow),
        502, "answer_too_large",
        "the provider's answer exceeds the size limit for model hotel/glm-4.6",
        ErrorKind::kProviderError);
}

TEST_CASE("deadline: 504") {
  Check(MakeTerminal(Gateway(Reason::kDeadline, ErrorKind::kFailoverTimeout), kNames, kNow), 504,
        "failover_timeout", "request timed out for model hotel/glm-4.6",
        ErrorKind::kFailoverTimeout);
  Check(MakeTerminal(Gateway(Reason::kAttemptTimeout, ErrorKind::kProviderTimeout), kNames, kNow),
        504, "provider_timeout", "request timed out for model hotel/glm-4.6",
        ErrorKind::kProviderTimeout);
}

TEST_CASE("a client's model name of any length is clipped between characters") {
  std::string name = "hotel/";
  for (int i = 0; i < 100'000; ++i) name += "\xC3\xA9";
  const std::string message = ModelNotFound(name).message;
  CHECK(message.size() < 300);
  CHECK(message.substr(message.size() - 5) == "\xC3\xA9...");
}

TEST_CASE("every code stands once in the table, in lower case and underscores") {
  std::set<std::string_view> words;
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    CHECK(words.insert(row.word).second);
    CHECK(row.word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(ErrorCodeWord(row.code) == row.word);
  }
}

TEST_CASE("docs/errors.md is generated from the table") {
  if (std::getenv("HOTEL_UPDATE_DOCS") != nullptr) {
    std::ofstream(HOTEL_SOURCE_DIR "/docs/errors.md") << ErrorCodesMarkdown();
  }
  std::ifstream file(HOTEL_SOURCE_DIR "/docs/errors.md");
  std::ostringstream text;
  text << file.rdbuf();
  CHECK(text.str() == ErrorCodesMarkdown());
}

}  // namespace hotel::decide
