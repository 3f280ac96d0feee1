#include "server/data_dir.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

std::string ErrnoText() { return std::strerror(errno); }

absl::Status CreateDir(const std::string& dir) {
  std::error_code error;
  const std::filesystem::path path(dir);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (::mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError(
        fmt::format("cannot create the data directory {}: {}", dir, ErrnoText()));
  }
  return absl::OkStatus();
}

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> bytes;
  while (text.size() < bytes.size()) {
    const auto got = ::read(fd, bytes.data(), bytes.size());
    if (got <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return text;
}

bool WriteAll(int fd, std::string_view text) {
  return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::fsync(fd) == 0;
}

}  // namespace

absl::StatusOr<std::optional<std::string>> ReadPrivateFile(const std::string& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::optional<std::string>();
  if (!fd.valid()) {
    return absl::UnavailableError(fmt::format("cannot read {}: {}", file, ErrnoText()));
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || (info.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("{} can be read by others; set its mode to 0600", file));
  }
  return std::optional<std::string>(ReadAll(fd.get()));
}

absl::Status WritePrivateFile(const std::string& file, std::string_view text) {
  const std::string temporary = file + ".new";
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid() || !WriteAll(fd.get(), text) || ::rename(temporary.c_str(), file.c_str()) != 0) {
    return absl::UnavailableError(fmt::format("cannot write {}: {}", file, ErrnoText()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Secret> MakeSecret() {
  std::array<unsigned char, 32> random;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return absl::UnavailableError("the system gives no random bytes for a secret");
  }
  std::string text;
  for (const auto byte : random) text += fmt::format("{:02x}", byte);
  return Secret(std::move(text));
}

namespace {

absl::StatusOr<MasterKey> CreateMasterKey(const std::string& file) {
  absl::StatusOr<Secret> key = MakeSecret();
  if (!key.ok()) return key.status();
  const absl::Status written = WritePrivateFile(file, std::string(key->Reveal()) + "\n");
  if (!written.ok()) {
    return absl::Status(written.code(), fmt::format("{}; set MASTER_KEY in the environment instead",
                                                    std::string(written.message())));
  }
  return MasterKey{*std::move(key), file, true};
}

}  // namespace

absl::StatusOr<Fd> LockDataDir(const std::string& dir) {
  if (auto created = CreateDir(dir); !created.ok()) return created;
  const std::string file = dir + "/hotel.lock";
  Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return absl::UnavailableError(fmt::format("cannot open {}: {}", file, ErrnoText()));
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("the data directory {} is in use by another hoteld; give this one its own "
                    "with --data-dir",
                    dir));
  }
  return fd;
}

bool HasRunMark(const Fd& lock) {
  struct stat info {};
  return ::fstat(lock.get(), &info) == 0 && info.st_size > 0;
}

void SetRunMark(const Fd& lock) {
  constexpr std::string_view kMark = "serving\n";
  static_cast<void>(::pwrite(lock.get(), kMark.data(), kMark.size(), 0) && ::fdatasync(lock.get()));
}

void ClearRunMark(const Fd& lock) {
  static_cast<void>(::ftruncate(lock.get(), 0) == 0 && ::fdatasync(lock.get()) == 0);
}

absl::StatusOr<MasterKey> LoadMasterKey(const std::string& dir, std::string from_env) {
  if (!from_env.empty()) return MasterKey{Secret(std::move(from_env)), "", false};
  const std::string file = dir + "/master-key";
  absl::StatusOr<std::optional<std::string>> text = ReadPrivateFile(file);
  if (!text.ok()) return text.status();
  if (!text->has_value()) return CreateMasterKey(file);
  Secret key{std::string(base::Trim(**text))};
  OPENSSL_cleanse((*text)->data(), (*text)->size());
  if (key.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "{} is empty; restore it or set MASTER_KEY (without it stored provider keys are lost)",
        file));
  }
  return MasterKey{std::move(key), file, false};
}

}  // namespace hotel::server
