// The virtual keys of a sidecar: who may call, how often, and what it is charged.
#ifndef SERVER_KEYS_H_
#define SERVER_KEYS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/clock.h"
#include "hotel/failover_group.h"
#include "hotel/key_store.h"
#include "hotel/request_gate.h"
#include "hotel/settings.h"
#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/decide/address_buckets.h"
#include "libhotel/settings/config.h"

namespace hotel::server {

/// Thread-safe but for RefuseAddress.
class Keys {
 public:
  /// `clock` must outlive it.
  static absl::StatusOr<std::unique_ptr<Keys>> Open(const std::string& database,
                                                    const Clock* clock);

  KeyStore& store() noexcept { return *store_; }
  KeyGate& gate() noexcept { return *gate_; }

  /// Brings the stored keys in line with those of the file. Every provider they name must be there.
  /// An error says which line of the file it is about.
  absl::Status ApplyFile(const std::vector<settings::VirtualKeySpec>& keys,
                         const GroupSnapshot& providers);

  /// The key that a request presents; null when it is not known. It lives as long as `keys`.
  static const VirtualKey* Find(const KeySnapshot& keys, const HeaderList& headers);

  /// What to tell a client whose address sends too many requests; nullopt when it may go on. One
  /// thread.
  std::optional<HeaderList> RefuseAddress(const std::string& peer,
                                          const ClientLimitSettings& limits, TimePoint now);

 private:
  Keys(std::unique_ptr<KeyStore> store, std::unique_ptr<KeyGate> gate)
      : store_(std::move(store)), gate_(std::move(gate)) {}

  std::unique_ptr<KeyStore> store_;
  std::unique_ptr<KeyGate> gate_;  // writes into the store
  decide::AddressBuckets addresses_;
};

}  // namespace hotel::server

#endif  // SERVER_KEYS_H_
