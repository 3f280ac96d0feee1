// providers, discover, models, stats, log.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "server/ctl/commands.h"
#include "server/ctl/table.h"

namespace hotel::ctl {
namespace {

absl::Status ShowProviders(Session& session) {
  const auto answer = session.remote.Call("GET", "/api/providers/status");
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table(
      {"PROVIDER", "TYPE", "STATUS", "MODELS", "REQUESTS", "ERRORS", "REASON", "LAST ERROR"});
  for (const Json& row : answer->value("providers", Json::array())) {
    const Json health = row.value("request_health", Json::object());
    const Json runtime = row.value("runtime", Json::object());
    table.Add({Cell(row, "name"), Cell(row, "type"), Cell(row, "status_label"),
               Cell(runtime, "enabled_model_count"), Cell(health, "requests"),
               Cell(health, "errors"), Cell(row, "status_reason"), Cell(row, "last_error")});
  }
  table.Print(session.out);
  return absl::OkStatus();
}

/// How many models are in a section of what changed.
std::string Changed(const Json& diff, const char* section) {
  return std::to_string(diff.value(section, Json::array()).size());
}

absl::Status Discover(Session& session, const std::string& provider) {
  std::string path = "/api/providers/discover-all";
  if (!provider.empty()) {
    const auto id = FindProvider(session.remote, provider);
    if (!id.ok()) return id.status();
    path = fmt::format("/api/providers/{}/discover", Escaped(*id));
  }
  const auto answer = session.remote.Call("POST", path);
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"PROVIDER", "LISTED", "ADDED", "ENABLED AGAIN", "UPDATED", "ERROR"});
  const Json results =
      provider.empty() ? answer->value("results", Json::array()) : Json::array({*answer});
  bool failed = false;
  for (const Json& row : results) {
    const Json diff = row.value("diff", Json::object());
    failed = failed || !row.value("success", false);
    table.Add({Cell(row, "provider_name"), Cell(row, "models_found"), Changed(diff, "added"),
               Changed(diff, "reenabled"), Changed(diff, "updated"), Cell(row, "error")});
  }
  table.Print(session.out);
  if (failed) return absl::UnavailableError("not every provider could be asked");
  return absl::OkStatus();
}

struct ModelOptions {
  std::string provider;
  bool enabled_only = false;
};

absl::Status ShowModels(Session& session, const ModelOptions& options) {
  std::string provider;
  if (!options.provider.empty()) {
    const auto id = FindProvider(session.remote, options.provider);
    if (!id.ok()) return id.status();
    provider = *id;
  }
  const auto answer =
      session.remote.Call("GET", "/api/models" + QueryText({{"provider_id", provider}}));
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"PROVIDER", "MODEL", "ENABLED", "ID"});
  for (const Json& row : *answer) {
    const bool enabled = row.value("enabled", false);
    if (options.enabled_only && !enabled) continue;
    table.Add({Cell(row, "provider_name"), Cell(row, "model_id"), enabled ? "yes" : "no",
               Cell(row, "id")});
  }
  table.Print(session.out);
  return absl::OkStatus();
}

/// The id of the model called `<provider>/<model>`.
absl::StatusOr<std::string> FindModel(const Remote& remote, const std::string& name) {
  if (base::IsUuid(name)) return name;
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) {
    return absl::InvalidArgumentError(
        fmt::format("{} is neither <provider>/<model> nor an id", Printable(name)));
  }
  const auto provider = FindProvider(remote, name.substr(0, slash));
  if (!provider.ok()) return provider.status();
  const auto models = remote.Call("GET", "/api/models" + QueryText({{"provider_id", *provider}}));
  if (!models.ok()) return models.status();
  for (const Json& row : *models) {
    if (Cell(row, "model_id") == name.substr(slash + 1)) return Cell(row, "id");
  }
  return absl::NotFoundError(fmt::format("no model is known as {}", Printable(name)));
}

absl::Status TestModel(Session& session, const std::string& name) {
  const auto id = FindModel(session.remote, name);
  if (!id.ok()) return id.status();
  const auto answer = session.remote.Call("POST", fmt::format("/api/models/{}/test", Escaped(*id)));
  if (!answer.ok()) return answer.status();
  const bool success = answer->value("success", false);
  if (session.json) {
    session.out << answer->dump(2) << '\n';
  } else {
    Table table({"RESULT", "STATUS", "MS", "FIRST MS", "REQUEST", "ANSWER"});
    table.Add({success ? "works" : "fails", Cell(*answer, "status"), Cell(*answer, "duration_ms"),
               Cell(*answer, "ttft_ms"), Cell(*answer, "request_id"),
               Cell(*answer, success ? "response" : "error")});
    table.Print(session.out);
  }
  return success ? absl::OkStatus() : absl::UnavailableError("the model does not work");
}

