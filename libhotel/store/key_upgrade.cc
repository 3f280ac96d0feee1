#include "libhotel/store/key_upgrade.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/store/connection.h"
#include "libhotel/store/key_cipher.h"
#include "libhotel/store/key_ring.h"
#include "libhotel/store/provider_rows.h"

namespace hotel::store {
namespace {

bool IsOld(const KeyRing& keys, const std::optional<SealedKey>& sealed) {
  return sealed.has_value() && !keys.IsCurrent(*sealed);
}

/// True when `sealed` was replaced.
absl::StatusOr<bool> SealAnew(KeyRing& keys, const std::string& name,
                              std::optional<SealedKey>* sealed) {
  if (!IsOld(keys, *sealed)) return false;
  const KeyRing::OpenedKey opened = keys.Open(name, *sealed);
  if (opened.state != KeyState::kReady) return false;
  absl::StatusOr<SealedKey> again = keys.Seal(name, opened.key);
  if (!again.ok()) return again.status();
  *sealed = *std::move(again);
  return true;
}

absl::Status Write(Connection& connection, const ProviderRow& row) {
  const auto part = [](const std::optional<SealedKey>& sealed, std::string SealedKey::*which) {
    return sealed.has_value() ? std::optional<BlobView>(BlobView{(*sealed).*which}) : std::nullopt;
  };
  return connection.Run(
      "UPDATE providers SET encrypted_key = ?, key_nonce = ?, key_salt = ?, encrypted_proxy = ?,"
      " proxy_nonce = ?, proxy_salt = ? WHERE id = ?",
      part(row.key, &SealedKey::ciphertext), part(row.key, &SealedKey::nonce),
      part(row.key, &SealedKey::salt), part(row.proxy, &SealedKey::ciphertext),
      part(row.proxy, &SealedKey::nonce), part(row.proxy, &SealedKey::salt), row.id);
}

}  // namespace

absl::Status SealOldKeysAnew(Connection& connection, KeyRing& keys) {
  const auto is_old = [&keys](const ProviderRow& row) {
    return IsOld(keys, row.key) || IsOld(keys, row.proxy);
  };
  absl::StatusOr<std::vector<ProviderRow>> rows = ReadProviders(connection);
  if (!rows.ok()) return rows.status();
  if (std::none_of(rows->begin(), rows->end(), is_old)) return absl::OkStatus();
  absl::StatusOr<Transaction> transaction = Transaction::Begin(&connection);
  if (!transaction.ok()) return transaction.status();
  rows = ReadProviders(connection);
  if (!rows.ok()) return rows.status();
  for (ProviderRow& row : *rows) {
    const absl::StatusOr<bool> key = SealAnew(keys, row.id, &row.key);
    if (!key.ok()) return key.status();
    const absl::StatusOr<bool> proxy = SealAnew(keys, ProxyName(row.id), &row.proxy);
    if (!proxy.ok()) return proxy.status();
    if (!*key && !*proxy) continue;
    if (absl::Status status = Write(connection, row); !status.ok()) return status;
  }
  return transaction->Commit();
}

}  // namespace hotel::store
