#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/defaults.h"

#include "absl/status/status.h"
#include "libhotel/store/key_cipher.h"
#include "tests/support/catch.h"
#include "tests/unit/store/store_fixture.h"

namespace hotel::store {
namespace {

const KeyCipher& CheapCipher() {
  static const KeyCipher cipher(Secret(kMasterKey), KeyFormat::kTransient);
  return cipher;
}

TEST_CASE("cipher: opens what it sealed, and never seals to the same bytes twice") {
  for (const std::string& key :
       {std::string("sk-1234"), std::string("k"), std::string(8000, 'x')}) {
    const SealedKey one = Must(CheapCipher().Seal("provider", Secret(key)));
    const SealedKey two = Must(CheapCipher().Seal("provider", Secret(key)));
    CHECK(Must(CheapCipher().Open("provider", one)) == Secret(key));
    CHECK(one.nonce.size() == 12);
    CHECK(one.salt.size() == 16);
    CHECK(one.ciphertext.size() == 1 + key.size() + 16);
    CHECK(one.nonce != two.nonce);
    CHECK(one.salt == two.salt);
    CHECK(one.ciphertext != two.ciphertext);
  }
}

TEST_CASE("cipher: the wrong master key is told apart from a missing one") {
  const SealedKey sealed = Must(CheapCipher().Seal("provider", Secret("sk")));
  const KeyCipher wrong(Secret("another master key"), KeyFormat::kTransient);
  CHECK(absl::IsPermissionDenied(wrong.Open("provider", sealed).status()));
  const KeyCipher none(Secret(), KeyFormat::kTransient);
  CHECK(absl::IsFailedPrecondition(none.Open("provider", sealed).status()));
  const absl::Status status = none.Seal("provider", Secret("sk")).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("set MASTER_KEY") == 0);
}

TEST_CASE("cipher: another provider's id and any changed byte are refused") {
  const SealedKey sealed = Must(CheapCipher().Seal("provider", Secret("sk-1234")));
  CHECK_FALSE(CheapCipher().Open("other", sealed).ok());
  for (std::string SealedKey::*part :
       {&SealedKey::ciphertext, &SealedKey::nonce, &SealedKey::salt}) {
    for (std::size_t i = 0; i < (sealed.*part).size(); ++i) {
      SealedKey changed = sealed;
      (changed.*part)[i] = static_cast<char>((changed.*part)[i] ^ 1);
      CHECK_FALSE(CheapCipher().Open("provider", changed).ok());
    }
    SealedKey cut = sealed;
    (cut.*part).pop_back();
    CHECK_FALSE(CheapCipher().Open("provider", cut).ok());
    (cut.*part).clear();
    CHECK_FALSE(CheapCipher().Open("provider", cut).ok());
  }
}

TEST_CASE("cipher: a salt is random, and that of the keys that are there is used on") {
  const KeyCipher other(Secret(kMasterKey), KeyFormat::kTransient);
  const SealedKey one = Must(CheapCipher().Seal("provider", Secret("sk")));
  const SealedKey two = Must(other.Seal("provider", Secret("sk")));
  CHECK(one.salt != two.salt);
  CHECK(Must(other.Open("provider", one)) == Secret("sk"));
  const KeyCipher later(Secret(kMasterKey), KeyFormat::kTransient);
  CHECK(Must(later.Open("provider", one)) == Secret("sk"));
  CHECK(Must(later.Seal("next", Secret("sk"))).salt == one.salt);
  // Not that of a key which another master key sealed.
  const KeyCipher wrong(Secret("another master key"), KeyFormat::kTransient);
  REQUIRE_FALSE(wrong.Open("provider", one).ok());
  CHECK(Must(wrong.Seal("next", Secret("sk"))).salt != one.salt);
}

TEST_CASE("cipher: the stored format is format 3 and does not mix with the transient one") {
  const KeyCipher stored(Secret(kMasterKey), KeyFormat::kStored);
  const SealedKey sealed = Must(stored.Seal("provider", Secret("sk")));
  CHECK(sealed.ciphertext[0] == 3);
  CHECK(Must(stored.Open("provider", sealed)) == Secret("sk"));
  CHECK(absl::IsFailedPrecondition(CheapCipher().Open("provider", sealed).status()));
  const SealedKey cheap = Must(CheapCipher().Seal("provider", Secret("sk")));
  CHECK(absl::IsFailedPrecondition(stored.Open("provider", cheap).status()));
}

TEST_CASE("the public factory seals files in the stored format") {
  TempDir dir;
  TestClock clock;
  StoreOptions options;
  options.path = dir.File("hotel.db");
  options.master_key = Secret(kMasterKey);
  auto store = Must(OpenSqliteStore(options, &clock));
  Must(store->UpsertProvider(SpecOf("a", "sk-a")));
  CHECK(RawDatabase(options.path).Value("SELECT hex(substr(encrypted_key, 1, 1)) FROM providers") ==
        "03");
}

std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// What the program wrote that sealed each key under a salt of its own.
constexpr char kOldId[] = "aaaaaaaa-0000-4000-8000-000000000001";
constexpr char kOldKey[] =
    "0160411ffbf313cf18f999a7a04aeb5e4bc191fc1cf23480524e0bb263ebc4bcad3fd069c144f920fa";
constexpr char kOldKeyNonce[] = "40fddeae8c9ad47921d9d955";
constexpr char kOldKeySalt[] = "8519f274c1b6b5df011739cd3aebd86c";
constexpr char kOldProxy[] =
    "016145c273b63cc28ac5ef6d70d8a36fafa9a251abd3ebb6f7752d08d43eb4508899c213fd0f9f84c7e9818ce28f2"
    "d";
constexpr char kOldProxyNonce[] = "d987c9638535800de8183cc2";
constexpr char kOldProxySalt[] = "2c5f5e3bb290ad4dc065156516008880";

TEST_CASE("cipher: keys of format 1 are read, and no longer written") {
  const KeyCipher stored(Secret(kMasterKey), KeyFormat::kStored);
  SealedKey old{FromHex(kOldKey), FromHex(kOldKeyNonce), FromHex(kOldKeySalt)};
  CHECK(Must(stored.Open(kOldId, old)) == Secret("sk-of-an-earlier-version"));
  CHECK_FALSE(stored.IsCurrent(old));
  CHECK(absl::IsPermissionDenied(stored.Open("other", old).status()));
  CHECK(absl::IsFailedPrecondition(CheapCipher().Open(kOldId, old).status()));
  // One format does not open as the other.
  old.ciphertext[0] = 3;
  CHECK(absl::IsPermissionDenied(stored.Open(kOldId, old).status()));
  SealedKey young = Must(stored.Seal(kOldId, Secret("sk")));
  CHECK(stored.IsCurrent(young));
  CHECK(young.salt != old.salt);
  young.ciphertext[0] = 1;
  CHECK(absl::IsPermissionDenied(stored.Open(kOldId, young).status()));
}

TEST_CASE("store: keys of format 1 are sealed anew when they are read, and nothing else changes") {
  TempDir dir;
  TestClock clock;
  StoreOptions options;
  options.path = dir.File("hotel.db");
  options.master_key = Secret(kMasterKey);
  Must(OpenSqliteStore(options, &clock)).reset();
  RawDatabase raw(options.path);
  raw.Run(std::string("INSERT INTO providers (id, name, routing_name, provider_type, base_url,"
                      " encrypted_key, key_nonce, key_salt, encrypted_proxy, proxy_nonce,"
                      " proxy_salt, created_at, updated_at) VALUES ('") +
          kOldId + "', 'old', 'old', 'openai', 'https://a.test/v1', x'" + kOldKey + "', x'" +
          kOldKeyNonce + "', x'" + kOldKeySalt + "', x'" + kOldProxy + "', x'" + kOldProxyNonce +
          "', x'" + kOldProxySalt + "', '2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z')");
  const auto formats = [&raw] {
    return raw.Value(
        "SELECT hex(substr(encrypted_key, 1, 1)) || hex(substr(encrypted_proxy, 1, 1))"
        " || (key_salt = proxy_salt) || updated_at FROM providers");
  };
  const auto check = [](const Store& store) {
    const auto provider = store.Snapshot()->FindProvider("old");
    CHECK(provider->key_state == KeyState::kReady);
    CHECK(provider->api_key == Secret("sk-of-an-earlier-version"));
    CHECK(provider->transport->proxy == Secret("http://user:pw@proxy.test:3128"));
  };
  // A master key that does not open them leaves them alone.
  options.master_key = Secret("another master key of more than thirty-two characters");
  CHECK(Must(OpenSqliteStore(options, &clock))->Snapshot()->FindProvider("old")->key_state ==
        KeyState::kUndecryptable);
  CHECK(formats() == "010102026-01-02T00:00:00.000Z");
  options.master_key = Secret(kMasterKey);
  check(*Must(OpenSqliteStore(options, &clock)));
  CHECK(formats() == "030312026-01-02T00:00:00.000Z");
  check(*Must(OpenSqliteStore(options, &clock)));
}

TEST_CASE("a store in memory takes keys without a master key") {
  TestClock clock;
  StoreOptions options;
  options.path = ":memory:";
  auto store = Must(OpenSqliteStore(options, &clock));
  Must(store->UpsertProvider(SpecOf("a", "sk-a")));
  CHECK(store->Snapshot()->FindProvider("a")->api_key == Secret("sk-a"));
}

struct FileFixture {
  TempDir dir;
  TestClock clock;
  std::string path = dir.File("hotel.db");
  std::unique_ptr<SqliteStore> store = MustOpen(path, clock);

