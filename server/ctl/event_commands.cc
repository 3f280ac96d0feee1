// events.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "server/ctl/commands.h"
#include "server/ctl/table.h"

namespace hotel::ctl {
namespace {

constexpr std::chrono::seconds kFirstWait{1};
constexpr std::chrono::seconds kLongestWait{30};
/// A line of the stream that does not end is dropped beyond this.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;

/// What a stream of server-sent events says that matters here: data, and where to go on.
class EventLines {
 public:
  template <typename Take>
  void Feed(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      if (line_.size() + part.size() <= kLongestLine) {
        line_.append(part);
      } else {
        whole_ = false;
      }
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      if (whole_ && base::StartsWith(line_, "data: ")) take(line_.substr(6));
      if (whole_ && base::StartsWith(line_, "id: ")) last_id_ = line_.substr(4);
      Restart();
    }
  }

  /// What is left of a line belongs to a stream that has ended.
  void Restart() {
    line_.clear();
    whole_ = true;
  }

  const std::string& last_id() const noexcept { return last_id_; }

 private:
  std::string line_;
  bool whole_ = true;
  std::string last_id_;
};

void PrintEvent(Session& session, const std::string& data) {
  const Json event = Json::parse(data, nullptr, false);
  if (session.json) {
    session.out << data << std::endl;
    return;
  }
  session.out << Printable(event.is_object()
                               ? fmt::format("{}  {}  {}", Cell(event, "timestamp"),
                                             Cell(event, "type"), Cell(event, "message"))
                               : data)
              << std::endl;
}

/// A sidecar that stops or starts again does not end this: only a refusal does, and who cannot be
/// reached at all.
absl::Status FollowEvents(Session& session) {
  EventLines lines;
  bool listening = false;  // now
  bool ever = false;       // listened
  bool told = false;       // that the connection is gone
  auto wait = kFirstWait;
  for (;;) {
    const absl::Status status =
        session.remote.Follow("/api/events", lines.last_id(), [&](std::string_view bytes) {
          if (!listening && ever) std::cerr << "hotelctl: listening again" << std::endl;
          listening = ever = true;
          lines.Feed(bytes, [&session](const std::string& data) { PrintEvent(session, data); });
          return session.out.good();
        });
    if (!session.out.good()) return absl::OkStatus();  // nobody reads any more
    if (!ever || (!status.ok() && !absl::IsUnavailable(status))) return status;
    if (listening) {
      wait = kFirstWait;
      told = false;
    }
    listening = false;
    lines.Restart();
    if (!std::exchange(told, true)) {
      const std::string reason(status.ok() ? "the stream of events ended" : status.message());
      std::cerr << "hotelctl: " << Printable(reason) << "; trying again until it is back"
                << std::endl;
    }
    std::this_thread::sleep_for(wait);
    wait = std::min(2 * wait, kLongestWait);
  }
}

}  // namespace

void AddEvents(CLI::App* app, Command* chosen) {
  app->add_subcommand("events", "Show events as they happen, until interrupted")
      ->callback([chosen] { *chosen = FollowEvents; });
}

}  // namespace hotel::ctl
