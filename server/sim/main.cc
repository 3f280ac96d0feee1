// hotel-sim: a provider that does what the model's name says.
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>

#include "server/sim/behaviour.h"
#include "server/sim/server.h"
#include "server/sim/sim.h"

namespace {

/// "HOST:PORT" with "[...]" around an IPv6 address.
bool SplitListen(const std::string& listen, std::string* host, std::string* port) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == listen.size()) return false;
  *host = listen.substr(0, colon);
  *port = listen.substr(colon + 1);
  if (host->front() == '[' && host->back() == ']') *host = host->substr(1, host->size() - 2);
  return true;
}

/// Written under another name first, so that whoever waits for the file reads it whole.
bool WritePortFile(const std::string& path, int port) {
  const std::string draft = path + ".tmp";
  FILE* file = fopen(draft.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = fprintf(file, "%d\n", port) > 0;
  return fclose(file) == 0 && written && rename(draft.c_str(), path.c_str()) == 0;
}

std::string Footer() {
  return "A model's name says what happens; what stands before its last '/' is ignored. Parts are\n"
         "joined with '+' or '-': status-429+retry-after-2. N is a whole number, T a time (250ms, "
         "2s, "
         "1m).\n\n" +
         hotel::sim::TableText() +
         "\nPOST */chat/completions, */messages, */responses, */embeddings, */rerank,\n"
         "     */images/{generations,edits,variations}, "
         "*/audio/{speech,transcriptions,translations}\n"
         "GET */models\n"
         "GET /stats   GET /last   GET /last/body   POST /reset";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"hotel-sim: a simulated model provider"};
  app.get_formatter()->column_width(26);
  app.footer(Footer());
  std::string listen = "127.0.0.1:8089";
  std::string port_file;
  std::vector<std::string> alias_options;
  bool markdown = false;
  app.add_option("--listen", listen, "HOST:PORT; port 0 picks one (127.0.0.1:8089)");
  app.add_option("--port-file", port_file, "write the port to this file once listening");
  app.add_option("--alias", alias_options, "NAME=BEHAVIOUR: another name for a model; repeatable");
  app.add_flag("--markdown", markdown, "print the table of behaviours as Markdown and exit");
  CLI11_PARSE(app, argc, argv);

  if (markdown) {
    fmt::print("{}", hotel::sim::TableMarkdown());
    return 0;
  }
  std::map<std::string, std::string> aliases;
  for (const std::string& option : alias_options) {
    const std::size_t equals = option.find('=');
    if (equals == std::string::npos || !hotel::sim::ParseModel(option.substr(equals + 1))) {
      fmt::print(stderr, "hotel-sim: --alias {}: expected NAME=BEHAVIOUR, see --help\n", option);
      return 2;
    }
    aliases[option.substr(0, equals)] = option.substr(equals + 1);
  }
  std::string host;
  std::string port;
  if (!SplitListen(listen, &host, &port)) {
    fmt::print(stderr, "hotel-sim: --listen {}: expected HOST:PORT\n", listen);
    return 2;
  }

  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGINT);
  sigaddset(&mask, SIGTERM);
  sigprocmask(SIG_BLOCK, &mask, nullptr);

  hotel::sim::Sim sim(std::move(aliases), std::chrono::steady_clock::now());
  hotel::sim::Server server(&sim);
  std::string error;
  const int bound = server.Listen(host, port, &error);
  if (bound == 0) {
    fmt::print(stderr, "hotel-sim: cannot listen on {}: {}\n", listen, error);
    return 1;
  }
  if (!port_file.empty() && !WritePortFile(port_file, bound)) {
    fmt::print(stderr, "hotel-sim: cannot write {}\n", port_file);
    return 1;
  }
  fmt::print("hotel-sim listening on http://{}:{}\n", listen.substr(0, listen.rfind(':')), bound);
  fflush(stdout);
  server.Run();
  return 0;
}
