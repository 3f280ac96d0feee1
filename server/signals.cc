#include "server/signals.h"

#include <condition_variable>
#include <csignal>
#include <functional>
#include <thread>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "libhotel/base/mutex.h"

namespace hotel::server {
namespace {

sigset_t StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

int WaitForOne() {
  const sigset_t set = StopSignals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  return signal;
}

struct Stop {
  base::Mutex mutex;
  std::condition_variable came;
  bool started HOTEL_GUARDED_BY(mutex) = false;
  int signal HOTEL_GUARDED_BY(mutex) = 0;
};

/// Never destroyed: the thread that watches ends with the process.
Stop& TheStop() {
  static Stop& stop = *new Stop;
  return stop;
}

void Watch(const std::function<void(int)>& during_start) {
  const int first = WaitForOne();
  Stop& stop = TheStop();
  {
    base::MutexLock lock(&stop.mutex);
    if (!stop.started) {
      during_start(first);
      ::_exit(0);
    }
    stop.signal = first;
    stop.came.notify_all();
  }
  ::_exit(128 + WaitForOne());
}

}  // namespace

void BlockStopSignals() {
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void WatchStopSignals(std::function<void(int)> during_start) {
  std::thread(Watch, std::move(during_start)).detach();
}

void EndOfStart() {
  Stop& stop = TheStop();
  base::MutexLock lock(&stop.mutex);
  stop.started = true;
}

int WaitForStopSignal() {
  Stop& stop = TheStop();
  base::MutexLock lock(&stop.mutex);
  while (stop.signal == 0) stop.came.wait(lock.native());
  return stop.signal;
}

}  // namespace hotel::server
