#include "server/lingerer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

namespace hotel::server {
namespace {

constexpr std::size_t kMaxEntries = 1000;
constexpr Duration kSilence = std::chrono::seconds(2);
constexpr Duration kTotal = std::chrono::seconds(10);
constexpr int kTickMs = 250;
/// Reads per turn and connection, so that one busy sender does not starve the others.
constexpr int kReadsPerTurn = 16;

TimePoint Now() { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }

/// False at the end of the stream or on error.
bool Drop(int fd) {
  std::array<char, 64 * 1024> bytes;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const auto got = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  }
  return true;
}

}  // namespace

Lingerer::Lingerer() : thread_([this] { Run(); }) {}

Lingerer::~Lingerer() { Stop(); }

void Lingerer::Add(Fd connection) {
  ::shutdown(connection.get(), SHUT_WR);
  const auto now = Now();
  base::MutexLock lock(&mutex_);
  if (stopped_ || count_ >= kMaxEntries) return;
  ++count_;
  added_.push_back({std::move(connection), now, now + kTotal});
  wake_.Set();
}

void Lingerer::Stop() {
  {
    base::MutexLock lock(&mutex_);
    stopped_ = true;
    wake_.Set();
  }
  if (thread_.joinable()) thread_.join();
}

void Lingerer::Run() {
  std::vector<Entry> entries;
  while (true) {
    {
      base::MutexLock lock(&mutex_);
      if (stopped_) return;
      std::move(added_.begin(), added_.end(), std::back_inserter(entries));
      added_.clear();
      count_ = entries.size();
    }
    Serve(&entries, entries.empty() ? -1 : kTickMs, wake_.fd());
    wake_.Clear();
  }
}

void Lingerer::Serve(std::vector<Entry>* entries, int timeout_ms, int wake_fd) {
  std::vector<pollfd> fds;
  fds.reserve(entries->size() + 1);
  fds.push_back({wake_fd, POLLIN, 0});
  for (const auto& entry : *entries) fds.push_back({entry.fd.get(), POLLIN, 0});
  ::poll(fds.data(), fds.size(), timeout_ms);
  const auto now = Now();
  std::vector<Entry> kept;
  kept.reserve(entries->size());
  for (std::size_t i = 0; i < entries->size(); ++i) {
    auto& entry = (*entries)[i];
    const bool readable = fds[i + 1].revents != 0;
    if (readable && !Drop(entry.fd.get())) continue;
    if (readable) entry.heard = now;
    if (now >= entry.last || now - entry.heard >= kSilence) continue;
    kept.push_back(std::move(entry));
  }
  *entries = std::move(kept);
}

}  // namespace hotel::server
