// Requests a second by client address, whoever they claim to be (facts o).
#ifndef HOTEL_DECIDE_ADDRESS_BUCKETS_H_
#define HOTEL_DECIDE_ADDRESS_BUCKETS_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hotel/types.h"

#include "libhotel/base/string_hash.h"
#include "libhotel/decide/token_bucket.h"

namespace hotel::decide {

/// Pure; whoever owns it serializes its use.
class AddressBuckets {
 public:
  /// Addresses that are told apart at a time. Those that come on top share one bucket: memory is
  /// bounded, and a flood from everywhere is still slowed down.
  static constexpr std::size_t kMost = 16384;
  /// A bucket that nobody asked for so long is dropped.
  static constexpr Duration kIdle = std::chrono::minutes(10);
  static constexpr Duration kSweep = std::chrono::minutes(5);

  struct Decision {
    bool admitted = true;
    Duration wait{};       ///< until the next one would be
    double available = 0;  ///< in the bucket
  };
  /// One more request. Refused ones take nothing.
  Decision Ask(std::string_view address, const BucketRate& rate, TimePoint now);

  void Clear();
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    TokenBucket bucket;
    TimePoint asked_at{};
  };

  Entry& Find(std::string_view address, TimePoint now);
  void Sweep(TimePoint now);

  std::unordered_map<std::string, Entry, base::StringHash, base::StringEqual> entries_;
  Entry rest_;
  TimePoint swept_at_{};
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_ADDRESS_BUCKETS_H_