  void Reopen(const std::string& master_key) {
    store.reset();
    store = MustOpen(path, clock, master_key);
  }
  std::shared_ptr<const Provider> Find(const std::string& name) {
    return store->Snapshot()->FindProvider(name);
  }
  std::string Ciphertext(const std::string& name) {
    return RawDatabase(path).Value("SELECT encrypted_key || key_nonce || key_salt FROM providers" +
                                   (" WHERE name = '" + name + "'"));
  }
};

TEST_CASE("store: an unchanged key keeps its ciphertext, a changed one does not") {
  FileFixture f;
  Must(f.store->UpsertProvider(SpecOf("a", "sk-a")));
  const std::string before = f.Ciphertext("a");
  REQUIRE_FALSE(before.empty());
  ProviderSpec spec = SpecOf("a", "sk-a");
  spec.base_url = "https://elsewhere.test";
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Ciphertext("a") == before);
  f.Reopen(kMasterKey);
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Ciphertext("a") == before);
  Must(f.store->UpsertProvider(SpecOf("a", "sk-b")));
  CHECK(f.Ciphertext("a") != before);
  CHECK(f.Find("a")->api_key == Secret("sk-b"));
}

TEST_CASE("store: a provider becomes keyless when its key is empty") {
  FileFixture f;
  Must(f.store->UpsertProvider(SpecOf("a", "sk-a")));
  Must(f.store->UpsertProvider(SpecOf("a")));
  CHECK(f.Find("a")->key_state == KeyState::kKeyless);
  CHECK(f.Find("a")->api_key.empty());
  CHECK(RawDatabase(f.path).Value("SELECT count(*) FROM providers WHERE encrypted_key IS NULL"
                                  " AND key_nonce IS NULL AND key_salt IS NULL") == "1");
}

