// keys.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/ids.h"
#include "libhotel/base/strings.h"
#include "server/ctl/commands.h"
#include "server/ctl/table.h"

namespace hotel::ctl {
namespace {

constexpr std::string_view kPath = "/api/virtual-keys";

/// The word for what the global options say, and for no limit of any kind.
constexpr std::string_view kDefault = "default";

struct KeyOptions {
  std::string key;  ///< name or id; of a new one the name
  std::string name;
  std::string rps;
  std::string burst;
  std::string tpm;
  std::string providers;
  std::string budget;
  std::string period;
  bool enable = false;
  bool disable = false;
};

/// A number of its own, or none.
std::string Limit(const Json& row, const char* name) {
  const std::string cell = Cell(row, name);
  return cell == "-" ? std::string(kDefault) : cell;
}

std::string Budget(const Json& row) {
  if (Cell(row, "budget_usd") == "-") return "-";
  return fmt::format("{:.2f} of {:.2f} a {}", row.value("budget_used_usd", 0.0),
                     row.value("budget_usd", 0.0), Cell(row, "budget_period"));
}

std::string Money(const Json& row, const char* name) {
  return fmt::format("{:.4f}", row.value(name, 0.0));
}

std::string State(const Json& row) {
  const std::string state = row.value("enabled", false) ? "on" : "off";
  return row.value("read_only", false) ? state + " (file)" : state;
}

absl::Status ListKeys(Session& session) {
  const auto answer = session.remote.Call("GET", std::string(kPath));
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"NAME", "KEY", "STATE", "RPS", "TPM", "BUDGET USED", "REQUESTS", "TOKENS", "USD",
               "LAST USED"});
  for (const Json& row : *answer) {
    table.Add({Cell(row, "name"), Cell(row, "key_preview"), State(row),
               Limit(row, "rate_limit_rps"), Limit(row, "rate_limit_tpm"), Budget(row),
               Cell(row, "requests"), Cell(row, "tokens_used"), Money(row, "cost_usd"),
               Cell(row, "last_used_at")});
  }
  table.Print(session.out);
  return absl::OkStatus();
}

/// Everything about one key, a line each.
absl::Status PrintKey(Session& session, const Json& row) {
  if (session.json) {
    session.out << row.dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"FIELD", "VALUE"});
  for (const auto& [name, value] : row.items()) {
    std::string text = Cell(row, name.c_str());
    if (value.is_array()) {
      text.clear();
      for (const Json& each : value) text += (text.empty() ? "" : ", ") + each.get<std::string>();
    }
    table.Add({name, text});
  }
  table.Print(session.out);
  return absl::OkStatus();
}

absl::StatusOr<std::string> FindKey(const Remote& remote, const std::string& name) {
  if (base::IsUuid(name)) return name;
  const auto answer = remote.Call("GET", std::string(kPath));
  if (!answer.ok()) return answer.status();
  for (const Json& row : *answer) {
    if (Cell(row, "name") == name) return Cell(row, "id");
  }
  return absl::NotFoundError(fmt::format("no virtual key is named {}", name));
}

/// "default" is null; anything else goes as the number it is, for the sidecar to judge.
absl::Status SetNumber(const std::string& text, const char* option, const char* field, Json* body) {
  if (text.empty()) return absl::OkStatus();
  if (text == kDefault || text == "none") {
    (*body)[field] = nullptr;
    return absl::OkStatus();
  }
  const Json number = Json::parse(text, nullptr, false);
  if (!number.is_number()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} is not a number or '{}'", option, text, kDefault));
  }
  (*body)[field] = number;
  return absl::OkStatus();
}

absl::StatusOr<Json> BodyOf(const KeyOptions& options) {
  Json body = Json::object();
  if (!options.name.empty()) body["name"] = options.name;
  if (options.enable || options.disable) body["enabled"] = options.enable;
  for (const absl::Status& status : {SetNumber(options.rps, "--rps", "rate_limit_rps", &body),
                                     SetNumber(options.burst, "--burst", "rate_limit_burst", &body),
                                     SetNumber(options.tpm, "--tpm", "rate_limit_tpm", &body),
                                     SetNumber(options.budget, "--budget", "budget_usd", &body)}) {
    if (!status.ok()) return status;
  }
  if (!options.period.empty()) body["budget_period"] = options.period;
  if (options.providers == "all") {
    body["allowed_providers"] = nullptr;
  } else if (!options.providers.empty()) {
    body["allowed_providers"] = Json::array();
    for (const auto name : base::Split(options.providers, ',')) {
      body["allowed_providers"].push_back(base::Trim(name));
    }
  }
  return body;
}

