#include "libhotel/net/address_policy.h"

#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "hotel/defaults.h"
#include "hotel/failover_group.h"
#include "hotel/provider_check.h"

#include "tests/support/catch.h"

namespace hotel::net {
namespace {

base::IpAddress Ip(const std::string& text) {
  const auto address = base::IpAddress::Parse(text);
  REQUIRE(address.has_value());
  return *address;
}

AddressRules Rules(std::vector<std::string> allowed) {
  AddressPolicy policy;
  policy.allowed_hosts = std::move(allowed);
  auto rules = AddressRules::Create(policy);
  REQUIRE(rules.ok());
  return *rules;
}

absl::Status Check(const std::string& url, std::vector<std::string> allowed = {}) {
  AddressPolicy policy;
  policy.allow_http = true;
  policy.allowed_hosts = std::move(allowed);
  return CheckProviderUrl(url, policy);
}

TEST_CASE("F181 every spelling of an inner address is refused") {
  const std::string url = GENERATE(
      "http://169.254.169.254/", "http://2852039166/", "http://0xA9FEA9FE/",
      "http://0251.0376.0251.0376/", "http://0xa9.254.0xa9fe/", "http://169.16689662/",
      "http://169.254.169.254./", "http://[::ffff:169.254.169.254]/", "http://[::FFFF:A9FE:A9FE]/",
      "http://[0:0:0:0:0:ffff:a9fe:a9fe]/", "http://[64:ff9b::169.254.169.254]/",
      "http://[2002:a9fe:a9fe::1]/", "http://[fd00:ec2::254]/", "http://[FD00:EC2::254]/",
      "HTTP://127.0.0.1/", "http://127.1/", "http://0/", "http://0.0.0.0/", "http://[::]/",
      "http://[::1]/", "http://[0000::0001]/", "http://[fe80::1%25eth0]/", "http://017700000001/",
      "http://good@169.254.169.254/", "http://@169.254.169.254/", "http://good:pw@169.254.169.254/",
      "http://%31%36%39.254.169.254/", "http://10.0.0.1/", "https://192.168.1.1/v1",
      "https://172.31.255.255:8443/v1", "https://100.64.0.1/", "https://[fc00::1]/",
      "https://[::127.0.0.1]/");
  CAPTURE(url);
  const absl::Status status = Check(url);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message().size() > 20);
}

TEST_CASE("F181 full-width digits and other look-alikes are refused") {
  CHECK_FALSE(Check("http://\xef\xbc\x91\xef\xbc\x96\xef\xbc\x99.254.169.254/").ok());
  CHECK_FALSE(Check("http://169\xe3\x80\x82\x32\x35\x34.169.254/").ok());
}

TEST_CASE("ordinary provider URLs pass") {
  const std::string url =
      GENERATE("https://api.openai.com/v1", "https://API.Example.COM/v1/",
               "https://api.example.com.:8443/v1", "https://8.8.8.8/v1",
               "https://[2606:4700::1111]/v1", "http://api.example.com/v1?api-version=1",
               "https://localhost.example.com/v1beta/openai/", "https://host_name.example/v1",
               "https://172.32.0.1/", "https://[64:ff9b::8.8.8.8]/", "https://api.example.com/a@b");
  CAPTURE(url);
  CHECK(Check(url).ok());
}

TEST_CASE("F175 a base URL with a query that may hold a key, or with a fragment, is refused") {
  const std::string url =
      GENERATE("https://api.example.com/v1?api_key=hidden", "https://api.example.com/v1#hidden",
               "https://api.example.com?api-version=1&key=hidden");
  CAPTURE(url);
  const absl::Status status = Check(url);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message().find("leave") != std::string::npos);
  CHECK(status.message().find("hidden") == std::string::npos);
  ProviderSpec spec;
  spec.base_url = url;
  spec.transport.unix_socket = "/run/model.sock";
  AddressPolicy policy;
  policy.allowed_hosts = {"unix:/run/model.sock"};
  const std::vector<ProviderProblem> problems = CheckProvider(spec, policy);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].field == "base_url");
}

TEST_CASE("URLs that are none are refused with a hint") {
  const std::string url = GENERATE(
      "", "api.example.com/v1", "//api.example.com", "https:/api.example.com", "ftp://example.com/",
      "file:///etc/passwd", "gopher://example.com/", "https://", "https:///v1", "https://[::1",
      "https://exa mple.com/", "https://example.com:0/", "https://example.com:65536/",
      "https://example.com:x/", "https://example.com\r\nHost: evil/", "https://ex\\@evil.com/",
      "https://[1.2.3.4]/", "https://a..\x01/", "https://[gggg::1]/");
  CAPTURE(url);
  const absl::Status status = Check(url);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message().size() > 20);
}

TEST_CASE("a refused URL is not repeated in the message, it may carry a credential") {
  const absl::Status status = Check("https://user:hunter2@api.example.com/v1");
  REQUIRE_FALSE(status.ok());
  CHECK(std::string(status.message()).find("hunter2") == std::string::npos);
}

