// Values set at run time: precedence, pins, durability and threads.
#include "libhotel/settings/layered_settings.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hotel/live_settings.h"

#include "absl/status/status.h"
#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel;
using namespace hotel::settings;
using namespace std::chrono_literals;

using Values = std::vector<std::pair<std::string, std::string>>;

class MapStore final : public SettingsStore {
 public:
  absl::StatusOr<std::vector<StoredSetting>> ReadSettings() override {
    std::vector<StoredSetting> list;
    for (const auto& [key, value] : rows) list.push_back({key, value});
    return list;
  }
  absl::Status WriteSettings(const std::vector<StoredSetting>& put,
                             const std::vector<std::string>& erase) override {
    if (fails) return absl::UnavailableError("the disk is full");
    for (const std::string& key : erase) rows.erase(key);
    for (const StoredSetting& row : put) rows[row.key] = row.value;
    return absl::OkStatus();
  }
  std::map<std::string, std::string> rows;
  bool fails = false;
};

struct World {
  explicit World(std::string_view text = "", Env env = {},
                 std::map<std::string, std::string> rows = {}) {
    store.rows = std::move(rows);
    ReadResult result = Read(text, std::move(env));
    REQUIRE(Lines(result.errors) == std::vector<std::string>{});
    auto opened = LayeredSettings::Open(result.config.layers, &store, &ignored);
    REQUIRE(opened.ok());
    live = *std::move(opened);
  }
  EngineSettings Global() const { return live->Current()->global; }
  std::string Put(const Values& values) { return Text(live->Put(values)); }
  std::string Reset(const std::vector<std::string>& names) { return Text(live->Reset(names)); }
  SettingInfo Info(std::string_view name) const {
    for (const SettingInfo& info : live->List()) {
      if (info.name == name) return info;
    }
    return {};
  }
  static std::string Text(const absl::Status& status) {
    if (status.ok()) return "";
    return absl::StatusCodeToString(status.code()) + ": " + std::string(status.message());
  }

  MapStore store;
  std::vector<IgnoredSetting> ignored;
  std::unique_ptr<LayeredSettings> live;
};

using Rows = std::map<std::string, std::string>;

TEST_CASE("A value set at run time is in force for whoever looks next, and is stored") {
  World world;
  const std::shared_ptr<const Settings> before = world.live->Current();
  CHECK(world.Put({{"circuit_breaker_cooldown", "90s"},
                   {"failover.exhaustion", "last_error"},
                   {"circuit_breaker.failure_threshold", " 7 "},
                   {"resilience.retry.retry_on_statuses", "429, 5xx"},
                   {"resilience.retry.jitter_factor", "0.00001"}}) == "");
  CHECK(world.Global().circuit_breaker.timeout == 90s);
  CHECK_FALSE(world.Global().failover.exhaustion_status_429);
  CHECK(world.Global().circuit_breaker.failure_threshold == 7);
  CHECK(world.Global().retry.retry_on_statuses == StatusSet().AddCode(429).AddClass(5));
  // Who started before keeps what it has.
  CHECK(before->global.circuit_breaker.timeout == 60s);
  CHECK(world.store.rows == Rows{{"resilience.circuit_breaker.timeout", "1m30s"},
                                 {"failover.exhaustion", "last_error"},
                                 {"resilience.circuit_breaker.failure_threshold", "7"},
                                 {"resilience.retry.retry_on_statuses", "429,5xx"},
                                 {"resilience.retry.jitter_factor", "0.00001"}});

  World again("", {}, world.store.rows);
  CHECK(again.ignored.empty());
  CHECK(again.Global().circuit_breaker.timeout == 90s);
  CHECK(again.Global().retry.jitter_factor == 0.00001);
  CHECK_FALSE(again.Global().failover.exhaustion_status_429);
}

