// logs, settings.
#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "server/ctl/commands.h"
#include "server/ctl/table.h"

namespace hotel::ctl {
namespace {

struct LogOptions {
  std::string id;
  std::string model;
  std::string status;
  std::string key;
  std::string endpoint;
  std::string provider;
  std::string attempt_provider;
  std::string attempt_status;
  std::string from;
  std::string to;
  int limit = 50;
};

/// The provider's id, for filters that want one.
absl::StatusOr<std::string> ProviderId(const Remote& remote, const std::string& name) {
  if (name.empty()) return name;
  return FindProvider(remote, name);
}

/// Entries of a trail have a number below 0 when the candidate was passed over.
bool IsSkipped(const Json& attempt) { return attempt.value("attempt", 0) < 0; }

void PrintTrail(Session& session, const Json& entry) {
  session.out << Printable(fmt::format("{}  {}  {}  {}", Cell(entry, "created_at"),
                                       Cell(entry, "model_id"), Cell(entry, "status_code"),
                                       Cell(entry, "error_message")))
              << '\n';
  Table table({"ATTEMPT", "PROVIDER", "MODEL", "STATUS", "MS", "BREAKER", "KIND", "DETAIL"});
  for (const Json& attempt : entry.value("attempts", Json::array())) {
    table.Add({IsSkipped(attempt) ? "skipped" : Cell(attempt, "attempt"), Cell(attempt, "provider"),
               Cell(attempt, "model"), Cell(attempt, "status"), Cell(attempt, "duration_ms"),
               Cell(attempt, "breaker"), Cell(attempt, "error_kind"), Cell(attempt, "detail")});
  }
  table.Print(session.out);
}

absl::Status ShowLogs(Session& session, const LogOptions& options) {
  if (!options.id.empty()) {
    const auto entry = session.remote.Call("GET", "/api/logs/" + Escaped(options.id));
    if (!entry.ok()) return entry.status();
    if (session.json) {
      session.out << entry->dump(2) << '\n';
    } else {
      PrintTrail(session, *entry);
    }
    return absl::OkStatus();
  }
  const auto provider = ProviderId(session.remote, options.provider);
  if (!provider.ok()) return provider.status();
  const auto attempt = ProviderId(session.remote, options.attempt_provider);
  if (!attempt.ok()) return attempt.status();
  const auto answer = session.remote.Call(
      "GET", "/api/logs" + QueryText({{"model_id", options.model},
                                      {"status_code", options.status},
                                      {"virtual_key_name", options.key},
                                      {"endpoint_type", options.endpoint},
                                      {"provider_id", *provider},
                                      {"attempt_provider_id", *attempt},
                                      {"attempt_status", options.attempt_status},
                                      {"from", options.from},
                                      {"to", options.to},
                                      {"per_page", std::to_string(options.limit)}}));
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"TIME", "ID", "MODEL", "PROVIDER", "STATUS", "ATTEMPTS", "SKIPPED", "MS", "KIND"});
  for (const Json& entry : answer->value("entries", Json::array())) {
    const Json trail = entry.value("attempts", Json::array());
    const auto skipped = std::count_if(trail.begin(), trail.end(), IsSkipped);
    table.Add({Cell(entry, "created_at"), Cell(entry, "id"), Cell(entry, "model_id"),
               Cell(entry, "provider_name"), Cell(entry, "status_code"),
               std::to_string(static_cast<std::ptrdiff_t>(trail.size()) - skipped),
               std::to_string(skipped), Cell(entry, "duration_ms"), Cell(entry, "error_kind")});
  }
  table.Print(session.out);
  session.out << Printable(Cell(*answer, "total"))
              << (answer->value("total_exact", true) ? "" : " or more") << " rows match\n";
  return absl::OkStatus();
}

absl::Status PrintSettings(Session& session) {
  const auto answer = session.remote.Call("GET", "/api/settings?detail=1");
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"OPTION", "VALUE", "SOURCE", "WHERE"});
  for (const Json& row : *answer) {
    table.Add({Cell(row, "name"), Cell(row, "value"), Cell(row, "source"), Cell(row, "where")});
  }
  table.Print(session.out);
  return absl::OkStatus();
}

absl::Status SetSettings(Session& session, const std::vector<std::string>& pairs) {
  Json body = Json::object();
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(fmt::format("{} is not name=value", Printable(pair)));
    }
    body[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  const auto answer = session.remote.Call("PUT", "/api/settings", &body);
  if (answer.ok() && session.json) session.out << answer->dump(2) << '\n';
  return answer.status();
}

absl::Status ResetSettings(Session& session, const std::vector<std::string>& names) {
  const Json body = {{"keys", names}};
  const auto answer = session.remote.Call("DELETE", "/api/settings", &body);
  if (answer.ok() && session.json) session.out << answer->dump(2) << '\n';
  return answer.status();
}

}  // namespace

void AddLogs(CLI::App* app, Command* chosen) {
  auto* const command =
      app->add_subcommand("logs", "Show finished requests, or one of them with its trail");
  const auto options = std::make_shared<LogOptions>();
  command->add_option("id", options->id, "A request's id (x-hotel-request-id)");
  command->add_option("--model", options->model, "As requested");
  command->add_option("--status", options->status, "429, or a class such as 5xx");
  command->add_option("--key", options->key, "Name of the virtual key");
  command->add_option("--endpoint", options->endpoint, "chat, messages, embeddings, ...");
  command->add_option("--provider", options->provider, "That served, by name or id");
  command->add_option("--attempt-provider", options->attempt_provider,
                      "With an attempt at this provider");
  command->add_option("--attempt-status", options->attempt_status,
                      "With an attempt that was answered so");
  command->add_option("--from", options->from, "RFC 3339");
  command->add_option("--to", options->to, "RFC 3339");
  command->add_option("--limit", options->limit, "Rows to show")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  command->callback([chosen, options] {
    *chosen = [options](Session& session) { return ShowLogs(session, *options); };
  });
}

void AddSettings(CLI::App* app, Command* chosen) {
  auto* const command =
      app->add_subcommand("settings", "Show the options in force, or change them");
  const auto names = std::make_shared<std::vector<std::string>>();
  command->callback([chosen] {
    if (!*chosen) *chosen = PrintSettings;
  });
  auto* const set = command->add_subcommand("set", "Set options, all or nothing");
  set->add_option("assignments", *names, "name=value ...")->required();
  set->callback([chosen, names] {
    *chosen = [names](Session& session) { return SetSettings(session, *names); };
  });
  auto* const reset = command->add_subcommand("reset", "Take back what was set at run time");
  const auto all = std::make_shared<bool>(false);
  reset->add_option("names", *names, "Names of options");
  reset->add_flag("--all", *all, "Everything that was set");
  reset->callback([chosen, names, all] {
    if (names->empty() != *all) throw CLI::ValidationError("reset", "needs names, or --all");
    *chosen = [names](Session& session) { return ResetSettings(session, *names); };
  });
}

}  // namespace hotel::ctl
