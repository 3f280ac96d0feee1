#include "libhotel/settings/registry.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "hotel/defaults.h"

#include "tests/support/catch.h"

namespace {

using namespace hotel;
using namespace hotel::settings;
using namespace std::chrono_literals;

// What decisions 2 say, in their own spelling; both columns.
struct DefaultRow {
  const char* name;
  const char* failover_first;
  const char* retry_first;
};
constexpr DefaultRow kDecisions2[] = {
    {"resilience.circuit_breaker.enabled", "true", "true"},
    {"resilience.circuit_breaker.scope", "model", "provider"},
    {"resilience.circuit_breaker.span_models", "2", "0"},
    {"resilience.circuit_breaker.failure_threshold", "5", "5"},
    {"resilience.circuit_breaker.success_threshold", "1", "2"},
    {"resilience.circuit_breaker.half_open_max_in_flight", "0", "1"},
    {"resilience.circuit_breaker.timeout", "60s", "30s"},
    {"resilience.circuit_breaker.backoff_max", "15m", "0"},
    {"resilience.circuit_breaker.quota_pin_max", "24h", "0"},
    {"resilience.circuit_breaker.pin_probe_interval", "1h", "0"},
    {"resilience.circuit_breaker.failure_on_statuses", "401, 403, 429, 5xx", "429, 5xx"},
    {"resilience.circuit_breaker.open_on_statuses", "402", "none"},
    {"resilience.circuit_breaker.neutral_on_statuses", "404, 499", "none"},
    {"resilience.circuit_breaker.open_on_exhaustion", "true", "true"},
    {"resilience.circuit_breaker.slow_call_threshold", "0", "0"},
    {"resilience.circuit_breaker.block_direct", "false", "true"},
    {"resilience.circuit_breaker.stream_verdict", "end", "start"},
    {"resilience.circuit_breaker.max_models", "256", "1024"},
    {"resilience.circuit_breaker.on_capacity", "grow", "reject"},
    {"rate_limit.classify", "true", "false"},
    {"rate_limit.saturation_max_wait", "60s", "60s"},
    {"rate_limit.recent_success_window", "60s", "60s"},
    {"resilience.retry.retry_on_statuses", "none", "429,502,503,504,522,524"},
    {"resilience.retry.max_retries", "2", "3"},
    {"resilience.retry.on_transport", "replay_safe", "any"},
    {"resilience.retry.initial_backoff", "100ms", "1s"},
    {"resilience.retry.max_backoff", "500ms", "30s"},
    {"resilience.retry.backoff_factor", "2", "2"},
    {"resilience.retry.jitter_factor", "0.1", "0.1"},
    {"resilience.retry.streaming", "transport", "never"},
    {"resilience.retry.retry_after", "ignore", "ignore"},
    {"inflight_limiter.enabled", "true", "false"},
    {"inflight_limiter.grow_after", "20", "20"},
    {"inflight_limiter.forget_after", "10m", "10m"},
    {"timeouts.request_timeout", "60s", "600s"},
    {"timeouts.long_factor", "10", "1"},
    {"timeouts.deadline_factor", "2", "0"},
    {"timeouts.ttft_timeout", "60s", "0"},
    {"timeouts.stream_stall_timeout", "30s", "300s"},
    {"timeouts.stream_stall_factor", "3", "1"},
    {"timeouts.upstream_header_timeout", "120s", "600s"},
    {"timeouts.connect_timeout", "10s", "10s"},
    {"stream.commit_on", "first_output", "first_event"},
    {"failover.retry_on_statuses", "401,402,403,404,429,499,5xx", "429, 5xx"},
    {"failover.backoff.initial", "100ms", "0"},
    {"failover.backoff.max", "2s", "0"},
    {"failover.last_candidate_retry.statuses", "500,502,503,504", "none"},
    {"failover.last_candidate_retry.wait_saturated", "true", "false"},
    {"failover.exhaustion", "honest_429", "last_error"},
    {"failover.error_body", "gateway", "provider"},
    {"failover.judge", "every", "first"},
    {"failover.endpoints", "all", "chat, responses, messages"},
    {"failover.enabled", "true", "true"},
    {"failover.max_attempts", "0", "0"},
    {"hedging.enabled", "false", "false"},
    {"hedging.delay", "4s", "4s"},
    {"log.retention", "0", "0"},
    {"client_limits.enabled", "true", "true"},
    {"client_limits.ip_enabled", "true", "true"},
    {"client_limits.ip_rps", "0", "0"},
    {"client_limits.ip_burst", "60", "60"},
    {"client_limits.rps", "0", "0"},
    {"client_limits.burst", "20", "20"},
    {"client_limits.tpm", "0", "0"},
    {"client_limits.max_wait_ms", "200", "200"},
    {"discovery.enabled", "true", "true"},
    {"discovery.interval", "6h", "1h"},
    {"discovery.on_startup", "true", "true"},
    {"discovery.on_provider_create", "true", "true"},
    {"discovery.recheck_interval", "60s", "60s"},
    {"discovery.prune_days", "7", "7"},
};

TEST_CASE("The defaults of both profiles are those of decisions 2, and every option has them") {
  std::set<std::string_view> seen;
  for (const DefaultRow& row : kDecisions2) {
    INFO(row.name);
    const Option* option = FindOption(row.name);
    REQUIRE(option != nullptr);
    seen.insert(row.name);
    for (std::size_t profile = 0; profile < kProfiles.size(); ++profile) {
      const auto wanted =
          ParseOption(*option, profile == 0 ? row.failover_first : row.retry_first, false);
      REQUIRE(wanted.ok());
      CHECK(FormatOption(*option, option->get(ProfileDefaults(profile))) ==
            FormatOption(*option, *wanted));
    }
  }
  for (const Option& option : Options()) {
    INFO(option.path);
    if (!option.path.empty()) CHECK(seen.count(option.path) == 1);
  }
  CHECK(kProfiles[0] == "failover_first");
  CHECK(kProfiles[1] == "retry_first");
}

TEST_CASE("A word of a configuration leads to the enumerator of its name") {
  const EngineSettings first = Settings::Defaults().global;
  CHECK(first.circuit_breaker.scope == CircuitBreakerSettings::Scope::kModel);
  CHECK(first.circuit_breaker.on_capacity == CircuitBreakerSettings::OnCapacity::kGrow);
  CHECK(first.circuit_breaker.stream_verdict == CircuitBreakerSettings::StreamVerdict::kEnd);
  CHECK(first.retry.on_transport == RetrySettings::OnTransport::kReplaySafe);
  CHECK(first.retry.streaming == RetrySettings::Streaming::kTransport);
  CHECK(first.retry.retry_after == RetrySettings::RetryAfter::kIgnore);
  CHECK(first.failover.judge == FailoverSettings::Judge::kEvery);
  CHECK(first.failover.error_body == FailoverSettings::ErrorBody::kGateway);
  CHECK(first.failover.exhaustion_status_429);
  CHECK(first.stream.commit_on == StreamSettings::CommitOn::kFirstOutput);

  EngineSettings other = first;
  const auto set = [&other](const char* path, const char* word) {
    const Option& option = *FindOption(path);
    option.set(&other, *ParseOption(option, word, false));
  };
  set("resilience.circuit_breaker.scope", "provider");
  set("resilience.circuit_breaker.on_capacity", "reject");
  set("resilience.circuit_breaker.stream_verdict", "start");
  set("resilience.retry.on_transport", "any");
  set("resilience.retry.streaming", "before_commit");
  set("resilience.retry.retry_after", "floor");
  set("failover.judge", "first");
  set("failover.error_body", "provider");
  set("failover.exhaustion", "last_error");
  set("stream.commit_on", "first_event");
  CHECK(other.circuit_breaker.scope == CircuitBreakerSettings::Scope::kProvider);
  CHECK(other.circuit_breaker.on_capacity == CircuitBreakerSettings::OnCapacity::kReject);
  CHECK(other.circuit_breaker.stream_verdict == CircuitBreakerSettings::StreamVerdict::kStart);
  CHECK(other.retry.on_transport == RetrySettings::OnTransport::kAny);
  CHECK(other.retry.streaming == RetrySettings::Streaming::kBeforeCommit);
  CHECK(other.retry.retry_after == RetrySettings::RetryAfter::kFloor);
  CHECK(other.failover.judge == FailoverSettings::Judge::kFirst);
  CHECK(other.failover.error_body == FailoverSettings::ErrorBody::kProvider);
  CHECK_FALSE(other.failover.exhaustion_status_429);
  CHECK(other.stream.commit_on == StreamSettings::CommitOn::kFirstEvent);
  set("resilience.retry.on_transport", "none");
  set("resilience.retry.streaming", "never");
  CHECK(other.retry.on_transport == RetrySettings::OnTransport::kNone);
  CHECK(other.retry.streaming == RetrySettings::Streaming::kNever);
}

TEST_CASE("Every option has a way to be written, a default in range and a line of help") {
  std::set<std::string_view> paths;
  std::set<std::string_view> flat_keys;
  std::set<std::string_view> variables;
  for (const Option& option : Options()) {
    INFO(option.path << " " << option.flat_key);
    CHECK_FALSE((option.path.empty() && option.flat_key.empty()));
    if (!option.path.empty()) CHECK(paths.insert(option.path).second);
    if (!option.flat_key.empty()) CHECK(flat_keys.insert(option.flat_key).second);
    if (!option.env.empty()) CHECK(variables.insert(option.env).second);
    CHECK_FALSE(option.help.empty());
    if (!option.path.empty()) CHECK(FindOption(option.path) == &option);
    if (!option.flat_key.empty()) CHECK(FindFlatOption(option.flat_key) == &option);
    for (std::size_t profile = 0; profile < kProfiles.size(); ++profile) {
      const auto value = ParseOption(option, option.defaults[profile], false);
      REQUIRE(value.ok());
      const EngineSettings settings = ProfileDefaults(profile);
      CHECK(FormatOption(option, option.get(settings)) == FormatOption(option, *value));
    }
  }
}

TEST_CASE("Setting an option changes what is read back, and nothing else") {
  for (const Option& option : Options()) {
    if (option.path.empty()) continue;
    INFO(option.path);
    const std::string_view other =
        option.type == OptionType::kBool       ? (option.defaults[0] == "true" ? "false" : "true")
        : option.type == OptionType::kInt      ? "7"
        : option.type == OptionType::kNumber   ? "1"
        : option.type == OptionType::kDuration ? "7s"
        : option.type == OptionType::kChoice   ? option.words[option.word_count - 1]
        : option.type == OptionType::kStatuses ? "418"
                                               : "stt";
    EngineSettings settings = ProfileDefaults(0);
    option.set(&settings, *ParseOption(option, other, false));
    for (const Option& each : Options()) {
      if (each.path.empty()) continue;
      const std::string got = FormatOption(each, each.get(settings));
      const std::string expected = FormatOption(
          each, *ParseOption(each, &each == &option ? other : each.defaults[0], false));
      CHECK(got == expected);
    }
  }
}

TEST_CASE("The runtime keys and variables of the two seeds lead to their options") {
  const auto path_of = [](const char* key) {
    const Option* option = FindFlatOption(key);
    return option == nullptr ? std::string("none") : std::string(option->path);
  };
  CHECK(path_of("circuit_breaker_cooldown") == "resilience.circuit_breaker.timeout");
  CHECK(path_of("circuit_breaker_threshold") == "resilience.circuit_breaker.failure_threshold");
  CHECK(path_of("circuit_breaker_enabled") == "resilience.circuit_breaker.enabled");
  CHECK(path_of("circuit_breaker_open_on_exhaustion") ==
        "resilience.circuit_breaker.open_on_exhaustion");
  CHECK(path_of("request_timeout") == "timeouts.request_timeout");
  CHECK(path_of("ttft_timeout") == "timeouts.ttft_timeout");
  CHECK(path_of("failover_exhaustion_status_429") == "failover.exhaustion");
  CHECK(path_of("failover_on_rate_limit").empty());
  CHECK(path_of("server_error_retry_enabled").empty());
  CHECK(path_of("stream_stall_timeout") == "timeouts.stream_stall_timeout");
  CHECK(path_of("circuit_breaker_span_models") == "resilience.circuit_breaker.span_models");
  CHECK(path_of("circuit_breaker_backoff_max") == "resilience.circuit_breaker.backoff_max");
  CHECK(path_of("circuit_breaker_quota_pin_max") == "resilience.circuit_breaker.quota_pin_max");
  CHECK(path_of("circuit_breaker_pin_probe_interval") ==
        "resilience.circuit_breaker.pin_probe_interval");
  CHECK(path_of("rate_limit_classify_enabled") == "rate_limit.classify");
  CHECK(path_of("rate_limit_saturation_max_wait") == "rate_limit.saturation_max_wait");
  CHECK(path_of("rate_limit_recent_success_window") == "rate_limit.recent_success_window");
  CHECK(path_of("inflight_limiter_enabled") == "inflight_limiter.enabled");
  CHECK(path_of("inflight_grow_after") == "inflight_limiter.grow_after");
  CHECK(path_of("inflight_forget_after") == "inflight_limiter.forget_after");
  CHECK(path_of("rate_limit_enabled") == "client_limits.enabled");
  CHECK(path_of("rate_limit_ip_enabled") == "client_limits.ip_enabled");
  CHECK(path_of("rate_limit_ip_rps") == "client_limits.ip_rps");
  CHECK(path_of("rate_limit_ip_burst") == "client_limits.ip_burst");
  CHECK(path_of("rate_limit_rps") == "client_limits.rps");
  CHECK(path_of("rate_limit_burst") == "client_limits.burst");
  CHECK(path_of("rate_limit_tpm") == "client_limits.tpm");
  CHECK(path_of("rate_limit_max_wait_ms") == "client_limits.max_wait_ms");
  CHECK(path_of("nothing") == "none");
  CHECK(FindFlatOption("") == nullptr);
  CHECK(FindOption("") == nullptr);
  const std::map<std::string, std::string> variables = {
      {"RETRY_ON_STATUSES", "retry.retry_on_statuses"},
      {"RETRY_MAX_RETRIES", "retry.max_retries"},
      {"RETRY_INITIAL_BACKOFF", "retry.initial_backoff"},
      {"RETRY_MAX_BACKOFF", "retry.max_backoff"},
      {"RETRY_BACKOFF_FACTOR", "retry.backoff_factor"},
      {"RETRY_JITTER_FACTOR", "retry.jitter_factor"},
      {"CIRCUIT_BREAKER_ENABLED", "circuit_breaker.enabled"},
      {"CIRCUIT_BREAKER_FAILURE_ON_STATUSES", "circuit_breaker.failure_on_statuses"},
      {"CIRCUIT_BREAKER_SCOPE", "circuit_breaker.scope"},
      {"CIRCUIT_BREAKER_FAILURE_THRESHOLD", "circuit_breaker.failure_threshold"},
      {"CIRCUIT_BREAKER_SUCCESS_THRESHOLD", "circuit_breaker.success_threshold"},
      {"CIRCUIT_BREAKER_TIMEOUT", "circuit_breaker.timeout"},
      {"CIRCUIT_BREAKER_SLOW_CALL_THRESHOLD", "circuit_breaker.slow_call_threshold"},
      {"RATE_LIMIT_ENABLED", "client_limits.enabled"},
      {"RATE_LIMIT_IP_RPS", "client_limits.ip_rps"},
      {"RATE_LIMIT_IP_BURST", "client_limits.ip_burst"},
      {"RATE_LIMIT_RPS", "client_limits.rps"},
      {"RATE_LIMIT_BURST", "client_limits.burst"},
      {"RATE_LIMIT_TPM", "client_limits.tpm"},
      {"RATE_LIMIT_MAX_WAIT_MS", "client_limits.max_wait_ms"},
      {"DISCOVERY_ENABLED", "discovery.enabled"},
      {"CACHE_REFRESH_INTERVAL", "discovery.interval"},
      {"PROVIDER_RECHECK_INTERVAL", "discovery.recheck_interval"}};
  std::map<std::string, std::string> found;
  for (const Option& option : Options()) {
    if (option.env.empty()) continue;
    constexpr std::string_view kBlock = "resilience.";
    const bool inside = option.path.substr(0, kBlock.size()) == kBlock;
    found[std::string(option.env)] = option.path.substr(inside ? kBlock.size() : 0);
  }
  CHECK(found == variables);
}

TEST_CASE("A runtime key has the range of facts b where the path allows more or less") {
  const auto flat = [](const char* key, const char* text) {
    const Option& option = *FindFlatOption(key);
    const auto value = ParseOption(option, text, true);
    return value.ok() ? FormatOption(option, *value) : std::string(value.status().message());
  };
  CHECK(flat("circuit_breaker_threshold", "0") == "is out of range; write 1 to 100");
  CHECK(flat("circuit_breaker_span_models", "0") == "is out of range; write 1 to 100");
  CHECK(flat("circuit_breaker_span_models", "100") == "100");
  CHECK(flat("inflight_grow_after", "1001") == "is out of range; write 1 to 1000");
  // "<=0 -> 1m", "<=0 -> 60s", "<=0 -> 10m"; negatives are mistakes (decisions 2).
  CHECK(flat("circuit_breaker_cooldown", "0s") == "1m");
  CHECK(flat("rate_limit_saturation_max_wait", "0") == "1m");
  CHECK(flat("inflight_forget_after", "0s") == "10m");
  CHECK(flat("inflight_forget_after", "-1s") ==
        "is negative; write a duration 0s to 720h, 0s for 10m");
  // A stored zero switches these off.
  CHECK(flat("circuit_breaker_backoff_max", "0s") == "0s");
  CHECK(flat("circuit_breaker_quota_pin_max", "0s") == "0s");
  CHECK(flat("circuit_breaker_pin_probe_interval", "0s") == "0s");
  CHECK(flat("stream_stall_timeout", "0s") == "0s");
  CHECK(flat("ttft_timeout", "1m0s") == "1m");
  CHECK(flat("failover_exhaustion_status_429", "false") == "last_error");
  CHECK(flat("failover_exhaustion_status_429", "true") == "honest_429");
  CHECK(flat("failover_exhaustion_status_429", "honest_429") ==
        "is neither true nor false; write one of them");
  const Option& exhaustion = *FindOption("failover.exhaustion");
  CHECK(FormatOption(exhaustion, *ParseOption(exhaustion, "last_error", false), true) == "false");
}

TEST_CASE("Values are refused with a sentence that says what to write") {
  const auto problem = [](const char* path, const char* text) {
    const auto value = ParseOption(*FindOption(path), text, false);
    return value.ok() ? std::string("accepted") : std::string(value.status().message());
  };
  CHECK(problem("timeouts.request_timeout", "0s") ==
        "is out of range; write a duration above 0s, at most 24h");
  CHECK(problem("timeouts.request_timeout", "24h1ns").find("out of range") != std::string::npos);
  CHECK(problem("timeouts.request_timeout", "24h") == "accepted");
  CHECK(problem("timeouts.ttft_timeout", "0") == "accepted");
  CHECK(problem("timeouts.long_factor", "0") == "is out of range; write 1 to 100");
  CHECK(problem("timeouts.long_factor", "1.5") == "is not a whole number; write 1 to 100");
  CHECK(problem("timeouts.long_factor", "") == "is not a whole number; write 1 to 100");
  CHECK(problem("timeouts.deadline_factor", "-1") == "is out of range; write 0 to 100");
  CHECK(problem("resilience.circuit_breaker.failure_threshold", "99999999999999999999") ==
        "is out of range; write 0 to 100");
  CHECK(problem("resilience.circuit_breaker.failure_threshold", "0") == "accepted");
  for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1e1", "nan", "inf", "1.5x", " 1"}) {
    INFO(text);
    CHECK(problem("resilience.retry.backoff_factor", text) == "is not a number; write 1 to 100");
  }
  for (const char* text : {"0.99", "100.01", "999999999999999999999999999999"}) {
    CHECK(problem("resilience.retry.backoff_factor", text) == "is out of range; write 1 to 100");
  }
  CHECK(problem("resilience.retry.backoff_factor", "1.5") == "accepted");
  CHECK(problem("resilience.retry.jitter_factor", "1.1") == "is out of range; write 0 to 1");
  CHECK(problem("resilience.retry.jitter_factor", "0.05") == "accepted");
  CHECK(problem("resilience.retry.max_retries", "-1") == "is out of range; write 0 to 10");
  CHECK(problem("resilience.retry.on_transport", "all") ==
        "is not known here; write none, replay_safe or any");
  CHECK(problem("resilience.circuit_breaker.scope", "Model") ==
        "is not known here; write model or provider");
  CHECK(problem("resilience.retry.max_backoff", "-5s") == "is negative; write a duration 0s to 1h");
  CHECK(problem("resilience.circuit_breaker.enabled", "maybe") ==
        "is neither true nor false; write one of them");
  CHECK(problem("resilience.circuit_breaker.enabled", "Off") == "accepted");
  CHECK(problem("resilience.circuit_breaker.enabled", "1") == "accepted");
  CHECK(problem("resilience.circuit_breaker.enabled", "2") != "accepted");
  CHECK(problem("failover.exhaustion", "true") ==
        "is not known here; write honest_429 or last_error");
  CHECK(problem("failover.retry_on_statuses", "429,6xx") ==
        "is not a list of statuses; write codes and classes, such as 429,5xx");
}

