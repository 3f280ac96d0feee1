#include "libhotel/route/task_thread.h"

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::route {
namespace {

TEST_CASE("task thread: tasks run in order, one after the other") {
  TaskThread thread;
  std::vector<int> order;  // touched by the thread alone until the last task has run
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) thread.Run([&order, i] { order.push_back(i); });
  thread.Run([&done] { done.set_value(); });
  done.get_future().wait();
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("task thread: Stop finishes what runs, drops what waits and what comes later") {
  TaskThread thread;
  std::promise<void> running;
  std::promise<void> go_on;
  bool finished = false;
  auto waiting = std::make_shared<int>(0);
  thread.Run([&] {
    running.set_value();
    go_on.get_future().wait();
    finished = true;
  });
  running.get_future().wait();
  thread.Run([waiting] { ++*waiting; });
  auto stopper = std::async(std::launch::async, [&thread] { thread.Stop(); });
  // The queue is dropped before the running task has ended.
  while (waiting.use_count() > 1) std::this_thread::yield();
  go_on.set_value();
  stopper.wait();
  CHECK(finished);
  CHECK(*waiting == 0);
  thread.Run([waiting] { ++*waiting; });
  CHECK(waiting.use_count() == 1);
}

}  // namespace
}  // namespace hotel::route
