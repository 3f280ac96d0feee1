#include <memory>
#include <string>
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
    CHECK(one.salt != two.salt);
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

TEST_CASE("cipher: the stored format is format 1 and does not mix with the transient one") {
  const KeyCipher stored(Secret(kMasterKey), KeyFormat::kStored);
  const SealedKey sealed = Must(stored.Seal("provider", Secret("sk")));
  CHECK(sealed.ciphertext[0] == 1);
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
        "01");
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
