// A loop with a thread of its own (hotel/defaults.h).
#include <cassert>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <signal.h>

#include "hotel/defaults.h"

#include "absl/status/status.h"
#include "libhotel/base/mutex.h"
#include "libhotel/net/event_loop.h"

namespace hotel {
namespace {

// Signals belong to the program that embeds the library: its threads take them, ours do not. This
// also keeps SIGPIPE away from anything that writes on the loop, without touching the process-wide
// disposition. Signals that a faulting instruction raises stay deliverable.
class ScopedBlockSignals {
 public:
  ScopedBlockSignals() {
    sigset_t all;
    ::sigfillset(&all);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      ::sigdelset(&all, fault);
    }
    ::pthread_sigmask(SIG_SETMASK, &all, &saved_);
  }
  ~ScopedBlockSignals() { ::pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
  ScopedBlockSignals(const ScopedBlockSignals&) = delete;
  ScopedBlockSignals& operator=(const ScopedBlockSignals&) = delete;

 private:
  sigset_t saved_;
};

class EventLoopThread final : public LoopThread {
 public:
  explicit EventLoopThread(std::unique_ptr<net::EventLoop> loop) : loop_(std::move(loop)) {}
  ~EventLoopThread() override { Stop(); }

  absl::Status Start() {
    const ScopedBlockSignals blocked;  // a new thread inherits the mask
    try {
      thread_ = std::thread([loop = loop_.get()] {
        ::pthread_setname_np(::pthread_self(), "hotel-loop");
        loop->Run();
      });
    } catch (const std::system_error& error) {
      return absl::UnavailableError(std::string("thread: ") + error.what());
    }
    return absl::OkStatus();
  }

  Loop* loop() noexcept override { return loop_.get(); }

  void Stop() override {
    assert(!loop_->IsLoopThread());
    loop_->RequestStop();
    bool ended_here = false;
    {
      base::MutexLock lock(&join_mutex_);
      if (thread_.joinable()) {
        thread_.join();
        ended_here = true;
      }
    }
    if (ended_here) loop_->Discard();
  }

 private:
  std::unique_ptr<net::EventLoop> loop_;
  base::Mutex join_mutex_;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoopThread>> StartEventLoop() {
  absl::StatusOr<std::unique_ptr<net::EventLoop>> loop = net::EventLoop::Create();
  if (!loop.ok()) return loop.status();
  auto thread = std::make_unique<EventLoopThread>(*std::move(loop));
  const absl::Status started = thread->Start();
  if (!started.ok()) return started;
  return std::unique_ptr<LoopThread>(std::move(thread));
}

}  // namespace hotel
