#include "server/signals.h"

#include <csignal>
#include <thread>

#include <pthread.h>
#include <unistd.h>

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

}  // namespace

void BlockStopSignals() {
  const sigset_t set = StopSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int WaitForStopSignal() {
  const int first = WaitForOne();
  std::thread([] { ::_exit(128 + WaitForOne()); }).detach();
  return first;
}

}  // namespace hotel::server
