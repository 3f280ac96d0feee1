// Upstreams that break off, speak nonsense, or die between requests.
#include <future>
#include <string>

#include "hotel/defaults.h"

#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;
using std::chrono::milliseconds;

// The request arrives, `answer` goes out, then the connection ends the given way.
enum class End { kFin, kRst };
ScriptedServer::Script Broken(std::string answer, End end) {
  return [answer = std::move(answer), end](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(answer);
    // The bytes must arrive before the reset overtakes them.
    peer.Pause(milliseconds(30));
    if (end == End::kRst) {
      peer.Reset();
    } else {
      peer.Close();
    }
  };
}

ExchangeResult Failure(const Call& call) {
  REQUIRE(call.recorder.done());
  CHECK(call.recorder.violations() == 0);
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kFailed);
  CHECK_FALSE(result.detail.empty());
  return result;
}

TEST_CASE("F001 a refused connection is kConnect, nothing sent") {
  int port = 0;
  {
    ScriptedServer closed([](Peer&) {});
    port = closed.port();
  }
  Client client;
  const ExchangeResult result =
      Failure(client.Run(Client::Post("http://127.0.0.1:" + std::to_string(port) + "/")));
  CHECK(result.error == TransportError::kConnect);
  CHECK(result.phase == TransportPhase::kNotSent);
  CHECK_FALSE(result.reused_connection);
}

TEST_CASE("a name that does not exist is kResolve, nothing sent") {
  Client client;
  const ExchangeResult result = Failure(client.Run(Client::Post("http://nowhere.invalid/")));
  CHECK(result.error == TransportError::kResolve);
  CHECK(result.phase == TransportPhase::kNotSent);
}

TEST_CASE("a handshake that does not come is kConnectTimeout") {
  // Bytes are accepted by the kernel, TLS never answers: the timeout covers the handshake.
  ScriptedServer server([](Peer& peer) { peer.WaitClosed(); });
  Client client;
  UpstreamRequest request =
      Client::Post("https://127.0.0.1:" + std::to_string(server.port()) + "/");
  request.connect_timeout = milliseconds(150);
  const auto start = std::chrono::steady_clock::now();
  const ExchangeResult result = Failure(client.Run(std::move(request)));
  CHECK(result.error == TransportError::kConnectTimeout);
  CHECK(result.phase == TransportPhase::kNotSent);
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds(140));
  CHECK(server.WaitClosedAt(0, kLong) != SteadyTime());
}

TEST_CASE("F003 a connection that closes without a line is kInterrupted, sent") {
  const End end = GENERATE(End::kFin, End::kRst);
  const std::string part = GENERATE("", "HTTP/1.1 20");
  CAPTURE(part, end == End::kRst);
  ScriptedServer server(Broken(part, end));
  Client client;
  const ExchangeResult result = Failure(client.Run(Client::Post(server.Url())));
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(result.phase == TransportPhase::kSent);
  CHECK_FALSE(result.reused_connection);
  CHECK(server.connections() == 1);
}

