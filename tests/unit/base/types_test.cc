#include "hotel/types.h"

#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "tests/support/catch.h"

namespace {

using hotel::Body;
using hotel::Secret;

template <typename T, typename = void>
struct IsStreamable : std::false_type {};
template <typename T>
struct IsStreamable<
    T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};

static_assert(IsStreamable<std::string>::value);
static_assert(!IsStreamable<Secret>::value);
static_assert(fmt::is_formattable<std::string>::value);
static_assert(!fmt::is_formattable<Secret>::value);
static_assert(!std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);
static_assert(!std::is_convertible_v<std::string, Secret>);

// Longer than the small-string buffer, so that the bytes stand on the heap.
const std::string kLongKey = "sk-0123456789abcdef0123456789abcdef";

// Whether the object's own storage holds the first bytes of `text` (a run of four: single bytes may
// be part of a pointer).
bool StorageHolds(const void* object, std::size_t size, const std::string& text) {
  std::string bytes(size, '\0');
  // Read through volatile: behind a destructor a compiler may forget the stores that came before.
  const auto* from = static_cast<const volatile char*>(object);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = from[i];
  return bytes.find(text.substr(0, 4)) != std::string::npos;
}

Body Whole(std::string text) { return Body(std::make_shared<const std::string>(std::move(text))); }

TEST_CASE("FindHeader ignores case and returns the first field") {
  const hotel::HeaderList headers = {{"Retry-After", "20"}, {"retry-after", "30"}, {"X", ""}};
  CHECK(hotel::FindHeader(headers, "RETRY-after") == "20");
  CHECK(hotel::FindHeader(headers, "x").empty());
  CHECK(hotel::FindHeader(headers, "Retry").empty());
  CHECK(hotel::FindHeader({}, "X").empty());
}

TEST_CASE("A secret reveals what it was given and survives copies") {
  Secret secret(kLongKey);
  const Secret copy = secret;
  CHECK(copy.Reveal() == kLongKey);
  CHECK(copy == secret);
  Secret assigned;
  assigned = copy;
  CHECK(assigned.Reveal() == kLongKey);
  assigned = *&assigned;
  CHECK(assigned.Reveal() == kLongKey);
}

TEST_CASE("A moved-from secret is empty and its bytes are gone") {
  for (const std::string& key : {kLongKey, std::string("short")}) {
    Secret from(key);
    Secret to = std::move(from);
    CHECK(to.Reveal() == key);
    CHECK(from.empty());
    CHECK_FALSE(StorageHolds(&from, sizeof(from), key));
    Secret again("something else that was there before");
    again = std::move(to);
    CHECK(again.Reveal() == key);
    CHECK(to.empty());
    CHECK_FALSE(StorageHolds(&to, sizeof(to), key));
  }
}

TEST_CASE("A destroyed secret leaves no bytes behind") {
  // Short secrets stand inside the object, so its own storage can be looked at afterwards.
  alignas(Secret) unsigned char storage[sizeof(Secret)];
  std::memset(storage, 0, sizeof(storage));
  const std::string key = "qqqqqqqqqq";
  auto* secret = new (storage) Secret(key);
  REQUIRE(StorageHolds(storage, sizeof(storage), key));
  secret->~Secret();
  CHECK_FALSE(StorageHolds(storage, sizeof(storage), key));
}

TEST_CASE("Assigning over a secret overwrites the old bytes") {
  Secret secret("qqqqqqqqqq");
  secret = Secret("");
  CHECK(secret.empty());
  CHECK_FALSE(StorageHolds(&secret, sizeof(secret), "qqqq"));
}

TEST_CASE("Secrets compare by content") {
  CHECK(Secret("abc") == Secret("abc"));
  CHECK_FALSE(Secret("abc") == Secret("abd"));
  CHECK_FALSE(Secret("abc") == Secret("ab"));
  CHECK(Secret() == Secret(""));
}

TEST_CASE("A body reads back in pieces of any size") {
  const Body body = Whole("0123456789");
  CHECK(body.size() == 10);
  char buffer[16];
  CHECK(body.Read(0, buffer, sizeof(buffer)) == 10);
  CHECK(body.Read(7, buffer, 2) == 2);
  CHECK(std::string(buffer, 2) == "78");
  CHECK(body.Read(10, buffer, sizeof(buffer)) == 0);
  CHECK(body.Read(99, buffer, sizeof(buffer)) == 0);
  CHECK(Body().size() == 0);
  CHECK(Body().ToString().empty());
  CHECK(Body(nullptr).size() == 0);
}

TEST_CASE("A splice changes only its bytes, whatever its place and length") {
  const std::string text = R"({"model":"hotel/x","a":1.0})";
  const Body body = Whole(text);
  for (std::size_t offset = 0; offset <= text.size(); ++offset) {
    for (std::size_t length = 0; offset + length <= text.size(); ++length) {
      for (const char* replacement : {"", "y", "a much longer model name"}) {
        std::string expected = text;
        expected.replace(offset, length, replacement);
        const Body spliced = body.Splice(offset, length, replacement);
        REQUIRE(spliced.size() == expected.size());
        REQUIRE(spliced.ToString() == expected);
        std::string piecewise;
        char buffer[7];
        while (const std::size_t got = spliced.Read(piecewise.size(), buffer, sizeof(buffer))) {
          piecewise.append(buffer, got);
        }
        REQUIRE(piecewise == expected);
      }
    }
  }
  CHECK(body.ToString() == text);
}

TEST_CASE("A spliced body can be spliced again, anywhere") {
  const Body once = Whole("0123456789").Splice(3, 2, "abc");
  const std::string text = "012abc56789";
  REQUIRE(once.ToString() == text);
  for (std::size_t offset = 0; offset <= text.size(); ++offset) {
    for (std::size_t length = 0; offset + length <= text.size(); ++length) {
      for (const char* replacement : {"", "X", "LONGER"}) {
        std::string expected = text;
        expected.replace(offset, length, replacement);
        const Body twice = once.Splice(offset, length, replacement);
        REQUIRE(twice.size() == expected.size());
        REQUIRE(twice.ToString() == expected);
      }
    }
  }
  CHECK(once.ToString() == text);
  CHECK(Body().Splice(0, 0, "x").ToString() == "x");
}

TEST_CASE("Every error kind has its own word, and only kNone has none") {
  using hotel::ErrorKind;
  CHECK(std::string(hotel::ErrorKindName(ErrorKind::kNone)).empty());
  CHECK(std::string(hotel::ErrorKindName(ErrorKind::kClientDisconnect)) == "client_disconnect");
  CHECK(std::string(hotel::ErrorKindName(ErrorKind::kProviderQuotaExhausted)) ==
        "provider_quota_exhausted");
  CHECK(std::string(hotel::ErrorKindName(ErrorKind::kFailoverTimeout)) == "failover_timeout");
  CHECK(std::string(hotel::ErrorKindName(ErrorKind::kAuth)) == "auth");
  CHECK(std::string(hotel::ErrorKindName(ErrorKind::kRateLimit)) == "rate_limit");
  CHECK(std::string(hotel::ErrorKindName(ErrorKind::kBudget)) == "budget");
  CHECK(hotel::kLastErrorKind == ErrorKind::kBudget);
}

}  // namespace
