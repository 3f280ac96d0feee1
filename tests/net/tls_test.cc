// TLS: verification, what is offered, truncation.
#include <string>

#include <signal.h>

#include "hotel/defaults.h"

#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/net/self_signed.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;
using std::chrono::milliseconds;

CurlOptions Trusting(const SelfSigned& certificate) {
  CurlOptions options = Client::LoopbackOptions();
  options.addresses.allow_http = false;
  options.ca_file = certificate.path();
  return options;
}

void AnswerAll(Peer& peer) {
  while (peer.ReadRequest()) peer.Send(Reply(200, "secret talk"));
}

TEST_CASE("a certificate nobody vouches for is kTls, nothing sent") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client;
  const Call& call = client.Run(Client::Post(server.Url(), "prompt"));
  REQUIRE(call.recorder.done());
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kFailed);
  CHECK(result.error == TransportError::kTls);
  CHECK(result.phase == TransportPhase::kNotSent);
  CHECK(result.detail.find("certificate") != std::string::npos);
  CHECK(server.received(0).empty());
}

TEST_CASE("the roots of ca_file are trusted, and connections under TLS are reused") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client(Trusting(certificate));
  for (int i = 0; i < 3; ++i) {
    const Call& call = client.Run(Client::Post(server.Url(), std::string(100000, 'x')));
    REQUIRE(call.recorder.done());
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.body() == "secret talk");
    CHECK(call.recorder.result().reused_connection == (i > 0));
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("another certificate than the trusted one is refused") {
  const SelfSigned trusted;
  const SelfSigned other;
  ScriptedServer server(AnswerAll, {.tls = other.context()});
  Client client(Trusting(trusted));
  CHECK(client.Run(Client::Post(server.Url())).recorder.result().error == TransportError::kTls);
}

TEST_CASE("a trusted certificate of another host is refused") {
  const SelfSigned certificate("IP:127.0.0.2,DNS:example.com");
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client(Trusting(certificate));
  const Call& call = client.Run(Client::Post(server.Url()));
  CHECK(call.recorder.result().error == TransportError::kTls);
  CHECK(server.received(0).empty());
}

TEST_CASE("F135 only http/1.1 is offered") {
  const SelfSigned certificate;
  ScriptedServer server(AnswerAll, {.tls = certificate.context()});
  Client client(Trusting(certificate));
  REQUIRE(client.Run(Client::Post(server.Url())).recorder.result().outcome == Outcome::kComplete);
  CHECK(certificate.offered().find("h2") == std::string::npos);
  CHECK(certificate.offered().find("http/1.1") != std::string::npos);
}

TEST_CASE("an upstream that speaks no TLS is kTls, nothing sent") {
  ScriptedServer server([](Peer& peer) {
    peer.Send("HTTP/1.1 400 Bad Request\r\n\r\n");
    peer.WaitClosed();
  });
  Client client;
  const ExchangeResult result =
      client.Run(Client::Post("https://127.0.0.1:" + std::to_string(server.port()) + "/"))
          .recorder.result();
  CHECK(result.error == TransportError::kTls);
  CHECK(result.phase == TransportPhase::kNotSent);
}

TEST_CASE("under TLS a framed answer that is cut is not complete") {
  const SelfSigned certificate;
  const std::string answer =
      GENERATE("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\npart",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n");
  ScriptedServer server(
      [&](Peer& peer) {
        if (!peer.ReadRequest()) return;
        peer.Send(answer);
        peer.Pause(milliseconds(20));
      },
      {.tls = certificate.context()});
  Client client(Trusting(certificate));
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(call.recorder.done());
  CHECK(call.recorder.result().outcome == Outcome::kFailed);
  CHECK(call.recorder.result().error == TransportError::kInterrupted);
  CHECK(call.recorder.result().phase == TransportPhase::kBody);
  CHECK(call.recorder.body() == "part");
}

TEST_CASE("under TLS a write into a reset connection raises no signal") {
  // The default disposition of SIGPIPE would end this process.
  struct sigaction action {};
  REQUIRE(::sigaction(SIGPIPE, nullptr, &action) == 0);
  REQUIRE(action.sa_handler == SIG_DFL);
  const SelfSigned certificate;
  ScriptedServer server(
      [](Peer& peer) {
        peer.ReadHead();
        peer.Reset();
      },
      {.tls = certificate.context()});
  Client client(Trusting(certificate));
  const Call& call = client.Run(Client::Post(server.Url(), std::string(8 << 20, 'x')));
  REQUIRE(call.recorder.done());
  CHECK(call.recorder.result().error == TransportError::kInterrupted);
  CHECK(call.recorder.result().phase == TransportPhase::kSent);
}

TEST_CASE("under TLS Cancel closes the connection at once") {
  const SelfSigned certificate;
  ScriptedServer server(
      [](Peer& peer) {
        if (!peer.ReadRequest()) return;
        peer.Send(std::string(kStreamHead) + Chunk("data: 1\n\n"));
        peer.WaitClosed();
      },
      {.tls = certificate.context()});
  Client client(Trusting(certificate));
  Call& call = client.Start(Client::Post(server.Url()));
  REQUIRE(call.recorder.WaitBody(9));
  const SteadyTime start = std::chrono::steady_clock::now();
  client.Cancel(call);
  const SteadyTime closed = server.WaitClosedAt(0, kLong);
  REQUIRE(closed != SteadyTime());
  CHECK(closed - start < std::chrono::seconds(5));
}

}  // namespace
}  // namespace hotel::net_test