TEST_CASE("F133 a reset before anything was read is not repeated by itself") {
  ScriptedServer server([](Peer& peer) { peer.Reset(); });
  Client client;
  const ExchangeResult result = Failure(client.Run(Client::Post(server.Url())));
  // The reset may overtake the news that the connection stands.
  if (result.error == TransportError::kConnect) {
    CHECK(result.phase == TransportPhase::kNotSent);
  } else {
    CHECK(result.error == TransportError::kInterrupted);
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("F133 a cut within the head is kInterrupted, phase kHead") {
  const End end = GENERATE(End::kFin, End::kRst);
  const std::string part = GENERATE("HTTP/1.1 200 OK\r\nContent-Ty", "HTTP/1.1 200 OK\r\nA: b\r\n",
                                    "HTTP/1.1 100 Continue\r\n\r\n");
  CAPTURE(part, end == End::kRst);
  ScriptedServer server(Broken(part, end));
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  const ExchangeResult result = Failure(call);
  CHECK(result.phase == TransportPhase::kHead);
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(call.recorder.heads() == 0);
}

TEST_CASE("F151 a body shorter than its Content-Length is kInterrupted") {
  const End end = GENERATE(End::kFin, End::kRst);
  ScriptedServer server(
      Broken("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + std::string(200, 'x'), end));
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  const ExchangeResult result = Failure(call);
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(result.phase == TransportPhase::kBody);
  CHECK(call.recorder.body() == std::string(200, 'x'));
}

TEST_CASE("F151 a chunked body without its last chunk is kInterrupted") {
  const End end = GENERATE(End::kFin, End::kRst);
  const std::string tail = GENERATE("", "5\r\nab", "0\r\n", "5");
  CAPTURE(tail);
  ScriptedServer server(Broken(std::string(kStreamHead) + Chunk("data: 1\n\n") + tail, end));
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  const ExchangeResult result = Failure(call);
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(result.phase == TransportPhase::kBody);
}

TEST_CASE("an unframed body that ends in a reset is not complete") {
  ScriptedServer server(Broken("HTTP/1.1 200 OK\r\n\r\npart", End::kRst));
  Client client;
  const ExchangeResult result = Failure(client.Run(Client::Post(server.Url())));
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(result.phase == TransportPhase::kBody);
}

TEST_CASE("F003 F011 garbage is kProtocol") {
  const std::string answer =
      GENERATE(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
               std::string("HELLO\r\n\r\n"), std::string("HTTP/1.1 abc\r\n\r\n"),
               std::string("HTTP/1.1 600 X\r\nContent-Length: 0\r\n\r\n"),
               std::string("HTTP/1.1 99 X\r\nContent-Length: 0\r\n\r\n"),
               std::string("HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n"),
               std::string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"),
               std::string("HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"),
               std::string("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", 27),
               std::string("HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n"),
               std::string("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"),
               std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello"),
               std::string("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
               std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
               std::string("HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n"));
  CAPTURE(answer);
  ScriptedServer server(Broken(answer, End::kFin));
  Client client;
  const Call& call = client.Run(Client::Post(server.Url()));
  const ExchangeResult result = Failure(call);
  CHECK(result.error == TransportError::kProtocol);
  CHECK((result.phase == TransportPhase::kHead || result.phase == TransportPhase::kSent));
  CHECK(call.recorder.heads() == 0);
  CHECK(server.requests() == 1);
}

TEST_CASE("broken chunk framing is kProtocol, phase kBody") {
  const std::string tail = GENERATE("zz\r\nhello\r\n", "-5\r\nhello\r\n", "5\r\nhelloXX\r\n",
                                    "ffffffffffffffffffff\r\nx");
  CAPTURE(tail);
  ScriptedServer server(Broken(std::string(kStreamHead) + Chunk("a") + tail, End::kFin));
  Client client;
  const ExchangeResult result = Failure(client.Run(Client::Post(server.Url())));
  CHECK(result.error == TransportError::kProtocol);
  CHECK(result.phase == TransportPhase::kBody);
}

TEST_CASE("a head beyond the bounds is kTooLarge and the connection is closed") {
  CurlOptions options = Client::LoopbackOptions();
  options.max_head_bytes = 4096;
  options.max_head_fields = 20;
  std::string answer;
  SECTION("one long field") { answer = "A: " + std::string(5000, 'x') + "\r\n"; }
  SECTION("one field beyond libcurl's own bound, never ended") {
    answer = std::string(300000, 'x');
  }
  SECTION("many bytes") {
    for (int i = 0; i < 19; ++i) answer += "A: " + std::string(400, 'x') + "\r\n";
  }
  SECTION("many fields") {
    for (int i = 0; i < 21; ++i) answer += "A: b\r\n";
  }
  SECTION("endless interim heads") {
    for (int i = 0; i < 1000; ++i) answer += "\r\nHTTP/1.1 102 Processing\r\n";
  }
  ScriptedServer server([&](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.1 103 Early Hints\r\n" + answer);
    peer.WaitClosed();
  });
  Client client(options);
  const Call& call = client.Run(Client::Post(server.Url()));
  const ExchangeResult result = Failure(call);
  CHECK(result.error == TransportError::kTooLarge);
  CHECK(result.phase == TransportPhase::kHead);
  CHECK(call.recorder.heads() == 0);
  CHECK(server.WaitClosedAt(0, kLong) != SteadyTime());
}

TEST_CASE("connections are kept and reused") {
  ScriptedServer server([](Peer& peer) {
    while (peer.ReadRequest()) peer.Send(Reply(200, "hi"));
  });
  Client client;
  for (int i = 0; i < 5; ++i) {
    const Call& call = client.Run(Client::Post(server.Url()));
    REQUIRE(call.recorder.done());
    CHECK(call.recorder.result().outcome == Outcome::kComplete);
    CHECK(call.recorder.result().reused_connection == (i > 0));
  }
  CHECK(server.connections() == 1);
  CHECK(server.requests() == 5);
}

TEST_CASE("F131 a kept connection that was closed meanwhile is not used") {
  const End end = GENERATE(End::kFin, End::kRst);
  std::promise<void> closed;
  ScriptedServer server([&closed, end](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(Reply(200, "hi"));
    if (peer.index() > 0) return;
    peer.WaitReleased();
    if (end == End::kRst) {
      peer.Reset();
    } else {
      peer.Close();
    }
    closed.set_value();
  });
  Client client;
  REQUIRE(client.Run(Client::Post(server.Url())).recorder.body() == "hi");
  server.Release();
  // On the loopback the end of the connection has arrived when close returns.
  REQUIRE(closed.get_future().wait_for(kLong) == std::future_status::ready);
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(call.recorder.done());
  CAPTURE(end == End::kRst, call.recorder.result().detail);
  CHECK(call.recorder.result().outcome == Outcome::kComplete);
  CHECK(call.recorder.body() == "hi");
  CHECK_FALSE(call.recorder.result().reused_connection);
  CHECK(server.connections() == 2);
  CHECK(server.requests() == 2);
}

TEST_CASE("F131 bytes that come on a kept connection are nobody's answer") {
  const bool then_closed = GENERATE(true, false);
  const std::size_t size = GENERATE(std::size_t{0}, std::size_t{100000});
  CAPTURE(then_closed, size);
  std::promise<void> sent;
  ScriptedServer server([&sent, then_closed, size](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(Reply(200, "hi"));
    if (peer.index() > 0) return;
    peer.WaitReleased();
    peer.Send(Reply(408, std::string(size, 'x')));
    if (then_closed) peer.FinishWriting();
    sent.set_value();
    peer.WaitClosed();
  });
  Client client;
  REQUIRE(client.Run(Client::Post(server.Url())).recorder.body() == "hi");
  server.Release();
  REQUIRE(sent.get_future().wait_for(kLong) == std::future_status::ready);
  const Call& call = client.Run(Client::Post(server.Url()));
  REQUIRE(call.recorder.done());
  CHECK(call.recorder.status() == 200);
  CHECK(call.recorder.body() == "hi");
  CHECK(server.connections() == 2);
  CHECK(server.WaitClosedAt(0, kLong) != SteadyTime());
}

TEST_CASE("F131 a POST on a kept connection that dies unanswered is not sent again") {
  const End end = GENERATE(End::kFin, End::kRst);
  const std::size_t size = GENERATE(std::size_t{0}, std::size_t{100}, std::size_t{1} << 20);
  CAPTURE(end == End::kRst, size);
  ScriptedServer server([end](Peer& peer) {
    if (peer.index() > 0) {
      while (peer.ReadRequest()) peer.Send(Reply(200, "resent"));
      return;
    }
    if (!peer.ReadRequest()) return;
    peer.Send(Reply(200, "first"));
    peer.ReadRequest();  // the second one arrives whole, and dies without an answer
    if (end == End::kRst) {
      peer.Reset();
    } else {
      peer.Close();
    }
  });
  Client client;
  REQUIRE(client.Run(Client::Post(server.Url())).recorder.body() == "first");
  const Call& call = client.Run(Client::Post(server.Url(), std::string(size, 'x')));
  const ExchangeResult result = Failure(call);
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(result.phase == TransportPhase::kSent);
  CHECK(result.reused_connection);
  CHECK(call.recorder.heads() == 0);
  CHECK(server.connections() == 1);
  CHECK(server.requests() == 2);
}

TEST_CASE("F131 a GET on a kept connection that dies unanswered is not sent again either") {
  ScriptedServer server([](Peer& peer) {
    if (peer.index() > 0) {
      while (peer.ReadRequest()) peer.Send(Reply(200, "resent"));
      return;
    }
    if (!peer.ReadRequest()) return;
    peer.Send(Reply(200, "first"));
    peer.ReadRequest();
  });
  Client client;
  REQUIRE(client.Run(Client::Post(server.Url())).recorder.body() == "first");
  UpstreamRequest get = Client::Post(server.Url(), "");
  get.method = "GET";
  const ExchangeResult result = Failure(client.Run(std::move(get)));
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(result.phase == TransportPhase::kSent);
  CHECK(result.reused_connection);
  CHECK(server.requests() == 2);
}

TEST_CASE("a request is not moved to another kept connection") {
  // Two connections are kept; the one the request is given dies, and the other one stands ready.
  ScriptedServer server([](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.WaitReleased();  // both are under way at once, so there are two
    peer.Send(Reply(200, "first"));
    peer.ReadRequest();
  });
  Client client;
  Call& one = client.Start(Client::Post(server.Url()));
  Call& two = client.Start(Client::Post(server.Url()));
  REQUIRE(server.WaitConnections(2, kLong));
  server.Release();
  REQUIRE(one.recorder.WaitDone());
  REQUIRE(two.recorder.WaitDone());
  const ExchangeResult result = Failure(client.Run(Client::Post(server.Url())));
  CHECK(result.error == TransportError::kInterrupted);
  CHECK(result.phase == TransportPhase::kSent);
  CHECK(result.reused_connection);
  CHECK(server.connections() == 2);
  CHECK(server.requests() == 3);
}

}  // namespace
}  // namespace hotel::net_test
