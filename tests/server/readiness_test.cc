#include "server/readiness.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"

namespace hotel::server {
namespace {

using Phase = Readiness::Phase;

TEST_CASE("facts e.2 /health/ready: starting and stopping are not ready, without a check") {
  Readiness readiness([]() -> absl::Status { std::abort(); }, [](const absl::Status&) {}, nullptr);
  const Reply starting = readiness.Check(Phase::kStarting);
  CHECK(starting.status == 503);
  CHECK(starting.body ==
        "{\"status\":\"not_ready\",\"components\":{\"router\":{\"status\":\"starting\"}}}");
  CHECK(readiness.Check(Phase::kStopping).status == 503);
}

TEST_CASE("facts e.2 /health/ready: storage that fails is told once, and again when it works") {
  std::atomic<bool> broken = false;
  std::vector<bool> told;
  Readiness readiness(
      [&broken] {
        return broken ? absl::UnavailableError("/secret/path is gone") : absl::OkStatus();
      },
      [&told](const absl::Status& status) { told.push_back(status.ok()); }, nullptr);
  CHECK(readiness.Check(Phase::kServing).status == 200);
  broken = true;
  for (int i = 0; i < 3; ++i) {
    const Reply reply = readiness.Check(Phase::kServing);
    CHECK(reply.status == 503);
    CHECK(reply.body.find("not_ready") != std::string::npos);
    CHECK(reply.body.find("secret") == std::string::npos);
  }
  broken = false;
  const Reply reply = readiness.Check(Phase::kServing);
  CHECK(reply.status == 200);
  CHECK(reply.body ==
        "{\"status\":\"ready\",\"components\":{\"router\":{\"status\":\"up\"},"
        "\"storage\":{\"status\":\"up\"}}}");
}

TEST_CASE(
    "facts e.2 /health/ready: a check is waited for for two seconds, by all askers together") {
  std::promise<void> free;
  std::shared_future<void> wait = free.get_future().share();
  std::atomic<int> checks = 0;
  Readiness readiness(
      [&] {
        ++checks;
        wait.wait();
        return absl::OkStatus();
      },
      [](const absl::Status&) {}, nullptr);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::future<Reply>> answers;
  for (int i = 0; i < 4; ++i) {
    answers.push_back(
        std::async(std::launch::async, [&] { return readiness.Check(Phase::kServing); }));
  }
  for (auto& answer : answers) {
    const Reply reply = answer.get();
    CHECK(reply.status == 503);
    CHECK(reply.body.find("does not answer") != std::string::npos);
  }
  const auto waited = std::chrono::steady_clock::now() - begin;
  CHECK(waited >= Readiness::kLimit);
  CHECK(waited < 5 * Readiness::kLimit);
  // Whoever comes later does not wait for what hangs.
  CHECK(readiness.Check(Phase::kServing).status == 503);
  CHECK(checks == 1);
  free.set_value();
}

}  // namespace
}  // namespace hotel::server
