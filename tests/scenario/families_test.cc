// Embeddings, images, sound: failover up to the first byte, then the provider's bytes as they are.
#include <string>
#include <utility>
#include <vector>

#include "tests/scenario/endpoints.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

constexpr const char* kEmbedding = R"({"object":"list","data":[{"index":0,"embedding":[0.25]}]})";
constexpr const char* kBody = R"({"model":"hotel/demo","input":"x"})";

Script Binary(const std::string& type, const std::vector<std::string>& pieces) {
  Script script;
  script.Head(200, {{"content-type", type}});
  for (const std::string& piece : pieces) script.Bytes(piece);
  return script;
}

const std::string kSound("\xff\xf3\x00\r\n\r\n\x01", 8);

TEST_CASE("F083 every 429 is read, on every endpoint: spent opens, the next one serves") {
  for (const Endpoint endpoint :
       {Endpoint::kEmbeddings, Endpoint::kSpeech, Endpoint::kRerank, Endpoint::kImageGenerations}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", SpentWindow());
    h.On("u2", Script::Json(200, kEmbedding));
    CHECK(AskFor(h, endpoint, kBody).header("x-hotel-provider") == "u2");
    CHECK(h.record().attempts[0].rate_limit == "exhausted");
    CHECK(h.Circuit("u1") == "open 5");
    CHECK(AskFor(h, endpoint, kBody).status() == 200);
    CHECK(h.Calls("u1") == 1);
  }
}

TEST_CASE("F109 answers of embeddings and speech close a half-open circuit") {
  const std::pair<Endpoint, Script> rows[] = {
      {Endpoint::kEmbeddings, Script::Json(200, kEmbedding)},
      {Endpoint::kSpeech, Binary("audio/mpeg", {kSound, kSound}).End()},
      {Endpoint::kImageGenerations, Script::Json(200, R"({"data":[{"b64_json":"aa"}]})")},
  };
  for (const auto& [endpoint, good] : rows) {
    Harness h;
    h.Demo({"u1"});
    for (int i = 0; i < 5; ++i) h.On("u1", Script::Reset());
    h.On("u1", good);
    Settings settings = FailoverFirst({{"resilience.retry.max_retries", "0"}});
    h.settings.Set(settings);
    for (int i = 0; i < 5; ++i) CHECK(AskFor(h, endpoint, kBody).status() == 502);
    CHECK(h.Circuit("u1") == "open 5");
    h.loop.Advance(minutes(2));
    CHECK(AskFor(h, endpoint, kBody).status() == 200);
    CHECK(h.Circuit("u1") == "closed 0");
  }
}

TEST_CASE("facts a embeddings that are no JSON or hide an error are failed attempts") {
  for (const Script& bad :
       {Script::Json(200, "<html>"), Script::Json(200, R"({"error":{"code":503,"message":"x"}})"),
        Binary("text/html", {"<html>sign in</html>"}).End(), Script::Json(200, "")}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", bad).On("u2", Script::Json(200, kEmbedding));
    const Client client = AskFor(h, Endpoint::kEmbeddings, kBody);
    CHECK(client.body() == kEmbedding);
    CHECK(client.header("x-hotel-provider") == "u2");
    CHECK(h.Circuit("u1") == "closed 1");
  }
}

TEST_CASE("F151 an embeddings answer that breaks off is a failed attempt") {
  Harness h;
  h.settings.Set(FailoverFirst({{"resilience.retry.max_retries", "0"}}));
  Script broken;
  broken.Head(200, {{"content-type", "application/json"}, {"content-length", "500"}})
      .Bytes("{\"data\":[")
      .Fail(TransportError::kInterrupted, TransportPhase::kBody);
  h.Demo({"u1", "u2"}).On("u1", broken).On("u2", Script::Json(200, kEmbedding));
  CHECK(AskFor(h, Endpoint::kEmbeddings, kBody).body() == kEmbedding);
  CHECK(h.Trail() == Lines{"0 u1 200 charge provider_error", "1 u2 200 success -"});
}

