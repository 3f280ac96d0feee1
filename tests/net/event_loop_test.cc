#include "libhotel/net/event_loop.h"

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "hotel/defaults.h"

#include "libhotel/net/unique_fd.h"
#include "tests/net/client.h"
#include "tests/support/catch.h"

namespace hotel::net {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<LoopThread> StartLoop() {
  auto loop = StartEventLoop();
  REQUIRE(loop.ok());
  return *std::move(loop);
}

EventLoop* Net(LoopThread& thread) { return dynamic_cast<EventLoop*>(thread.loop()); }

void OnLoop(Loop* loop, const std::function<void()>& task) {
  std::promise<void> ran;
  loop->Post([&] {
    task();
    ran.set_value();
  });
  ran.get_future().wait();
}

std::array<UniqueFd, 2> SocketPair() {
  int fds[2] = {-1, -1};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

TEST_CASE("posted tasks run on the loop thread, in order, never inside Post") {
  auto thread = StartLoop();
  Loop* loop = thread->loop();
  CHECK_FALSE(loop->IsLoopThread());
  std::vector<int> order;
  bool on_thread = false;
  OnLoop(loop, [&] {
    on_thread = loop->IsLoopThread();
    loop->Post([&] { order.push_back(2); });
    order.push_back(1);
  });
  OnLoop(loop, [&] { order.push_back(3); });
  CHECK(on_thread);
  CHECK(order == std::vector<int>{1, 2, 3});
}

TEST_CASE("tasks of many threads all run, each thread's in its order") {
  auto thread = StartLoop();
  constexpr int kThreads = 4;
  constexpr int kTasks = 2000;
  std::vector<std::vector<int>> seen(kThreads);
  std::vector<std::thread> posters;
  for (int t = 0; t < kThreads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i)
        thread->loop()->Post([&seen, t, i] { seen[t].push_back(i); });
    });
  }
  for (std::thread& poster : posters) poster.join();
  OnLoop(thread->loop(), [] {});
  for (const auto& tasks : seen) {
    REQUIRE(tasks.size() == kTasks);
    CHECK(std::is_sorted(tasks.begin(), tasks.end()));
  }
}

TEST_CASE("timers run in order of time, then of creation, and never early") {
  auto thread = StartLoop();
  Loop* loop = thread->loop();
  std::vector<int> order;
  std::promise<void> last;
  TimePoint start{};
  TimePoint fired{};
  OnLoop(loop, [&] {
    start = loop->Now();
    loop->RunAt(start + milliseconds(20), [&] {
      order.push_back(4);
      fired = loop->Now();
      last.set_value();
    });
    loop->RunAt(start + milliseconds(10), [&] { order.push_back(2); });
    loop->RunAt(start + milliseconds(10), [&] { order.push_back(3); });
    loop->RunAt(start - milliseconds(10), [&] { order.push_back(1); });
  });
  REQUIRE(last.get_future().wait_for(net_test::kLong) == std::future_status::ready);
  OnLoop(loop, [] {});
  CHECK(order == std::vector<int>{1, 2, 3, 4});
  CHECK(fired >= start + milliseconds(20));
}

TEST_CASE("a timer set by a task for now runs in the task's turn") {
  auto thread = StartLoop();
  Loop* loop = thread->loop();
  std::promise<void> done;
  TimePoint posted{};
  TimePoint fired{};
  loop->Post([&] {
    posted = loop->Now();
    loop->RunAt(posted, [&] {
      fired = loop->Now();
      done.set_value();
    });
  });
  REQUIRE(done.get_future().wait_for(net_test::kLong) == std::future_status::ready);
  OnLoop(loop, [] {});
  CHECK(fired == posted);
}

TEST_CASE("a timer set by a timer for now runs in a later turn") {
  auto thread = StartLoop();
  Loop* loop = thread->loop();
  std::promise<void> done;
  TimePoint first{};
  TimePoint second{};
  bool posted_between = false;
  OnLoop(loop, [&] {
    loop->RunAt(loop->Now(), [&] {
      first = loop->Now();
      loop->Post([&] { posted_between = true; });
      loop->RunAt(first, [&] {
        second = loop->Now();
        done.set_value();
      });
    });
  });
  REQUIRE(done.get_future().wait_for(net_test::kLong) == std::future_status::ready);
  OnLoop(loop, [] {});
  CHECK(second > first);
  CHECK(posted_between);
}

