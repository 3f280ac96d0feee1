// What is particular to one provider's connections: its roots, its proxy, its socket.
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "hotel/defaults.h"

#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/net/self_signed.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;

void AnswerAll(Peer& peer) {
  while (peer.ReadRequest()) peer.Send(Reply(200, "answer"));
}

UpstreamRequest Via(const TransportOptions& transport, std::string url) {
  UpstreamRequest request = Client::Post(std::move(url), "prompt");
  request.headers.push_back({"Authorization", "Bearer sk-provider"});
  // A new object each time, as every change of a configuration makes.
  request.transport = std::make_shared<const TransportOptions>(transport);
  return request;
}

TransportOptions Proxy(const std::string& scheme, const ScriptedServer& server,
                       const std::string& user_info = "") {
  TransportOptions transport;
  transport.proxy =
      Secret(scheme + "://" + user_info + "127.0.0.1:" + std::to_string(server.port()));
  return transport;
}

std::string SocketPath() {
  static int count = 0;
  return "/tmp/hotel-net-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count) +
         ".sock";
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Takes the tunnel's place: answers CONNECT, then is the provider itself.
ScriptedServer::Script Tunnel(SSL_CTX* context) {
  return [context](Peer& peer) {
    peer.ReadHead();
    peer.Send("HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n");
    if (peer.StartTls(context)) AnswerAll(peer);
  };
}

}  // namespace

TEST_CASE("a provider's own roots are trusted for it alone") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client;
  TransportOptions own;
  own.ca_file = certificate.path();
  for (int round = 0; round < 2; ++round) {
    const Call& trusted = client.Run(Via(own, server.Url()));
    CHECK(trusted.recorder.result().outcome == Outcome::kComplete);
    CHECK(trusted.recorder.body() == "answer");
    CHECK(trusted.recorder.result().reused_connection == (round > 0));
    // Nobody else may use the connection that stands there.
    const Call& other = client.Run(Client::Post(server.Url()));
    CHECK(other.recorder.result().error == TransportError::kTls);
    CHECK(other.recorder.result().phase == TransportPhase::kNotSent);
  }
  CHECK(server.requests() == 2);
}

TEST_CASE("a file of roots that is not there is kTls, nothing sent") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  CurlOptions options = Client::LoopbackOptions();
  options.ca_file = certificate.path();
  Client client(options);
  TransportOptions own;
  own.ca_file = certificate.path() + ".missing";
  const Call& call = client.Run(Via(own, server.Url()));
  CHECK(call.recorder.result().error == TransportError::kTls);
  CHECK(server.requests() == 0);
}

TEST_CASE("through a proxy an http URL goes out in full, with the proxy's credentials beside") {
  ScriptedServer proxy(AnswerAll);
  Client client;
  const TransportOptions transport = Proxy("http", proxy, "us%65r:p%40ss@");
  for (int round = 0; round < 2; ++round) {
    const Call& call = client.Run(Via(transport, "http://api.example.test:8000/v1/x"));
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.body() == "answer");
    CHECK(call.recorder.result().reused_connection == (round > 0));
  }
  CHECK(proxy.connections() == 1);
  const std::string sent = proxy.received(0);
  CHECK(Has(sent, "POST http://api.example.test:8000/v1/x HTTP/1.1\r\n"));
  CHECK(Has(sent, "\r\nHost: api.example.test:8000\r\n"));
  CHECK(Has(sent, "\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n"));
  CHECK(Has(sent, "\r\nAuthorization: Bearer sk-provider\r\n"));
}

TEST_CASE("a tunnel is asked for without the key, and its answer is not the provider's") {
  const SelfSigned certificate("DNS:api.example.test");
  ScriptedServer proxy(Tunnel(certificate.context()));
  Client client;
  TransportOptions transport = Proxy("http", proxy);
  transport.ca_file = certificate.path();
  for (int round = 0; round < 2; ++round) {
    const Call& call = client.Run(Via(transport, "https://api.example.test/v1/x"));
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.heads() == 1);
    CHECK(FindHeader(call.recorder.headers(), "x-proxy").empty());
    CHECK(call.recorder.body() == "answer");
    CHECK(call.recorder.result().reused_connection == (round > 0));
  }
  const std::string sent = proxy.received(0);
  const std::string connect = sent.substr(0, sent.find("\r\n\r\n"));
  CHECK(Has(connect, "CONNECT api.example.test:443 HTTP/1.1\r\n"));
  CHECK_FALSE(Has(connect, "sk-provider"));
}