TEST_CASE("Statuses are codes from 100 to 599 and classes 1xx to 5xx") {
  StatusSet set;
  for (const char* good : {"100", "429", "599", "5xx", "4XX"}) CHECK(AddStatus(good, &set));
  CHECK(set == StatusSet().AddCode(100).AddCode(429).AddCode(599).AddClass(5).AddClass(4));
  for (const char* bad : {"", "99", "600", "6xx", "0xx", "42x", "4290", "-29", "xxx", " 429"}) {
    INFO(bad);
    CHECK_FALSE(AddStatus(bad, &set));
  }
}

TEST_CASE("A list as text may be empty or in brackets") {
  const Option& option = *FindOption("failover.retry_on_statuses");
  CHECK(std::get<StatusSet>(*ParseOption(option, "", false)).empty());
  CHECK(std::get<StatusSet>(*ParseOption(option, "[]", false)).empty());
  CHECK(std::get<StatusSet>(*ParseOption(option, "None", false)).empty());
  CHECK(std::get<StatusSet>(*ParseOption(option, " [ 429 , 5xx ] ", false)) ==
        StatusSet().AddCode(429).AddClass(5));
  CHECK_FALSE(ParseOption(option, "429,,5xx", false).ok());
}

TEST_CASE("failover_on_rate_limit=false takes 429 out of both lists (decisions 10)") {
  const Option& option = *FindFlatOption("failover_on_rate_limit");
  EngineSettings settings = ProfileDefaults(0);
  option.set(&settings, OptionValue(false));
  CHECK_FALSE(settings.failover.retry_on_statuses.Contains(429));
  CHECK_FALSE(settings.circuit_breaker.failure_on_statuses.Contains(429));
  CHECK(settings.failover.retry_on_statuses.Contains(404));
  CHECK(settings.circuit_breaker.failure_on_statuses.Contains(999));
  CHECK(std::get<bool>(option.get(settings)) == false);
  option.set(&settings, OptionValue(true));
  CHECK(settings.failover.retry_on_statuses == ProfileDefaults(0).failover.retry_on_statuses);
  CHECK(settings.circuit_breaker.failure_on_statuses.Contains(429));

  SECTION("also when a class covers it") {
    settings.failover.retry_on_statuses = StatusSet().AddClass(4).AddClass(5);
    option.set(&settings, OptionValue(false));
    CHECK_FALSE(settings.failover.retry_on_statuses.Contains(429));
    for (const int status : {400, 428, 430, 499, 500, 600}) {
      CHECK(settings.failover.retry_on_statuses.Contains(status));
    }
  }
}

