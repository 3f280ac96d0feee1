// KeySnapshot: keys by digest and by id.
#include <cstddef>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <openssl/crypto.h>

#include "hotel/key_store.h"

#include "libhotel/base/key_digest.h"

namespace hotel {
namespace {

/// A digest is as good as random, so any part of it is a hash.
struct DigestHash {
  std::size_t operator()(const KeyDigest& digest) const noexcept {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};
struct DigestEqual {
  bool operator()(const KeyDigest& a, const KeyDigest& b) const noexcept {
    return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
  }
};

}  // namespace

struct KeySnapshot::Index {
  std::unordered_map<KeyDigest, const VirtualKey*, DigestHash, DigestEqual> by_digest;
  std::unordered_map<std::string_view, const VirtualKey*> by_id;
};

KeySnapshot::KeySnapshot(std::vector<VirtualKey> keys)
    : keys_(std::move(keys)), index_(std::make_unique<Index>()) {
  for (const VirtualKey& key : keys_) {
    index_->by_digest.emplace(key.digest, &key);
    index_->by_id.emplace(key.id, &key);
  }
}

KeySnapshot::~KeySnapshot() = default;

const VirtualKey* KeySnapshot::FindKey(std::string_view key) const {
  const auto found = index_->by_digest.find(base::KeyDigestOf(key));
  if (found == index_->by_digest.end() || key.empty()) return nullptr;
  return found->second->spec.enabled ? found->second : nullptr;
}

const VirtualKey* KeySnapshot::FindById(std::string_view id) const noexcept {
  const auto found = index_->by_id.find(id);
  return found == index_->by_id.end() ? nullptr : found->second;
}

}  // namespace hotel