TEST_CASE("store: without a master key no key is stored, and the message says what to set") {
  FileFixture f;
  f.Reopen("");
  const auto before = f.store->Snapshot();
  const absl::Status status = f.store->UpsertProvider(SpecOf("a", "sk-a")).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("set MASTER_KEY") == 0);
  CHECK(f.store->Snapshot() == before);
  CHECK(f.store->UpsertProvider(SpecOf("keyless")).ok());
}

TEST_CASE("store: with the wrong master key it opens, keys are undecryptable, groups work") {
  FileFixture f;
  const auto models = AddModels(*f.store, 2);
  Must(f.store->UpsertProvider(SpecOf("p1", "sk-1")));
  for (const char* master_key : {"the wrong one", ""}) {
    f.Reopen(master_key);
    CHECK(f.Find("p1")->key_state == KeyState::kUndecryptable);
    CHECK(f.Find("p1")->api_key.empty());
    CHECK(f.Find("p2")->key_state == KeyState::kKeyless);
    const FailoverGroup group = Must(f.store->Create(GroupOf("g", models)));
    CHECK(f.store->Delete(group.id).ok());
  }
  f.Reopen(kMasterKey);
  CHECK(f.Find("p1")->api_key == Secret("sk-1"));
  f.Reopen("the new one");
  Must(f.store->UpsertProvider(SpecOf("p1", "sk-1")));
  CHECK(f.Find("p1")->key_state == KeyState::kReady);
}

