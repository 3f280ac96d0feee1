#include "libhotel/decide/address_buckets.h"

#include <iterator>

namespace hotel::decide {

AddressBuckets::Decision AddressBuckets::Ask(std::string_view address, const BucketRate& rate,
                                             TimePoint now) {
  if (!rate.limits()) return {};
  if (now - swept_at_ >= kSweep) Sweep(now);
  Entry& entry = Find(address, now);
  entry.asked_at = now;
  Decision decision;
  decision.available = entry.bucket.Available(rate, now);
  decision.wait = entry.bucket.WaitFor(1, rate, now);
  decision.admitted = decision.wait <= Duration::zero();
  if (decision.admitted) entry.bucket.Take(1, now);
  return decision;
}

AddressBuckets::Entry& AddressBuckets::Find(std::string_view address, TimePoint now) {
  if (const auto found = entries_.find(address); found != entries_.end()) return found->second;
  // Looking at all of them for one new address is worth it once a second, no more often.
  if (entries_.size() >= kMost && now - swept_at_ >= std::chrono::seconds(1)) Sweep(now);
  if (entries_.size() >= kMost) return rest_;
  return entries_[std::string(address)];
}

void AddressBuckets::Sweep(TimePoint now) {
  swept_at_ = now;
  for (auto it = entries_.begin(); it != entries_.end();) {
    it = now - it->second.asked_at >= kIdle ? entries_.erase(it) : std::next(it);
  }
}

void AddressBuckets::Clear() {
  entries_.clear();
  rest_ = {};
}

}  // namespace hotel::decide
