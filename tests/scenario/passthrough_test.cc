// The passthrough: bytes go through unchanged, whatever they are (R14, R22, R29; decisions 6).
#include <string>
#include <utility>

#include "tests/scenario/endpoints.h"
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

RouteRequest Through(const std::string& method, const std::string& target,
                     const std::string& body = "") {
  RouteRequest request = To(Endpoint::kPassthrough, body);
  request.passthrough.provider = "u1";
  request.passthrough.method = method;
  request.passthrough.target = target;
  request.passthrough.headers = {{"accept", "text/x"}, {"content-type", "application/x-odd"}};
  return request;
}

struct One : Harness {
  explicit One(Settings with = FailoverFirst(), const std::string& type = "openai")
      : Harness(std::move(with)) {
    testing::AddProvider(*store, "u1", "sk-secret-1", type);
  }
};

TEST_CASE("R29 method, target, headers and body go through; the credential is the provider's") {
  One h;
  h.On("u1", Script::Json(200, R"({"ok":true})"));
  RouteRequest request = Through("PATCH", "/files/x%2Fy?a=1&b", "\x01odd {\"model\":\"x\"}");
  request.passthrough.headers.push_back({"authorization", "Bearer sk-client"});
  const Client client = AskFor(h, request);
  CHECK(client.status() == 200);
  CHECK(client.body() == R"({"ok":true})");
  const auto& seen = h.Seen("u1");
  CHECK(seen.request.method == "PATCH");
  CHECK(seen.request.url.find("/files/x%2Fy?a=1&b") != std::string::npos);
  CHECK(seen.body == "\x01odd {\"model\":\"x\"}");
  CHECK(FindHeader(seen.request.headers, "accept") == "text/x");
  CHECK(FindHeader(seen.request.headers, "content-type") == "application/x-odd");
  std::size_t credentials = 0;
  for (const Header& header : seen.request.headers) {
    if (header.name == "authorization") {
      ++credentials;
      CHECK(header.value == "Bearer sk-secret-1");
    }
  }
  CHECK(credentials == 1);
  CHECK(h.Trail() == Lines{"0 u1 200 success -"});
  CHECK(client.header("x-hotel-provider") == "u1");
}

TEST_CASE("R29 what looks like an error or like nothing is not judged") {
  for (const char* body : {R"({"error":{"code":503,"message":"x"}})", R"({"choices":[]})", "", "{",
                           R"({"base_resp":{"status_code":1008,"status_msg":"x"}})"}) {
    INFO(body);
    One h(FailoverFirst(), "minimax");
    h.On("u1", Script::Json(200, body));
    const Client client = AskFor(h, Through("POST", "/x", "{}"));
    CHECK(client.status() == 200);
    CHECK(client.body() == body);
    CHECK(client.sink->end.complete);
    CHECK(h.Circuit("u1", "*") == "closed 0");
  }
}

TEST_CASE("R29 a provider's refusal goes to the client as it is, and is judged by its status") {
  const std::pair<int, std::string> rows[] = {{400, "alive"},  {404, "noop"},   {401, "charge"},
                                              {500, "charge"}, {503, "charge"}, {402, "charge"},
                                              {418, "alive"},  {304, "alive"}};
  for (const auto& [status, effect] : rows) {
    INFO(status);
    One h;
    const std::string words = "<odd> sk-secret-1 " + std::to_string(status);
    Script script;
    script
        .Head(status, {{"content-type", "text/odd"},
                       {"etag", "\"e\""},
                       {"location", "https://elsewhere.test/"},
                       {"set-cookie", "a=b"},
                       {"retry-after", "7"}})
        .Bytes(words)
        .End();
    h.On("u1", script);
    const Client client = AskFor(h, Through("POST", "/x", "{}"));
    CHECK(client.status() == status);
    CHECK(client.body() == words);
    CHECK(client.header("content-type") == "text/odd");
    CHECK(client.header("etag") == "\"e\"");
    CHECK(client.header("retry-after") == "7");
    CHECK(client.header("location").empty());
    CHECK(client.header("set-cookie").empty());
    CHECK(client.sink->end.complete);
    CHECK(h.Calls("u1") == 1);
    CHECK(BreakerEffectName(h.record().attempts[0].breaker) == effect);
    CHECK(h.record().status == status);
    CHECK(h.record().attempts[0].detail.find("sk-secret-1") == std::string::npos);
  }
}

TEST_CASE("F179 a redirect is neither followed nor passed on by the passthrough") {
  for (const int status : {301, 302, 303, 307, 308}) {
    INFO(status);
    One h;
    h.On("u1", Script().Head(status, {{"location", "https://elsewhere.test/"}}).End());
    const Client client = AskFor(h, Through("GET", "/x", ""));
    CHECK(client.status() == 502);
    CHECK(client.header("location").empty());
    CHECK(h.Circuit("u1", "*") == "closed 1");
    CHECK(h.Calls("u1") == 1);
  }
}

TEST_CASE("F083 a 429 of the passthrough is read") {
  One h;
  h.On("u1", SpentWindow());
  const Client client = AskFor(h, Through("POST", "/x", "{}"));
  CHECK(client.status() == 429);
  CHECK(client.body() == BytesOf(SpentWindow()));
  CHECK(h.record().attempts[0].rate_limit == "exhausted");
  CHECK(h.Circuit("u1", "*") == "open 5");
}

