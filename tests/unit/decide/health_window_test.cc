#include "libhotel/decide/health_window.h"

#include <chrono>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace hotel::decide {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kStart{std::chrono::hours(5)};

/// `errors` of `requests`, the errors first.
ProviderHealth After(int errors, int requests) {
  HealthBoard board;
  for (int i = 0; i < requests; ++i) board.Count("p", "m", {i < errors, 500, "bad"}, kStart);
  return board.Of("p", kStart);
}

TEST_CASE("R79 three errors that are half of a model's requests degrade its provider") {
  CHECK(After(3, 6).degraded);
  CHECK_FALSE(After(3, 7).degraded);
  CHECK_FALSE(After(2, 2).degraded);
  CHECK(After(3, 3).degraded);
  CHECK(After(4, 8).degraded);
  CHECK_FALSE(After(4, 9).degraded);
  CHECK_FALSE(After(0, 0).degraded);
  CHECK(After(3, 6).models_failing == 1);
  CHECK(After(3, 7).models_failing == 0);
}

TEST_CASE("R79 a model fails by itself: its siblings' successes do not hide it") {
  HealthBoard board;
  for (int i = 0; i < 3; ++i) board.Count("p", "bad", {true, 400, "refused"}, kStart);
  for (int i = 0; i < 100; ++i) board.Count("p", "good", {}, kStart);
  // Nor do errors of different models add up.
  for (const char* model : {"a", "b", "c"}) board.Count("q", model, {true, 500, ""}, kStart);
  const ProviderHealth health = board.Of("p", kStart);
  CHECK(health.degraded);
  CHECK(health.sums.requests == 103);
  CHECK(health.sums.errors == 3);
  REQUIRE(health.models.size() == 2);
  CHECK(health.models[0].model == "bad");
  CHECK(health.models[1].model == "good");
  CHECK_FALSE(board.Of("q", kStart).degraded);
  CHECK(board.Of("q", kStart).sums.errors == 3);
  CHECK(board.Of("nobody", kStart).sums.requests == 0);
}

TEST_CASE("R78 the window slides over ten minutes") {
  HealthBoard board;
  for (int i = 0; i < 3; ++i) board.Count("p", "m", {true, 503, "down"}, kStart + seconds(3 * i));
  CHECK(board.Of("p", kStart + minutes(10)).degraded);
  // What came ten minutes and a slot ago is forgotten, what came later is not.
  board.Count("p", "m", {}, kStart + minutes(9));
  const ProviderHealth later = board.Of("p", kStart + minutes(10) + seconds(10));
  CHECK_FALSE(later.degraded);
  CHECK(later.sums.requests == 1);
  CHECK(later.sums.errors == 0);
  CHECK_FALSE(later.last_error);
  CHECK(later.models_total == 1);
  const ProviderHealth gone = board.Of("p", kStart + minutes(30));
  CHECK(gone.sums.requests == 0);
  CHECK(gone.models.empty());
}

TEST_CASE("R78 counts of an hour ago never come back, however often the slots were reused") {
  HealthBoard board;
  TimePoint now = kStart;
  for (int i = 0; i < 1000; ++i) {
    board.Count("p", "m", {i % 2 == 0, 500, "x"}, now);
    now += seconds(7);
  }
  const OutcomeSums sums = board.Of("p", now).sums;
  CHECK(sums.requests >= 600 / 7);
  CHECK(sums.requests <= 610 / 7 + 1);
  CHECK(board.Of("p", now + std::chrono::hours(24 * 365)).sums.requests == 0);
}

TEST_CASE("R82 the last error is cut between characters") {
  HealthBoard board;
  std::string text(HealthBoard::kMostErrorBytes - 1, 'x');
  board.Count("p", "m", {true, 500, text + "\xc3\xa9" + "rest"}, kStart);
  REQUIRE(board.Of("p", kStart).last_error);
  CHECK(board.Of("p", kStart).last_error->text == text);
  text.pop_back();
  board.Count("p", "m", {true, 500, text + "\xc3\xa9" + "rest"}, kStart);
  CHECK(board.Of("p", kStart).last_error->text == text + "\xc3\xa9");
}

TEST_CASE("R82 25 models are shown, the last error is one of all of them") {
  HealthBoard board;
  TimePoint now = kStart;
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 5; ++k)
      board.Count("p", "busy" + std::to_string(i), {true, 500, "old"}, now);
    now += seconds(1);
  }
  board.Count("p", "rare", {true, 429, "newest"}, now);
  const ProviderHealth health = board.Of("p", now);
  CHECK(health.models.size() == 25);
  CHECK(health.models_total == 41);
  CHECK(health.models_failing == 40);
  for (const ModelHealth& model : health.models) CHECK(model.model != "rare");
  REQUIRE(health.last_error);
  CHECK(health.last_error->text == "newest");
  CHECK(health.last_error->model == "rare");
  CHECK(health.last_error->status == 429);
}

TEST_CASE("R82 models made up by callers take a bounded room, and others' health stays") {
  HealthBoard board;
  board.Count("other", "m", {true, 500, "x"}, kStart);
  for (int i = 0; i < 20000; ++i) {
    board.Count("p", "made-up-" + std::to_string(i), {true, 404, "not found"}, kStart);
  }
  const std::string huge(1 << 20, 'm');
  board.Count("p", huge, {true, 404, huge}, kStart);
  const ProviderHealth health = board.Of("p", kStart);
  CHECK(health.models_total == HealthBoard::kMostModels);
  CHECK(health.sums.requests == 20001);
  REQUIRE(health.last_error);
  CHECK(health.last_error->model.size() == HealthBoard::kMostNameBytes);
  CHECK(board.Of("other", kStart).sums.errors == 1);
  for (int i = 0; i < 2000; ++i) board.Count("q" + std::to_string(i), "m", {}, kStart);
  CHECK(board.Of("q1999", kStart).sums.requests == 1);
  CHECK(board.Of("q0", kStart).sums.requests == 0);
}

}  // namespace
}  // namespace hotel::decide