TEST_CASE("Decisions 3: environment, then file, then run time, then profile, then built-in") {
  World world("profile: retry_first\nresilience: {retry: {max_retries: 4}}\n",
              {{"RETRY_MAX_BACKOFF", "20s"}},
              {{"resilience.retry.max_retries", "6"},
               {"resilience.retry.max_backoff", "6s"},
               {"resilience.retry.initial_backoff", "2s"}});
  CHECK(world.Global().retry.max_backoff == 20s);
  CHECK(world.Global().retry.max_retries == 4);
  CHECK(world.Global().retry.initial_backoff == 2s);
  CHECK(world.Global().circuit_breaker.success_threshold == 2);
  CHECK(world.Global().retry.backoff_factor == 2);

  const auto origin = [&world](const char* name) {
    const SettingInfo info = world.Info(name);
    return std::string(SettingOriginName(info.origin)) + " " + info.where +
           (info.pinned ? " pinned" : "");
  };
  CHECK(origin("resilience.retry.max_backoff") == "environment RETRY_MAX_BACKOFF pinned");
  CHECK(origin("resilience.retry.max_retries") == "file h.yaml:2 pinned");
  CHECK(origin("resilience.retry.initial_backoff") == "runtime ");
  CHECK(origin("resilience.circuit_breaker.success_threshold") == "profile retry_first");
  CHECK(origin("resilience.retry.backoff_factor") == "default ");
}

TEST_CASE("A pinned key is refused with the name of what pins it, and nothing is set") {
  World world("settings:\n  ttft_timeout: 5s\nfailover:\n  retry_on_statuses: [503]\n",
              {{"RETRY_MAX_RETRIES", "1"}});
  CHECK(world.Put({{"timeouts.ttft_timeout", "6s"}, {"stream_stall_timeout", "6s"}}) ==
        "FAILED_PRECONDITION: timeouts.ttft_timeout: is pinned by h.yaml:2 "
        "(settings.ttft_timeout); change it there");
  CHECK(world.Put({{"retry.max_retries", "6"}}) ==
        "FAILED_PRECONDITION: retry.max_retries: is pinned by the environment variable "
        "RETRY_MAX_RETRIES; change it there");
  // Another spelling of what the file says.
  CHECK(world.Put({{"failover_on_rate_limit", "true"}}) ==
        "FAILED_PRECONDITION: failover_on_rate_limit: is pinned by h.yaml:4 "
        "(failover.retry_on_statuses); change it there");
  CHECK(world.Info("failover_on_rate_limit").pinned);
  CHECK(world.Global().timeouts.stream_stall_timeout == 30s);
  CHECK(world.store.rows.empty());
}

TEST_CASE("All or nothing: every mistake is named and nothing is set") {
  World world;
  CHECK(world.Put({{"ttft_timeout", "5s"},
                   {"ttft_timout", "5s"},
                   {"zzz", "1"},
                   {"circuit_breaker_threshold", "0"},
                   {"request_timeout", "soon"},
                   {"failover.exhaustion", "maybe"}}) ==
        "INVALID_ARGUMENT: ttft_timout: is no option; did you mean \"ttft_timeout\"?\n"
        "zzz: is no option\n"
        "circuit_breaker_threshold: \"0\" is out of range; write 1 to 100\n"
        "request_timeout: \"soon\" is not a duration; write a number with a unit, such as 500ms, "
        "30s or 5m\n"
        "failover.exhaustion: \"maybe\" is not known here; write honest_429 or last_error");
  CHECK(world.Global().timeouts.ttft_timeout == 60s);
  CHECK(world.store.rows.empty());
  CHECK(world.Put({{"ttft_timeout", "5s"}, {"timeouts.ttft_timeout", "6s"}}) ==
        "INVALID_ARGUMENT: timeouts.ttft_timeout: is the same option as ttft_timeout; keep one of "
        "them");
  CHECK(world.Put({{"failover.retry_on_statuses", std::string(501, '4')}}) ==
        "INVALID_ARGUMENT: failover.retry_on_statuses: is longer than 500 bytes");
  CHECK(world.Put(Values(51, {"ttft_timeout", "5s"})) ==
        "INVALID_ARGUMENT: 51 options at once are too many; set at most 50");
}

