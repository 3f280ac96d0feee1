// Whose address a request has when proxies stand in front of the sidecar.
#include "server/client_address.h"

#include <string>

#include "tests/support/catch.h"

namespace hotel::server {
namespace {

TrustedProxies Networks(std::initializer_list<const char*> texts) {
  TrustedProxies proxies;
  for (const char* text : texts) {
    const auto network = base::IpNetwork::Parse(text);
    REQUIRE(network);
    proxies.push_back(*network);
  }
  return proxies;
}

constexpr const char* kPeer = "10.0.0.1";

std::string Address(const HeaderList& headers) {
  static const TrustedProxies proxies = Networks({"10.0.0.0/8", "fd00::/8"});
  return ForwardedAddress(kPeer, headers, proxies);
}

std::string Address(const std::string& field) { return Address({{"X-Forwarded-For", field}}); }

TEST_CASE("Proxies: nobody is trusted unless it says so") {
  CHECK_FALSE(IsTrustedProxy("127.0.0.1", {}));
  CHECK_FALSE(IsTrustedProxy("::1", {}));
  const TrustedProxies proxies = Networks({"10.0.0.0/8", "::1"});
  CHECK(IsTrustedProxy("10.1.2.3", proxies));
  CHECK(IsTrustedProxy("::ffff:10.1.2.3", proxies));  // a listener for both families says it so
  CHECK(IsTrustedProxy("::1", proxies));
  CHECK_FALSE(IsTrustedProxy("127.0.0.1", proxies));
  CHECK_FALSE(IsTrustedProxy("", proxies));
}

TEST_CASE("Proxies: the last entry is what the trusted one saw, the rest is hearsay") {
  CHECK(Address("203.0.113.9") == "203.0.113.9");
  CHECK(Address("198.51.100.7, 203.0.113.9") == "203.0.113.9");
  CHECK(Address("10.0.0.5, 198.51.100.7, 203.0.113.9") == "203.0.113.9");
  CHECK(Address("nonsense, <script>, 203.0.113.9") == "203.0.113.9");
}

TEST_CASE("Proxies: trusted ones in between are passed over") {
  CHECK(Address("203.0.113.9, 10.0.0.2") == "203.0.113.9");
  CHECK(Address("198.51.100.7, 203.0.113.9, 10.0.0.3, fd12::1, 10.0.0.2") == "203.0.113.9");
  CHECK(Address("10.0.0.9, 10.0.0.3") == "10.0.0.9");  // a client inside
}

TEST_CASE("Proxies: several fields are one list") {
  CHECK(Address({{"X-Forwarded-For", "198.51.100.7"},
                 {"Host", "x"},
                 {"x-forwarded-for", "203.0.113.9, 10.0.0.2"}}) == "203.0.113.9");
  CHECK(Address({{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", "10.0.0.2"}}) ==
        "203.0.113.9");
  CHECK(Address({{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", ""}}) == "203.0.113.9");
}

TEST_CASE("Proxies: spaces, tabs, empty entries and ports are read over") {
  CHECK(Address("  203.0.113.9\t") == "203.0.113.9");
  CHECK(Address("198.51.100.7 ,\t203.0.113.9 , ,") == "203.0.113.9");
  CHECK(Address("203.0.113.9:4711") == "203.0.113.9");
  CHECK(Address("203.0.113.9:4711,10.0.0.2:80") == "203.0.113.9");
  CHECK(Address("[2001:db8::1]:4711") == "2001:db8::1");
}

TEST_CASE("Proxies: IPv6 has one spelling behind this, and mapped IPv4 is IPv4") {
  CHECK(Address("2001:DB8:0:0::1") == "2001:db8::1");
  CHECK(Address("[2001:db8::1]") == "2001:db8::1");
  CHECK(Address("2001:db8::1, fd00::2") == "2001:db8::1");
  CHECK(Address("::ffff:203.0.113.9") == "203.0.113.9");
  CHECK(Address("203.0.113.9, ::ffff:10.0.0.2") == "203.0.113.9");
}

TEST_CASE("Proxies: what is no address leaves the peer") {
  for (const char* field : {"",
                            " ",
                            ",",
                            "unknown",
                            "_hidden",
                            "client.example",
                            "203.0.113",
                            "203.0.113.9.1",
                            "203.0.113.256",
                            "0x0a.0.0.1",
                            "203.0.113.9:",
                            "203.0.113.9:port",
                            "203.0.113.9:123456",
                            "203.0.113.9 10.0.0.2",
                            "[203.0.113.9]",
                            "[2001:db8::1",
                            "2001:db8::1]",
                            "[]",
                            "[",
                            "[2001:db8::1]4711",
                            "fe80::1%eth0",
                            "203.0.113.9;10.0.0.2",
                            "\"203.0.113.9\"",
                            "203.0.113.9, unknown",
                            "203.0.113.9, unknown, 10.0.0.2",
                            "203.0.113.0/24"}) {
    CAPTURE(field);
    CHECK(Address(field) == kPeer);
  }
  CHECK(Address(HeaderList{}) == kPeer);
  CHECK(Address({{"X-Real-IP", "203.0.113.9"}, {"Forwarded", "for=203.0.113.9"}}) == kPeer);
}

TEST_CASE("Proxies: a list without end is not followed") {
  std::string hops;
  for (std::size_t i = 1; i < kMostHops; ++i) hops += ", 10.0.0.2";
  CHECK(Address("203.0.113.9" + hops) == "203.0.113.9");
  CHECK(Address("203.0.113.9, 10.0.0.2" + hops) == kPeer);
  CHECK(Address(std::string(30000, ',')) == kPeer);
  CHECK(Address("203.0.113.9" + std::string(30000, ',')) == "203.0.113.9");
}

}  // namespace
}  // namespace hotel::server
