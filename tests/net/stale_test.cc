// A kept connection that ends or speaks between the loop's look at it and its next request.
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"

#include "tests/net/client.h"
#include "tests/net/scripted_server.h"
#include "tests/support/catch.h"

namespace hotel::net_test {
namespace {

using Outcome = ExchangeResult::Outcome;

// This process's descriptors that are connected to 127.0.0.1:`port`.
std::vector<int> ConnectedTo(int port) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
        peer.sin_family == AF_INET && ntohs(peer.sin_port) == port) {
      found.push_back(fd);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("F131 a kept connection that ended or spoke in this very turn carries no request") {
  enum class Ending { kStrayAnswer, kEnd, kReset };
  const auto ending = GENERATE(Ending::kStrayAnswer, Ending::kEnd, Ending::kReset);
  ScriptedServer server([ending](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send(Reply(200, peer.index() == 0 ? "first" : "fresh"));
    if (peer.index() == 0) {
      peer.WaitReleased();
      if (ending == Ending::kStrayAnswer) peer.Send(Reply(200, "stray"));
      if (ending == Ending::kEnd) peer.FinishWriting();
      if (ending == Ending::kReset) return peer.Reset();
    }
    while (peer.ReadRequest()) peer.Send(Reply(200, "again"));
    peer.WaitClosed();
  });
  Client client;
  CHECK(client.Run(Client::Post(server.Url(), "one")).recorder.body() == "first");
  REQUIRE(server.connections() == 1);
  const std::string sent = server.received(0);

  std::atomic<bool> arrived{false};
  // Runs after the loop has asked for socket events and before libcurl takes a connection: the
  // timer by which libcurl begins is younger.
  const auto between = [&] {
    const std::vector<int> kept = ConnectedTo(server.port());
    server.Release();
    if (kept.size() != 1) return;
    pollfd wait{kept[0], POLLIN, 0};
    arrived = ::poll(&wait, 1, 10000) == 1;
  };
  Call call;
  client.OnLoop([&] {
    client.loop()->RunAt(client.loop()->Now(), between);
    call.exchange = client.dispatcher()->Start(Client::Post(server.Url(), "two"), &call.recorder);
  });
  const bool done = call.recorder.WaitDone();
  client.Drop(call);
  REQUIRE(done);
  CHECK(arrived);
  const ExchangeResult result = call.recorder.result();
  CHECK(result.outcome == Outcome::kComplete);
  CHECK_FALSE(result.reused_connection);
  CHECK(call.recorder.body() == "fresh");
  CHECK(call.recorder.heads() == 1);
  CHECK(call.recorder.violations() == 0);
  // Not a byte of the second request went out on the first connection, which is gone.
  if (ending != Ending::kReset) CHECK(server.WaitClosedAt(0, kLong) != SteadyTime());
  CHECK(server.received(0) == sent);
  CHECK(server.connections() == 2);
  // The new connection is kept as any other, and its handle asks for no new one again.
  const Call& next = client.Run(Client::Post(server.Url(), "three"));
  CHECK(next.recorder.body() == "again");
  CHECK(next.recorder.result().reused_connection);
  CHECK(server.connections() == 2);
}

}  // namespace hotel::net_test
