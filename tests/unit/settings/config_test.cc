// Whole files: errors with their places, the server block, variables, duplicates.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel;
using namespace hotel::settings;
using namespace std::chrono_literals;

TEST_CASE("A wrong key, a bad duration and an unknown provider are three errors in line order") {
  CHECK(Errors("server:\n"
               "  listn: 127.0.0.1:1\n"
               "timeouts:\n"
               "  ttft_timeout: 3 sec\n"
               "providers:\n"
               "  acme:\n"
               "    type: openai\n"
               "    base_url: https://api.acme.example/v1\n"
               "failover_groups:\n"
               "  demo:\n"
               "    - acme/a\n"
               "    - amce/b\n") ==
        "h.yaml:2: server.listn: unknown key; did you mean \"listen\"?\n"
        "h.yaml:4: timeouts.ttft_timeout: \"3 sec\" is not a duration; write a number with a unit, "
        "such as 500ms, 30s or 5m\n"
        "h.yaml:12: failover_groups.demo[1]: names the provider \"amce\", which is not under "
        "providers; did you mean \"acme\"?");
}

TEST_CASE("A complete file reads into its parts, whatever the order of its blocks") {
  const ReadResult result = Read(
      "virtual_keys:\n"
      "  - {name: dev, key: \"${DEV_KEY}\"}\n"
      "failover_groups:\n"
      "  GLM-4.6: [My Acme/z-ai/glm-4.6, other/zai-org/glm-4.6]\n"
      "providers:\n"
      "  My Acme:\n"
      "    type: openai\n"
      "    base_url: http://127.0.0.1:9000/v1/\n"
      "    api_key: ${ACME_KEY:-}\n"
      "    models: [z-ai/glm-4.6]\n"
      "  other: {type: anthropic, base_url: \"https://other.example\", enabled: false,\n"
      "          api_key: \"$$x\"}\n"
      "server:\n"
      "  listen: \"[::1]:0\"\n"
      "  data_dir: /tmp/hotel\n"
      "  require_virtual_key: false\n"
      "  allow_http_providers: true\n"
      "  allowed_provider_hosts: [\"127.0.0.1:9000\"]\n"
      "  trusted_proxies: [10.0.0.7, \"fd00::/8\"]\n"
      "  drain_delay: 5s\n"
      "  drain_timeout: 3s\n"
      "  max_request_size: 1MiB\n"
      "  max_head_size: 16KiB\n"
      "  log_requests: false\n"
      "  store_requests: false\n"
      "  max_headers: 50\n"
      "  head_timeout: 1s\n"
      "  body_timeout: 2s\n"
      "  client_write_timeout: 3s\n"
      "  keep_alive_timeout: 4s\n"
      "  max_connections: 500\n"
      "  event_loops: 3\n",
      {{"DEV_KEY", "k1"}});
  REQUIRE(Lines(result.errors) == std::vector<std::string>{});
  const Config& config = result.config;
  CHECK(config.server.listen_host == "::1");
  CHECK(config.server.listen_port == 0);
  CHECK(config.server.data_dir == "/tmp/hotel");
  CHECK_FALSE(config.server.require_virtual_key);
  CHECK(config.server.addresses.allow_http);
  CHECK(config.server.addresses.allowed_hosts == std::vector<std::string>{"127.0.0.1:9000"});
  REQUIRE(config.server.trusted_proxies.size() == 2);
  CHECK(config.server.trusted_proxies[1].Contains(*base::IpAddress::ParsePlain("fd01::1")));
  CHECK(config.server.drain_delay == 5s);
  CHECK(config.server.drain_timeout == 3s);
  CHECK(config.server.max_request_size == 1u << 20);
  CHECK(config.server.max_head_size == 16u << 10);
  CHECK_FALSE(config.server.log_requests);
  CHECK_FALSE(config.server.store_requests);
  CHECK(config.server.max_headers == 50);
  CHECK(config.server.head_timeout == 1s);
  CHECK(config.server.body_timeout == 2s);
  CHECK(config.server.client_write_timeout == 3s);
  CHECK(config.server.keep_alive_timeout == 4s);
  CHECK(config.server.max_connections == 500);
  CHECK(config.server.event_loops == 3);

  REQUIRE(config.providers.size() == 2);
  CHECK(config.providers[0].name == "My Acme");
  CHECK(config.providers[0].type == "openai");
  CHECK(config.providers[0].base_url == "http://127.0.0.1:9000/v1");
  CHECK(config.providers[0].api_key.empty());
  CHECK(config.providers[0].enabled);
  CHECK(config.providers[0].models == std::vector<std::string>{"z-ai/glm-4.6"});
  CHECK(config.providers[1].api_key.Reveal() == "$x");
  CHECK_FALSE(config.providers[1].enabled);
  CHECK_FALSE(config.providers[1].models.has_value());

  REQUIRE(config.groups.size() == 1);
  CHECK(config.groups[0].name == "glm-4.6");
  CHECK(config.groups[0].members ==
        std::vector<std::string>{"My-Acme/z-ai/glm-4.6", "other/zai-org/glm-4.6"});
  REQUIRE(config.virtual_keys.size() == 1);
  CHECK(config.virtual_keys[0].name == "dev");
  CHECK(config.virtual_keys[0].key.Reveal() == "k1");
}

