#include "libhotel/guard/key_gate.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>

#include "libhotel/guard/key_pass.h"

namespace hotel {
namespace guard {

using base::MutexLock;

StandardKeyGate::StandardKeyGate(KeyStore* store, const KeyGateOptions& options,
                                 const UsageById& used)
    : store_(store), options_(options) {
  for (const auto& [id, usage] : used) accounts_.emplace(id, std::make_shared<KeyAccount>(usage));
  thread_ = std::thread([this] { Run(); });
}

std::unique_ptr<GatePass> StandardKeyGate::Arrive(std::string_view key_id) {
  if (key_id.empty()) return nullptr;
  std::shared_ptr<const KeySnapshot> keys = store_->Snapshot();
  const VirtualKey* const key = keys->FindById(key_id);
  // It was deleted or switched off on the way here.
  if (key == nullptr || !key->spec.enabled) return MakeClosedPass();
  return MakeKeyPass(std::move(keys), key, AccountOf(key_id));
}

std::shared_ptr<KeyAccount> StandardKeyGate::Find(std::string_view key_id) const {
  MutexLock lock(&accounts_mutex_);
  const auto found = accounts_.find(key_id);
  return found == accounts_.end() ? nullptr : found->second;
}

std::shared_ptr<KeyAccount> StandardKeyGate::AccountOf(std::string_view key_id) {
  if (auto account = Find(key_id)) return account;
  auto made = std::make_shared<KeyAccount>(KeyUsage{});
  MutexLock lock(&accounts_mutex_);
  return accounts_.emplace(std::string(key_id), std::move(made)).first->second;
}

KeyUsage StandardKeyGate::Usage(std::string_view key_id) const {
  const auto account = Find(key_id);
  if (account == nullptr) return {};
  MutexLock lock(&account->mutex);
  return account->meter.used();
}

std::int64_t StandardKeyGate::Spent(std::string_view key_id, BudgetPeriod period,
                                    WallTime now) const {
  const auto account = Find(key_id);
  if (account == nullptr) return 0;
  MutexLock lock(&account->mutex);
  return account->meter.SpentIn(period, now);
}

std::vector<std::pair<std::string, std::shared_ptr<KeyAccount>>> StandardKeyGate::All() const {
  MutexLock lock(&accounts_mutex_);
  return {accounts_.begin(), accounts_.end()};
}

absl::Status StandardKeyGate::Flush() {
  MutexLock writing(&flush_mutex_);
  std::vector<KeyCharge> charges;
  std::vector<std::shared_ptr<KeyAccount>> from;
  for (auto& [id, account] : All()) {
    MutexLock lock(&account->mutex);
    KeyUsage news = account->meter.TakeNews();
    if (news.requests == 0) continue;
    charges.push_back({id, std::move(news)});
    from.push_back(account);
  }
  if (charges.empty()) return absl::OkStatus();
  absl::Status status = store_->AddUsage(charges);
  if (status.ok()) return status;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    MutexLock lock(&from[i]->mutex);
    from[i]->meter.PutBack(charges[i].usage);
  }
  return status;
}

/// Keys that are gone take their meters with them; requests that run keep theirs to the end.
void StandardKeyGate::DropDeleted() {
  MutexLock lock(&accounts_mutex_);
  // Taken with the lock held: no account is older than the key it is for.
  const auto keys = store_->Snapshot();
  for (auto it = accounts_.begin(); it != accounts_.end();) {
    it = keys->FindById(it->first) == nullptr ? accounts_.erase(it) : std::next(it);
  }
}

void StandardKeyGate::Run() {
  const auto pause = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::max<Duration>(options_.flush_interval, std::chrono::milliseconds(1)));
  for (;;) {
    {
      MutexLock lock(&thread_mutex_);
      const auto until = std::chrono::steady_clock::now() + pause;
      while (!closed_ && wake_.wait_until(lock.native(), until) != std::cv_status::timeout) {
      }
      if (closed_) return;
    }
    // What could not be written is tried again with what comes next.
    if (Flush().ok()) DropDeleted();
  }
}

void StandardKeyGate::Close() {
  {
    MutexLock lock(&thread_mutex_);
    if (closed_) return;
    closed_ = true;
  }
  wake_.notify_all();
  thread_.join();
  // The last chance; the store says why it did not work to whoever writes through it.
  Flush().IgnoreError();
}

}  // namespace guard

absl::StatusOr<std::unique_ptr<KeyGate>> MakeKeyGate(KeyStore* store,
                                                     const KeyGateOptions& options) {
  const auto used = store->ReadUsage();
  if (!used.ok()) return used.status();
  return std::make_unique<guard::StandardKeyGate>(store, options, *used);
}

}  // namespace hotel
