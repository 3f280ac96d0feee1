#include "libhotel/settings/registry.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "hotel/defaults.h"

#include "tests/support/catch.h"

namespace {

using namespace hotel;
using namespace hotel::settings;
using namespace std::chrono_literals;

TEST_CASE("The defaults of failover_first are those of decisions 2") {
  const EngineSettings d = Settings::Defaults().global;
  CHECK(d.circuit_breaker.enabled);
  CHECK(d.circuit_breaker.failure_threshold == 5);
  CHECK(d.circuit_breaker.timeout == 60s);
  CHECK(d.circuit_breaker.failure_on_statuses ==
        StatusSet().AddCode(401).AddCode(403).AddCode(429).AddClass(5));
  CHECK(d.circuit_breaker.open_on_statuses == StatusSet().AddCode(402));
  CHECK(d.circuit_breaker.neutral_on_statuses == StatusSet().AddCode(404).AddCode(499));
  CHECK(d.circuit_breaker.open_on_exhaustion);
  CHECK(d.failover.retry_on_statuses == StatusSet()
                                            .AddCode(401)
                                            .AddCode(402)
                                            .AddCode(403)
                                            .AddCode(404)
                                            .AddCode(429)
                                            .AddCode(499)
                                            .AddClass(5));
  CHECK(d.failover.backoff_initial == 100ms);
  CHECK(d.failover.backoff_max == 2s);
  CHECK(d.failover.exhaustion_status_429);
  CHECK(d.retry.max_retries == 2);
  CHECK(d.retry.initial_backoff == 100ms);
  CHECK(d.retry.max_backoff == 500ms);
  CHECK(d.retry.backoff_factor == 2);
  CHECK(d.retry.jitter_factor == 0.1);
  CHECK(d.retry.on_transport == RetrySettings::OnTransport::kReplaySafe);
  CHECK(d.retry.streaming == RetrySettings::Streaming::kTransport);
  CHECK(d.timeouts.request_timeout == 60s);
  CHECK(d.timeouts.long_factor == 10);
  CHECK(d.timeouts.deadline_factor == 2);
  CHECK(d.timeouts.ttft_timeout == 60s);
  CHECK(d.timeouts.upstream_header_timeout == 120s);
  CHECK(d.timeouts.connect_timeout == 10s);
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
    for (const std::string_view text : option.defaults) {
      const auto value = ParseOption(option, text, false);
      REQUIRE(value.ok());
      EngineSettings settings = ProfileDefaults(0);
      CHECK(FormatOption(option, option.get(settings)) == FormatOption(option, *value));
    }
  }
}

TEST_CASE("Setting an option changes what is read back, and nothing else") {
  for (const Option& option : Options()) {
    if (option.path.empty()) continue;
    INFO(option.path);
    const std::string_view other = option.type == OptionType::kBool       ? "false"
                                   : option.type == OptionType::kInt      ? "7"
                                   : option.type == OptionType::kNumber   ? "1"
                                   : option.type == OptionType::kDuration ? "7s"
                                   : option.type == OptionType::kChoice   ? option.words[1]
                                                                          : "418";
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
  CHECK(path_of("nothing") == "none");
  CHECK(FindFlatOption("") == nullptr);
  CHECK(FindOption("") == nullptr);
  CHECK(FindOption("resilience.circuit_breaker.timeout")->env == "CIRCUIT_BREAKER_TIMEOUT");
  for (const char* path :
       {"max_retries", "initial_backoff", "max_backoff", "backoff_factor", "jitter_factor"}) {
    std::string variable = "RETRY_";
    for (const char* c = path; *c != 0; ++c) variable += *c == '_' ? '_' : char(*c - 'a' + 'A');
    CHECK(FindOption(std::string("resilience.retry.") + path)->env == variable);
  }
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
  CHECK(problem("resilience.retry.on_transport", "any") ==
        "is not known here; write replay_safe or none");
  CHECK(problem("resilience.circuit_breaker.enabled", "maybe") ==
        "is neither true nor false; write one of them");
  CHECK(problem("resilience.circuit_breaker.enabled", "Off") == "accepted");
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

TEST_CASE("Names below a block are listed once each") {
  CHECK(OptionNames("", false) == std::vector<std::string>{"failover", "resilience", "timeouts"});
  CHECK(OptionNames("failover", false) ==
        std::vector<std::string>{"backoff", "exhaustion", "retry_on_statuses"});
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
