// Keeps guessers of the admin token at bay (decisions 10, "Server limits").
#ifndef SERVER_API_THROTTLE_H_
#define SERVER_API_THROTTLE_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "hotel/types.h"

namespace hotel::server::api {

/// What is counted as one address: of IPv6 the network of 64 bits, all of which one host may use.
std::string ThrottleKey(const std::string& address);

/// Counts wrong tokens per address. Not thread-safe; time is a parameter.
class Throttle {
 public:
  static constexpr int kMostWrong = 10;
  static constexpr Duration kWindow = std::chrono::minutes(1);
  /// Addresses that are remembered. When there are more, the one that erred longest ago is
  /// forgotten.
  static constexpr std::size_t kMostAddresses = 4096;

  /// How long the address has to wait; zero when it may try.
  Duration Wait(std::string_view address, TimePoint now) const;

  /// It presented a wrong token. The tenth within a minute of the first makes it wait a minute.
  void Wrong(std::string_view address, TimePoint now);

 private:
  struct Entry {
    int wrong = 0;
    TimePoint since{};  ///< of the first that is counted
    TimePoint last{};   ///< of the last
    TimePoint blocked_until{};
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace hotel::server::api

#endif  // SERVER_API_THROTTLE_H_
