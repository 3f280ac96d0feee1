// Accepting, the table of connections, drain and stop.
#include "server/front.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "libhotel/base/mutex.h"
#include "libhotel/base/worker_pool.h"
#include "server/client.h"
#include "server/socket.h"

namespace hotel::server {
namespace {

/// Connections taken in one turn, so that a flood of them does not starve the others.
constexpr int kAcceptBatch = 16;
/// How long accepting rests when the process is out of descriptors.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);
constexpr std::size_t kReadSize = 64 * 1024;

class LoopFront final : public Front, public ClientHost {
 public:
  LoopFront(FrontOptions options, Fd listener, net::EventLoop* loop)
      : options_(std::move(options)),
        loop_(loop),
        address_(LocalAddress(listener.get())),
        listener_(std::move(listener)),
        scratch_(kReadSize, '\0'),
        bodies_(options_.max_buffered_bytes),
        workers_(options_.workers) {}
  ~LoopFront() override { Stop(); }

  std::string address() const override { return address_; }
  void Serve(RequestHandler* handler) override;
  void StopKeeping() override;
  void StopAccepting() override;
  bool WaitIdle(Duration timeout) override;
  void Stop() override;

  // ClientHost
  net::EventLoop& loop() override { return *loop_; }
  const FrontOptions& options() const override { return options_; }
  RequestHandler& handler() override { return *handler_; }
  bool keeping() const override { return keeping_; }
  bool draining() const override { return draining_; }
  void RunPlain(Request request, bool keep_alive, std::shared_ptr<Client> client) override;
  void FlushLater(std::shared_ptr<Client> client) override;
  std::string& scratch() override { return scratch_; }
  BodyBudget& bodies() override { return bodies_; }
  bool BeginProxied() override;
  void EndProxied() override { --proxied_; }
  void Closed(Client& client) override;

 private:
  /// Runs `task` on the loop and waits for it.
  void OnLoop(const std::function<void()>& task);
  void WatchListener();
  void Accept(int most = kAcceptBatch);
  void Adopt(Fd fd, std::string peer);

  const FrontOptions options_;
  net::EventLoop* const loop_;
  const std::string address_;

  // Loop thread.
  Fd listener_;
  RequestHandler* handler_ = nullptr;
  Loop::TimerId accept_timer_ = 0;
  bool keeping_ = true;
  bool draining_ = false;
  std::unordered_map<std::uint64_t, std::shared_ptr<Client>> clients_;
  std::uint64_t next_id_ = 1;
  std::size_t proxied_ = 0;
  std::vector<std::shared_ptr<Client>> dirty_;
  std::string scratch_;
  BodyBudget bodies_;

  base::WorkerPool workers_;
  bool stopped_ = false;

