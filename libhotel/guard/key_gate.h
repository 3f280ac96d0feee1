// The gate behind hotel::MakeKeyGate: one meter per key, each under a lock of its own.
#ifndef HOTEL_GUARD_KEY_GATE_H_
#define HOTEL_GUARD_KEY_GATE_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hotel/request_gate.h"

#include "libhotel/base/mutex.h"
#include "libhotel/base/string_hash.h"
#include "libhotel/decide/key_meter.h"

namespace hotel::guard {

/// A meter that requests of one key share.
struct KeyAccount {
  explicit KeyAccount(KeyUsage used) : meter(std::move(used)) {}
  base::Mutex mutex;  ///< held for moments
  decide::KeyMeter meter HOTEL_GUARDED_BY(mutex);
};

class StandardKeyGate final : public KeyGate {
 public:
  using UsageById = std::map<std::string, KeyUsage, std::less<>>;

  StandardKeyGate(KeyStore* store, const KeyGateOptions& options, const UsageById& used);
  ~StandardKeyGate() override { Close(); }

  std::unique_ptr<GatePass> Arrive(std::string_view key_id) override;
  KeyUsage Usage(std::string_view key_id) const override;
  std::int64_t Spent(std::string_view key_id, BudgetPeriod period, WallTime now) const override;
  absl::Status Flush() override;
  void Close() override;

 private:
  using Accounts = std::unordered_map<std::string, std::shared_ptr<KeyAccount>, base::StringHash,
                                      base::StringEqual>;

  std::shared_ptr<KeyAccount> Find(std::string_view key_id) const;
  /// Makes it when it is not there yet.
  std::shared_ptr<KeyAccount> AccountOf(std::string_view key_id);
  std::vector<std::pair<std::string, std::shared_ptr<KeyAccount>>> All() const;
  void DropDeleted();
  void Run();

  KeyStore* const store_;
  const KeyGateOptions options_;
  mutable base::Mutex accounts_mutex_;  // held for a look-up
  Accounts accounts_ HOTEL_GUARDED_BY(accounts_mutex_);
  base::Mutex flush_mutex_;  // one writes at a time; taken first
  base::Mutex thread_mutex_;
  std::condition_variable wake_;
  bool closed_ HOTEL_GUARDED_BY(thread_mutex_) = false;
  std::thread thread_;
};

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_KEY_GATE_H_
