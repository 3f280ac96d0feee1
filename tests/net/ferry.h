// Exchanges whose connections live on another loop than their callers: what their tests share.
#ifndef HOTEL_TESTS_NET_FERRY_H_
#define HOTEL_TESTS_NET_FERRY_H_

#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hotel/dispatcher.h"

#include "libhotel/net/loop_ferry.h"
#include "tests/net/client.h"
#include "tests/net/scripted_server.h"

namespace hotel::net_test {

constexpr std::size_t kLoops = 2;

inline bool IsFar(const std::string& url) {
  return net::OriginHash(Client::Post(url)) % kLoops != 0;
}

/// A server whose origin belongs to the far one of two loops.
class FarServer {
 public:
  explicit FarServer(const ScriptedServer::Script& script) {
    // Those that do not fit stay open for the time being: the next one gets another port.
    std::vector<std::unique_ptr<ScriptedServer>> near;
    do {
      near.push_back(std::make_unique<ScriptedServer>(script));
    } while (!IsFar(near.back()->Url()));
    server_ = std::move(near.back());
  }
  ScriptedServer* operator->() const { return server_.get(); }

 private:
  std::unique_ptr<ScriptedServer> server_;
};

class FerryClient : public Client {
 public:
  FerryClient() : Client(LoopbackOptions(), kLoops) {}
};

inline void Answer(Peer& peer) {
  while (peer.ReadRequest()) peer.Send(Reply(200, "got " + peer.body()));
}

/// Ends every exchange at once, and notes where each was started.
class NotingDispatcher final : public Dispatcher {
 public:
  using Notes = std::map<std::string, std::set<std::size_t>>;  // URL: loops
  /// Starts wait for `gate`.
  NotingDispatcher(Loop* loop, std::size_t index, std::mutex* mutex, Notes* notes,
                   std::shared_future<void> gate = {})
      : loop_(loop), index_(index), mutex_(mutex), notes_(notes), gate_(std::move(gate)) {}

  std::unique_ptr<Exchange> Start(UpstreamRequest request, ResponseHandler* handler) override {
    if (gate_.valid()) gate_.wait();
    const std::lock_guard<std::mutex> lock(*mutex_);
    // A foreign thread counts as a loop that does not exist.
    (*notes_)[request.url].insert(loop_->IsLoopThread() ? index_ : 99);
    loop_->Post([handler] { handler->OnDone(ExchangeResult{}); });
    return std::make_unique<Nothing>();
  }

 private:
  class Nothing final : public Exchange {
    void Resume() override {}
    void Cancel() override {}
  };
  Loop* const loop_;
  const std::size_t index_;
  std::mutex* const mutex_;
  Notes* const notes_;
  const std::shared_future<void> gate_;
};

}  // namespace hotel::net_test

#endif  // HOTEL_TESTS_NET_FERRY_H_
