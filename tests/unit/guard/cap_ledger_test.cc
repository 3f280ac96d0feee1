#include "hotel/cap_ledger.h"

#include <chrono>
#include <memory>
#include <string>

#include "hotel/defaults.h"

#include "tests/support/catch.h"

namespace hotel::guard::test {
namespace {

WallTime At(int seconds) { return WallTime(std::chrono::seconds(seconds)); }

}  // namespace

TEST_CASE("the ledger keeps each provider's last exhausted 429") {
  const std::unique_ptr<CapLedger> ledger = MakeCapLedger();
  CHECK_FALSE(ledger->Last("a"));
  ledger->Note("a", {"session usage limit", "gpt-oss:120b", false, At(1)});
  ledger->Note("b", {"insufficient_quota", "gpt-4o", true, At(2)});
  ledger->Note("a", {"weekly usage limit", "glm-4.6", true, At(3)});
  const auto a = ledger->Last("a");
  REQUIRE(a);
  CHECK(a->phrase == "weekly usage limit");
  CHECK(a->model == "glm-4.6");
  CHECK(a->needs_payment);
  CHECK(a->at == At(3));
  REQUIRE(ledger->Last("b"));
  CHECK(ledger->Last("b")->phrase == "insufficient_quota");
}

TEST_CASE("the ledger forgets a deleted provider") {
  const std::unique_ptr<CapLedger> ledger = MakeCapLedger();
  ledger->Note("a", {"p", "m", false, At(1)});
  ledger->Note("b", {"p", "m", false, At(1)});
  ledger->Forget("a");
  ledger->Forget("unknown");
  CHECK_FALSE(ledger->Last("a"));
  CHECK(ledger->Last("b"));
}

TEST_CASE("the ledger is bounded: the provider noted longest ago makes room") {
  const std::unique_ptr<CapLedger> ledger = MakeCapLedger();
  for (int i = 0; i < 4096; ++i) ledger->Note(std::to_string(i), {"p", "m", false, At(i)});
  ledger->Note("0", {"again", "m", false, At(5000)});
  ledger->Note("new", {"p", "m", false, At(5001)});
  CHECK(ledger->Last("0"));
  CHECK_FALSE(ledger->Last("1"));
  CHECK(ledger->Last("2"));
  CHECK(ledger->Last("new"));
}

TEST_CASE("the ledger cuts long texts at a character's border") {
  const std::unique_ptr<CapLedger> ledger = MakeCapLedger();
  ledger->Note("a", {std::string(300, 'x'), std::string(255, 'y') + "\xC3\xA9", false, At(1)});
  REQUIRE(ledger->Last("a"));
  CHECK(ledger->Last("a")->phrase == std::string(256, 'x'));
  CHECK(ledger->Last("a")->model == std::string(255, 'y'));
}

}  // namespace hotel::guard::test