TEST_CASE("seed 000 speech is relayed as it comes, with its type and name") {
  Harness h;
  Script sound;
  sound.Head(200, {{"content-type", "audio/mpeg"},
                   {"content-disposition", "attachment; filename=speech.mp3"},
                   {"set-cookie", "a=b"},
                   {"x-secret", "1"}});
  h.Demo({"u1"}).On("u1", Script(sound).Bytes(kSound).After(seconds(90)).Bytes(kSound).End());
  Client client = h.Send(To(Endpoint::kSpeech, kBody));
  h.loop.RunUntilIdle();
  CHECK(client.body() == kSound);  // before the rest came
  CHECK(client.sink->head.streaming);
  h.Settle();
  CHECK_FALSE(client.sink->ended);
  h.loop.Advance(seconds(30));
  // The watchdog of streams holds for whatever is committed.
  CHECK(client.sink->ended);
  CHECK(client.sink->end.cut);
  CHECK(client.header("content-type") == "audio/mpeg");
  CHECK(client.header("content-disposition") == "attachment; filename=speech.mp3");
  CHECK(client.header("set-cookie").empty());
  CHECK(client.header("x-secret").empty());
}

TEST_CASE("seed 000 before the first byte sound fails over, behind it the missing end tells") {
  for (const bool first_byte : {false, true}) {
    Harness h;
    h.settings.Set(FailoverFirst({{"resilience.retry.max_retries", "0"}}));
    Script broken = Binary("audio/mpeg", {});
    if (first_byte) broken.Bytes(kSound);
    h.Demo({"u1", "u2"}).On("u1", Cut(broken)).On("u2", Binary("audio/mpeg", {kSound}).End());
    const Client client = AskFor(h, Endpoint::kSpeech, kBody);
    CHECK(client.body() == kSound);
    CHECK(client.sink->end.complete == !first_byte);
    CHECK(client.sink->end.cut == first_byte);
    CHECK(h.Calls("u2") == (first_byte ? 0 : 1));
    CHECK(h.Circuit("u1") == "closed 1");
    CHECK(h.record().error_kind == (first_byte ? ErrorKind::kProviderError : ErrorKind::kNone));
  }
}

TEST_CASE("sound without a byte delivered nothing; a transcript may be empty") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Binary("audio/mpeg", {}).End());
  h.On("u2", Binary("audio/mpeg", {kSound}).End());
  CHECK(AskFor(h, Endpoint::kSpeech, kBody).header("x-hotel-provider") == "u2");
  CHECK(h.Circuit("u1") == "closed 1");
}

RouteRequest Form(const std::string& file, Endpoint endpoint = Endpoint::kTranscriptions) {
  const std::string dash = "--b0undary\r\n";
  RouteRequest request =
      To(endpoint, dash + "content-disposition: form-data; name=\"file\"; filename=\"a.mp3\"\r\n" +
                       "content-type: audio/mpeg\r\n\r\n" + file + "\r\n" + dash +
                       "content-disposition: form-data; name=\"model\"\r\n\r\nhotel/demo\r\n" +
                       dash + "content-disposition: form-data; name=\"language\"\r\n\r\nde\r\n" +
                       "--b0undary--\r\n");
  request.content_type = "multipart/form-data; boundary=b0undary";
  return request;
}