TEST_CASE("Keys are never shown in an error") {
  const std::string key = "tok-very-secret-0123456789";
  const std::string text =
      "providers:\n"
      "  acme:\n"
      "    type: ${KEY}\n"
      "    base_url: ${KEY}\n"
      "    api_key: \"${KEY}\\n\"\n"
      "    enabled: ${KEY}\n"
      "    models: ${KEY}\n"
      "timeouts: {request_timeout: \"${KEY}\", long_factor: \"${KEY}\"}\n"
      "failover_groups: {g: [\"${KEY}\"]}\n"
      "virtual_keys: [{name: a, key: \"${KEY}\"}, {name: b, key: \"${KEY}\"}]\n"
      "server: {listen: \"${KEY}\", drain_timeout: \"${KEY}\", max_request_size: \"${KEY}\"}\n"
      "profile: ${KEY}\n";
  const std::string errors = Errors(text, {{"KEY", key}});
  CHECK(Read(text, {{"KEY", key}}).errors.size() == 13);
  CHECK(errors.find(key) == std::string::npos);
  CHECK(errors.find("${KEY}") != std::string::npos);
}

TEST_CASE("Unset variables are errors unless they have a default") {
  CHECK(Errors("server:\n  data_dir: ${NOT_SET}\n") ==
        "h.yaml:2: server.data_dir: the environment variable NOT_SET is not set; set it, or write "
        "${NOT_SET:-default}");
  CHECK(Read("server: {data_dir: \"${A:-x}/${B:-y}\"}\n", {{"A", "a"}, {"B", ""}})
            .config.server.data_dir == "a/y");
  CHECK(Read("server: {data_dir: \"a$$b$c${EMPTY}\"}\n", {{"EMPTY", ""}}).config.server.data_dir ==
        "a$b$c");
  CHECK(Errors("server: {data_dir: \"${A\"}\n").find("without a closing brace") !=
        std::string::npos);
  CHECK(Errors("server: {data_dir: \"${1A}\"}\n").find("no variable name") != std::string::npos);
}

TEST_CASE("A variable's value is never parsed as YAML or expanded again") {
  const ReadResult result = Read("server: {data_dir: \"${A}\"}\n", {{"A", "x: [${B}]\n"}});
  CHECK(result.errors.empty());
  CHECK(result.config.server.data_dir == "x: [${B}]\n");
}

TEST_CASE("Duplicate keys are errors wherever they stand") {
  CHECK(Errors("server: {}\n"
               "timeouts:\n"
               "  long_factor: 2\n"
               "  long_factor: 3\n"
               "server: {}\n") ==
        "h.yaml:4: timeouts.long_factor: is written twice, first in line 3; keep one of them\n"
        "h.yaml:5: server: is written twice, first in line 1; keep one of them");
}