TEST_CASE("http is for those who ask for it") {
  AddressPolicy policy;
  CHECK_FALSE(CheckProviderUrl("http://api.example.com/v1", policy).ok());
  CHECK(CheckProviderUrl("https://api.example.com/v1", policy).ok());
  policy.allow_http = true;
  CHECK(CheckProviderUrl("http://api.example.com/v1", policy).ok());
}

TEST_CASE("special-purpose addresses are known, their neighbours are public") {
  struct Row {
    const char* inside;
    const char* outside;
  };
  const Row row =
      GENERATE(Row{"0.255.255.255", "1.0.0.0"}, Row{"10.255.255.255", "11.0.0.0"},
               Row{"100.64.0.0", "100.63.255.255"}, Row{"100.127.255.255", "100.128.0.0"},
               Row{"127.255.255.254", "128.0.0.1"}, Row{"169.254.0.1", "169.253.255.255"},
               Row{"172.16.0.0", "172.15.255.255"}, Row{"172.31.255.255", "172.32.0.0"},
               Row{"192.0.0.1", "192.0.1.1"}, Row{"192.0.2.1", "192.0.3.0"},
               Row{"192.168.255.255", "192.169.0.0"}, Row{"198.18.0.0", "198.17.255.255"},
               Row{"198.19.255.255", "198.20.0.0"}, Row{"198.51.100.7", "198.51.101.0"},
               Row{"203.0.113.9", "203.0.114.0"}, Row{"224.0.0.1", "223.255.255.255"},
               Row{"255.255.255.255", "8.8.4.4"}, Row{"168.63.129.16", "168.63.129.17"},
               Row{"240.0.0.1", "9.9.9.9"}, Row{"fc00::1", "2a00::1"}, Row{"fdff::1", "2606::1"},
               Row{"fe80::1", "2400::1"}, Row{"febf::1", "2800::1"}, Row{"ff02::1", "2c00::1"},
               Row{"2001:db8::1", "2001:db9::1"}, Row{"2001:2::1", "2001:200::1"},
               Row{"3fff:fff::1", "3ffe::1"}, Row{"64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8"},
               Row{"2002:0a00:0001::1", "2002:0808:0808::1"}, Row{"64:ff9b:1::8.8.8.8", "2600::1"},
               // Teredo carries the client's address inverted: f5ff:fffe is 10.0.0.1.
               Row{"2001:0:1234::f5ff:fffe", "2001:0:1234::f7f7:f7f7"},
               Row{"::ffff:10.0.0.1", "::ffff:8.8.8.8"}, Row{"fec0::1", "2620::1"},
               Row{"100::1", "2a02::1"}, Row{"::ffff:0:127.0.0.1", "2a03::1"});
  CAPTURE(row.inside, row.outside);
  CHECK(Ip(row.inside).SpecialPurpose() != nullptr);
  CHECK(Ip(row.outside).SpecialPurpose() == nullptr);
}

TEST_CASE("allowed hosts open exactly what they name") {
  const base::IpAddress loopback = Ip("127.0.0.1");
  CHECK_FALSE(Rules({}).Allows(loopback, "localhost", 80));
  CHECK(Rules({"localhost"}).Allows(loopback, "localhost", 80));
  CHECK(Rules({"LocalHost."}).Allows(loopback, "LOCALHOST", 81));
  CHECK_FALSE(Rules({"localhost"}).Allows(loopback, "evil.localhost", 80));
  CHECK_FALSE(Rules({"localhost"}).Allows(loopback, "127.0.0.1", 80));
  CHECK(Rules({"localhost:8000"}).Allows(loopback, "localhost", 8000));
  CHECK_FALSE(Rules({"localhost:8000"}).Allows(loopback, "localhost", 8001));
  CHECK(Rules({"127.0.0.1"}).Allows(loopback, "127.0.0.1", 9));
  CHECK(Rules({"127.0.0.1:9"}).Allows(loopback, "127.0.0.1", 9));
  CHECK_FALSE(Rules({"127.0.0.1:9"}).Allows(loopback, "127.0.0.1", 10));
  CHECK_FALSE(Rules({"127.0.0.1"}).Allows(Ip("127.0.0.2"), "127.0.0.2", 9));
  CHECK(Rules({"0x7f000001"}).Allows(loopback, "127.0.0.1", 9));
  CHECK(Rules({"[::1]:80"}).Allows(Ip("::1"), "::1", 80));
  CHECK_FALSE(Rules({"[::1]:80"}).Allows(Ip("::1"), "::1", 81));
  CHECK(Rules({"::1"}).Allows(Ip("::1"), "::1", 81));
  CHECK(Rules({"169.254.169.254"}).Allows(Ip("::ffff:169.254.169.254"), "x", 80));
}

TEST_CASE("an allowed address is no pass for a name that leads elsewhere inside") {
  CHECK_FALSE(Rules({"10.0.0.7"}).Allows(Ip("10.0.0.8"), "10.0.0.7.evil.example", 443));
  CHECK(Rules({"10.0.0.7"}).Allows(Ip("8.8.8.8"), "evil.example", 443));
}