TEST_CASE("store: a proxy opens with its master key only, and without it the provider is out") {
  FileFixture f;
  ProviderSpec spec = SpecOf("a");
  spec.transport.proxy = Secret("http://user:hunter2@proxy.test:3128");
  Must(f.store->UpsertProvider(spec));
  CHECK(f.Find("a")->key_state == KeyState::kKeyless);
  f.Reopen(kMasterKey);
  REQUIRE(f.Find("a")->transport != nullptr);
  CHECK(f.Find("a")->transport->proxy == spec.transport.proxy);
  f.Reopen("the wrong one");
  CHECK(f.Find("a")->key_state == KeyState::kUndecryptable);
  f.Reopen("");
  const absl::Status status = f.store->UpsertProvider(spec).status();
  CHECK(absl::IsFailedPrecondition(status));
  f.store.reset();
  for (const char* suffix : {"", "-wal"}) {
    CHECK(FileBytes(f.path + suffix).find("hunter2") == std::string::npos);
  }
}

TEST_CASE("store: a key moved to the place of the proxy does not open there") {
  FileFixture f;
  Must(f.store->UpsertProvider(SpecOf("a", "sk-a")));
  f.store.reset();
  RawDatabase(f.path).Run(
      "UPDATE providers SET encrypted_proxy = encrypted_key, proxy_nonce = key_nonce,"
      " proxy_salt = key_salt");
  f.Reopen(kMasterKey);
  CHECK(f.Find("a")->key_state == KeyState::kUndecryptable);
}

TEST_CASE("store: a ciphertext moved to another row does not open there") {
  FileFixture f;
  Must(f.store->UpsertProvider(SpecOf("a", "sk-a")));
  Must(f.store->UpsertProvider(SpecOf("b", "sk-b")));
  f.store.reset();
  RawDatabase(f.path).Run(
      "CREATE TEMP TABLE old AS SELECT * FROM providers;"
      "UPDATE providers SET (encrypted_key, key_nonce, key_salt) ="
      " (SELECT o.encrypted_key, o.key_nonce, o.key_salt FROM old o"
      "  WHERE o.id <> providers.id)");
  f.Reopen(kMasterKey);
  CHECK(f.Find("a")->key_state == KeyState::kUndecryptable);
  CHECK(f.Find("b")->key_state == KeyState::kUndecryptable);
}

TEST_CASE("store: keys and the master key occur in no file, open or closed") {
  FileFixture f;
  const std::string key = "sk-plain-text-that-must-not-be-found";
  Must(f.store->UpsertProvider(SpecOf("a", key)));
  Must(f.store->UpsertProvider(SpecOf("a", key + "-2")));
  const auto clean = [&](const std::string& suffix) {
    const std::string bytes = FileBytes(f.path + suffix);
    return bytes.find("sk-plain-text") == std::string::npos &&
           bytes.find(kMasterKey) == std::string::npos;
  };
  REQUIRE_FALSE(FileBytes(f.path + "-wal").empty());
  CHECK(clean(""));
  CHECK(clean("-wal"));
  CHECK(clean("-shm"));
  f.store.reset();
  REQUIRE_FALSE(FileBytes(f.path).empty());
  CHECK(clean(""));
}

}  // namespace
}  // namespace hotel::store
