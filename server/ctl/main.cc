// hotelctl: the operator's tool.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <signal.h>

#include "hotel/hotel.h"

#include "libhotel/base/strings.h"
#include "server/ctl/backup.h"
#include "server/ctl/classify.h"
#include "server/ctl/commands.h"
#include "server/ctl/completion.h"
#include "server/ctl/table.h"

namespace {

/// Says what went wrong, one line for each thing; the exit status.
int Ended(const absl::Status& status) {
  if (status.ok()) return 0;
  const std::string message(status.message());
  for (const auto line : hotel::base::Split(message, '\n')) {
    std::cerr << "hotelctl: " << hotel::ctl::Printable(line) << '\n';
  }
  return 1;
}

/// The same for what asks a sidecar: there InvalidArgument is a mistake on the command line.
int Ask(const hotel::ctl::Command& command, hotel::ctl::Session& session) {
  try {
    const absl::Status status = command(session);
    const int ended = Ended(status);
    return absl::IsInvalidArgument(status) ? 2 : ended;
  } catch (const hotel::ctl::Json::exception&) {
    return Ended(absl::InternalError(
        "the answer is not what was expected: is this the address of a hoteld of this version?"));
  }
}

void AddCompletion(CLI::App* app, hotel::ctl::OfflineCommand* chosen) {
  auto* const command =
      app->add_subcommand("completion", "Write the completion of a shell (offline)");
  const auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "Which one")
      ->required()
      ->check(CLI::IsMember(hotel::ctl::CompletionShells()));
  command->callback([app, chosen, shell] {
    *chosen = [app, shell](std::ostream& out) {
      out << hotel::ctl::Completion(*app, *shell);
      return absl::OkStatus();
    };
  });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The operator's tool of hoteld", "hotelctl");
  app.set_version_flag("--version", std::string("hotelctl ") + hotel::Hotel::Version());
  app.require_subcommand(1);

  hotel::ctl::Asked asked;
  app.add_option("--url", asked.url, "Where hoteld listens")->capture_default_str();
  app.add_option("--token", asked.token, "Admin token (default: $ADMIN_TOKEN)");
  app.add_flag("--json", asked.json, "The sidecar's answers as they are, for programs");
  app.fallthrough();
  hotel::ctl::Command chosen;
  for (const auto add :
       {hotel::ctl::AddGroups, hotel::ctl::AddCircuits, hotel::ctl::AddReset, hotel::ctl::AddLogs,
        hotel::ctl::AddSettings, hotel::ctl::AddEvents, hotel::ctl::AddProviders,
        hotel::ctl::AddDiscover, hotel::ctl::AddModels, hotel::ctl::AddKeys, hotel::ctl::AddStats,
        hotel::ctl::AddStatus, hotel::ctl::AddLines}) {
    add(&app, &chosen);
  }

  hotel::ctl::OfflineCommand offline;
  hotel::ctl::AddBackup(&app, &offline);
  hotel::ctl::AddRestore(&app, &offline);
  AddCompletion(&app, &offline);

  double max_wait = 60;
  CLI::App* const classify = app.add_subcommand("classify", "Show how refusals are read (offline)");
  classify->footer(
      "Reads JSON Lines on standard input, one answer of a provider each:\n"
      "  "
      "{\"status\":429,\"headers\":{\"retry-after\":\"20\"},\"body\":\"...\",\"now\":\"2026-09-"
      "01T10:00:"
      "00Z\"}\n"
      "and writes one line for each. headers, body and now are optional; now is when the answer "
      "came\n"
      "(default: its Date header, else the system's time). Status 200: looks for an error in the "
      "body.\n"
      "Exit status 1 when a line could not be read; its answer is {\"error\":\"...\"}.");
  classify
      ->add_option("--max-wait", max_wait,
                   "Seconds above which a stated wait means exhausted "
                   "(rate_limit.saturation_max_wait)")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  signal(SIGPIPE, SIG_IGN);
  if (offline) return Ended(offline(std::cout));
  if (chosen) {
    if (const char* token = std::getenv("ADMIN_TOKEN"); asked.token.empty() && token != nullptr) {
      asked.token = token;
    }
    if (asked.token.empty()) {
      std::cerr << "hotelctl: no admin token: set ADMIN_TOKEN or --token\n";
      return 2;
    }
    hotel::ctl::Session session{hotel::ctl::Remote(asked.url, hotel::Secret(asked.token)),
                                asked.json, std::cout};
    return Ask(chosen, session);
  }
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  return hotel::ctl::Classify(
      std::chrono::duration_cast<hotel::Duration>(std::chrono::duration<double>(max_wait)),
      std::cin, std::cout, std::cerr);
}
