// Plain exchanges: what goes out, what comes back.
#include <mutex>
#include <string>

#include <openssl/evp.h>
#include <stdlib.h>

#include "hotel/defaults.h"

#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;
using std::chrono::milliseconds;

std::string Sha256(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ::EVP_Digest(bytes.data(), bytes.size(), digest, &size, ::EVP_sha256(), nullptr);
  return std::string(reinterpret_cast<char*>(digest), size);
}

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  unsigned state = 12345;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

bool Complete(const Call& call) {
  return call.recorder.done() && call.recorder.result().outcome == Outcome::kComplete &&
         call.recorder.violations() == 0;
}

// Answers every request of every connection.
ScriptedServer::Script Always(std::string reply) {
  return [reply = std::move(reply)](Peer& peer) {
    while (peer.ReadRequest()) peer.Send(reply);
  };
}

TEST_CASE("a request carries what was given, Host and Content-Length, and nothing else") {
  ScriptedServer server(Always(Reply(200, "hi", "X-A: b\r\n")));
  Client client;
  UpstreamRequest request = Client::Post(server.Url("/v1/x?q=1"), "{\"a\":1}");
  request.headers = {{"Authorization", "Bearer k"},
                     {"Host", "evil"},
                     {"Content-Length", "99"},
                     {"Transfer-Encoding", "chunked"},
                     {"Expect", "100-continue"},
                     {"Connection", "close"},
                     {"X-Empty", ""}};
  const Call& call = client.Run(std::move(request));
  REQUIRE(Complete(call));
  CHECK(call.recorder.status() == 200);
  CHECK(call.recorder.body() == "hi");
  CHECK(FindHeader(call.recorder.headers(), "x-a") == "b");
  CHECK(call.recorder.result().phase == TransportPhase::kBody);
  CHECK_FALSE(call.recorder.result().reused_connection);
  CHECK(server.received(0) ==
        "POST /v1/x?q=1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
            "\r\nAuthorization: Bearer k\r\nX-Empty:\r\n"
            "Content-Length: 7\r\n\r\n{\"a\":1}");
}

TEST_CASE("F137 an IPv6 literal keeps its brackets in Host") {
  ScriptedServer server(Always(Reply(200, "hi")), {.ipv6 = true});
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(Complete(call));
  CHECK(server.received(0).find("\r\nHost: [::1]:" + std::to_string(server.port()) + "\r\n") !=
        std::string::npos);
}

TEST_CASE("F137 a name whose IPv6 address does not answer is reached over IPv4") {
  ScriptedServer server(Always(Reply(200, "hi")));
  CurlOptions options = Client::LoopbackOptions();
  options.addresses.allowed_hosts = {"localhost"};
  Client client(options);
  const auto start = std::chrono::steady_clock::now();
  const Call& call =
      client.Run(Client::Post("http://localhost:" + std::to_string(server.port()) + "/v1"));
  REQUIRE(Complete(call));
  // Far below the time that is allowed for connecting to one address.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  CHECK(server.received(0).find("\r\nHost: localhost:") != std::string::npos);
}

TEST_CASE("F023 bodies of every size arrive complete and once") {
  const std::size_t size = GENERATE(std::size_t{0}, std::size_t{1}, std::size_t{512},
                                    std::size_t{70} << 10, std::size_t{12} << 20);
  CAPTURE(size);
  const std::string body = Pattern(size);
  std::mutex mutex;
  std::string head;
  std::string got;
  ScriptedServer server([&](Peer& peer) {
    if (!peer.ReadRequest()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      head = peer.head();
      got = peer.body();
    }
    peer.Send(Reply(200, "ok"));
  });
  Client client;
  const Call& call = client.Run(Client::Post(server.Url(), body));
  REQUIRE(Complete(call));
  const std::lock_guard<std::mutex> lock(mutex);
  CHECK(head.find("Content-Length: " + std::to_string(size) + "\r\n") != std::string::npos);
  // "Expect: 100-continue" would cost a second with a server that does not know it.
  CHECK(head.find("xpect") == std::string::npos);
  CHECK(got.size() == size);
  CHECK(Sha256(got) == Sha256(body));
  CHECK(server.requests() == 1);
}

