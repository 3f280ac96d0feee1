// The request body on its way to the providers (F021, F023, F155, F157, F159; decisions 7).
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

Client SendAndWait(Harness& h, const std::string& body) {
  Client client = h.Send(body);
  h.Wait(client);
  return client;
}

TEST_CASE("F021 F023 every attempt sends the complete body, only the model's bytes changed") {
  const std::string odd =
      R"({ "seed":12345678901234567890 ,"a":1.0, "b":"\u00e9\/", "z":{"model":"inner","x":[1e400]},)"
      "\n\t\"model\" : \"hotel/demo\" ,\"max_tokens\":1, \"c\":\"\\ud83d\"}";
  Harness h;
  testing::AddProvider(*h.store, "u1");
  testing::AddProvider(*h.store, "u2");
  testing::AddProvider(*h.store, "u3");
  testing::AddGroup(*h.store, "demo", {"u1/one", "u2/z-ai/two", "u3/quo\"te"});
  h.On("u1", Script::Json(500, "")).On("u2", Script::Reset()).On("u3", Script::Chat("Good day"));
  CHECK(SendAndWait(h, odd).status() == 200);
  const auto with = [&](const std::string& model) {
    std::string body = odd;
    return body.replace(body.find("\"hotel/demo\""), 12, model);
  };
  CHECK(h.Seen("u1").body == with("\"one\""));
  CHECK(h.Seen("u2").body == with("\"z-ai/two\""));
  CHECK(h.Seen("u3").body == with("\"quo\\\"te\""));
}

TEST_CASE("F023 12 MiB reach the third provider complete") {
  for (const std::size_t size : {std::size_t{512}, std::size_t{70} << 10, std::size_t{12} << 20}) {
    Harness h;
    h.Demo({"u1", "u2", "u3"}).On("u1", Script::Json(429, "")).On("u2", Script::Reset());
    h.On("u3", Script::Chat("Good day"));
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; i += 97) text[i] = static_cast<char>('a' + (i / 97) % 26);
    CHECK(SendAndWait(h, R"({"model":"hotel/demo","text":")" + text + "\"}").status() == 200);
    const std::string want = R"({"model":"m","text":")" + text + "\"}";
    for (const char* name : {"u1", "u2", "u3"}) CHECK((h.Seen(name).body == want));
  }
}

TEST_CASE("F157 each provider gets its own model id, also when one equals what was asked") {
  Harness h;
  for (const char* name : {"u1", "u2"}) testing::AddProvider(*h.store, name);
  testing::AddGroup(*h.store, "there", {"u1/hotel/there", "u2/other"});
  testing::AddGroup(*h.store, "back", {"u2/other", "u1/hotel/back"});
  h.On("u1", Script::Json(500, "")).On("u2", Script::Json(500, ""));
  h.Ask("hotel/there");
  h.Ask("hotel/back");
  CHECK(h.Seen("u1", 0).body == R"({"model":"hotel/there","messages":[]})");
  CHECK(h.Seen("u2", 0).body == R"({"model":"other","messages":[]})");
  CHECK(h.Seen("u2", 1).body == R"({"model":"other","messages":[]})");
  CHECK(h.Seen("u1", 1).body == R"({"model":"hotel/back","messages":[]})");
}

TEST_CASE("F155 a routing member given twice is a 400, in any spelling; deeper down it is not") {
  for (const char* body :
       {R"({"model":"u1/m","model":"u2/m"})", R"({"model":"u1/m","m\u006fdel":"u2/m"})",
        R"({"model":"u1/m","stream":true,"stream":false})",
        R"({"model":"u1/m","stream":true,"\u0073tream":true})"}) {
    INFO(body);
    Harness h;
    h.Demo({"u1", "u2"});
    const Client client = SendAndWait(h, body);
    CHECK(client.status() == 400);
    CHECK(client.body().find("\"code\":\"invalid_request\"") != std::string::npos);
    CHECK(h.upstreams.seen().empty());
  }
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  const std::string nested = R"("tools":[{"model":1,"model":2,"stream":3,"stream":4}]})";
  CHECK(SendAndWait(h, R"({"model":"u1/m",)" + nested).status() == 200);
  CHECK(h.Seen("u1").body == R"({"model":"m",)" + nested);
}