TEST_CASE("a cancelled timer is destroyed unrun, also by one due in the same turn") {
  auto thread = StartLoop();
  Loop* loop = thread->loop();
  auto token = std::make_shared<int>(0);
  bool ran = false;
  long held = -1;
  Loop::TimerId victim = 0;
  std::promise<void> done;
  OnLoop(loop, [&] {
    const TimePoint now = loop->Now();
    loop->RunAt(now, [&] {
      loop->CancelTimer(victim);
      held = token.use_count();
      loop->CancelTimer(victim);
      loop->CancelTimer(0);
      loop->CancelTimer(123456);
    });
    victim = loop->RunAt(now, [&ran, token] { ran = true; });
    loop->RunAt(now, [&] { done.set_value(); });
  });
  REQUIRE(done.get_future().wait_for(net_test::kLong) == std::future_status::ready);
  CHECK_FALSE(ran);
  CHECK(held == 1);
}

TEST_CASE("Now stands still within a turn") {
  auto thread = StartLoop();
  Loop* loop = thread->loop();
  bool same = false;
  OnLoop(loop, [&] {
    const TimePoint before = loop->Now();
    const auto until = std::chrono::steady_clock::now() + milliseconds(3);
    while (std::chrono::steady_clock::now() < until) {
    }
    same = loop->Now() == before;
  });
  CHECK(same);
}

TEST_CASE("Stop destroys what is queued unrun, on the caller's thread") {
  auto thread = StartLoop();
  Loop* loop = thread->loop();
  auto token = std::make_shared<int>(0);
  bool ran = false;
  std::promise<void> entered;
  std::promise<void> leave;
  loop->Post([&, gate = leave.get_future().share()] {
    entered.set_value();
    gate.wait();
    loop->RunAt(loop->Now() + std::chrono::hours(1), [token, &ran] { ran = true; });
  });
  entered.get_future().wait();
  std::thread releaser([&] { leave.set_value(); });
  thread->Stop();
  releaser.join();
  loop->Post([token, &ran] { ran = true; });
  CHECK(token.use_count() == 1);
  CHECK_FALSE(ran);
  thread->Stop();
  CHECK_FALSE(loop->IsLoopThread());
}

TEST_CASE("a watched descriptor reports what is asked for, and stops when told") {
  auto thread = StartLoop();
  EventLoop* loop = Net(*thread);
  auto pair = SocketPair();
  std::promise<void> readable;
  int calls = 0;
  bool watched = false;
  OnLoop(loop, [&] {
    watched = loop->Watch(pair[0].get(), EPOLLIN, [&](EventLoop::Events events) {
      ++calls;
      loop->Unwatch(pair[0].get());
      if ((events & EPOLLIN) != 0) readable.set_value();
    });
  });
  REQUIRE(watched);
  REQUIRE(::send(pair[1].get(), "x", 1, MSG_NOSIGNAL) == 1);
  REQUIRE(readable.get_future().wait_for(net_test::kLong) == std::future_status::ready);
  OnLoop(loop, [] {});
  OnLoop(loop, [] {});
  CHECK(calls == 1);
}

TEST_CASE("Modify changes what is waited for") {
  auto thread = StartLoop();
  EventLoop* loop = Net(*thread);
  auto pair = SocketPair();
  std::promise<EventLoop::Events> writable;
  bool ok = false;
  OnLoop(loop, [&] {
    ok = loop->Watch(pair[0].get(), EPOLLIN, [&](EventLoop::Events events) {
      loop->Unwatch(pair[0].get());
      writable.set_value(events);
    });
    loop->Modify(pair[0].get(), EPOLLOUT);
    loop->Modify(pair[1].get(), EPOLLOUT);  // not watched: no effect
  });
  REQUIRE(ok);
  auto events = writable.get_future();
  REQUIRE(events.wait_for(net_test::kLong) == std::future_status::ready);
  CHECK((events.get() & EPOLLOUT) != 0);
}

