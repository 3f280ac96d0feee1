// Quota readings in memory.
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "hotel/defaults.h"
#include "hotel/quota_advisor.h"

#include "libhotel/base/mutex.h"
#include "libhotel/base/string_hash.h"

namespace hotel {
namespace guard {
namespace {

class Board final : public QuotaBoard {
 public:
  QuotaReading Reading(std::string_view provider_id) const noexcept override {
    base::MutexLock lock(&mutex_);
    const auto it = readings_.find(provider_id);
    return it == readings_.end() ? QuotaReading{} : it->second;
  }

  void Set(std::string provider_id, QuotaReading reading) override {
    base::MutexLock lock(&mutex_);
    readings_[std::move(provider_id)] = reading;
  }

  void Clear(std::string_view provider_id) override {
    base::MutexLock lock(&mutex_);
    const auto it = readings_.find(provider_id);
    if (it != readings_.end()) readings_.erase(it);
  }

 private:
  mutable base::Mutex mutex_;
  std::unordered_map<std::string, QuotaReading, base::StringHash, base::StringEqual> readings_
      HOTEL_GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace guard

std::unique_ptr<QuotaBoard> MakeQuotaAdvisor() { return std::make_unique<guard::Board>(); }

}  // namespace hotel
