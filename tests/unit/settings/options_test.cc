// Where options may be written, and which spelling wins.
#include <chrono>
#include <string>

#include "hotel/settings.h"

#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel;
using namespace hotel::settings;
using namespace std::chrono_literals;

EngineSettings Global(std::string_view text, Env env = {}) {
  const ReadResult result = Read(text, std::move(env));
  REQUIRE(Lines(result.errors) == std::vector<std::string>{});
  return result.config.settings.global;
}

TEST_CASE("An empty file has the defaults") {
  for (const char* text : {"", "# nothing\n", "---\n", "timeouts:\nserver:\nproviders:\n"}) {
    const EngineSettings global = Global(text);
    CHECK(global.timeouts.request_timeout == 60s);
    CHECK(global.circuit_breaker.failure_threshold == 5);
  }
}

TEST_CASE("Options are written under their dotted paths") {
  const EngineSettings global = Global(
      "resilience:\n"
      "  circuit_breaker:\n"
      "    failure_threshold: 3\n"
      "    timeout: 15s\n"
      "    failure_on_statuses: [5xx, 418, \"409\"]\n"
      "    neutral_on_statuses: []\n"
      "  retry: {max_retries: 0, max_backoff: 1s, backoff_factor: 1.5, jitter_factor: 0,\n"
      "          on_transport: none, streaming: never}\n"
      "failover:\n"
      "  backoff: {initial: 10ms, max: 20ms}\n"
      "  exhaustion: last_error\n"
      "timeouts: {request_timeout: 1m30s, long_factor: 2, ttft_timeout: 0}\n");
  CHECK(global.circuit_breaker.failure_threshold == 3);
  CHECK(global.circuit_breaker.timeout == 15s);
  CHECK(global.circuit_breaker.failure_on_statuses ==
        StatusSet().AddClass(5).AddCode(418).AddCode(409));
  CHECK(global.circuit_breaker.neutral_on_statuses.empty());
  CHECK(global.circuit_breaker.open_on_statuses == StatusSet().AddCode(402));
  CHECK(global.retry.max_retries == 0);
  CHECK(global.retry.initial_backoff == 100ms);
  CHECK(global.retry.max_backoff == 1s);
  CHECK(global.retry.backoff_factor == 1.5);
  CHECK(global.retry.jitter_factor == 0);
  CHECK(global.retry.on_transport == RetrySettings::OnTransport::kNone);
  CHECK(global.retry.streaming == RetrySettings::Streaming::kNever);
  CHECK(global.failover.backoff_initial == 10ms);
  CHECK(global.failover.backoff_max == 20ms);
  CHECK_FALSE(global.failover.exhaustion_status_429);
  CHECK(global.timeouts.request_timeout == 90s);
  CHECK(global.timeouts.long_factor == 2);
  CHECK(global.timeouts.ttft_timeout == 0s);
}

TEST_CASE("Options are written under their runtime keys too") {
  const EngineSettings global = Global(
      "settings:\n"
      "  circuit_breaker_cooldown: 7s\n"
      "  circuit_breaker_threshold: 2\n"
      "  circuit_breaker_enabled: false\n"
      "  failover_exhaustion_status_429: false\n"
      "  failover_on_rate_limit: false\n"
      "  request_timeout: 9s\n");
  CHECK(global.circuit_breaker.timeout == 7s);
  CHECK(global.circuit_breaker.failure_threshold == 2);
  CHECK_FALSE(global.circuit_breaker.enabled);
  CHECK_FALSE(global.failover.exhaustion_status_429);
  CHECK_FALSE(global.failover.retry_on_statuses.Contains(429));
  CHECK_FALSE(global.circuit_breaker.failure_on_statuses.Contains(429));
  CHECK(global.timeouts.request_timeout == 9s);
}