TEST_CASE("a proxy that refuses the tunnel is kConnect, nothing sent, its credentials unsaid") {
  ScriptedServer proxy([](Peer& peer) {
    peer.ReadHead();
    peer.Send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
    peer.WaitClosed();
  });
  Client client;
  const Call& call =
      client.Run(Via(Proxy("http", proxy, "user:hunter2@"), "https://api.example.test/"));
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kFailed);
  CHECK(result.error == TransportError::kConnect);
  CHECK(result.phase == TransportPhase::kNotSent);
  CHECK(call.recorder.heads() == 0);
  CHECK_FALSE(result.detail.empty());
  CHECK_FALSE(Has(result.detail, "hunter2"));
  CHECK_FALSE(Has(result.detail, "user"));
}

TEST_CASE("a proxy that closes before it answers is no interruption of the request") {
  ScriptedServer proxy([](Peer& peer) { peer.ReadHead(); });
  Client client;
  const ExchangeResult result =
      client.Run(Via(Proxy("http", proxy), "https://api.example.test/")).recorder.result();
  CHECK(result.error == TransportError::kConnect);
  CHECK(result.phase == TransportPhase::kNotSent);
}

TEST_CASE("an https proxy is spoken to under TLS, verified") {
  const SelfSigned certificate;
  ScriptedServer proxy(AnswerAll, {.tls = certificate.context()});
  Client client;
  TransportOptions transport = Proxy("https", proxy);
  CHECK(client.Run(Via(transport, "http://api.example.test/")).recorder.result().error ==
        TransportError::kTls);
  transport.ca_file = certificate.path();
  const Call& call = client.Run(Via(transport, "http://api.example.test/"));
  CHECK(call.recorder.body() == "answer");
  CHECK(proxy.requests() == 1);
}

