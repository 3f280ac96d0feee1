#include "libhotel/settings/units.h"

#include <chrono>

#include "libhotel/settings/config.h"
#include "tests/support/catch.h"

namespace {

using namespace hotel;
using namespace hotel::settings;
using namespace std::chrono_literals;

TEST_CASE("Durations are numbers with units, added up") {
  CHECK(ParseDuration("0") == Duration(0));
  CHECK(ParseDuration("0s") == Duration(0));
  CHECK(ParseDuration("250ms") == Duration(250ms));
  CHECK(ParseDuration("1m30s") == Duration(90s));
  CHECK(ParseDuration("1m0s") == Duration(1min));
  CHECK(ParseDuration("24h") == Duration(24h));
  CHECK(ParseDuration("1.5s") == Duration(1500ms));
  CHECK(ParseDuration(".5s") == Duration(500ms));
  CHECK(ParseDuration("1.000000001s") == Duration(1000000001ns));
  CHECK(ParseDuration("3us7ns") == Duration(3007ns));
}

TEST_CASE("What is no duration is refused") {
  for (const char* text : {"", "3", "3 sec", "3sec", "5min", "-1s", "+1s", "1s ", " 1s", "s", ".s",
                           "1.s", "1d", "1S", "1e3s", "9999999999999999999s", "10000000h", "1s-"}) {
    INFO(text);
    CHECK_FALSE(ParseDuration(text).has_value());
  }
}

TEST_CASE("Durations have one written form, which reads back") {
  CHECK(FormatDuration(0s) == "0s");
  CHECK(FormatDuration(90s) == "1m30s");
  CHECK(FormatDuration(120s) == "2m");
  CHECK(FormatDuration(24h) == "24h");
  CHECK(FormatDuration(1500ms) == "1.5s");
  CHECK(FormatDuration(500ms) == "500ms");
  CHECK(FormatDuration(1us + 50ns) == "1.05us");
  CHECK(FormatDuration(7ns) == "7ns");
  for (std::int64_t ns = 1; ns < 1000000000000000; ns = ns * 7 + 3) {
    REQUIRE(ParseDuration(FormatDuration(Duration(ns))) == Duration(ns));
  }
}

TEST_CASE("Sizes are bytes or numbers with a unit") {
  CHECK(ParseByteSize("0") == 0u);
  CHECK(ParseByteSize("1024") == 1024u);
  CHECK(ParseByteSize("50MiB") == 50u * 1024 * 1024);
  CHECK(ParseByteSize("50 MiB") == 50u * 1024 * 1024);
  CHECK(ParseByteSize("10MB") == 10000000u);
  CHECK(ParseByteSize("1GiB") == 1u << 30);
  for (const char* text : {"", "MiB", "-1", "1.5MiB", "1mib", "1  MiB", "1TiB", "99999999999GiB"}) {
    INFO(text);
    CHECK_FALSE(ParseByteSize(text).has_value());
  }
}

TEST_CASE("Listen addresses have a host and a port, either may be left out") {
  const auto check = [](const char* text, const char* host, int port) {
    INFO(text);
    const auto parsed = ParseListen(text);
    REQUIRE(parsed.has_value());
    CHECK(parsed->host == host);
    CHECK(parsed->port == port);
  };
  check("127.0.0.1:8081", "127.0.0.1", 8081);
  check("localhost:0", "localhost", 0);
  check("[::1]:65535", "::1", 65535);
  check(":8080", "0.0.0.0", 8080);
  check("8080", "127.0.0.1", 8080);
  for (const char* text : {"", ":", "host", "host:", "host:65536", "host:-1", "::1", "::1:80",
                           "[::1]", "[]:80", "[host]:80", "a b:80", "http://a:80", "1.2.3.4:80x"}) {
    INFO(text);
    CHECK_FALSE(ParseListen(text).has_value());
  }
}

TEST_CASE("Loopback hosts are those that only this machine reaches") {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "127.9.8.7", "::1"}) {
    CHECK(IsLoopbackHost(host));
  }
  for (const char* host : {"0.0.0.0", "::", "", "10.0.0.1", "127.example.com", "127.0.0",
                           "1270.0.0.1", "localhost.example.com", "127.0.0."}) {
    INFO(host);
    CHECK_FALSE(IsLoopbackHost(host));
  }
}

}  // namespace