TEST_CASE("The same option in both spellings is an error at the later one") {
  CHECK(Errors("settings: {ttft_timeout: 5s}\n"
               "timeouts: {ttft_timeout: 6s}\n") ==
        "h.yaml:2: timeouts.ttft_timeout: is the same option as settings.ttft_timeout in line 1; "
        "keep one of them");
  CHECK(Errors("failover:\n"
               "  retry_on_statuses: [5xx]\n"
               "settings:\n"
               "  failover_on_rate_limit: false\n") ==
        "h.yaml:4: settings.failover_on_rate_limit: is the same option as "
        "failover.retry_on_statuses in line 2; keep one of them");
}

TEST_CASE("R73 the environment wins over the file, the file over the profile") {
  const std::string file = "resilience: {circuit_breaker: {failure_threshold: 3, timeout: 15s}}\n";
  const EngineSettings global = Global(file, {{"CIRCUIT_BREAKER_FAILURE_THRESHOLD", "9"},
                                              {"CIRCUIT_BREAKER_FAILURE_ON_STATUSES", "429, 5xx"},
                                              {"CIRCUIT_BREAKER_ENABLED", "false"}});
  CHECK(global.circuit_breaker.failure_threshold == 9);
  CHECK(global.circuit_breaker.timeout == 15s);
  CHECK(global.circuit_breaker.failure_on_statuses == StatusSet().AddCode(429).AddClass(5));
  CHECK_FALSE(global.circuit_breaker.enabled);
  CHECK(Global(file, {{"CIRCUIT_BREAKER_TIMEOUT", "1s"}}).circuit_breaker.timeout == 1s);
  CHECK(Global(file, {{"CIRCUIT_BREAKER_TIMEOUT", ""}}).circuit_breaker.timeout == 15s);
}

TEST_CASE("A bad value in the environment names the variable") {
  CHECK(Errors("", {{"CIRCUIT_BREAKER_TIMEOUT", "0"}}) ==
        "environment:0: CIRCUIT_BREAKER_TIMEOUT: \"0\" is out of range; write a duration above 0s, "
        "at most 720h");
}

TEST_CASE("R74 a provider's blocks change its own options field by field; the rest is inherited") {
  const ReadResult result =
      Read(Acme("    timeouts: {request_timeout: 5s}\n"
                "    resilience: {circuit_breaker: {enabled: true, failure_threshold: 10}}\n"
                "    failover: {retry_on_statuses: [503]}\n"
                "  Plain One:\n"
                "    type: custom\n"
                "    base_url: https://plain.example\n"
                "resilience: {circuit_breaker: {timeout: 15s}}\n"),
           {{"CIRCUIT_BREAKER_ENABLED", "false"}, {"CIRCUIT_BREAKER_FAILURE_THRESHOLD", "2"}});
  REQUIRE(Lines(result.errors) == std::vector<std::string>{});
  const Settings& settings = result.config.settings;
  const EngineSettings& acme = settings.For("acme");
  CHECK(acme.timeouts.request_timeout == 5s);
  CHECK(acme.circuit_breaker.enabled);
  CHECK(acme.circuit_breaker.failure_threshold == 10);
  CHECK(acme.circuit_breaker.timeout == 15s);
  CHECK(acme.failover.retry_on_statuses == StatusSet().AddCode(503));
  CHECK(&settings.For("Plain-One") == &settings.global);
  CHECK_FALSE(settings.global.circuit_breaker.enabled);
  CHECK(settings.global.circuit_breaker.failure_threshold == 2);
}

TEST_CASE("Options of the whole route cannot stand under a provider") {
  CHECK(Errors(Acme("    failover: {backoff: {initial: 1s}, retry_on_status: [503]}\n")) ==
        "h.yaml:5: providers.acme.failover.backoff.initial: cannot differ from provider to "
        "provider; write it as failover.backoff.initial at the top level\n"
        "h.yaml:5: providers.acme.failover.retry_on_status: unknown key; did you mean "
        "\"retry_on_statuses\"?");
}