absl::Status CreateKey(Session& session, KeyOptions options) {
  options.name = options.key;
  const auto body = BodyOf(options);
  if (!body.ok()) return body.status();
  const auto answer = session.remote.Call("POST", std::string(kPath), &*body);
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
  } else {
    session.out << Printable(Cell(*answer, "key")) << " (shown this once)\n";
  }
  return absl::OkStatus();
}

absl::Status ShowKey(Session& session, const KeyOptions& options) {
  const auto id = FindKey(session.remote, options.key);
  if (!id.ok()) return id.status();
  const auto answer = session.remote.Call("GET", fmt::format("{}/{}", kPath, Escaped(*id)));
  return answer.ok() ? PrintKey(session, *answer) : answer.status();
}

absl::Status UpdateKey(Session& session, const KeyOptions& options) {
  const auto body = BodyOf(options);
  if (!body.ok()) return body.status();
  if (body->empty()) return absl::InvalidArgumentError("nothing to change was named");
  const auto id = FindKey(session.remote, options.key);
  if (!id.ok()) return id.status();
  const auto answer = session.remote.Call("PUT", fmt::format("{}/{}", kPath, Escaped(*id)), &*body);
  return answer.ok() ? PrintKey(session, *answer) : answer.status();
}

absl::Status DeleteKey(Session& session, const KeyOptions& options) {
  const auto id = FindKey(session.remote, options.key);
  if (!id.ok()) return id.status();
  const auto answer = session.remote.Call("DELETE", fmt::format("{}/{}", kPath, Escaped(*id)));
  if (!answer.ok()) return answer.status();
  if (!session.json) session.out << "deleted\n";
  return absl::OkStatus();
}

void AddLimits(CLI::App* command, KeyOptions* options) {
  command->add_option("--rps", options->rps, "Requests a second; 0: not limited, or default");
  command->add_option("--burst", options->burst, "Requests at once, or default");
  command->add_option("--tpm", options->tpm, "Tokens a minute, or default");
  command->add_option("--providers", options->providers,
                      "Providers that may serve it, by name or id, separated by commas; or all");
  command->add_option("--budget", options->budget, "Dollars it may spend in a period, or none");
  command->add_option("--budget-period", options->period, "day, week or month (UTC)");
}

}  // namespace

void AddKeys(CLI::App* app, Command* chosen) {
  auto* const keys = app->add_subcommand("keys", "Show and change the virtual keys");
  keys->require_subcommand(0, 1);
  keys->callback([keys, chosen] {
    if (keys->get_subcommands().empty()) *chosen = ListKeys;
  });
  keys->add_subcommand("list", "Show all of them with what they used")->callback([chosen] {
    *chosen = ListKeys;
  });
  const auto add = [&](const char* name, const char* about, bool limits, auto run) {
    auto* const command = keys->add_subcommand(name, about);
    const auto options = std::make_shared<KeyOptions>();
    command->add_option("key", options->key, "Its name or id")->required();
    if (limits) AddLimits(command, options.get());
    command->callback([chosen, options, run] {
      *chosen = [options, run](Session& session) { return run(session, *options); };
    });
    return std::pair(command, options);
  };
  add("create", "Make a key of this name and show it once", true, CreateKey);
  add("show", "Show everything about a key", false, ShowKey);
  const auto [update, options] = add("update", "Change what is named of a key", true, UpdateKey);
  update->add_option("--name", options->name, "A new name");
  auto* const enable = update->add_flag("--enable", options->enable, "Let it in again");
  update->add_flag("--disable", options->disable, "Refuse it from the next request on")
      ->excludes(enable);
  add("delete", "Delete a key", false, DeleteKey);
}

}  // namespace hotel::ctl