  base::Mutex mutex_;
  std::condition_variable idle_;
  std::size_t open_ HOTEL_GUARDED_BY(mutex_) = 0;
};

void LoopFront::OnLoop(const std::function<void()>& task) {
  std::promise<void> done;
  loop_->Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

void LoopFront::Serve(RequestHandler* handler) {
  OnLoop([this, handler] {
    handler_ = handler;
    WatchListener();
  });
}

void LoopFront::WatchListener() {
  if (!loop_->Watch(listener_.get(), EPOLLIN, [this](net::EventLoop::Events) { Accept(); })) {
    accept_timer_ = loop_->RunAt(loop_->Now() + kAcceptPause, [this] { WatchListener(); });
  }
}

void LoopFront::Accept(int most) {
  for (int i = 0; i < most; ++i) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    Fd fd(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      Adopt(std::move(fd), AddressText(peer));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // Level-triggered: without a rest the loop would spin on a connection it cannot take.
      loop_->Modify(listener_.get(), 0);
      accept_timer_ = loop_->RunAt(loop_->Now() + kAcceptPause,
                                   [this] { loop_->Modify(listener_.get(), EPOLLIN); });
    }
    if (errno != EINTR && errno != ECONNABORTED) return;
  }
}

void LoopFront::Adopt(Fd fd, std::string peer) {
  const bool full = clients_.size() >= options_.max_connections;
  // Even those who are turned away take a descriptor until they have read why: not without bound.
  if (clients_.size() >= options_.max_connections + options_.max_turned_away) return;
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const std::uint64_t id = next_id_++;
  auto client = std::make_shared<Client>(this, std::move(fd), std::move(peer), id);
  if (!client->Start()) return;
  clients_.emplace(id, client);
  {
    base::MutexLock lock(&mutex_);
    ++open_;
  }
  if (full) return client->TurnAway();
  // The request usually comes right behind the connection.
  client->Read();
}

bool LoopFront::BeginProxied() {
  if (proxied_ >= options_.max_proxied) return false;
  ++proxied_;
  return true;
}

void LoopFront::RunPlain(Request request, bool keep_alive, std::shared_ptr<Client> client) {
  workers_.Run(
      [this, request = std::move(request), keep_alive, client = std::move(client)]() mutable {
        std::string bytes = handler_->OnPlain(request, keep_alive);
        loop_->Post([client = std::move(client), bytes = std::move(bytes), keep_alive]() mutable {
          client->SendPlain(std::move(bytes), keep_alive);
        });
      });
}

void LoopFront::FlushLater(std::shared_ptr<Client> client) {
  // Tasks run behind the socket events of a turn: everything that comes in until then leaves
  // together.
  if (dirty_.empty()) {
    loop_->Post([this] {
      std::vector<std::shared_ptr<Client>> dirty;
      dirty.swap(dirty_);
      for (const auto& one : dirty) one->Flush();
      if (dirty_.empty()) {
        dirty.clear();
        dirty_.swap(dirty);  // keep the capacity
      }
    });
  }
  dirty_.push_back(std::move(client));
}

void LoopFront::Closed(Client& client) {
  clients_.erase(client.id());
  base::MutexLock lock(&mutex_);
  if (--open_ == 0) idle_.notify_all();
}

void LoopFront::StopKeeping() {
  if (stopped_) return;
  OnLoop([this] { keeping_ = false; });
}

void LoopFront::StopAccepting() {
  if (stopped_) return;
  OnLoop([this] {
    if (draining_) return;
    // Those who wait to be accepted hold an established connection and may have sent a request.
    loop_->CancelTimer(accept_timer_);
    if (handler_ != nullptr) Accept(kListenBacklog);
    keeping_ = false;
    draining_ = true;
    loop_->CancelTimer(accept_timer_);
    loop_->Unwatch(listener_.get());
    listener_ = Fd();
    std::vector<std::shared_ptr<Client>> clients;
    for (const auto& [id, client] : clients_) clients.push_back(client);
    for (const auto& client : clients) client->Drain();
  });
}

bool LoopFront::WaitIdle(Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  base::MutexLock lock(&mutex_);
  while (open_ > 0) {
    if (idle_.wait_until(lock.native(), deadline) == std::cv_status::timeout) return open_ == 0;
  }
  return true;
}

void LoopFront::Stop() {
  if (stopped_) return;
  StopAccepting();
  stopped_ = true;
  workers_.Stop();
  OnLoop([this] {
    std::vector<std::shared_ptr<Client>> clients;
    for (const auto& [id, client] : clients_) clients.push_back(client);
    for (const auto& client : clients) client->Cut();
  });
  // What the loop still holds for this front (a flush, a rest of the listener) runs before this
  // returns.
  OnLoop([] {});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Front>> OpenFront(const FrontOptions& options,
                                                 net::EventLoop* loop) {
  auto listener = ListenTcp(options.host, options.port);
  if (!listener.ok()) return listener.status();
  return std::make_unique<LoopFront>(options, std::move(*listener), loop);
}

}  // namespace hotel::server