TEST_CASE("Values that do not go together are refused, also with what a provider wrote") {
  World world(Acme("    resilience: {circuit_breaker: {neutral_on_statuses: [418]}}\n"));
  CHECK(world.Put({{"circuit_breaker.neutral_on_statuses", "429"}}) ==
        "INVALID_ARGUMENT: circuit_breaker.neutral_on_statuses: 429 is in failure_on_statuses too, "
        "which was not written here; leave it in one list");
  CHECK(
      world.Put({{"circuit_breaker.failure_on_statuses", "418,5xx"}}) ==
      "INVALID_ARGUMENT: h.yaml:5: providers.acme.resilience.circuit_breaker.neutral_on_statuses: "
      "418 is in failure_on_statuses too, which was not written here; leave it in one list");
  CHECK(world.Put({{"circuit_breaker.scope", "provider"}, {"circuit_breaker_span_models", "2"}})
            .find("circuit_breaker_span_models: counts open models") != std::string::npos);
  // Together they do.
  CHECK(world.Put({{"circuit_breaker.neutral_on_statuses", "429"},
                   {"circuit_breaker.failure_on_statuses", "5xx"}}) == "");
  CHECK(world.Reset({"circuit_breaker.failure_on_statuses"}).find("429 is in") !=
        std::string::npos);
  CHECK(world.Reset(
            {"circuit_breaker.failure_on_statuses", "circuit_breaker.neutral_on_statuses"}) == "");
}

TEST_CASE("What is set last by one of two spellings is what counts") {
  World world;
  CHECK(world.Put({{"failover.retry_on_statuses", "429,503"}}) == "");
  CHECK(world.Put({{"failover_on_rate_limit", "false"}}) == "");
  CHECK_FALSE(world.Global().failover.retry_on_statuses.Contains(429));
  CHECK_FALSE(world.Global().circuit_breaker.failure_on_statuses.Contains(429));
  CHECK(world.store.rows == Rows{{"failover_on_rate_limit", "false"}});
  CHECK(world.Info("failover.retry_on_statuses").origin == SettingOrigin::kRuntime);
  CHECK(world.Info("resilience.circuit_breaker.failure_on_statuses").origin ==
        SettingOrigin::kRuntime);
  CHECK(world.Put({{"failover.retry_on_statuses", "429"}}) == "");
  CHECK(world.Global().circuit_breaker.failure_on_statuses.Contains(429));
  CHECK(world.store.rows == Rows{{"failover.retry_on_statuses", "429"}});
  CHECK(world.Put({{"server_error_retry_enabled", "false"}}) == "");
  CHECK(world.Info("failover.last_candidate_retry.statuses").value.empty());
}

TEST_CASE("Reset takes back what was set, by either name, or everything") {
  World world;
  REQUIRE(world.Put({{"ttft_timeout", "5s"}, {"request_timeout", "9s"}, {"judge", "x"}}) != "");
  REQUIRE(world.Put({{"ttft_timeout", "5s"}, {"request_timeout", "9s"}}) == "");
  CHECK(world.Reset({"timeouts.ttft_timeout"}) == "");
  CHECK(world.Global().timeouts.ttft_timeout == 60s);
  CHECK(world.Global().timeouts.request_timeout == 9s);
  CHECK(world.store.rows == Rows{{"timeouts.request_timeout", "9s"}});
  CHECK(world.Reset({"ttft_timeout"}) == "");  // not set: no error
  CHECK(world.Reset({"request_timeout", "nonsense"}) == "INVALID_ARGUMENT: nonsense: is no option");
  CHECK(world.Global().timeouts.request_timeout == 9s);
  CHECK(world.Reset({}) == "");
  CHECK(world.Global().timeouts.request_timeout == 60s);
  CHECK(world.store.rows.empty());
}

TEST_CASE("A change that cannot be stored changes nothing") {
  World world;
  world.store.fails = true;
  CHECK(world.Put({{"ttft_timeout", "5s"}}) == "UNAVAILABLE: the disk is full");
  CHECK(world.Global().timeouts.ttft_timeout == 60s);
}