TEST_CASE("The lists of the breaker must not overlap at the same specificity") {
  const std::string prefix = "resilience:\n  circuit_breaker:\n";
  CHECK(Errors(prefix + "    failure_on_statuses: [402, 5xx]\n") ==
        "h.yaml:3: resilience.circuit_breaker.failure_on_statuses: 402 is in open_on_statuses too, "
        "which was not written here; leave it in one list");
  CHECK(Errors(prefix + "    open_on_statuses: [5xx]\n    neutral_on_statuses: [5xx]\n"
                        "    failure_on_statuses: []\n") ==
        "h.yaml:4: resilience.circuit_breaker.neutral_on_statuses: 5xx is in open_on_statuses too; "
        "leave it in one list");
  // An exact code beats a class.
  CHECK(
      Errors(prefix + "    failure_on_statuses: [5xx]\n    neutral_on_statuses: [503]\n").empty());
  CHECK(Errors("", {{"CIRCUIT_BREAKER_FAILURE_ON_STATUSES", "404"}}) ==
        "environment:0: CIRCUIT_BREAKER_FAILURE_ON_STATUSES: 404 is in neutral_on_statuses too, "
        "which was not written here; leave it in one list");
  CHECK(Errors(Acme("    resilience: {circuit_breaker: {neutral_on_statuses: [429]}}\n")) ==
        "h.yaml:5: providers.acme.resilience.circuit_breaker.neutral_on_statuses: 429 is in "
        "failure_on_statuses too, which was not written here; leave it in one list");
}

TEST_CASE("An overlap of the global lists is not repeated for every provider") {
  const ReadResult result =
      Read(Acme("    timeouts: {request_timeout: 5s}\n"
                "resilience: {circuit_breaker: {neutral_on_statuses: [429]}}\n"));
  CHECK(result.errors.size() == 1);
}

TEST_CASE("R10 a status list must be a list of statuses") {
  CHECK(Errors("failover: {retry_on_statuses: 429}\n") ==
        "h.yaml:1: failover.retry_on_statuses: is a single value; write a list, such as "
        "[429, 5xx]");
  CHECK(
      Errors("failover:\n  retry_on_statuses:\n    - 429\n    - teapot\n    - 600\n") ==
      "h.yaml:4: failover.retry_on_statuses[1]: \"teapot\" is not a status; write a code from "
      "100 to 599 or a class such as 5xx\n"
      "h.yaml:5: failover.retry_on_statuses[2]: \"600\" is not a status; write a code from 100 to "
      "599 or a class such as 5xx");
  CHECK(Errors("failover: {retry_on_statuses: }\n").find("is nothing; write a list") !=
        std::string::npos);
}

TEST_CASE("Only the profiles that exist can be chosen") {
  CHECK(Errors("profile: failover_first\n").empty());
  CHECK(Errors("profile: retry-first\n") ==
        "h.yaml:1: profile: \"retry-first\" is not a profile; write one of: failover_first, "
        "retry_first");
  CHECK(Errors(Acme("    profile: fast\n")) ==
        "h.yaml:5: providers.acme.profile: \"fast\" is not a profile; write one of: "
        "failover_first, retry_first");
}

TEST_CASE("Values that make no sense together are warned about") {
  const ReadResult ttft = Read(
      "timeouts:\n  ttft_timeout: 60s\n  request_timeout: 1s\n"
      "  long_factor: 1\n");
  CHECK(ttft.errors.empty());
  CHECK(Lines(ttft.warnings) ==
        std::vector<std::string>{
            "h.yaml:2: timeouts.ttft_timeout: the wait for first output (1m) is longer than a "
            "whole streaming attempt (1s) and never ends one"});
  const ReadResult backoff = Read("failover: {backoff: {initial: 5s}}\n");
  CHECK(backoff.errors.empty());
  CHECK(Lines(backoff.warnings) ==
        std::vector<std::string>{"h.yaml:1: failover.backoff.initial: is above "
                                 "failover.backoff.max (2s), which caps it"});
}

}  // namespace
