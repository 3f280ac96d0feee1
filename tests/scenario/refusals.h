// Refusals for scripts, in the wordings of providers.
#ifndef HOTEL_TESTS_SCENARIO_REFUSALS_H_
#define HOTEL_TESTS_SCENARIO_REFUSALS_H_

#include <string>
#include <utility>

#include "hotel/testing/fake_dispatcher.h"

namespace hotel::scenario {

inline testing::Script Refusal(int status, std::string body, HeaderList headers = {}) {
  headers.push_back({"content-type", "application/json"});
  return testing::Script().Head(status, std::move(headers)).Bytes(std::move(body)).End();
}

/// A 429 that is worth a wait of this many seconds.
inline testing::Script Busy(int wait) {
  return Refusal(429, "{}", {{"Retry-After", std::to_string(wait)}});
}
/// Busy by its words, without a wait.
inline testing::Script BusyWords() {
  return Refusal(429, R"({"error":{"message":"Concurrency limit exhausted, retry shortly"}})");
}
/// A window of the account is used up; nothing says until when.
inline testing::Script SpentWindow() {
  return Refusal(429, R"({"error":"you have reached your session usage limit, upgrade"})");
}
/// Somebody has to pay.
inline testing::Script SpentMoney() {
  return Refusal(429, R"({"error":{"message":"You exceeded your current quota, please check your )"
                      R"(plan and billing details.","type":"insufficient_quota",)"
                      R"("code":"insufficient_quota"}})");
}
/// Nothing in it tells busy from spent.
inline testing::Script Mute() { return Refusal(429, R"({"error":{"message":"no"}})"); }

}  // namespace hotel::scenario

#endif  // HOTEL_TESTS_SCENARIO_REFUSALS_H_
