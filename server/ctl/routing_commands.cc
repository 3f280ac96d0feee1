// groups, circuits, reset.
#include <fmt/format.h>

#include "hotel/failover_group.h"

#include "libhotel/base/ids.h"
#include "libhotel/base/lower_case.h"
#include "libhotel/base/strings.h"
#include "server/ctl/commands.h"
#include "server/ctl/table.h"

namespace hotel::ctl {
namespace {

/// A member as clients would write it.
std::string MemberName(const Json& entry) {
  if (entry.value("model_id", "").empty()) return "(deleted)";
  return fmt::format("{}/{}", RoutingName(Cell(entry, "provider_name")), Cell(entry, "model_id"));
}

/// Why a member is passed over; "" when it is not, or when nothing of it is left.
std::string WhyOff(const Json& entry) {
  if (entry.value("model_id", "").empty()) return "";
  if (!entry.value("enabled", true)) return " (off)";
  if (!entry.value("model_enabled", true)) return " (model off)";
  return entry.value("provider_enabled", true) ? "" : " (provider off)";
}

absl::Status ShowGroups(Session& session) {
  const auto answer = session.remote.Call("GET", "/api/failover-groups");
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  Table table({"GROUP", "STATE", "TOKENS", "MEMBERS"});
  for (const Json& group : answer->value("groups", Json::array())) {
    const bool on = group.value("group_enabled", false);
    std::string name = "hotel/" + Cell(group, "display_model");
    std::string state = on ? "on" : group.value("auto_disabled", false) ? "off (auto)" : "off";
    std::string tokens = Cell(group, "total_tokens");
    // One line per member: that is the order of priority.
    for (const Json& entry : group.value("entries", Json::array())) {
      table.Add({std::exchange(name, ""), std::exchange(state, ""), std::exchange(tokens, ""),
                 MemberName(entry) + WhyOff(entry)});
    }
    if (!name.empty()) table.Add({name, state, tokens, "-"});
  }
  table.Print(session.out);
  return absl::OkStatus();
}

/// What holds an open circuit.
std::string Held(const Json& circuit) {
  if (circuit.value("quota_pinned", false)) return "quota (" + Cell(circuit, "pin_source") + ")";
  if (circuit.value("backed_off", false)) {
    return fmt::format("{} failed probes", Cell(circuit, "failed_probes"));
  }
  return circuit.contains("next_retry_at") ? "cooldown" : "-";
}

absl::Status ShowCircuits(Session& session) {
  const auto answer =
      session.remote.Call("GET", "/api/failover-groups/circuit-breaker-status?detail=1");
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
    return absl::OkStatus();
  }
  session.out << Printable(fmt::format("providers: {} closed, {} half-open, {} open",
                                       Cell(*answer, "closed"), Cell(*answer, "half_open"),
                                       Cell(*answer, "open")))
              << '\n';
  Table table({"PROVIDER", "MODEL", "STATE", "FAILS", "HELD BY", "NEXT RETRY", "LAST CAUSE"});
  bool any = false;
  for (const Json& provider : answer->value("providers", Json::array())) {
    for (const Json& circuit : provider.value("circuits", Json::array())) {
      any = true;
      const bool skipped = provider.value("provider_open", false);
      table.Add({Cell(provider, "provider_name") + (skipped ? " (skipped)" : ""),
                 Cell(circuit, "model"), Cell(circuit, "state"),
                 circuit.contains("consecutive_fails") ? Cell(circuit, "consecutive_fails") : "0",
                 Held(circuit), Cell(circuit, "next_retry_at"), Cell(circuit, "last_cause")});
    }
  }
  if (any) table.Print(session.out);
  return absl::OkStatus();
}

/// As FindProvider, for groups; `hotel/` may stand in front, upper and lower case are the same.
absl::StatusOr<std::string> FindGroup(const Remote& remote, const std::string& name) {
  if (base::IsUuid(name)) return name;
  const auto answer = remote.Call("GET", "/api/failover-groups");
  if (!answer.ok()) return answer.status();
  std::string wanted = base::LowerCase(name);
  if (base::StartsWith(wanted, "hotel/")) wanted.erase(0, 6);
  for (const Json& group : answer->value("groups", Json::array())) {
    if (Cell(group, "display_model") == wanted) return Cell(group, "id");
  }
  return absl::NotFoundError(fmt::format("no group is named {}", wanted));
}

struct ResetOptions {
  std::string provider;
  std::string model;
  std::string group;
  bool all = false;
};

absl::StatusOr<std::string> ResetPath(const Remote& remote, const ResetOptions& options) {
  if (options.all) return "/api/failover-groups/circuit-breaker/reset";
  if (!options.group.empty()) {
    const auto id = FindGroup(remote, options.group);
    if (!id.ok()) return id;
    return fmt::format("/api/failover-groups/{}/circuit-breaker/reset", Escaped(*id));
  }
  const auto id = FindProvider(remote, options.provider);
  if (!id.ok()) return id;
  return fmt::format("/api/failover-groups/circuit-breaker/{}/reset{}", Escaped(*id),
                     QueryText({{"model", options.model}}));
}

absl::Status Reset(Session& session, const ResetOptions& options) {
  const auto path = ResetPath(session.remote, options);
  if (!path.ok()) return path.status();
  const auto answer = session.remote.Call("POST", *path);
  if (!answer.ok()) return answer.status();
  if (session.json) {
    session.out << answer->dump(2) << '\n';
  } else if (answer->contains("reset")) {
    session.out << (answer->value("reset", false) ? "reset; it was " : "nothing to reset; it was ")
                << Printable(Cell(*answer, "previous_state")) << '\n';
  } else {
    session.out << Printable(fmt::format("{} circuits forgotten, {} of them were not closed",
                                         Cell(*answer, "cleared"), Cell(*answer, "recovered")))
                << '\n';
  }
  return absl::OkStatus();
}

}  // namespace

