// Errors of one provider type, and errors where a stream was asked for.
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::string Envelope(int code, const std::string& message) {
  return R"({"base_resp":{"status_code":)" + std::to_string(code) + R"(,"status_msg":")" + message +
         R"("}})";
}

// A provider of `type` in front of one that works.
void Two(Harness& h, const std::string& type, Script script) {
  testing::AddProvider(*h.store, "u1", "", type);
  testing::AddProvider(*h.store, "u2");
  testing::AddGroup(*h.store, "demo", {"u1/m", "u2/m"});
  h.On("u1", std::move(script)).On("u2", Script::Chat("Hello"));
}

}  // namespace

TEST_CASE("facts k MiniMax base_resp 1002: busy, neutral, moves on") {
  Harness h;
  Two(h, "minimax", Script::Json(200, Envelope(1002, "rate limit exceeded, too many requests")));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Trail()[0].substr(0, 9) == "0 u1 200 ");
  CHECK(h.record().attempts[0].rate_limit != "");
}

TEST_CASE("facts k MiniMax base_resp 1008: the balance is spent, the circuit opens") {
  Harness h;
  Two(h, "minimax", Script::Json(200, Envelope(1008, "insufficient balance")));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.record().attempts[0].rate_limit == "exhausted");
  CHECK(h.Circuit("u1") == "open 5");
  REQUIRE(h.caps->Last(h.record().attempts[0].provider_id).has_value());
  CHECK(h.caps->Last(h.record().attempts[0].provider_id)->needs_payment);
}

TEST_CASE("facts k MiniMax base_resp 1004 is a 401, any other code a 502") {
  for (const int code : {1004, 1013}) {
    Harness h;
    Two(h, "minimax", Script::Json(200, Envelope(code, "login fail")));
    CHECK(h.Ask().header("x-hotel-provider") == "u2");
    CHECK(h.record().attempts[0].error_kind ==
          (code == 1004 ? ErrorKind::kProviderNotEntitled : ErrorKind::kProviderError));
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("decisions 10: base_resp is read for providers of the type minimax only") {
  Harness h;
  Two(h, "openai", Script::Json(200, Envelope(1008, "insufficient balance")));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.record().attempts[0].rate_limit == "");  // no answer at all, but no 429 either
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("R28 an error object where a stream was asked for does not wait for the end") {
  Harness h;
  Two(h, "openai",
      Script()
          .Head(200, {{"content-type", "application/json"}})
          .Bytes(R"({"error":{"code":503,"message":"overloaded"}})")
          .Hang());
  h.On("u2", Script::ChatStream("Hello"));
  Client client = h.Chat("hotel/demo", true);
  h.Wait(client);
  CHECK(client.header("x-hotel-provider") == "u2");
  CHECK(client.took < seconds(1));
  CHECK(h.record().attempts[0].error_kind == ErrorKind::kProviderError);
}

}  // namespace hotel::scenario
