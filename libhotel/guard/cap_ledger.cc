#include "hotel/cap_ledger.h"

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "hotel/defaults.h"

#include "libhotel/base/mutex.h"
#include "libhotel/base/string_hash.h"
#include "libhotel/base/strings.h"

namespace hotel {
namespace guard {
namespace {

using base::MutexLock;

constexpr std::size_t kMaxProviders = 4096;
constexpr std::size_t kMaxTextBytes = 256;

class Ledger final : public CapLedger {
 public:
  void Note(std::string_view provider_id, LastCap cap) override {
    cap.phrase.resize(base::TruncateUtf8(cap.phrase, kMaxTextBytes).size());
    cap.model.resize(base::TruncateUtf8(cap.model, kMaxTextBytes).size());
    MutexLock lock(&mutex_);
    if (const auto found = index_.find(provider_id); found != index_.end()) {
      notes_.splice(notes_.begin(), notes_, found->second);
      notes_.front().cap = std::move(cap);
      return;
    }
    if (notes_.size() == kMaxProviders) {
      index_.erase(notes_.back().provider_id);
      notes_.pop_back();
    }
    notes_.push_front({std::string(provider_id), std::move(cap)});
    index_.emplace(notes_.front().provider_id, notes_.begin());
  }

  std::optional<LastCap> Last(std::string_view provider_id) const override {
    MutexLock lock(&mutex_);
    const auto found = index_.find(provider_id);
    if (found == index_.end()) return std::nullopt;
    return found->second->cap;
  }

  void Forget(std::string_view provider_id) override {
    MutexLock lock(&mutex_);
    const auto found = index_.find(provider_id);
    if (found == index_.end()) return;
    notes_.erase(found->second);
    index_.erase(found);
  }

 private:
  struct Entry {
    std::string provider_id;
    LastCap cap;
  };
  using Notes = std::list<Entry>;

  mutable base::Mutex mutex_;
  Notes notes_ HOTEL_GUARDED_BY(mutex_);  ///< the one noted last comes first
  std::unordered_map<std::string, Notes::iterator, base::StringHash, base::StringEqual> index_
      HOTEL_GUARDED_BY(mutex_);
};

}  // namespace
}  // namespace guard

std::unique_ptr<CapLedger> MakeCapLedger() { return std::make_unique<guard::Ledger>(); }

}  // namespace hotel
