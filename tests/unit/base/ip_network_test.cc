#include "libhotel/base/ip_network.h"

#include <string>

#include "tests/support/catch.h"

namespace hotel::base {
namespace {

bool In(const std::string& network, const std::string& address) {
  const auto parsed = IpNetwork::Parse(network);
  const auto ip = IpAddress::ParsePlain(address);
  REQUIRE(parsed);
  REQUIRE(ip);
  return parsed->Contains(*ip);
}

TEST_CASE("networks: an address is in the network whose first bits it shares") {
  CHECK(In("10.0.0.0/8", "10.255.1.2"));
  CHECK_FALSE(In("10.0.0.0/8", "11.0.0.1"));
  CHECK(In("192.168.4.0/22", "192.168.7.255"));
  CHECK_FALSE(In("192.168.4.0/22", "192.168.8.0"));
  CHECK(In("0.0.0.0/0", "203.0.113.9"));
  CHECK(In("fd00::/8", "fdab::1"));
  CHECK_FALSE(In("fd00::/8", "fe80::1"));
  CHECK(In("2001:db8::/33", "2001:db8:7fff::1"));
  CHECK_FALSE(In("2001:db8::/33", "2001:db8:8000::1"));
}

TEST_CASE("networks: one address is a network of one") {
  CHECK(In("10.0.0.7", "10.0.0.7"));
  CHECK_FALSE(In("10.0.0.7", "10.0.0.6"));
  CHECK(In("10.0.0.7/32", "10.0.0.7"));
  CHECK(In("::1", "::1"));
  CHECK(In("::1/128", "0:0:0:0:0:0:0:1"));
}

TEST_CASE("networks: bits behind the prefix do not matter") {
  CHECK(In("10.1.2.3/8", "10.9.9.9"));
  CHECK(In("fd12::1/16", "fd12:3::4"));
}

TEST_CASE("networks: IPv4 is the same in both spellings, and no part of an IPv6 network") {
  CHECK(In("10.0.0.0/8", "::ffff:10.1.2.3"));
  CHECK(In("::ffff:10.0.0.0/104", "10.1.2.3"));
  CHECK_FALSE(In("::/0", "10.1.2.3"));
  CHECK(In("::/0", "2001:db8::1"));
  CHECK_FALSE(In("0.0.0.0/0", "2001:db8::1"));
}

TEST_CASE("networks: what is none is refused") {
  for (const char* text : {"",
                           "/",
                           "/8",
                           "10.0.0.0/",
                           "10.0.0.0/33",
                           "10.0.0.0/-1",
                           "10.0.0.0/+8",
                           "10.0.0.0/8 ",
                           " 10.0.0.0/8",
                           "10.0.0.0/8/8",
                           "10.0.0/8",
                           "10.0.0.0.0/8",
                           "010.0.0.1",
                           "0x0a.0.0.1",
                           "10",
                           "fd00::/129",
                           "fd00::/x",
                           "[fd00::]/8",
                           "fe80::1%eth0",
                           "localhost",
                           "*",
                           "10.0.0.*",
                           "10.0.0.0/8x",
                           "10.0.0.0/99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(IpNetwork::Parse(text));
  }
  CHECK_FALSE(IpNetwork::Parse(std::string("10.0.0.1\0", 9)));
}

}  // namespace
}  // namespace hotel::base
