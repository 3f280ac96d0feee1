// status.
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "server/ctl/commands.h"
#include "server/ctl/table.h"

namespace hotel::ctl {
namespace {

/// "3d 4h", "4h 5m", "5m 6s", "6s".
std::string Span(std::int64_t seconds) {
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  if (hours >= 24) return fmt::format("{}d {}h", hours / 24, hours % 24);
  if (hours > 0) return fmt::format("{}h {}m", hours, minutes % 60);
  if (minutes > 0) return fmt::format("{}m {}s", minutes, seconds % 60);
  return fmt::format("{}s", seconds);
}

std::string Counted(const Json& counts, const char* name) {
  const Json count = counts.value(name, Json::object());
  const auto off = count.value("total", std::int64_t{0}) - count.value("enabled", std::int64_t{0});
  return Cell(count, "total") + (off > 0 ? fmt::format(" ({} off)", off) : "");
}

std::string RequestLog(const Json& log) {
  return fmt::format("{} rows written, {} waiting, {} lost{}", Cell(log, "written"),
                     Cell(log, "waiting"), Cell(log, "lost"),
                     log.value("failing", false) ? "; it cannot be written at the moment" : "");
}

absl::Status ShowStatus(Session& session) {
  const auto answer = session.remote.Call("GET", "/api/system");
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  const Json build = answer->value("build", Json::object());
  const Json counts = answer->value("counts", Json::object());
  Table table({"FIELD", "VALUE"});
  table.Add({"version", fmt::format("{} ({}, {})", Cell(*answer, "version"), Cell(build, "type"),
                                    Cell(build, "compiler"))});
  table.Add(
      {"running", fmt::format("{} since {}", Span(answer->value("uptime_seconds", std::int64_t{0})),
                              Cell(*answer, "started_at"))});
  table.Add({"listens on", Cell(*answer, "listen")});
  table.Add({"data", Cell(*answer, "data_dir")});
  table.Add({"configuration", Cell(*answer, "config_file")});
  table.Add({"providers", Counted(counts, "providers")});
  table.Add({"models", Counted(counts, "models")});
  table.Add({"groups", Counted(counts, "failover_groups")});
  table.Add({"keys", Counted(counts, "virtual_keys")});
  table.Add({"running requests", Cell(*answer, "active_requests")});
  table.Add({"request log", RequestLog(answer->value("request_log", Json::object()))});
  table.Print(session.out);
  return absl::OkStatus();
}

}  // namespace

void AddStatus(CLI::App* app, Command* chosen) {
  app->add_subcommand("status", "Show what this sidecar is and how much it holds")
      ->callback([chosen] { *chosen = ShowStatus; });
}

}  // namespace hotel::ctl