TEST_CASE("The example of the contract loads, with every block that it names") {
  const ReadResult result = Read(R"yaml(
server:
  listen: 127.0.0.1:8081
  data_dir: ./data
  require_virtual_key: true
  allow_http_providers: false
  allowed_provider_hosts: []
  drain_timeout: 10s
profile: failover_first
resilience: {retry: {max_retries: 1}, circuit_breaker: {failure_threshold: 4}}
settings: {ttft_timeout: 5s}
failover: {exhaustion: last_error}
rate_limit: {classify: false}
inflight_limiter: {grow_after: 7}
timeouts: {request_timeout: 61s}
stream: {commit_on: first_event}
providers:
  acme:
    type: openai
    base_url: https://api.acme.example/v1
    api_key: ${ACME_KEY}
    models: [z-ai/glm-4.6, a]
    max_in_flight: 4
    profile: retry_first
  other:
    type: openai
    base_url: https://api.other.example/v1
failover_groups:
  glm-4.6: [acme/z-ai/glm-4.6, other/zai-org/glm-4.6]
virtual_models:
  - {source: resilient-chat, strategy: failover, targets: [{model: acme/a}, {model: other/b}]}
virtual_keys:
  - {name: dev, key: "${DEV_KEY}"}
)yaml",
                                 {{"ACME_KEY", "k"}, {"DEV_KEY", "d"}});
  CHECK(Lines(result.errors) == std::vector<std::string>{});
  CHECK(Lines(result.warnings) == std::vector<std::string>{});
  const EngineSettings& global = result.config.settings.global;
  CHECK(global.retry.max_retries == 1);
  CHECK(global.circuit_breaker.failure_threshold == 4);
  CHECK(global.timeouts.ttft_timeout == std::chrono::seconds(5));
  CHECK_FALSE(global.failover.exhaustion_status_429);
  CHECK_FALSE(global.rate_limit.classify);
  CHECK(global.inflight_limiter.grow_after == 7);
  CHECK(global.timeouts.request_timeout == std::chrono::seconds(61));
  CHECK(global.stream.commit_on == StreamSettings::CommitOn::kFirstEvent);
  CHECK(result.config.settings.For("acme").circuit_breaker.success_threshold == 2);
  CHECK(result.config.virtual_models.size() == 1);
}

TEST_CASE("Unknown keys name the nearest known one, or all of them") {
  CHECK(Errors("timeout: {}\n") == "h.yaml:1: timeout: unknown key; did you mean \"timeouts\"?");
  CHECK(Errors("zzz: 1\n") ==
        "h.yaml:1: zzz: unknown key; known ones are: client_limits, discovery, failover, hedging, "
        "inflight_limiter, "
        "log, rate_limit, "
        "resilience, stream, timeouts, server, profile, settings, providers, failover_groups, "
        "virtual_models, virtual_keys");
  CHECK(Errors("settings: {request_timout: 1s}\n") ==
        "h.yaml:1: settings.request_timout: unknown key; did you mean \"request_timeout\"?");
  CHECK(Errors("resilience: {zzz: {}}\n") ==
        "h.yaml:1: resilience.zzz: unknown key; known ones are: circuit_breaker, retry");
}

TEST_CASE("A block of the wrong kind says what it should be") {
  CHECK(Errors("- a\n") == "h.yaml:1: is a list; write a mapping (key: value)");
  CHECK(Errors("timeouts: 5s\n") ==
        "h.yaml:1: timeouts: is a single value; write a mapping (key: value)");
  CHECK(Errors("timeouts: {request_timeout: [1s]}\n") ==
        "h.yaml:1: timeouts.request_timeout: is a list; write a single value");
}

TEST_CASE("Listening without keys is for loopback addresses only") {
  CHECK(Errors("server:\n  listen: 127.0.0.1:1\n  require_virtual_key: false\n").empty());
  CHECK(Errors("server:\n  require_virtual_key: false\n").empty());
  CHECK(Errors("server:\n  require_virtual_key: false\n  listen: :8081\n") ==
        "h.yaml:2: server.require_virtual_key: false would open every provider to the network; "
        "listen on a loopback address such as 127.0.0.1, or leave it true");
}