TEST_CASE("a socks5h proxy gets the name and the credentials") {
  ScriptedServer proxy([](Peer& peer) {
    const std::string hello = peer.ReadBytes(2);
    if (hello.size() != 2 || hello[0] != 5) return;
    peer.ReadBytes(static_cast<std::size_t>(hello[1]));
    peer.Send(std::string("\x05\x02", 2));
    if (peer.ReadBytes(2 + 4 + 1 + 4) != "\x01\x04user\x04pass") return;
    peer.Send(std::string("\x01\x00", 2));
    const std::string wanted(
        "\x05\x01\x00\x03\x10"
        "api.example.test"
        "\x1f\x40",
        23);
    if (peer.ReadBytes(wanted.size()) != wanted) return;
    peer.Send(std::string("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10));
    AnswerAll(peer);
  });
  Client client;
  const TransportOptions transport = Proxy("socks5h", proxy, "user:pass@");
  for (int round = 0; round < 2; ++round) {
    const Call& call = client.Run(Via(transport, "http://api.example.test:8000/v1"));
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.body() == "answer");
    CHECK(call.recorder.result().reused_connection == (round > 0));
  }
}

TEST_CASE("a proxy's own address obeys the policy, and so does a literal target behind it") {
  ScriptedServer proxy(AnswerAll);
  Client client;
  CurlOptions strict = Client::LoopbackOptions();
  strict.addresses.allowed_hosts = {};
  Client closed(strict);
  const auto refused = [](Client& by, const TransportOptions& transport, const char* url) {
    const ExchangeResult result = by.Run(Via(transport, url)).recorder.result();
    CHECK(result.phase == TransportPhase::kNotSent);
    return result.error;
  };
  CHECK(refused(closed, Proxy("http", proxy), "http://api.example.test/") ==
        TransportError::kRefusedAddress);
  TransportOptions by_name;
  by_name.proxy = Secret("http://localhost:" + std::to_string(proxy.port()));
  CHECK(refused(closed, by_name, "http://api.example.test/") == TransportError::kRefusedAddress);
  CHECK(refused(client, Proxy("http", proxy), "http://169.254.169.254/") ==
        TransportError::kRefusedAddress);
  CHECK(refused(client, Proxy("http", proxy), "https://10.0.0.1/") ==
        TransportError::kRefusedAddress);
  CHECK(proxy.connections() == 0);
}

TEST_CASE("the environment's proxies and exceptions count for nothing") {
  ScriptedServer proxy(AnswerAll);
  ScriptedServer direct(AnswerAll);
  ::setenv("no_proxy", "*", 1);
  ::setenv("http_proxy", ("http://127.0.0.1:" + std::to_string(proxy.port())).c_str(), 1);
  {
    Client client;
    CHECK(client.Run(Client::Post(direct.Url())).recorder.body() == "answer");
    CHECK(proxy.connections() == 0);
    CHECK(client.Run(Via(Proxy("http", proxy), direct.Url())).recorder.body() == "answer");
    CHECK(proxy.requests() == 1);
    CHECK(direct.requests() == 1);
  }
  ::unsetenv("no_proxy");
  ::unsetenv("http_proxy");
}

TEST_CASE("connections of different proxies, credentials or none are never shared") {
  ScriptedServer one(AnswerAll);
  ScriptedServer two(AnswerAll);
  Client client;
  const std::string url = two.Url();
  const std::vector<TransportOptions> ways = {Proxy("http", one), Proxy("http", two),
                                              Proxy("http", one, "a:1@"),
                                              Proxy("http", one, "b:2@")};
  for (int round = 0; round < 2; ++round) {
    for (const TransportOptions& way : ways) {
      CHECK(client.Run(Via(way, url)).recorder.body() == "answer");
    }
    CHECK(client.Run(Client::Post(url)).recorder.body() == "answer");
  }
  std::size_t requests = 0;
  for (std::size_t i = 0; i < one.connections(); ++i) {
    const std::string sent = one.received(i);
    const bool a = Has(sent, "Basic YTox");
    const bool b = Has(sent, "Basic Yjoy");
    const bool none = Has(sent.substr(0, sent.find("\r\n\r\n")), "Proxy-Authorization");
    CHECK_FALSE((a && b));
    if (!none) CHECK_FALSE((a || b));
    requests += sent.empty() ? 0 : 1;
  }
  CHECK(requests >= 3);
  CHECK(one.requests() == 6);
  CHECK(two.requests() == 4);
  for (std::size_t i = 0; i < two.connections(); ++i) {
    // What goes to a proxy is in full, what goes to the provider is not.
    const std::string sent = two.received(i);
    CHECK_FALSE((Has(sent, "POST http://") && Has(sent, "POST /")));
  }
}

TEST_CASE("a provider behind a socket is reached there, wherever its URL points") {
  const std::string path = SocketPath();
  ScriptedServer server(AnswerAll, {.unix_path = path});
  ScriptedServer elsewhere(AnswerAll);
  CurlOptions options = Client::LoopbackOptions();
  options.addresses.allow_http = false;
  options.addresses.allowed_hosts = {"unix:" + path};
  Client client(options);
  TransportOptions transport;
  transport.unix_socket = path;
  for (int round = 0; round < 3; ++round) {
    const Call& call = client.Run(Via(transport, elsewhere.Url("/v1/x")));
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.body() == "answer");
    CHECK_FALSE(call.recorder.result().reused_connection);
  }
  CHECK(server.requests() == 3);
  CHECK(elsewhere.connections() == 0);
  CHECK(Has(server.received(0), "POST /v1/x HTTP/1.1\r\n"));
  CHECK(Has(server.received(0), "\r\nHost: 127.0.0.1:"));
  // Their connections are not kept.
  CHECK(server.WaitClosedCount(3, kLong) == 3);
}

TEST_CASE("a socket nobody named is refused, one that is not there is kConnect") {
  const std::string path = SocketPath();
  ScriptedServer server(AnswerAll, {.unix_path = path});
  CurlOptions options = Client::LoopbackOptions();
  options.addresses.allowed_hosts = {"unix:" + path + "2", "127.0.0.1"};
  Client client(options);
  TransportOptions transport;
  transport.unix_socket = path;
  const ExchangeResult refused = client.Run(Via(transport, "http://model.test/")).recorder.result();
  CHECK(refused.error == TransportError::kRefusedAddress);
  CHECK(Has(refused.detail, "unix:" + path));
  CHECK(server.connections() == 0);
  transport.unix_socket = path + "2";
  const ExchangeResult missing = client.Run(Via(transport, "http://model.test/")).recorder.result();
  CHECK(missing.error == TransportError::kConnect);
  CHECK(missing.phase == TransportPhase::kNotSent);
  transport.proxy = Secret("http://127.0.0.1:1");
  CHECK(client.Run(Via(transport, "http://model.test/")).recorder.result().error ==
        TransportError::kOther);
}

}  // namespace hotel::net_test