TEST_CASE("Stored values that have become invalid are named and ignored, never fatal") {
  World world("resilience: {circuit_breaker: {scope: provider, open_on_statuses: []}}\n", {},
              {{"gone_option", "1"},
               {"timeouts.ttft_timeout", "a while"},
               {"request_timeout", "9s"},
               {"timeouts.request_timeout", "8s"},
               {"resilience.circuit_breaker.span_models", "3"},
               {"resilience.circuit_breaker.neutral_on_statuses", "429"},
               {"stream_stall_timeout", "11s"}});
  std::map<std::string, std::string> ignored;
  for (const IgnoredSetting& each : world.ignored) ignored[each.key] = each.reason;
  CHECK(ignored.size() == 5);
  CHECK(ignored["gone_option"] == "is no option");
  CHECK(ignored["timeouts.ttft_timeout"].find("is not a duration") != std::string::npos);
  CHECK(ignored["timeouts.request_timeout"] == "is stored under another name too");
  CHECK(ignored["resilience.circuit_breaker.span_models"].find("scope: provider") !=
        std::string::npos);
  CHECK(ignored["resilience.circuit_breaker.neutral_on_statuses"].find("429 is in") !=
        std::string::npos);
  CHECK(world.Global().timeouts.ttft_timeout == 60s);
  CHECK(world.Global().timeouts.request_timeout == 9s);
  CHECK(world.Global().timeouts.stream_stall_timeout == 11s);
  CHECK(world.Global().circuit_breaker.span_models == 0);

  // They can be swept out, one by one or together.
  CHECK(world.Reset({"gone_option"}) == "");
  CHECK(world.store.rows.count("gone_option") == 0);
  CHECK(world.Put({{"request_timeout", "7s"}}) == "");
  CHECK(world.store.rows.count("request_timeout") == 0);
  CHECK(world.store.rows["timeouts.request_timeout"] == "7s");
  CHECK(world.Reset({}) == "");
  CHECK(world.store.rows.empty());
}

TEST_CASE("A provider follows global values set at run time, not over what it wrote itself") {
  World world(
      Acme("    profile: retry_first\n"
           "    timeouts: {ttft_timeout: 3s}\n"));
  CHECK(world.Put({{"ttft_timeout", "5s"}, {"request_timeout", "9s"}}) == "");
  const auto now = world.live->Current();
  CHECK(now->For("acme").timeouts.ttft_timeout == 3s);
  CHECK(now->For("acme").timeouts.request_timeout == 9s);
  CHECK(now->For("acme").retry.max_retries == 3);
  CHECK(now->For("other").timeouts.ttft_timeout == 5s);
}

TEST_CASE("The list holds every option with its value in both spellings") {
  World world;
  const std::vector<SettingInfo> list = world.live->List();
  CHECK(list.size() == hotel::settings::Options().size());
  const SettingInfo exhaustion = world.Info("failover.exhaustion");
  CHECK(exhaustion.value == "honest_429");
  CHECK(exhaustion.flat_value == "true");
  CHECK(exhaustion.flat_key == "failover_exhaustion_status_429");
  CHECK(exhaustion.type == "word");
  CHECK_FALSE(exhaustion.per_provider);
  const SettingInfo timeout = world.Info("timeouts.request_timeout");
  CHECK(timeout.value == "1m");
  CHECK(timeout.default_value == "1m");
  CHECK(timeout.range == "above 0s, at most 24h");
  CHECK(timeout.per_provider);
  // What is listed can be set.
  for (const SettingInfo& info : list) {
    INFO(info.name);
    CHECK(world.Put({{info.name, info.value}}) == "");
    CHECK(world.Info(info.name).value == info.value);
    CHECK(world.Reset({info.name}) == "");
  }
}

TEST_CASE("Readers see whole states while a writer changes several options at once") {
  World world;
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!done) {
        const auto now = world.live->Current();
        if (now->global.timeouts.ttft_timeout != now->global.timeouts.stream_stall_timeout &&
            now->global.timeouts.ttft_timeout != 60s) {
          ++torn;
        }
        if (world.live->List().empty()) ++torn;
      }
    });
  }
  bool good = true;
  for (int i = 1; i <= 100; ++i) {
    const std::string value = std::to_string(i) + "s";
    good = good && world.live->Put({{"ttft_timeout", value}, {"stream_stall_timeout", value}}).ok();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(good);
  CHECK(torn == 0);
  CHECK(world.Global().timeouts.ttft_timeout == 100s);
}

}  // namespace