TEST_CASE("Values of the server block are checked") {
  CHECK(
      Errors("server:\n"
             "  listen: here\n"
             "  data_dir: ''\n"
             "  require_virtual_key: perhaps\n"
             "  allowed_provider_hosts: [http://a, 'b c']\n"
             "  trusted_proxies: [10.0.0.0/33, proxy.internal]\n"
             "  drain_delay: 2h\n"
             "  drain_timeout: 10\n"
             "  max_request_size: 10\n"
             "  head_timeout: 1ms\n"
             "  max_headers: many\n"
             "  max_connections: 0\n"
             "  event_loops: 17\n") ==
      "h.yaml:2: server.listen: \"here\" is not an address to listen on; write HOST:PORT, such "
      "as 127.0.0.1:8081, [::1]:8081 or :8081\n"
      "h.yaml:3: server.data_dir: is empty; write a directory\n"
      "h.yaml:4: server.require_virtual_key: \"perhaps\" is neither true nor false; write one of "
      "them\n"
      "h.yaml:5: server.allowed_provider_hosts[0]: \"http://a\" is not a host; write a host, "
      "HOST:PORT or an address, without a scheme or path, or a socket as in unix:/run/model.sock\n"
      "h.yaml:5: server.allowed_provider_hosts[1]: \"b c\" is not a host; write a host, "
      "HOST:PORT or an address, without a scheme or path, or a socket as in unix:/run/model.sock\n"
      "h.yaml:6: server.trusted_proxies[0]: \"10.0.0.0/33\" is not an address or a network; write "
      "10.0.0.7, 10.1.0.0/16 or fd00::/8\n"
      "h.yaml:6: server.trusted_proxies[1]: \"proxy.internal\" is not an address or a network; "
      "write 10.0.0.7, 10.1.0.0/16 or fd00::/8\n"
      "h.yaml:7: server.drain_delay: \"2h\" is not a duration up to 1h; write a number with a "
      "unit, "
      "such as 500ms, 30s or 5m\n"
      "h.yaml:8: server.drain_timeout: \"10\" is not a duration up to 24h; write a number with a "
      "unit, such as 500ms, 30s or 5m\n"
      "h.yaml:9: server.max_request_size: \"10\" is not a size from 1KiB to 1GiB; write bytes, or "
      "a number with a unit, such as 50MiB\n"
      "h.yaml:10: server.head_timeout: \"1ms\" is not a duration from 100ms to 1h; write a number "
      "with a unit, such as 500ms, 30s or 5m\n"
      "h.yaml:11: server.max_headers: \"many\" is not a whole number from 10 to 10000\n"
      "h.yaml:12: server.max_connections: \"0\" is not a whole number from 1 to 1000000\n"
      "h.yaml:13: server.event_loops: \"17\" is not a whole number from 1 to 16");
}

TEST_CASE("TRUSTED_PROXIES in the environment wins over the file") {
  const std::string file = "server: {trusted_proxies: [10.0.0.7]}\n";
  const auto proxies = [&file](const std::string& variable) {
    return ReadConfig(file, "h.yaml", Lookup({{"TRUSTED_PROXIES", variable}}));
  };
  const auto trusts = [](const ReadResult& read, const char* address) {
    for (const auto& network : read.config.server.trusted_proxies) {
      if (network.Contains(*base::IpAddress::ParsePlain(address))) return true;
    }
    return false;
  };
  const ReadResult both = proxies("192.0.2.0/24, 2001:db8::1");
  CHECK(both.errors.empty());
  CHECK(trusts(both, "192.0.2.9"));
  CHECK(trusts(both, "2001:db8::1"));
  CHECK_FALSE(trusts(both, "10.0.0.7"));
  CHECK(trusts(proxies(" "), "10.0.0.7"));
  CHECK(ReadConfig("", "h.yaml", Lookup({})).config.server.trusted_proxies.empty());
  const ReadResult wrong = proxies("192.0.2.0/24,proxy");
  REQUIRE(wrong.errors.size() == 1);
  CHECK(wrong.errors[0].ToString().find("TRUSTED_PROXIES: \"proxy\" is not an address or a "
                                        "network; write 10.0.0.7, 10.1.0.0/16 or fd00::/8, "
                                        "separated by commas") != std::string::npos);
}

TEST_CASE("Files are read, and what cannot be read is an error") {
  const std::string path = "/tmp/hotel-config-test-" + std::to_string(getpid()) + ".yaml";
  std::ofstream(path) << "server: {data_dir: x}\nzzzz: 1\n";
  const ReadResult result = ReadConfigFile(path, Lookup({}));
  std::remove(path.c_str());
  CHECK(result.config.server.data_dir == "x");
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors[0].file == path);
  CHECK(result.errors[0].line == 2);

  CHECK(
      Lines(ReadConfigFile("/nonexistent/h.yaml", Lookup({})).errors) ==
      std::vector<std::string>{"/nonexistent/h.yaml:0: cannot be read: No such file or directory"});
  CHECK(Lines(ReadConfigFile("/tmp", Lookup({})).errors) ==
        std::vector<std::string>{"/tmp:0: cannot be read: Is a directory"});
}

TEST_CASE("The process environment is looked up by name") {
  CHECK(ProcessEnv()("PATH").has_value());
  CHECK_FALSE(ProcessEnv()("HOTEL_NO_SUCH_VARIABLE").has_value());
}

}  // namespace
