// Profiles, per-provider blocks and what does not go together.
#include <chrono>
#include <string>

#include "hotel/settings.h"

#include "libhotel/settings/registry.h"
#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel;
using namespace hotel::settings;
using namespace std::chrono_literals;

Settings Good(std::string_view text, Env env = {}) {
  const ReadResult result = Read(text, std::move(env));
  REQUIRE(Lines(result.errors) == std::vector<std::string>{});
  return result.config.settings;
}

std::vector<std::string> Warnings(std::string_view text, Env env = {}) {
  const ReadResult result = Read(text, std::move(env));
  CHECK(Lines(result.errors) == std::vector<std::string>{});
  return Lines(result.warnings);
}

// The YAML of seed 003, "YAML", as it stands there; the one thing added is the leave to use plain
// HTTP.
constexpr std::string_view kWorkedExample = R"yaml(resilience:
  retry:
    max_retries: 2
    initial_backoff: 500ms
    max_backoff: 10s
    backoff_factor: 1.5
    jitter_factor: 0.05
  circuit_breaker:
    enabled: true
    failure_threshold: 3
    success_threshold: 1
    timeout: 15s

providers:
  anthropic:
    type: anthropic
    api_key: ${ANTHROPIC_API_KEY}
    resilience:
      retry:
        max_retries: 5 # Anthropic supports long requests — allow more retries

  ollama:
    type: ollama
    base_url: ${OLLAMA_BASE_URL:-http://localhost:11434/v1}
    resilience:
      circuit_breaker:
        failure_threshold: 10 # local service — tolerate more transient failures
        timeout: 5s

  vllm:
    type: vllm
    base_url: ${VLLM_BASE_URL:-http://localhost:8000/v1}
    resilience:
      circuit_breaker:
        enabled: false # fronted by its own load balancer — never fail fast
)yaml";

TEST_CASE("R77 the worked example gives each provider what its table says") {
  const std::string text = std::string(kWorkedExample) + "server: {allow_http_providers: true}\n";
  struct Row {
    const char* provider;
    int max_retries;
    bool enabled;
    int failure_threshold;
    Duration timeout;
  };
  const Row rows[] = {{"openai", 2, true, 3, 15s},
                      {"anthropic", 5, true, 3, 15s},
                      {"ollama", 2, true, 10, 5s},
                      {"vllm", 2, false, 3, 15s}};
  for (const char* profile : {"", "profile: retry_first\n"}) {
    const ReadResult result = Read(text + profile, {{"ANTHROPIC_API_KEY", "k"}});
    REQUIRE(Lines(result.errors) == std::vector<std::string>{});
    for (const Row& row : rows) {
      INFO(row.provider << " " << profile);
      const EngineSettings& got = result.config.settings.For(row.provider);
      CHECK(got.retry.max_retries == row.max_retries);
      CHECK(got.circuit_breaker.enabled == row.enabled);
      CHECK(got.circuit_breaker.failure_threshold == row.failure_threshold);
      CHECK(got.circuit_breaker.timeout == row.timeout);
      CHECK(got.circuit_breaker.success_threshold == 1);
      CHECK(got.retry.initial_backoff == 500ms);
      CHECK(got.retry.max_backoff == 10s);
      CHECK(got.retry.backoff_factor == 1.5);
      CHECK(got.retry.jitter_factor == 0.05);
    }
    CHECK(result.config.providers[0].base_url == "https://api.anthropic.com/v1");
    CHECK(result.config.providers[1].base_url == "http://localhost:11434/v1");
    CHECK(result.config.providers[2].base_url == "http://localhost:8000/v1");
  }
}

TEST_CASE("R75 the environment reaches global values only") {
  const std::string text = std::string(kWorkedExample) + "server: {allow_http_providers: true}\n";
  const Settings settings = Good(text, {{"ANTHROPIC_API_KEY", "k"}, {"RETRY_MAX_RETRIES", "7"}});
  CHECK(settings.For("openai").retry.max_retries == 7);
  CHECK(settings.For("ollama").retry.max_retries == 7);
  CHECK(settings.For("anthropic").retry.max_retries == 5);
}

TEST_CASE("Facts d of seed 003: every variable sets its option") {
  const Settings settings =
      Good("profile: retry_first\n", {{"RETRY_ON_STATUSES", " 429 , 5XX "},
                                      {"RETRY_MAX_RETRIES", "1"},
                                      {"RETRY_INITIAL_BACKOFF", "2s"},
                                      {"RETRY_MAX_BACKOFF", "20s"},
                                      {"RETRY_BACKOFF_FACTOR", "1.5"},
                                      {"RETRY_JITTER_FACTOR", "0.2"},
                                      {"CIRCUIT_BREAKER_ENABLED", "TRUE"},
                                      {"CIRCUIT_BREAKER_FAILURE_ON_STATUSES", "none"},
                                      {"CIRCUIT_BREAKER_SCOPE", "model"},
                                      {"CIRCUIT_BREAKER_FAILURE_THRESHOLD", "4"},
                                      {"CIRCUIT_BREAKER_SUCCESS_THRESHOLD", "3"},
                                      {"CIRCUIT_BREAKER_TIMEOUT", "45s"},
                                      {"CIRCUIT_BREAKER_SLOW_CALL_THRESHOLD", "90s"}});
  const EngineSettings& global = settings.global;
  CHECK(global.retry.retry_on_statuses == StatusSet().AddCode(429).AddClass(5));
  CHECK(global.retry.max_retries == 1);
  CHECK(global.retry.initial_backoff == 2s);
  CHECK(global.retry.max_backoff == 20s);
  CHECK(global.retry.backoff_factor == 1.5);
  CHECK(global.retry.jitter_factor == 0.2);
  CHECK(global.circuit_breaker.enabled);
  CHECK(global.circuit_breaker.failure_on_statuses.empty());
  CHECK(global.circuit_breaker.scope == CircuitBreakerSettings::Scope::kModel);
  CHECK(global.circuit_breaker.failure_threshold == 4);
  CHECK(global.circuit_breaker.success_threshold == 3);
  CHECK(global.circuit_breaker.timeout == 45s);
  CHECK(global.circuit_breaker.slow_call_threshold == 90s);
}

TEST_CASE("A profile is a column of defaults; what is written wins over it") {
  const Settings settings = Good(
      "profile: retry_first\n"
      "resilience: {retry: {max_retries: 1}}\n"
      "settings: {request_timeout: 90s}\n");
  const EngineSettings& global = settings.global;
  CHECK(global.retry.max_retries == 1);
  CHECK(global.timeouts.request_timeout == 90s);
  CHECK(global.retry.initial_backoff == 1s);
  CHECK(global.failover.judge == FailoverSettings::Judge::kFirst);
  CHECK(global.circuit_breaker.block_direct);
}

TEST_CASE("A provider's profile changes its defaults; keys written anywhere win over it") {
  const Settings settings = Good(Acme("    profile: retry_first\n"
                                      "    resilience: {circuit_breaker: {success_threshold: 4}}\n"
                                      "resilience: {retry: {initial_backoff: 250ms}}\n"
                                      "failover: {retry_on_statuses: [503]}\n"),
                                 {{"CIRCUIT_BREAKER_TIMEOUT", "20s"}});
  const EngineSettings& acme = settings.For("acme");
  // Its profile.
  CHECK(acme.retry.max_retries == 3);
  CHECK(acme.circuit_breaker.scope == CircuitBreakerSettings::Scope::kProvider);
  CHECK(acme.stream.commit_on == StreamSettings::CommitOn::kFirstEvent);
  // Its own key, a key of the file, a variable of the environment.
  CHECK(acme.circuit_breaker.success_threshold == 4);
  CHECK(acme.retry.initial_backoff == 250ms);
  CHECK(acme.failover.retry_on_statuses == StatusSet().AddCode(503));
  CHECK(acme.circuit_breaker.timeout == 20s);
  // What is about the whole route is the route's.
  CHECK(acme.failover.judge == FailoverSettings::Judge::kEvery);
  CHECK(acme.failover.backoff_initial == 100ms);
  CHECK(acme.timeouts.deadline_factor == 2);
  CHECK(settings.global.retry.max_retries == 2);
}

TEST_CASE("A provider may go back to the other profile") {
  const Settings settings = Good("profile: retry_first\n" + Acme("    profile: failover_first\n"));
  CHECK(settings.For("acme").circuit_breaker.span_models == 2);
  CHECK(settings.For("acme").rate_limit.classify);
  CHECK(settings.For("acme").failover.error_body == FailoverSettings::ErrorBody::kProvider);
}

TEST_CASE("R11 a list that is written replaces the default list, and [] means none") {
  const Settings settings = Good(
      "profile: retry_first\n"
      "resilience:\n"
      "  retry: {retry_on_statuses: []}\n"
      "  circuit_breaker: {failure_on_statuses: [500]}\n" +
      Acme("    resilience: {circuit_breaker: {failure_on_statuses: []}}\n"));
  CHECK(settings.global.retry.retry_on_statuses.empty());
  CHECK(settings.global.retry.on_transport == RetrySettings::OnTransport::kAny);
  CHECK(settings.global.circuit_breaker.failure_on_statuses == StatusSet().AddCode(500));
  CHECK(settings.For("acme").circuit_breaker.failure_on_statuses.empty());
}

TEST_CASE("R12 retried statuses and charged statuses are independent lists") {
  const Settings settings = Good(
      "resilience:\n"
      "  retry: {retry_on_statuses: [5xx]}\n"
      "  circuit_breaker: {failure_on_statuses: []}\n");
  CHECK(settings.global.retry.retry_on_statuses.Contains(500));
  CHECK_FALSE(settings.global.circuit_breaker.failure_on_statuses.Contains(500));
}

TEST_CASE("R76 errors name the path, under a provider too") {
  CHECK(Errors("resilience: {retry: {retry_on_statuses: [oops]}}\n")
            .find("h.yaml:1: resilience.retry.retry_on_statuses[0]: ") == 0);
  CHECK(Errors("resilience: {circuit_breaker: {scope: vendor}}\n") ==
        "h.yaml:1: resilience.circuit_breaker.scope: \"vendor\" is not known here; write model or "
        "provider");
  CHECK(Errors(Acme("    resilience: {retry: {max_retries: -1}}\n")) ==
        "h.yaml:5: providers.acme.resilience.retry.max_retries: \"-1\" is out of range; write 0 to "
        "10");
  CHECK(Errors("resilience: {circuit_breaker: {slow_call_threshold: -1s}}\n") ==
        "h.yaml:1: resilience.circuit_breaker.slow_call_threshold: \"-1s\" is negative; write a "
        "duration 0s to 24h");
}

TEST_CASE("A default span is dropped silently under scope provider") {
  CHECK(Good("resilience: {circuit_breaker: {scope: provider}}\n")
            .global.circuit_breaker.span_models == 0);
  const Settings settings = Good("resilience: {circuit_breaker: {span_models: 3}}\n" +
                                 Acme("    resilience: {circuit_breaker: {scope: provider}}\n"));
  CHECK(settings.global.circuit_breaker.span_models == 3);
  CHECK(settings.For("acme").circuit_breaker.span_models == 0);
}

TEST_CASE("A span written beside scope provider is an error") {
  const std::string message =
      "counts open models, and scope: provider has no circuits of models; remove it, or write "
      "scope: model";
  CHECK(Errors("resilience: {circuit_breaker: {scope: provider, span_models: 1}}\n") ==
        "h.yaml:1: resilience.circuit_breaker.span_models: " + message);
  CHECK(Errors("settings: {circuit_breaker_span_models: 1}\n",
               {{"CIRCUIT_BREAKER_SCOPE", "provider"}}) ==
        "h.yaml:1: settings.circuit_breaker_span_models: " + message);
  CHECK(Errors(Acme("    profile: retry_first\n"
                    "    resilience: {circuit_breaker: {span_models: 1}}\n")) ==
        "h.yaml:6: providers.acme.resilience.circuit_breaker.span_models: " + message);
  CHECK(Errors("resilience: {circuit_breaker: {scope: provider, span_models: 0}}\n").empty());
}

TEST_CASE("An exact code beats a class only where the code was written") {
  const std::string prefix = "resilience:\n  circuit_breaker:\n";
  CHECK(Errors(prefix + "    failure_on_statuses: [4xx, 5xx]\n") ==
        "h.yaml:3: resilience.circuit_breaker.failure_on_statuses: 402 is in open_on_statuses too, "
        "which was not written here; leave it in one list\n"
        "h.yaml:3: resilience.circuit_breaker.failure_on_statuses: 404 is in neutral_on_statuses "
        "too, which was not written here; leave it in one list");
  CHECK(Errors(prefix + "    failure_on_statuses: [4xx, 5xx]\n"
                        "    open_on_statuses: [402]\n    neutral_on_statuses: [404, 499]\n")
            .empty());
}

TEST_CASE("A profile that makes the lists of a provider overlap is an error at the profile") {
  const std::string text =
      "profile: retry_first\n"
      "resilience: {circuit_breaker: {failure_on_statuses: [404, 5xx]}}\n";
  CHECK(Errors(text).empty());
  CHECK(Errors(text + Acme("    profile: failover_first\n")) ==
        "h.yaml:7: providers.acme.profile: puts 404 into both failure_on_statuses and "
        "neutral_on_statuses; write one of these lists here");
}

TEST_CASE("Refused keys charged to a whole provider are warned about") {
  const std::string message =
      "401 is charged under scope: provider, so one model that the key may not use can block every "
      "model of its provider";
  CHECK(Warnings("resilience: {circuit_breaker: {scope: provider}}\n") ==
        std::vector<std::string>{"h.yaml:1: resilience.circuit_breaker.scope: " + message});
  CHECK(Warnings("profile: retry_first\n"
                 "resilience: {circuit_breaker: {failure_on_statuses: [401]}}\n") ==
        std::vector<std::string>{"h.yaml:2: resilience.circuit_breaker.failure_on_statuses: " +
                                 message});
  CHECK(Warnings("", {{"CIRCUIT_BREAKER_SCOPE", "provider"}}) ==
        std::vector<std::string>{"environment:0: CIRCUIT_BREAKER_SCOPE: " + message});
  CHECK(Warnings("profile: retry_first\n").empty());
}

TEST_CASE("R63a a slow-call threshold below the waits or above the timeout is warned about") {
  // 1s, 2s and 4s, each up to a tenth longer.
  CHECK(Warnings("profile: retry_first\n"
                 "resilience: {circuit_breaker: {slow_call_threshold: 7s}}\n") ==
        std::vector<std::string>{
            "h.yaml:2: resilience.circuit_breaker.slow_call_threshold: the waits between repeats "
            "alone may take 7.7s, more than slow_call_threshold (7s): a good answer behind them is "
            "charged as slow"});
  CHECK(Warnings("profile: retry_first\n"
                 "resilience: {circuit_breaker: {slow_call_threshold: 8s}}\n")
            .empty());
  CHECK(Warnings("profile: retry_first\n"
                 "resilience: {circuit_breaker: {slow_call_threshold: 7s},\n"
                 "             retry: {max_retries: 0}}\n")
            .empty());
  CHECK(Warnings("resilience: {circuit_breaker: {slow_call_threshold: 61s}}\n") ==
        std::vector<std::string>{
            "h.yaml:1: resilience.circuit_breaker.slow_call_threshold: slow_call_threshold (1m1s) "
            "is above timeouts.request_timeout (1m), which ends an attempt before it counts as "
            "slow"});
}

}  // namespace
