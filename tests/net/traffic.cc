#include "tests/net/traffic.h"

#include <chrono>
#include <string_view>
#include <thread>

#include "tests/net/client.h"

namespace hotel::net_test {

std::string Numbered(std::size_t size) {
  std::string bytes;
  bytes.reserve(size + 16);
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + ",";
  return bytes;
}

void OneThenSilence(Peer& peer) {
  if (!peer.ReadRequest()) return;
  peer.Send(std::string(kStreamHead) + Chunk("data: 1\n\n"));
  peer.WaitClosed();
}

ScriptedServer::Script SendCounted(const std::string& body, std::atomic<std::size_t>* sent) {
  return [&body, sent](Peer& peer) {
    if (!peer.ReadRequest()) return;
    peer.Send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    constexpr std::size_t kStep = 64 << 10;
    for (std::size_t at = 0; at < body.size(); at += kStep) {
      if (!peer.Send(std::string_view(body).substr(at, kStep))) return;
      *sent = at + kStep;
    }
    peer.WaitClosed();
  };
}

ScriptedServer::Script InChunks(const std::string& body) {
  return [&body](Peer& peer) {
    if (!peer.ReadRequest()) return;
    std::string answer(kStreamHead);
    for (std::size_t at = 0; at < body.size(); at += 1000) answer += Chunk(body.substr(at, 1000));
    peer.Send(answer + std::string(kStreamEnd));
    peer.FinishWriting();
    peer.WaitClosed();
  };
}

std::size_t WaitStandsStill(const std::atomic<std::size_t>& sent) {
  std::size_t before = 0;
  const auto deadline = std::chrono::steady_clock::now() + kLong;
  auto since = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < deadline &&
         std::chrono::steady_clock::now() - since < std::chrono::milliseconds(200)) {
    if (sent != before) {
      before = sent;
      since = std::chrono::steady_clock::now();
    }
    std::this_thread::yield();
  }
  return before;
}

}  // namespace hotel::net_test