TEST_CASE("facts g: what is no request is a 400 with a record, and nobody is asked") {
  for (const char* body : {"", "{", "[]", "null", "\"x\"", "{}", R"({"model":null})",
                           R"({"model":7})", R"({"model":""})", R"({"model":"u1/m"} x)",
                           R"({"model":"u1/m","stream":"yes"})", R"({"model":"u1/m","x":tru})"}) {
    INFO(body);
    Harness h;
    h.Demo({"u1"});
    const Client client = SendAndWait(h, body);
    CHECK(client.status() == 400);
    CHECK(client.body().find("\"type\":\"invalid_request_error\"") != std::string::npos);
    CHECK(h.upstreams.seen().empty());
    CHECK(h.record().status == 400);
    CHECK(h.record().error_kind == ErrorKind::kValidation);
  }
}

TEST_CASE("F159 lone surrogates and other escapes pass untouched") {
  for (const char* text : {R"(\ud800)", R"(\ude00 x)", R"(x \ud83d)", R"(\u0000)"}) {
    INFO(text);
    Harness h;
    h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
    const std::string rest =
        std::string(R"("messages":[{"role":"user","content":")") + text + "\"}]}";
    CHECK(SendAndWait(h, R"({"model":"hotel/demo",)" + rest).status() == 200);
    CHECK(h.Seen("u1").body == R"({"model":"m",)" + rest);
  }
}

TEST_CASE("an escaped model name is read as what it means") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  CHECK(SendAndWait(h, R"({"model":"h\u006ftel\/demo"})").status() == 200);
  CHECK(h.Seen("u1").body == R"({"model":"m"})");
}

TEST_CASE("a model name of any length and content gives a sane answer") {
  for (const std::string& model :
       {std::string(100000, 'x'), "hotel/" + std::string(100000, 'x'),
        std::string("hotel/\\u0000\\n"), std::string("hotel/a\\r\\nx-evil: 1"),
        std::string("u9/\\ud800")}) {
    Harness h;
    h.Demo({"u1"});
    const Client client = SendAndWait(h, "{\"model\":\"" + model + "\"}");
    CHECK((client.status() == 400 || client.status() == 404));
    CHECK(client.body().size() < 2000);
    for (const Header& header : client.sink->head.headers) {
      CHECK(header.value.find_first_of("\r\n") == std::string::npos);
    }
  }
}

TEST_CASE("the request's id: the client's when it can stand in a header, else a new one") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day"));
  const std::string body = R"({"model":"hotel/demo"})";
  Client named = h.Send(body, "my-id-7");
  h.Wait(named);
  CHECK(named.header("x-hotel-request-id") == "my-id-7");
  CHECK(named.call->request_id() == "my-id-7");
  CHECK(h.record().request_id == "my-id-7");
  CHECK(h.record().key_name == "dev");
  for (const std::string& bad :
       {std::string("a b"), std::string("a\r\nb"), std::string(129, 'x')}) {
    Client client = h.Send(body, bad);
    h.Wait(client);
    CHECK(client.header("x-hotel-request-id") != bad);
    CHECK_FALSE(client.header("x-hotel-request-id").empty());
    CHECK(h.record().request_id == client.header("x-hotel-request-id"));
  }
}

TEST_CASE("F169 a failed stream request is recorded with what the client got") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(529, "")).On("u2", Script::Json(529, ""));
  h.Ask("hotel/demo", true);
  CHECK(h.record().status == 529);
  CHECK(h.record().attempts.at(0).status == 529);
  CHECK(h.record().attempts.at(1).status == 529);
}

/// Takes whole answers as they are given.
class OwningSink final : public testing::RecordingSink {
 public:
  void OnWholeBody(std::string bytes) override {
    ++given;
    body = std::move(bytes);
  }
  int given = 0;
};

TEST_CASE("a whole answer is given away, a stream comes in pieces") {
  Harness h;
  h.Demo({"u1"}).On("u1", Script::Chat("Good day")).On("u1", Script::ChatStream("Good day"));
  auto whole = std::make_shared<OwningSink>();
  Client client = h.Send(R"({"model":"hotel/demo"})", "", whole);
  h.Wait(client);
  CHECK(client.status() == 200);
  CHECK(whole->given == 1);
  CHECK(whole->chunks.empty());
  CHECK(whole->body.find("Good day") != std::string::npos);
  CHECK(whole->violations.empty());

  auto stream = std::make_shared<OwningSink>();
  client = h.Send(R"({"model":"hotel/demo","stream":true})", "", stream);
  h.Wait(client);
  CHECK(stream->given == 0);
  CHECK_FALSE(stream->chunks.empty());
}

}  // namespace
}  // namespace hotel::scenario