std::string Percent(const Json& row, const char* name) {
  return fmt::format("{:.1f}%", 100 * row.value(name, 0.0));
}

absl::Status ShowStats(Session& session, const std::string& period) {
  const auto answer = session.remote.Call("GET", "/api/stats" + QueryText({{"period", period}}));
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"PROVIDER", "REQUESTS", "FAILED", "ERRORS", "TOKENS IN", "TOKENS OUT", "AVG MS"});
  const auto add = [&table](std::string name, const Json& row) {
    table.Add({std::move(name), Cell(row, "requests"), Cell(row, "failed"),
               Percent(row, "error_rate"), Cell(row, "tokens_prompt"),
               Cell(row, "tokens_completion"), Cell(row, "avg_duration_ms")});
  };
  for (const Json& row : answer->value("providers", Json::array())) {
    add(Cell(row, "provider_name"), row);
  }
  add("all", *answer);
  table.Print(session.out);
  return absl::OkStatus();
}

struct LineOptions {
  std::string level;
  std::string source;
  std::size_t limit = 200;
};

absl::Status ShowLines(Session& session, const LineOptions& options) {
  const auto answer = session.remote.Call(
      "GET", "/api/logs/app" + QueryText({{"level", options.level},
                                          {"source", options.source},
                                          {"limit", std::to_string(options.limit)}}));
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  for (const Json& line : answer->value("entries", Json::array())) {
    std::string text =
        fmt::format("{}  {:<5}  {}: {}", Cell(line, "timestamp"), Cell(line, "level"),
                    Cell(line, "source"), Cell(line, "message"));
    const Json attributes = line.value("attributes", Json::object());
    for (const auto& [name, value] : attributes.items()) {
      text += fmt::format(" {}={}", name, Cell(attributes, name.c_str()));
    }
    session.out << Printable(text) << '\n';
  }
  return absl::OkStatus();
}

}  // namespace

void AddProviders(CLI::App* app, Command* chosen) {
  app->add_subcommand("providers", "Show how the providers are doing")->callback([chosen] {
    *chosen = ShowProviders;
  });
}

void AddDiscover(CLI::App* app, Command* chosen) {
  auto* const command =
      app->add_subcommand("discover", "Ask providers for their models now; nothing is disabled");
  const auto provider = std::make_shared<std::string>();
  command->add_option("provider", *provider,
                      "By name or id; all that are asked by themselves if left out");
  command->callback([chosen, provider] {
    *chosen = [provider](Session& session) { return Discover(session, *provider); };
  });
}

void AddModels(CLI::App* app, Command* chosen) {
  auto* const command =
      app->add_subcommand("models", "Show the models of the providers, or test one");
  const auto options = std::make_shared<ModelOptions>();
  command->add_option("--provider", options->provider, "Those of this provider, by name or id");
  command->add_flag("--enabled", options->enabled_only, "Those that are enabled");
  command->callback([chosen, options] {
    if (*chosen) return;
    *chosen = [options](Session& session) { return ShowModels(session, *options); };
  });
  auto* const test = command->add_subcommand("test", "Send a model one small request");
  const auto name = std::make_shared<std::string>();
  test->add_option("model", *name, "<provider>/<model>, or its id")->required();
  test->callback(
      [chosen, name] { *chosen = [name](Session& session) { return TestModel(session, *name); }; });
}

void AddStats(CLI::App* app, Command* chosen) {
  auto* const command = app->add_subcommand("stats", "Show what requests added up to");
  const auto period = std::make_shared<std::string>("24h");
  command->add_option("--period", *period, "How far back")
      ->check(CLI::IsMember({"1h", "24h", "7d"}))
      ->capture_default_str();
  command->callback([chosen, period] {
    *chosen = [period](Session& session) { return ShowStats(session, *period); };
  });
}

void AddLines(CLI::App* app, Command* chosen) {
  auto* const command = app->add_subcommand("log", "Show the last lines of the sidecar's own log");
  const auto options = std::make_shared<LineOptions>();
  command->add_option("--level", options->level, "This one and worse")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  command->add_option("--source", options->source, "Beginning of the source");
  command->add_option("--limit", options->limit, "Lines to show")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->callback([chosen, options] {
    *chosen = [options](Session& session) { return ShowLines(session, *options); };
  });
}

}  // namespace hotel::ctl