TEST_CASE("server_error_retry_enabled is the last candidate's list, empty or its default") {
  const Option& option = *FindFlatOption("server_error_retry_enabled");
  EngineSettings settings = ProfileDefaults(0);
  CHECK(std::get<bool>(option.get(settings)));
  option.set(&settings, OptionValue(false));
  CHECK(settings.failover.last_candidate_statuses.empty());
  CHECK_FALSE(std::get<bool>(option.get(settings)));
  option.set(&settings, OptionValue(true));
  CHECK(settings.failover.last_candidate_statuses ==
        ProfileDefaults(0).failover.last_candidate_statuses);
  settings.failover.last_candidate_statuses = StatusSet().AddCode(503);
  option.set(&settings, OptionValue(true));
  CHECK(settings.failover.last_candidate_statuses == StatusSet().AddCode(503));
}

TEST_CASE("R84 intervals of discovery may be bare seconds") {
  const Option& recheck = *FindOption("discovery.recheck_interval");
  CHECK(FormatOption(recheck, *ParseOption(recheck, "90", false)) == "1m30s");
  CHECK(FormatOption(recheck, *ParseOption(recheck, "2m", false)) == "2m");
  CHECK_FALSE(ParseOption(recheck, "86401", false).ok());
  CHECK_FALSE(ParseOption(*FindOption("timeouts.ttft_timeout"), "90", false).ok());
}