TEST_CASE("F023 a form reaches every candidate whole, only its model's bytes changed") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{70} << 10, std::size_t{3} << 20}) {
    Harness h;
    testing::AddProvider(*h.store, "u1");
    testing::AddProvider(*h.store, "u2");
    testing::AddGroup(*h.store, "demo", {"u1/one", "u2/vendor/two"});
    h.On("u1", Script::Json(503, "{}")).On("u2", Script::Json(200, R"({"text":"hallo"})"));
    std::string file(size, '\0');
    for (std::size_t i = 0; i < size; i += 13) file[i] = static_cast<char>(i % 251);
    const RouteRequest request = Form(file);
    const std::string sent = *request.body;
    const Client client = AskFor(h, request);
    CHECK(client.body() == R"({"text":"hallo"})");
    const auto with = [&](const std::string& model) {
      std::string body = sent;
      return body.replace(body.find("hotel/demo"), 10, model);
    };
    CHECK((h.Seen("u1").body == with("one")));
    CHECK((h.Seen("u2").body == with("vendor/two")));
    for (const char* name : {"u1", "u2"}) {
      CHECK(FindHeader(h.Seen(name).request.headers, "content-type") ==
            "multipart/form-data; boundary=b0undary");
    }
    CHECK(h.Seen("u2").request.url == "https://u2.test/v1/audio/transcriptions");
    CHECK(h.record().requested_model == "hotel/demo");
    CHECK(h.record().resolved_model == "vendor/two");
  }
}

TEST_CASE("R24 an error under any name of JSON is not taken for a picture") {
  for (const char* type : {"application/json; charset=utf-8", "application/problem+json",
                           "text/json", "application/vnd.api+json;v=1"}) {
    INFO(type);
    Harness h;
    h.Demo({"u1", "u2"});
    h.On("u1", Script()
                   .Head(200, {{"content-type", type}})
                   .Bytes(R"({"error":{"message":"x","code":503}})")
                   .End());
    h.On("u2", Script::Json(200, R"({"created":1,"data":[{"b64_json":"eA=="}]})"));
    RouteRequest request;
    request.endpoint = Endpoint::kImageGenerations;
    request.body = std::make_shared<const std::string>(R"({"model":"hotel/demo","prompt":"x"})");
    Client client = h.Send(std::move(request));
    h.Wait(client);
    CHECK(client.header("x-hotel-provider") == "u2");
  }
}

TEST_CASE("seed 000 transcripts in other forms than JSON are relayed with their type") {
  Harness h;
  h.Demo({"u1"}).On("u1", Binary("text/vtt", {"WEBVTT\n\n", "00:00 --> 00:01\nhallo\n"}).End());
  const Client client = AskFor(h, Form("x"));
  CHECK(client.body() == "WEBVTT\n\n00:00 --> 00:01\nhallo\n");
  CHECK(client.header("content-type") == "text/vtt");
  CHECK(h.Circuit("u1") == "closed 0");
  Harness silence;
  silence.Demo({"u1"}).On("u1", Binary("text/plain", {}).End());
  CHECK(AskFor(silence, Form("x")).status() == 200);
  CHECK(silence.Trail() == Lines{"0 u1 200 noop -"});
}

TEST_CASE("facts g a form that is none is a 400 and nobody is asked") {
  Harness h;
  h.Demo({"u1"});
  RouteRequest request = Form("x");
  request.content_type = "application/json";
  CHECK(AskFor(h, request).status() == 400);
  request = Form("x");
  request.content_type = "multipart/form-data; boundary=other";
  CHECK(AskFor(h, request).status() == 400);
  CHECK(h.upstreams.seen().empty());
}

TEST_CASE("facts a 204 and 205 on these endpoints pass and say nothing of the provider") {
  for (const int status : {204, 205}) {
    Harness h;
    h.Demo({"u1", "u2"}).On("u1", Script().Head(status).End());
    const Client client = AskFor(h, Endpoint::kEmbeddings, kBody);
    CHECK(client.status() == status);
    CHECK(client.body().empty());
    CHECK(h.Calls("u2") == 0);
    CHECK(h.Trail() == Lines{"0 u1 " + std::to_string(status) + " noop -"});
  }
}