TEST_CASE("an event of a closed descriptor is not delivered to its number's next owner") {
  auto thread = StartLoop();
  EventLoop* loop = Net(*thread);
  auto first = SocketPair();
  auto second = SocketPair();
  auto fresh = SocketPair();
  int wrong = 0;
  int handled = 0;
  std::promise<void> done;
  // Both become readable before the loop looks, so both events are in one batch; whichever callback
  // runs first replaces the other descriptor by a fresh one that has nothing to read.
  OnLoop(loop, [&] {
    const auto replace = [&](UniqueFd* other) {
      const int number = other->get();
      loop->Unwatch(number);
      ::dup3(fresh[0].get(), number, O_CLOEXEC);
      if (!loop->Watch(number, EPOLLIN, [&](EventLoop::Events) { ++wrong; })) ++wrong;
    };
    const auto watch = [&](UniqueFd* mine, UniqueFd* other) {
      return loop->Watch(mine->get(), EPOLLIN, [&, mine, other, replace](EventLoop::Events) {
        loop->Unwatch(mine->get());
        if (++handled == 1) replace(other);
        loop->Post([&] { done.set_value(); });
      });
    };
    if (!watch(&first[0], &second[0]) || !watch(&second[0], &first[0])) ++wrong;
    (void)!::write(first[1].get(), "x", 1);
    (void)!::write(second[1].get(), "x", 1);
    // The callbacks refer to lambdas by copy and to the test's frame; nothing of this one.
  });
  REQUIRE(done.get_future().wait_for(net_test::kLong) == std::future_status::ready);
  OnLoop(loop, [] {});
  OnLoop(loop, [] {});
  CHECK(handled == 1);
  CHECK(wrong == 0);
  OnLoop(loop, [&] {
    loop->Unwatch(first[0].get());
    loop->Unwatch(second[0].get());
  });
}

TEST_CASE("a number that was closed without Unwatch can be watched again") {
  auto thread = StartLoop();
  EventLoop* loop = Net(*thread);
  auto old_pair = SocketPair();
  auto fresh = SocketPair();
  std::promise<void> readable;
  bool ok = false;
  OnLoop(loop, [&] {
    const int number = old_pair[0].get();
    ok = loop->Watch(number, EPOLLIN, [](EventLoop::Events) {});
    ::dup3(fresh[0].get(), number, O_CLOEXEC);  // closes the old socket behind the loop's back
    ok = ok && loop->Watch(number, EPOLLIN, [&, number](EventLoop::Events) {
      loop->Unwatch(number);
      readable.set_value();
    });
  });
  REQUIRE(ok);
  REQUIRE(::write(fresh[1].get(), "x", 1) == 1);
  CHECK(readable.get_future().wait_for(net_test::kLong) == std::future_status::ready);
}

TEST_CASE("what cannot be watched is refused") {
  auto thread = StartLoop();
  EventLoop* loop = Net(*thread);
  bool negative = true;
  bool closed = true;
  OnLoop(loop, [&] {
    negative = loop->Watch(-1, EPOLLIN, [](EventLoop::Events) {});
    closed = loop->Watch(1 << 20, EPOLLIN, [](EventLoop::Events) {});
    loop->Unwatch(-1);
    loop->Modify(-1, EPOLLIN);
  });
  CHECK_FALSE(negative);
  CHECK_FALSE(closed);
}

TEST_CASE("the loop thread leaves signals and their dispositions to the program") {
  struct sigaction before {};
  REQUIRE(::sigaction(SIGPIPE, nullptr, &before) == 0);
  auto thread = StartLoop();
  sigset_t mask;
  ::sigemptyset(&mask);
  OnLoop(thread->loop(), [&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  CHECK(::sigismember(&mask, SIGTERM) == 1);
  CHECK(::sigismember(&mask, SIGPIPE) == 1);
  CHECK(::sigismember(&mask, SIGSEGV) == 0);
  sigset_t mine;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(::sigismember(&mine, SIGTERM) == 0);
  struct sigaction after {};
  REQUIRE(::sigaction(SIGPIPE, nullptr, &after) == 0);
  CHECK(after.sa_handler == before.sa_handler);
}

TEST_CASE("a loop without descriptors is Unavailable, and leaks none") {
  const std::size_t before = net_test::OpenDescriptors();
  rlimit saved{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &saved) == 0);
  // OpenDescriptors counted the one it read the directory through: all numbers below are taken.
  for (rlim_t room = 0; room < 2; ++room) {
    std::vector<UniqueFd> fill;
    rlimit tight = saved;
    tight.rlim_cur = 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
    for (;;) {
      UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd.valid()) break;
      fill.push_back(std::move(fd));
    }
    for (rlim_t i = 0; i < room; ++i) fill.pop_back();
    const auto loop = StartEventLoop();
    const absl::StatusCode code = loop.status().code();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &saved) == 0);
    CHECK(code == absl::StatusCode::kUnavailable);
  }
  CHECK(net_test::OpenDescriptors() == before);
}

}  // namespace
}  // namespace hotel::net
