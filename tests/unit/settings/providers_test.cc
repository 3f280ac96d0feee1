// The rules of providers, groups and virtual keys.
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/settings/support.h"

namespace {

using namespace hotel;
using namespace hotel::settings;

std::string Provider(const std::string& name, const std::string& more = "") {
  return "providers:\n  " + name + ":\n    type: openai\n    base_url: https://a.example\n" + more;
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("A provider needs a type and a URL") {
  CHECK(Errors("providers:\n  acme: {}\n  other:\n") ==
        "h.yaml:2: providers.acme: has no type; write type: openai, or the type it speaks\n"
        "h.yaml:2: providers.acme: has no base_url; write the https:// URL of its API\n"
        "h.yaml:3: providers.other: has no type; write type: openai, or the type it speaks\n"
        "h.yaml:3: providers.other: has no base_url; write the https:// URL of its API");
  CHECK(Errors("providers:\n  acme: {type: custom}\n") ==
        "h.yaml:2: providers.acme: has no base_url; write the https:// URL of its API");
}

TEST_CASE("The types of one vendor have its URL when none is written") {
  const ReadResult result = Read("providers:\n  a: {type: openai}\n  b: {type: anthropic}\n");
  CHECK(Lines(result.errors).empty());
  CHECK(result.config.providers[0].base_url == "https://api.openai.com/v1");
  CHECK(result.config.providers[1].base_url == "https://api.anthropic.com/v1");
  CHECK(Errors("providers:\n  acme: yes\n") ==
        "h.yaml:2: providers.acme: is a single value; write a mapping (key: value)");
}

TEST_CASE("An unknown type is an error that lists the known ones (decisions 10)") {
  const std::string errors = Errors("providers: {a: {type: acme, base_url: https://a.example}}\n");
  CHECK(errors.find("h.yaml:1: providers.a.type: \"acme\" is not a provider type; write one of: "
                    "openai, anthropic") == 0);
  CHECK(errors.find("zai-coding") != std::string::npos);
}

TEST_CASE("F175 a base_url that holds a key, or more than an address, is a load error") {
  const auto errors = [](const std::string& url) {
    return Errors("providers:\n  acme:\n    type: openai\n    base_url: \"" + url + "\"\n");
  };
  CHECK(errors("https://a.example/v1?api_key=sk-hidden") ==
        "h.yaml:4: providers.acme.base_url: the URL holds a query (?...), of which only "
        "?api-version=<version> may stand there; give the key as api_key and leave the rest out");
  CHECK(errors("https://a.example/v1#sk-hidden") ==
        "h.yaml:4: providers.acme.base_url: the URL holds a fragment (#...), which never goes to a "
        "server; leave it out");
  CHECK(errors("https://me:sk-hidden@a.example/v1") ==
        "h.yaml:4: providers.acme.base_url: the URL holds user information (name@host); give the "
        "key as api_key instead");
  CHECK(errors("https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21").empty());
}

TEST_CASE("Provider names are 1 to 100 characters without a slash") {
  CHECK(Errors(Provider(std::string(100, 'a'))).empty());
  CHECK(Errors(Provider("Acme Inc 2.0")).empty());
  CHECK(Errors(Provider(std::string(101, 'a'))).find("has 1 to 100 characters") !=
        std::string::npos);
  CHECK(Errors(Provider(Repeated("\xC3\xA9", 100))).empty());
  CHECK(Errors(Provider(Repeated("\xC3\xA9", 101))).find("has 1 to 100 characters") !=
        std::string::npos);
  CHECK(Errors(Provider("''")).find("has 1 to 100 characters") != std::string::npos);
  CHECK(Errors(Provider("a/b")).find("holds no '/'") != std::string::npos);
  CHECK(Errors(Provider("\"a\\tb\"")).find("no control characters") != std::string::npos);
  CHECK(Errors(Provider("' a'")).find("outer spaces") != std::string::npos);
}

TEST_CASE("A provider named hotel or p is a load error (decisions 7)") {
  CHECK(Errors(Provider("hotel")) ==
        "h.yaml:2: providers.hotel: this name is taken by the gateway; choose another");
  CHECK(Errors(Provider("p")).find("taken by the gateway") != std::string::npos);
  CHECK(Errors(Provider("hotels")).empty());
}

TEST_CASE("Provider names must differ in their routing form") {
  CHECK(Errors("providers:\n"
               "  a b: {type: openai, base_url: https://a.example}\n"
               "  a-b: {type: openai, base_url: https://b.example}\n") ==
        "h.yaml:3: providers.a-b: is routed as \"a-b\" like the provider in line 2; choose another "
        "name");
}

TEST_CASE("Base URLs are https unless http is allowed") {
  const auto url = [](const std::string& text, const std::string& more = "") {
    return Errors(more + "providers: {a: {type: openai, base_url: \"" + text + "\"}}\n");
  };
  CHECK(url("https://a.example/v1").empty());
  CHECK(url("HTTPS://a.example").empty());
  CHECK(url("http://a.example").find("begins with http://; use https://") != std::string::npos);
  CHECK(url("http://a.example", "server: {allow_http_providers: true}\n").empty());
  CHECK(url("").find("is empty") != std::string::npos);
  for (const char* bad : {"a.example", "ftp://a", "https://", "https:///v1", "https://?q"}) {
    INFO(bad);
    CHECK(url(bad).find("is no http(s) URL") != std::string::npos);
  }
}

TEST_CASE("A URL is never quoted: it may hold credentials") {
  CHECK(Errors("providers: {a: {type: openai, base_url: \"http://user:hunter2@a.example\"}}\n")
            .find("hunter2") == std::string::npos);
}

TEST_CASE("A key with a line break is refused, an empty one is keyless") {
  CHECK(Errors(Provider("a", "    api_key: \"abc\\n\"\n")) ==
        "h.yaml:5: providers.a.api_key: holds a line break, a control character or spaces around "
        "the key; remove them");
  const ReadResult result = Read(Provider("a", "    api_key: ''\n"));
  CHECK(result.errors.empty());
  CHECK(result.config.providers[0].api_key.empty());
}

TEST_CASE("A fixed model list names each model once and at least one") {
  CHECK(Errors(Provider("a", "    models: []\n")).find("is empty, so nothing") !=
        std::string::npos);
  CHECK(Errors(Provider("a", "    models: [m, n, m]\n")) ==
        "h.yaml:5: providers.a.models[2]: \"m\" is listed twice");
  CHECK(Errors(Provider("a", "    models: m\n")).find("write a list") != std::string::npos);
  CHECK(Errors(Provider("a", "    models: ['', \"x\\ny\"]\n")) ==
        "h.yaml:5: providers.a.models[0]: is empty; write the id of a model\n"
        "h.yaml:5: providers.a.models[1]: is not a model id; write up to 256 bytes without control "
        "characters");
}

TEST_CASE("max_in_flight is a whole number from 1 to 10000, left out it is none") {
  const auto read = [](const std::string& value) {
    const ReadResult result = Read(Provider("a", "    max_in_flight: " + value + "\n"));
    CHECK(Lines(result.errors).empty());
    return result.config.providers[0].max_in_flight;
  };
  CHECK(read("1") == 1);
  CHECK(read("4") == 4);
  CHECK(read("10000") == 10000);
  CHECK(Read(Provider("a")).config.providers[0].max_in_flight == 0);
  CHECK(
      Errors(Provider("a", "    max_in_flight: 0\n")) ==
      "h.yaml:5: providers.a.max_in_flight: \"0\" is not a whole number from 1 to 10000; leave it "
      "out for no ceiling");
  for (const std::string bad : {"10001", "-1", "2.5", "4 slots", "99999999999999999999", "''"}) {
    CHECK(Errors(Provider("a", "    max_in_flight: " + bad + "\n")).find("from 1 to 10000") !=
          std::string::npos);
  }
}

TEST_CASE("facts l a provider may be left out of discovery") {
  CHECK(Read(Provider("a")).config.providers[0].autodiscovery_enabled);
  const ReadResult off = Read(Provider("a", "    autodiscovery_enabled: false\n"));
  CHECK(Lines(off.errors).empty());
  CHECK_FALSE(off.config.providers[0].autodiscovery_enabled);
  CHECK_FALSE(Errors(Provider("a", "    autodiscovery_enabled: perhaps\n")).empty());
}

TEST_CASE("Unknown provider keys are errors") {
  CHECK(Errors(Provider("a", "    api_ky: x\n")) ==
        "h.yaml:5: providers.a.api_ky: unknown key; did you mean \"api_key\"?");
}

TEST_CASE("Group members are <provider>/<model> of known providers") {
  CHECK(Errors(Acme("failover_groups:\n"
                    "  g:\n"
                    "    - acme\n"
                    "    - /m\n"
                    "    - acme/\n"
                    "    - nobody/m\n"
                    "    - acme/x/y\n")) ==
        "h.yaml:7: failover_groups.g[0]: \"acme\" does not name a model; write "
        "<provider>/<model>\n"
        "h.yaml:8: failover_groups.g[1]: \"/m\" does not name a model; write <provider>/<model>\n"
        "h.yaml:9: failover_groups.g[2]: \"acme/\" does not name a model; write "
        "<provider>/<model>\n"
        "h.yaml:10: failover_groups.g[3]: names the provider \"nobody\", which is not under "
        "providers; known ones are: acme");
  CHECK(Errors("failover_groups: {g: [a/m]}\n").find("there are none") != std::string::npos);
}

TEST_CASE("A model outside of a fixed list is an error, with the line of its entry") {
  CHECK(Errors(Acme("    models: [glm-4.6]\n"
                    "failover_groups:\n"
                    "  g:\n"
                    "    - acme/glm-4.6\n"
                    "    - acme/glm-4.7\n")) ==
        "h.yaml:9: failover_groups.g[1]: names the model \"glm-4.7\", which is not in the list of "
        "provider \"acme\"; did you mean \"glm-4.6\"?");
}

TEST_CASE("A mistake in a provider does not make it unknown to groups") {
  CHECK(Read("providers: {a: {type: nonsense}}\nfailover_groups: {g: [a/m]}\n").errors.size() == 2);
}

TEST_CASE("A group holds a model once and has at least one") {
  CHECK(Errors(Acme("failover_groups: {g: [acme/m, acme/n, acme/m]}\n")) ==
        "h.yaml:5: failover_groups.g[2]: is the same model as entry 0; a group holds a model once");
  CHECK(Errors(Acme("failover_groups: {g: []}\n")).find("has no members") != std::string::npos);
  CHECK(Errors(Acme("failover_groups: {g: acme/m}\n")).find("write a list") != std::string::npos);
  CHECK(Errors(Acme("failover_groups: {g: [acme/m]}\n")).empty());
}

TEST_CASE("Group names are 1 to 128 characters and do not differ by case") {
  CHECK(Errors(Acme("failover_groups: {" + std::string(128, 'g') + ": [acme/m]}\n")).empty());
  CHECK(Errors(Acme("failover_groups: {" + std::string(129, 'g') + ": [acme/m]}\n"))
            .find("has 1 to 128 characters") != std::string::npos);
  CHECK(Errors(Acme("failover_groups: {" + Repeated("\xF0\x9F\x8F\xA8", 128) + ": [acme/m]}\n"))
            .empty());
  CHECK_FALSE(
      Errors(Acme("failover_groups: {" + Repeated("\xF0\x9F\x8F\xA8", 129) + ": [acme/m]}\n"))
          .empty());
  CHECK(Errors(Acme("failover_groups: {' ': [acme/m]}\n")).find("has 1 to 128 characters") !=
        std::string::npos);
  CHECK(Errors(Acme("failover_groups:\n  glm: [acme/m]\n  GLM: [acme/m]\n")) ==
        "h.yaml:7: failover_groups.GLM: is the same group as the one in line 6; names do not "
        "differ by case");
}

TEST_CASE("Virtual keys have a name and a key, both unique") {
  CHECK(Errors("virtual_keys:\n"
               "  - {name: a, key: k1}\n"
               "  - {name: a, key: k2}\n"
               "  - {name: b, key: k1}\n"
               "  - {name: c, key: ''}\n"
               "  - {name: d}\n"
               "  - {key: k3}\n"
               "  - {name: e, key: k4, rps: 1}\n"
               "  - k5\n") ==
        "h.yaml:3: virtual_keys[1].name: is the name of the key in line 2 too; choose another\n"
        "h.yaml:4: virtual_keys[2].key: is the same key as in line 2; every name needs its own\n"
        "h.yaml:5: virtual_keys[3].key: is empty; write the key that clients send\n"
        "h.yaml:6: virtual_keys[4]: has no key; write key: and what clients send\n"
        "h.yaml:7: virtual_keys[5]: has no name; write name: and a word for it\n"
        "h.yaml:8: virtual_keys[6].rps: unknown key; known ones are: name, key, rate_limit_rps, "
        "rate_limit_burst, rate_limit_tpm, allowed_providers, budget_usd, budget_period\n"
        "h.yaml:9: virtual_keys[7]: is not a key; write {name: dev, key: ...}");
  CHECK(Errors("virtual_keys: {a: b}\n").find("write a list") != std::string::npos);
}

TEST_CASE("How a provider is connected to is read, the proxy as a secret") {
  const ReadResult result =
      Read(Acme("    ca_file: /etc/roots.pem\n"
                "    proxy: ${PROXY}\n"
                "    http2: true\n"
                "  local: {type: openai, base_url: \"http://model/v1\", api_key: '',\n"
                "          unix_socket: /run/model.sock}\n"
                "server: {allowed_provider_hosts: [\"unix:/run/model.sock\"]}\n"),
           {{"PROXY", "http://user:hunter2@proxy.internal:3128"}});
  CHECK(Lines(result.errors).empty());
  REQUIRE(result.config.providers.size() == 2);
  const TransportOptions& acme = result.config.providers[0].transport;
  CHECK(acme.ca_file == "/etc/roots.pem");
  CHECK(acme.proxy == Secret("http://user:hunter2@proxy.internal:3128"));
  CHECK(acme.http2);
  CHECK(acme.unix_socket.empty());
  CHECK(result.config.providers[1].transport.unix_socket == "/run/model.sock");
  CHECK(result.config.server.addresses.allowed_hosts ==
        std::vector<std::string>{"unix:/run/model.sock"});
  CHECK(Read(Acme("    proxy: ''\n")).config.providers[0].transport.IsDefault());
}

TEST_CASE("What cannot be a path, a proxy or a switch is an error that shows no password") {
  const std::string errors =
      Errors(Acme("    ca_file: ''\n"
                  "    proxy: \"http://user:hunter2@p:1\\nx\"\n"
                  "    unix_socket: [a]\n"
                  "    http2: perhaps\n"));
  CAPTURE(errors);
  for (const char* start : {"h.yaml:5: providers.acme.ca_file: is empty",
                            "h.yaml:6: providers.acme.proxy: holds a line break",
                            "h.yaml:7: providers.acme.unix_socket: ",
                            "h.yaml:8: providers.acme.http2: \"perhaps\" is neither"}) {
    CHECK(errors.find(start) != std::string::npos);
  }
  CHECK(errors.find("hunter2") == std::string::npos);
}

TEST_CASE("The transport's judgement is an error like the others, at the line it is about") {
  std::vector<std::string> asked;
  bool allow_http = false;
  const ProviderCheck check = [&](const ProviderSpec& spec, const AddressPolicy& policy) {
    asked.push_back(spec.name);
    allow_http = policy.allow_http;
    return std::vector<ProviderProblem>{{"base_url", "is an inner address"},
                                        {"proxy", "is unknown"},
                                        {"http2", "has no effect", true}};
  };
  const ReadResult result = ReadConfig(Acme("    proxy: x\n"
                                            "    timeouts: {request_timeout: fast}\n"
                                            "  broken: {type: openai, base_url: nonsense}\n"
                                            "server: {allow_http_providers: true}\n"),
                                       "h.yaml", Lookup({}), check);
  const std::vector<std::string> errors = Lines(result.errors);
  REQUIRE(errors.size() == 4);
  CHECK(errors[0] == "h.yaml:4: providers.acme.base_url: is an inner address");
  CHECK(errors[1] == "h.yaml:5: providers.acme.proxy: is unknown");
  CHECK(errors[2].find("h.yaml:6: providers.acme.timeouts.request_timeout: ") == 0);
  CHECK(errors[3].find("h.yaml:7: providers.broken.base_url: is no http(s) URL") == 0);
  // Without a line of its own the provider's.
  CHECK(Lines(result.warnings) ==
        std::vector<std::string>{"h.yaml:2: providers.acme.http2: has no effect"});
  CHECK(asked == std::vector<std::string>{"acme"});
  CHECK(allow_http);
}

TEST_CASE("Virtual keys may be limited where they stand") {
  const auto read = Read(
      "providers: {acme one: {type: openai, base_url: 'https://a.example/v1', api_key: k}}\n"
      "virtual_keys:\n"
      "  - {name: a, key: k1, rate_limit_rps: 0, rate_limit_burst: 3, rate_limit_tpm: 5000,\n"
      "     allowed_providers: [acme one], budget_usd: 12.5, budget_period: week}\n"
      "  - {name: b, key: k2}\n");
  REQUIRE(read.errors.empty());
  const VirtualKeySpec& a = read.config.virtual_keys[0];
  CHECK(a.place == "h.yaml:3: virtual_keys[0]");
  CHECK(a.limits.rps == 0);
  CHECK(a.limits.burst == 3);
  CHECK(a.limits.tpm == 5000);
  CHECK(*a.allowed_providers == std::vector<std::string>{"acme-one"});
  CHECK(a.limits.budget.amount == 12 * KeyBudget::kDollar + KeyBudget::kDollar / 2);
  CHECK(a.limits.budget.period == BudgetPeriod::kWeek);
  const VirtualKeySpec& b = read.config.virtual_keys[1];
  CHECK(b.place == "h.yaml:5: virtual_keys[1]");
  CHECK_FALSE(b.limits.rps.has_value());
  CHECK_FALSE(b.limits.has_budget);
  CHECK_FALSE(b.allowed_providers.has_value());
  CHECK(Errors("virtual_keys:\n"
               "  - {name: a, key: k1, rate_limit_rps: -1}\n"
               "  - {name: b, key: k2, rate_limit_burst: 0}\n"
               "  - {name: c, key: k3, rate_limit_tpm: many}\n"
               "  - {name: d, key: k4, budget_usd: -1}\n"
               "  - {name: e, key: k5, budget_usd: 1, budget_period: year}\n"
               "  - {name: f, key: k6, budget_period: day}\n"
               "  - {name: g, key: k7, allowed_providers: []}\n"
               "  - {name: Admin, key: k8}\n") ==
        "h.yaml:2: virtual_keys[0].rate_limit_rps: \"-1\" is not a whole number from 0 to 10000\n"
        "h.yaml:3: virtual_keys[1].rate_limit_burst: \"0\" is not a whole number from 1 to 10000\n"
        "h.yaml:4: virtual_keys[2].rate_limit_tpm: \"many\" is not a whole number from 1 to "
        "100000000\n"
        "h.yaml:5: virtual_keys[3].budget_usd: \"-1\" is not an amount from 0 to 10000000\n"
        "h.yaml:6: virtual_keys[4].budget_period: \"year\" is not day, week or month\n"
        "h.yaml:7: virtual_keys[5].budget_period: needs budget_usd beside it\n"
        "h.yaml:8: virtual_keys[6].allowed_providers: allows nobody; name at least one provider\n"
        "h.yaml:9: virtual_keys[7].name: is a name the gateway uses itself; choose another");
}

}  // namespace