TEST_CASE("images as events are relayed, asked for or not; a clean end is whole") {
  for (const char* body : {R"({"model":"hotel/demo","prompt":"x","stream":true})",
                           R"({"model":"hotel/demo","prompt":"x"})"}) {
    Harness h;
    const Script sent = Open({Typed("image_generation.partial_image", R"(,"b64_json":"aa")"),
                              Typed("image_generation.completed", R"(,"b64_json":"bb")")});
    h.Demo({"u1"}).On("u1", Script(sent).End());
    const Client client = AskFor(h, Endpoint::kImageGenerations, body);
    CHECK(client.body() == BytesOf(sent));
    CHECK(client.header("content-type") == "text/event-stream");
    CHECK(client.sink->end.complete);
    CHECK(h.Trail() == Lines{"0 u1 200 success -"});
  }
}

TEST_CASE("images as events: an error first moves on, a cut behind output lets the end be missed") {
  Harness first;
  const Script good = Open({Typed("image_generation.completed", R"(,"b64_json":"bb")")}).End();
  first.Demo({"u1", "u2"}).On("u1", Open({ErrorFrame("503")}).End()).On("u2", good);
  CHECK(AskFor(first, Endpoint::kImageGenerations, kBody).body() == BytesOf(good));
  CHECK(first.Circuit("u1") == "closed 1");

  Harness cut;
  const Script sent = Open({Typed("image_generation.partial_image", R"(,"b64_json":"aa")")});
  cut.Demo({"u1", "u2"}).On("u1", Cut(sent));
  const Client client = AskFor(cut, Endpoint::kImageGenerations, kBody);
  CHECK(client.body() == BytesOf(sent));  // nothing can be added
  CHECK_FALSE(client.sink->end.complete);
  CHECK(client.sink->end.cut);
  CHECK(cut.Circuit("u1") == "closed 1");
}

TEST_CASE("seed 000 pictures and sound may take as long as streams, embeddings may not") {
  const auto late = [](const Script& script) {
    Script slow;
    slow.After(seconds(100));
    for (const auto& step : script.steps()) {
      if (step.kind == Script::Step::Kind::kHead) slow.Head(step.status, step.headers);
      if (step.kind == Script::Step::Kind::kBytes) slow.Bytes(step.bytes);
    }
    return slow.End();
  };
  Harness h;
  h.Demo({"u1"}).On("u1", late(Script::Json(200, kEmbedding)));
  const Client picture = AskFor(h, Endpoint::kImageGenerations, kBody);
  CHECK(picture.status() == 200);
  CHECK(picture.took == seconds(100));
  const Client vector = AskFor(h, Endpoint::kEmbeddings, kBody);
  CHECK(vector.status() == 504);
  CHECK(vector.took == seconds(60));
}

TEST_CASE("f.7/11 embeddings fail over to the same base model only, chat to any") {
  Harness h;
  for (const char* name : {"u1", "u2", "u3"}) testing::AddProvider(*h.store, name);
  testing::AddGroup(*h.store, "demo", {"u1/vendor/Embed-3", "u2/other", "u3/embed-3"});
  h.On("u1", Script::Json(503, "{}")).On("u2", Script::Chat("Hi"));
  h.On("u3", Script::Json(200, kEmbedding));
  CHECK(AskFor(h, Endpoint::kEmbeddings, kBody).header("x-hotel-provider") == "u3");
  CHECK(h.Calls("u2") == 0);
  CHECK(h.Trail() ==
        Lines{"-1 u2 - skipped -", "0 u1 503 charge provider_error", "1 u3 200 success -"});
  CHECK(h.Ask().header("x-hotel-provider") == "u2");
}

TEST_CASE("R18 R19 the idempotency key goes with forms and sound as with chat") {
  Harness h;
  h.Demo({"u1", "u2"}).On("u1", Script::Json(500, "{}"));
  h.On("u2", Script::Json(200, R"({"text":"x"})"));
  RouteRequest request = Form("x");
  request.idempotency_key = "k-1";
  AskFor(h, request);
  CHECK(FindHeader(h.Seen("u1").request.headers, "idempotency-key") == "k-1");
  CHECK(FindHeader(h.Seen("u2").request.headers, "idempotency-key").empty());
}

}  // namespace
}  // namespace hotel::scenario