TEST_CASE("a spliced body goes out as one") {
  ScriptedServer server(Always(Reply(200, "ok")));
  Client client;
  UpstreamRequest request = Client::Post(server.Url(), R"({"model":"hotel/x","n":1.0})");
  request.body = request.body.Splice(10, 7, "acme/y");
  REQUIRE(Complete(client.Run(std::move(request))));
  const std::string received = server.received(0);
  CHECK(received.substr(received.find("\r\n\r\n") + 4) == R"({"model":"acme/y","n":1.0})");
}

TEST_CASE("methods without a body") {
  const std::string method = GENERATE("GET", "DELETE", "HEAD");
  ScriptedServer server([&](Peer& peer) {
    while (peer.ReadRequest()) {
      peer.Send(method == "HEAD" ? "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"
                                 : Reply(200, "ok"));
    }
  });
  Client client;
  UpstreamRequest request = Client::Post(server.Url("/v1/models"), "");
  request.method = method;
  request.headers.clear();
  const Call& call = client.Run(std::move(request));
  REQUIRE(Complete(call));
  CHECK(call.recorder.body() == (method == "HEAD" ? "" : "ok"));
  CHECK(server.received(0) == method + " /v1/models HTTP/1.1\r\nHost: 127.0.0.1:" +
                                  std::to_string(server.port()) + "\r\n\r\n");
}

TEST_CASE("a PUT carries its body under its own method") {
  ScriptedServer server(Always(Reply(200, "ok")));
  Client client;
  UpstreamRequest request = Client::Post(server.Url(), "abc");
  request.method = "PUT";
  REQUIRE(Complete(client.Run(std::move(request))));
  CHECK(server.received(0).substr(0, 4) == "PUT ");
  CHECK(server.received(0).find("Content-Length: 3\r\n") != std::string::npos);
}

TEST_CASE("every status from 200 to 599 is delivered as it is") {
  const int status = GENERATE(200, 204, 299, 304, 400, 401, 407, 417, 424, 429, 499, 500, 503, 599);
  CAPTURE(status);
  const bool bodiless = status == 204 || status == 304;
  ScriptedServer server(
      Always(bodiless ? "HTTP/1.1 " + std::to_string(status) + " X\r\n\r\n" : Reply(status, "b")));
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(Complete(call));
  CHECK(call.recorder.status() == status);
  CHECK(call.recorder.body() == (bodiless ? "" : "b"));
  CHECK(server.requests() == 1);
}

TEST_CASE("F179 redirects are delivered, never followed") {
  const int status = GENERATE(301, 302, 303, 307, 308);
  ScriptedServer sink(Always(Reply(200, "stolen")));
  const int place = GENERATE(0, 1, 2);
  const std::string target = place == 0   ? sink.Url("/steal")
                             : place == 1 ? "/relative"
                                          : "https://127.0.0.1:1/";
  CAPTURE(status, target);
  ScriptedServer server(Always(Reply(status, "", "Location: " + target + "\r\n")));
  Client client;
  UpstreamRequest request = Client::Post(server.Url(), "prompt");
  request.headers = {{"x-api-key", "secret"}};
  const Call& call = client.Run(std::move(request));
  REQUIRE(Complete(call));
  CHECK(call.recorder.status() == status);
  CHECK(FindHeader(call.recorder.headers(), "location") == target);
  CHECK(server.requests() == 1);
  CHECK(sink.connections() == 0);
}

TEST_CASE("interim answers are swallowed") {
  ScriptedServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.1 100 Continue\r\n\r\n");
    peer.Pause(milliseconds(20));
    peer.Send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + Reply(200, "hi", "A: b\r\n"));
  });
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(Complete(call));
  CHECK(call.recorder.status() == 200);
  CHECK(call.recorder.heads() == 1);
  CHECK(FindHeader(call.recorder.headers(), "link").empty());
}