TEST_CASE("R29 coded bytes stay coded, with their coding") {
  One h;
  const std::string coded("\x1f\x8b\x08\x00zzz", 7);
  for (const int status : {200, 503}) {
    h.upstreams.Clear(Url("u1"));
    Script script;
    script.Head(status, {{"content-encoding", "gzip"}}).Bytes(coded).End();
    h.On("u1", script);
    const Client client = AskFor(h, Through("POST", "/x", "{}"));
    CHECK(client.status() == status);
    CHECK(client.body() == coded);
    CHECK(client.header("content-encoding") == "gzip");
    CHECK(client.header("content-type").empty());
  }
}

TEST_CASE("R29 a stream is relayed as it comes and its end is the provider's") {
  One h;
  const Script sent = Open({Text("one"), "data: {oops", Text("two")});  // no terminal event
  h.On("u1", Script(sent).End()).On("u1", Cut(sent));
  const Client clean = AskFor(h, Through("POST", "/chat/completions", StreamBody()));
  CHECK(clean.body() == BytesOf(sent));
  CHECK(clean.sink->head.streaming);
  CHECK(clean.sink->end.complete);
  CHECK(h.Circuit("u1", "*") == "closed 0");
  const Client cut = AskFor(h, Through("POST", "/chat/completions", StreamBody()));
  CHECK(cut.body() == BytesOf(sent));
  CHECK_FALSE(cut.sink->end.complete);
  CHECK(cut.sink->end.cut);
  CHECK(h.Circuit("u1", "*") == "closed 1");
}

TEST_CASE("R14 R22 only what is safe to send twice is repeated") {
  struct Row {
    const char* method;
    const char* key;
    std::size_t calls;
  };
  const Row rows[] = {{"GET", "", 3},     {"HEAD", "", 3},    {"OPTIONS", "", 3},
                      {"PUT", "", 3},     {"POST", "", 1},    {"PATCH", "", 1},
                      {"DELETE", "", 1},  {"POST", "k-1", 3}, {"DELETE", "k-1", 3},
                      {"POST", "k 1", 1}, {"POST", "   ", 1}};
  for (const Row& row : rows) {
    for (const bool reset : {false, true}) {
      INFO(row.method << " " << row.key << (reset ? " reset" : " status"));
      One h(FailoverFirst(
          {{"resilience.retry.retry_on_statuses", "503"}, {"resilience.retry.max_retries", "2"}}));
      h.On("u1", reset ? Script::Reset() : Script::Json(503, "no"));
      h.On("u1", reset ? Script::Reset() : Script::Json(503, "no"));
      h.On("u1", Script::Json(503, "at last"));
      RouteRequest request = Through(row.method, "/x");
      request.idempotency_key = row.key;
      const Client client = AskFor(h, request);
      CHECK(h.Calls("u1") == row.calls);
      CHECK(client.status() == (row.calls == 1 && reset ? 502 : 503));
      if (row.calls == 3) {
        CHECK(client.body() == "at last");
        for (std::size_t i = 0; i < 3; ++i) {
          CHECK(FindHeader(h.Seen("u1", i).request.headers, "idempotency-key") == row.key);
        }
      }
      CHECK(h.record().attempts.size() == 1);
    }
  }
}

TEST_CASE("R14 what never left is no repeat: a refused connection is tried again") {
  One h(FailoverFirst({{"resilience.retry.max_retries", "2"}}));
  h.On("u1", Script::Refused()).On("u1", Script::Json(200, "ok"));
  CHECK(AskFor(h, Through("POST", "/x", "{}")).body() == "ok");
  CHECK(h.Calls("u1") == 2);
}

TEST_CASE("a passthrough that gets no answer has the gateway's: 502, or 504 in time") {
  One refused(FailoverFirst({{"resilience.retry.max_retries", "0"}}));
  refused.On("u1", Script::Refused());
  const Client client = AskFor(refused, Through("GET", "/x"));
  CHECK(client.status() == 502);
  CHECK(client.body().rfind(R"({"error":{)", 0) == 0);
  CHECK(refused.Circuit("u1", "*") == "closed 1");
  One silent(FailoverFirst({{"timeouts.request_timeout", "1s"}}));
  silent.On("u1", Script().Hang());
  CHECK(AskFor(silent, Through("GET", "/x")).status() == 504);
}

TEST_CASE("HEAD, 204 and 304 have no body") {
  One h;
  h.On("u1", Script().Head(200, {{"content-type", "text/x"}, {"content-length", "500"}}).End());
  h.On("u1", Script().Head(204).End()).On("u1", Script().Head(304, {{"etag", "\"e\""}}).End());
  const Client head = AskFor(h, Through("HEAD", "/x"));
  CHECK(head.status() == 200);
  CHECK(head.body().empty());
  CHECK_FALSE(head.sink->head.streaming);
  CHECK(head.header("content-length") == "500");
  for (const int status : {204, 304}) {
    const Client client = AskFor(h, Through("GET", "/x"));
    CHECK(client.status() == status);
    CHECK_FALSE(client.sink->head.streaming);
    CHECK(client.header("content-length").empty());
  }
  CHECK(h.Circuit("u1", "*") == "closed 0");
}

TEST_CASE("no first-output probe: a stream of openers runs on until its own limits") {
  One h(FailoverFirst({{"ttft_timeout", "1s"}}));
  h.On("u1", Open({Role()}).After(seconds(20)).Bytes(Bytes({Text("x")})).End());
  const Client client = AskFor(h, Through("POST", "/chat/completions", StreamBody()));
  CHECK(client.body() == Bytes({Role(), Text("x")}));
  CHECK(client.took == seconds(20));
}

TEST_CASE("a provider that is not there is a 404") {
  One h;
  RouteRequest request = Through("GET", "/x");
  request.passthrough.provider = "nobody";
  const Client client = AskFor(h, request);
  CHECK(client.status() == 404);
  CHECK(h.upstreams.seen().empty());
}

}  // namespace
}  // namespace hotel::scenario