TEST_CASE("allowed hosts that cannot be read are refused by name") {
  const std::string entry =
      GENERATE("", "http://localhost", "localhost:", "localhost:99999", "localhost:0", "10.0.0.0/8",
               "*.example.com", "a b", "[::1", "::1:80:x", ":80");
  CAPTURE(entry);
  AddressPolicy policy;
  policy.allowed_hosts = {"good.example", entry};
  const auto rules = AddressRules::Create(policy);
  REQUIRE_FALSE(rules.ok());
  CHECK(rules.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(rules.status().message()).find("\"" + entry + "\"") != std::string::npos);
  CHECK_FALSE(CheckProviderUrl("https://api.example.com", policy).ok());
}

TEST_CASE("resolved addresses are read from what the resolver returns") {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(0x0a000001);
  CHECK_FALSE(Rules({}).Allows(reinterpret_cast<sockaddr*>(&v4), "api.example.com", 443));
  CHECK(
      Rules({"api.example.com"}).Allows(reinterpret_cast<sockaddr*>(&v4), "api.example.com", 443));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  CHECK_FALSE(Rules({}).Allows(reinterpret_cast<sockaddr*>(&v6), "api.example.com", 443));
  sockaddr other{};
  other.sa_family = AF_UNIX;
  CHECK_FALSE(Rules({"api.example.com"}).Allows(&other, "api.example.com", 443));
}

TEST_CASE("a parsed URL has one host, one port and no fragment") {
  const auto url = ProviderUrl::Parse("HTTPS://Api.Example.COM./v1/../x?q=1#frag");
  REQUIRE(url.ok());
  CHECK(url->https);
  CHECK(url->host == "api.example.com");
  CHECK(url->port == 443);
  CHECK(url->canonical.find("/v1/../x?q=1") != std::string::npos);
  CHECK(url->canonical.find("frag") == std::string::npos);
  const auto literal = ProviderUrl::Parse("http://0x08080808:8080/v1");
  REQUIRE(literal.ok());
  CHECK(literal->host == "8.8.8.8");
  CHECK(literal->port == 8080);
  CHECK(literal->canonical == "http://8.8.8.8:8080/v1");
}

TEST_CASE("a socket is allowed by its exact path, and opens no address") {
  const AddressRules rules = Rules({"unix:/run/a.sock"});
  CHECK(rules.CheckUnixSocket("/run/a.sock").ok());
  for (const char* path : {"/run/a.sock2", "/run/./a.sock", "run/a.sock", "/RUN/a.sock", ""}) {
    CAPTURE(path);
    CHECK_FALSE(rules.CheckUnixSocket(path).ok());
  }
  CHECK_FALSE(Check("http://127.0.0.1/", {"unix:/run/a.sock"}).ok());
  CHECK_FALSE(rules.Allows(*base::IpAddress::Parse("127.0.0.1"), "", 80));
  const std::string longest = "/" + std::string(106, 'x');
  CHECK(Rules({"unix:" + longest}).CheckUnixSocket(longest).ok());
  AddressPolicy policy;
  policy.allowed_hosts = {GENERATE("unix:", "unix:a.sock", "unix:/" + std::string(107, 'x'))};
  CHECK_FALSE(AddressRules::Create(policy).ok());
}

TEST_CASE("a proxy's URL is taken apart, and refused without being repeated") {
  const auto parse = [](const char* url) { return ProxyUrl::Parse(Secret(url)); };
  const auto proxy = parse("HTTP://us%40er:p%3Aw@Proxy.Internal.:3128/");
  REQUIRE(proxy.ok());
  CHECK(proxy->canonical == "http://proxy.internal:3128");
  CHECK(proxy->host == "proxy.internal");
  CHECK(proxy->port == 3128);
  CHECK(proxy->user == Secret("us@er"));
  CHECK(proxy->password == Secret("p:w"));
  CHECK(parse("socks5h://[::1]:1080")->canonical == "socks5h://[::1]:1080");
  CHECK(parse("https://0x7f.1:443")->host == "127.0.0.1");
  CHECK(parse("socks5://p:1")->user.empty());
  const char* url = GENERATE(
      "hunter2", "p:3128", "ftp://hunter2:21", "http://hunter2", "http://hunter2:", "http://:3128",
      "http://u:hunter2@p:0", "http://u:hunter2@p:65536", "http://u:hunter2@p:3128/path",
      "http://u:hunter2@p:3128?q", "http://u:hunter2%0a@p:3128", "http://u:hunter2%4@p:3128",
      "http://:hunter2@p:3128", "http://u%3a:hunter2@p:3128", "http://u:hunter2@p q:3128",
      "http://u:hunter2/x@p:3128", "http://u:hunter2@p:3128\\x");
  CAPTURE(url);
  const absl::Status status = parse(url).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message().find("hunter2") == absl::string_view::npos);
}

}  // namespace
}  // namespace hotel::net
