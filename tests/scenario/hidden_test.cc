// Errors hidden behind a 200 (decisions 5, 6 and 10; F039, F043).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

std::string Hidden(const std::string& code) {
  return R"({"error":{"code":)" + code + R"(,"message":"overloaded"}})";
}

TEST_CASE("R31 F043 an error object in a 200 is that error: it moves on and is charged") {
  const std::pair<const char*, Script> rows[] = {
      {"plain JSON", Script::Json(200, Hidden("503"))},
      {"first frame", Open({ErrorFrame("503")}).End()},
      {"numeric string", Open({ErrorFrame("\"503\"")}).End()},
      {"F039 behind a role-only opener", Open({Role(), ErrorFrame("503")}).End()},
      {"F039 behind a usage chunk", Open({Role(), Usage(), ErrorFrame("503")}).End()},
      {"held open behind it", Open({ErrorFrame("503")}).Hang()},
      {"named by its event field",
       Open({"event: error\ndata: {\"error\":{\"message\":\"x\",\"code\":503}}"}).End()},
      {"facts k in Google's array of one",
       Open({R"(data: [{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}])"}).End()},
      {"beside choices",
       Open({R"(data: {"choices":[],"error":{"code":503,"message":"x"}})"}).End()},
  };
  for (const auto& [what, script] : rows) {
    INFO(what);
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", script);
    const Script good = Script::ChatStream("Good day");
    h.On("u2", good);
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.status() == 200);
    CHECK(client.body() == BytesOf(good));  // nothing of the first stream
    CHECK(client.header("x-hotel-provider") == "u2");
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
    CHECK(h.Circuit("u1") == "closed 1");
    h.Settle();
    CHECK(h.upstreams.open() == 0);
  }
}

TEST_CASE("F043 the non-streaming twin") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(200, Hidden("503"))).On("u2", Script::Chat("Hello"));
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
  CHECK(h.Circuit("u1") == "closed 1");
}

TEST_CASE("decisions 10: the last candidate's hidden error gives the status it carries") {
  for (const bool stream : {false, true}) {
    for (const auto& [code, status] :
         std::vector<std::pair<std::string, int>>{{"503", 503}, {"429", 429}, {"\"x\"", 502}}) {
      INFO(code << (stream ? " stream" : ""));
      Harness h;
      h.Demo({"u1", "u2"}).On("u1", Script::Json(503, ""));
      h.On("u2", stream ? Open({ErrorFrame(code)}).End() : Script::Json(200, Hidden(code)));
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == status);
      CHECK(client.header("content-type") == "application/json");
      CHECK(Message(client.body())
                .find("(provider u2, upstream HTTP " + std::to_string(status) + ")") !=
            std::string::npos);
      CHECK(h.record().attempts.at(1).status == 200);  // the trail keeps what was on the wire
      CHECK(h.record().status == status);
    }
  }
}

TEST_CASE("decisions 10: a hidden 400 or 422 is final like a real one") {
  for (const bool stream : {false, true}) {
    for (const char* code : {"400", "422"}) {
      INFO(code << (stream ? " stream" : ""));
      Harness h;
      h.Demo({"u1", "u2"});
      h.On("u1", stream ? Open({ErrorFrame(code)}).End() : Script::Json(200, Hidden(code)));
      const Client client = h.Ask("hotel/demo", stream);
      CHECK(client.status() == std::stoi(code));
      CHECK(Message(client.body()) == "overloaded");  // the provider's own words
      CHECK(h.Calls("u2") == 0);
      CHECK(h.Trail() == Lines{"0 u1 200 alive provider_bad_request"});
    }
  }
}

TEST_CASE("decisions 10: a JSON body with choices beside error is an answer") {
  const std::string body =
      R"({"id":"1","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}],)"
      R"("error":{"message":"x","code":503}})";
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(200, body));
  CHECK(h.Ask().body() == body);
  CHECK(h.Calls("u2") == 0);
}

TEST_CASE("facts f: an error member that carries nothing is no error") {
  for (const char* empty : {"null", "{}", "\"\"", "[]", "false", "0"}) {
    INFO(empty);
    Harness h;
    const Script stream =
        Open({std::string(R"(data: {"choices":[{"index":0,"delta":{"content":"Hi"}}],"error":)") +
                  empty + "}",
              Fin(), Done()})
            .End();
    h.Demo({"u1", "u2"}).On("u1", stream);
    CHECK(h.Ask("hotel/demo", true).body() == BytesOf(stream));
    CHECK(h.Calls("u2") == 0);
  }
}

TEST_CASE("R30 facts a: a stream that ends before any data frame failed, and moves on") {
  const std::pair<const char*, Script> rows[] = {
      {"[DONE] first", Open({Done()}).End()},
      {"nothing", Open({}).End()},
      {"comments only", Open({": ping", ": ping"}).End()},
      {"comments, then [DONE]", Open({": ping", Done()}).Hang()},
  };
  for (const auto& [what, script] : rows) {
    INFO(what);
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", script);
    const Script good = Script::ChatStream("Good day");
    h.On("u2", good);
    const Client client = h.Ask("hotel/demo", true);
    CHECK(client.body() == BytesOf(good));
    CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
    testing::AddGroup(*h.store, "solo", {"u1/m"});
    const Client alone = h.Ask("hotel/solo", true);
    CHECK(alone.status() == 502);
    CHECK(Message(alone.body()) == "provider request failed for model hotel/solo");
  }
}

TEST_CASE(
    "decisions 10: an opener followed by a cut is a failed attempt, what was held is dropped") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Cut(Open({Role(), Usage()})));
  const Script good = Script::ChatStream("Good day");
  h.On("u2", good);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.body() == BytesOf(good));
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
}

TEST_CASE("F043 a whole JSON answer to a stream request is served as it is") {
  Harness h;
  const Script json = Script::Chat("Good day");
  h.Demo({"u1", "u2"}).On("u1", json);
  const Client client = h.Ask("hotel/demo", true);
  CHECK(client.status() == 200);
  CHECK(client.header("content-type") == "application/json");
  CHECK(client.body() == BytesOf(json));
  CHECK(h.Circuit("u1") == "closed 0");
}

}  // namespace
}  // namespace hotel::scenario