TEST_CASE("Names below a block are listed once each") {
  CHECK(OptionNames("", false) == std::vector<std::string>{"client_limits", "discovery", "failover",
                                                           "hedging", "inflight_limiter", "log",
                                                           "rate_limit", "resilience", "stream",
                                                           "timeouts"});
  CHECK(OptionNames("failover", false) ==
        std::vector<std::string>{"backoff", "enabled", "endpoints", "error_body", "exhaustion",
                                 "judge", "last_candidate_retry", "max_attempts",
                                 "retry_on_statuses"});
  CHECK(OptionNames("failover", true) == std::vector<std::string>{"retry_on_statuses"});
  CHECK(OptionNames("failover.backoff", false) == std::vector<std::string>{"initial", "max"});
  CHECK(OptionNames("fail", false).empty());
}

TEST_CASE("A provider without own options has the global ones") {
  Settings settings = Settings::Defaults();
  settings.providers["acme"] = settings.global;
  settings.providers["acme"].timeouts.request_timeout = 5s;
  CHECK(settings.For("acme").timeouts.request_timeout == 5s);
  CHECK(&settings.For("other") == &settings.global);
  const auto source = MakeFixedSettings(settings);
  CHECK(source->Current()->For("acme").timeouts.request_timeout == 5s);
  CHECK(source->Current() == source->Current());
}

TEST_CASE("docs/options.md is what the table says") {
  const std::string path = std::string(HOTEL_SOURCE_DIR) + "/docs/options.md";
  // Run once with HOTEL_UPDATE_DOCS set to write the page anew.
  if (std::getenv("HOTEL_UPDATE_DOCS") != nullptr) std::ofstream(path) << OptionsMarkdown();
  std::ifstream file(path);
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CHECK(page == OptionsMarkdown());
}

}  // namespace