TEST_CASE("a chunked answer arrives piece by piece, and its trailers are dropped") {
  ScriptedServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(kStreamHead);
    peer.Send(Chunk("data: 1\n\n"));
    peer.WaitReleased();
    peer.Send(Chunk("data: 2\n\n"));
    peer.Send("0\r\nX-Trailer: t\r\nHTTP/1.1 500: odd\r\n\r\n");
    peer.WaitClosed();
  });
  Client client;
  Call& call = client.Start(Client::Post(server.Url()));
  REQUIRE(call.recorder.WaitBody(9));
  CHECK(call.recorder.body() == "data: 1\n\n");
  CHECK_FALSE(call.recorder.done());
  server.Release();
  REQUIRE(call.recorder.WaitDone());
  REQUIRE(Complete(call));
  CHECK(call.recorder.status() == 200);
  CHECK(call.recorder.body() == "data: 1\n\ndata: 2\n\n");
  CHECK(FindHeader(call.recorder.headers(), "x-trailer").empty());
}

TEST_CASE("a one-byte trickle makes the same answer") {
  ScriptedServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    const std::string reply = std::string(kStreamHead) + Chunk("hello") + std::string(kStreamEnd);
    for (const char byte : reply) {
      peer.Send(std::string_view(&byte, 1));
      peer.Pause(milliseconds(1));
    }
  });
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(Complete(call));
  CHECK(call.recorder.body() == "hello");
}

TEST_CASE("an answer without framing ends with its connection") {
  ScriptedServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.0 200 OK\r\n\r\nall of it");
    peer.FinishWriting();
    peer.WaitClosed();
  });
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(Complete(call));
  CHECK(call.recorder.body() == "all of it");
}

TEST_CASE("F147 content coding stays as sent") {
  const std::string coded("\x1f\x8b\x08\x00\x00not really gzip\xff\x00", 22);
  ScriptedServer server(Always(Reply(200, coded, "Content-Encoding: gzip\r\n")));
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(Complete(call));
  CHECK(call.recorder.body() == coded);
  CHECK(FindHeader(call.recorder.headers(), "content-encoding") == "gzip");
}

TEST_CASE("an early answer is delivered while the body is still on its way") {
  const int status = GENERATE(413, 200);
  CAPTURE(status);
  ScriptedServer server(
      [&](Peer& peer) {
        peer.ReadHead();
        peer.ReadBytes(1000);
        peer.Send(Reply(status, "enough"));
        peer.WaitClosed();
      },
      {.receive_buffer = 16 * 1024});
  Client client;
  Call& call = client.Start(Client::Post(server.Url(), Pattern(12 << 20)));
  REQUIRE(call.recorder.WaitBody(6));
  CHECK(call.recorder.status() == status);
  REQUIRE(call.recorder.WaitDone());
  CHECK(Complete(call));
}

TEST_CASE("the environment's proxies are not used") {
  ScriptedServer proxy(Always(Reply(200, "proxy")));
  ScriptedServer server(Always(Reply(200, "direct")));
  const char* const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                               "ALL_PROXY"};
  for (const char* name : names) ::setenv(name, proxy.Url("").c_str(), 1);
  std::string body;
  {
    Client client;
    const Call& call = client.Run(Client::Post(server.Url()));
    CHECK(Complete(call));
    body = call.recorder.body();
  }
  for (const char* name : names) ::unsetenv(name);
  CHECK(body == "direct");
  CHECK(proxy.connections() == 0);
}