std::string Cell(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || it->is_null()) return "-";
  if (!it->is_string()) return it->dump();
  auto text = it->get<std::string>();
  return text.empty() ? "-" : text;
}

absl::StatusOr<std::string> FindProvider(const Remote& remote, const std::string& name) {
  if (base::IsUuid(name)) return name;
  const auto answer = remote.Call("GET", "/api/providers");
  if (!answer.ok()) return answer.status();
  const std::string wanted = RoutingName(name);
  for (const Json& provider : *answer) {
    if (RoutingName(Cell(provider, "name")) == wanted) return Cell(provider, "id");
  }
  return absl::NotFoundError(fmt::format("no provider is named {}", name));
}

void AddGroups(CLI::App* app, Command* chosen) {
  app->add_subcommand("groups", "Show the failover groups and their members")->callback([chosen] {
    *chosen = ShowGroups;
  });
}

void AddCircuits(CLI::App* app, Command* chosen) {
  app->add_subcommand("circuits", "Show the circuits and what holds them")->callback([chosen] {
    *chosen = ShowCircuits;
  });
}

void AddReset(CLI::App* app, Command* chosen) {
  auto* const command = app->add_subcommand("reset", "Forget circuits, so that traffic returns");
  const auto options = std::make_shared<ResetOptions>();
  auto* const which = command->add_option_group("which");
  which->add_option("--provider", options->provider, "Those of this provider, by name or id");
  which->add_option("--group", options->group, "Those of the members of this group");
  which->add_flag("--all", options->all, "Every circuit");
  which->require_option(1);
  command->add_option("--model", options->model, "With --provider: only that of this model");
  command->callback([chosen, options] {
    if (!options->model.empty() && options->provider.empty()) {
      throw CLI::ValidationError("--model", "needs --provider");
    }
    *chosen = [options](Session& session) { return Reset(session, *options); };
  });
}

}  // namespace hotel::ctl
