#include "libhotel/base/worker_pool.h"

#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::base {
namespace {

using Threads = std::set<std::string>;

Threads ThreadsOfThisProcess() {
  Threads threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(entry.path().filename());
  }
  return threads;
}

/// Those that end meanwhile do not matter: a joined thread may be seen a little longer.
std::size_t NewThreads(const Threads& before) {
  std::size_t fresh = 0;
  for (const std::string& id : ThreadsOfThisProcess()) fresh += before.count(id) == 0 ? 1 : 0;
  return fresh;
}

TEST_CASE("worker pool: threads begin with the tasks that need them") {
  const Threads before = ThreadsOfThisProcess();
  std::promise<void> running;
  std::promise<void> go_on;
  const std::shared_future<void> released = go_on.get_future().share();
  WorkerPool pool(3);  // ends in front of what its tasks use
  CHECK(NewThreads(before) == 0);
  pool.Run([&running, released] {
    running.set_value();
    released.wait();
  });
  running.get_future().wait();
  CHECK(NewThreads(before) == 1);
  go_on.set_value();
}

TEST_CASE("worker pool: as many tasks run at the same time as there may be threads") {
  constexpr std::size_t kThreads = 3;
  std::vector<std::promise<void>> running(kThreads);
  std::promise<void> go_on;
  std::promise<void> last;
  const std::shared_future<void> released = go_on.get_future().share();
  bool beyond = false;
  WorkerPool pool(kThreads);
  for (auto& each : running) {
    pool.Run([&each, released] {
      each.set_value();
      released.wait();
    });
  }
  // None of these returns before the others run too.
  for (auto& each : running) each.get_future().wait();
  pool.Run([&] {
    beyond = true;
    last.set_value();
  });
  CHECK_FALSE(beyond);  // all threads are taken
  go_on.set_value();
  last.get_future().wait();
  CHECK(beyond);
}

TEST_CASE("worker pool: tasks of one thread run in order, one after the other") {
  std::vector<int> order;  // touched by the thread alone until the last task has run
  std::promise<void> done;
  WorkerPool pool;
  for (int i = 0; i < 100; ++i) pool.Run([&order, i] { order.push_back(i); });
  pool.Run([&done] { done.set_value(); });
  done.get_future().wait();
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("worker pool: Stop finishes what runs, drops what waits and what comes later") {
  std::promise<void> running;
  std::promise<void> go_on;
  const std::shared_future<void> released = go_on.get_future().share();
  bool finished = false;
  auto waiting = std::make_shared<int>(0);
  WorkerPool pool;
  pool.Run([&running, &finished, released] {
    running.set_value();
    released.wait();
    finished = true;
  });
  running.get_future().wait();
  pool.Run([waiting] { ++*waiting; });
  auto stopper = std::async(std::launch::async, [&pool] { pool.Stop(); });
  // The queue is dropped before the running task has ended.
  while (waiting.use_count() > 1) std::this_thread::yield();
  go_on.set_value();
  stopper.wait();
  CHECK(finished);
  CHECK(*waiting == 0);
  pool.Run([waiting] { ++*waiting; });
  CHECK(waiting.use_count() == 1);
}

}  // namespace
}  // namespace hotel::base