TEST_CASE("a request that cannot be sent ends in OnDone, later, and reaches nobody") {
  ScriptedServer server(Always(Reply(200, "hi")));
  Client client;
  UpstreamRequest request = Client::Post(server.Url());
  TransportError expected = TransportError::kOther;
  SECTION("bad URL") { request.url = "not a url"; }
  SECTION("no scheme") { request.url = request.url.substr(7); }
  SECTION("other scheme") { request.url = "ftp" + request.url.substr(4); }
  SECTION("user info") { request.url.insert(7, "user:pw@"); }
  SECTION("line break in URL") { request.url += "\r\nX: y"; }
  SECTION("line break in header value") { request.headers.push_back({"A", "b\r\nC: d"}); }
  SECTION("NUL in header value") { request.headers.push_back({"A", std::string("b\0c", 3)}); }
  SECTION("line break in header name") { request.headers.push_back({"A\r\nB", "c"}); }
  SECTION("colon in header name") { request.headers.push_back({"A:", "c"}); }
  SECTION("empty header name") { request.headers.push_back({"", "c"}); }
  SECTION("line break in method") { request.method = "GET / HTTP/1.1\r\nX: y\r\n\r\nGET"; }
  SECTION("refused address") {
    request.url = "http://127.0.0.2:" + std::to_string(server.port()) + "/";
    expected = TransportError::kRefusedAddress;
  }
  Call call;
  bool done_inside = true;
  client.OnLoop([&] {
    call.exchange = client.dispatcher()->Start(std::move(request), &call.recorder);
    done_inside = call.recorder.done();
  });
  const bool done = call.recorder.WaitDone();
  client.Drop(call);
  REQUIRE(done);
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kFailed);
  CHECK(result.phase == TransportPhase::kNotSent);
  CHECK(result.error == expected);
  CHECK_FALSE(result.detail.empty());
  CHECK(result.detail.find("pw") == std::string::npos);
  CHECK(call.recorder.heads() == 0);
  CHECK(server.connections() == 0);
  CHECK_FALSE(done_inside);
}

TEST_CASE("F181 a name that resolves to an inner address is refused when the socket is opened") {
  ScriptedServer server(Always(Reply(200, "inner")));
  CurlOptions options;
  options.addresses.allow_http = true;
  options.addresses.allowed_hosts = {"other.example", "localhost:1"};
  Client client(options);
  const Call& call =
      client.Run(Client::Post("http://localhost:" + std::to_string(server.port()) + "/"));
  REQUIRE(call.recorder.done());
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kFailed);
  CHECK(result.error == TransportError::kRefusedAddress);
  CHECK(result.phase == TransportPhase::kNotSent);
  CHECK(result.detail.find("allowed_provider_hosts") != std::string::npos);
  CHECK(server.connections() == 0);
}

TEST_CASE("http URLs are refused unless allowed") {
  CurlOptions options;
  options.addresses.allowed_hosts = {"127.0.0.1"};
  Client client(options);
  const Call& call = client.Run(Client::Post("http://127.0.0.1:1/"));
  CHECK(call.recorder.result().error == TransportError::kRefusedAddress);
}

TEST_CASE("a dispatcher needs a loop of ours, readable options and readable roots") {
  class OtherLoop : public Loop {
   public:
    void Post(Task) override {}
    bool IsLoopThread() const noexcept override { return true; }
    TimePoint Now() const noexcept override { return {}; }
    TimerId RunAt(TimePoint, Task) override { return 1; }
    void CancelTimer(TimerId) override {}
  };
  OtherLoop other;
  CHECK(MakeCurlDispatcher(&other, {}).status().code() == absl::StatusCode::kInvalidArgument);
  auto thread = StartEventLoop();
  REQUIRE(thread.ok());
  CurlOptions hosts;
  hosts.addresses.allowed_hosts = {"http://x"};
  CHECK(MakeCurlDispatcher((*thread)->loop(), hosts).status().code() ==
        absl::StatusCode::kInvalidArgument);
  CurlOptions roots;
  roots.ca_file = "/nonexistent/roots.pem";
  CHECK(MakeCurlDispatcher((*thread)->loop(), roots).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace hotel::net_test
