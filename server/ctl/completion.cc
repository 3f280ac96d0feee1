#include "server/ctl/completion.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hotel::ctl {
namespace {

/// What may stand behind a command: those below it and its options.
struct Node {
  std::string path;  ///< "settings set"; "" = the program itself
  std::vector<std::string> words;
};

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  // Groups of options are written as nameless commands.
  return app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); });
}

void AddOnce(std::string word, std::vector<std::string>* words) {
  if (std::find(words->begin(), words->end(), word) == words->end()) {
    words->push_back(std::move(word));
  }
}

void AddOptions(const CLI::App& app, std::vector<std::string>* words) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) AddOnce("--" + name, words);
  }
  for (const CLI::App* each : app.get_subcommands(nullptr)) {
    if (each->get_name().empty()) AddOptions(*each, words);
  }
}

void Collect(const CLI::App& app, const std::string& path,
             const std::vector<std::string>& everywhere, std::vector<Node>* nodes) {
  Node node{path, {}};
  for (const CLI::App* command : CommandsOf(app)) node.words.push_back(command->get_name());
  AddOptions(app, &node.words);
  for (const std::string& word : everywhere) AddOnce(word, &node.words);
  nodes->push_back(std::move(node));
  for (const CLI::App* command : CommandsOf(app)) {
    Collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(),
            everywhere, nodes);
  }
}

std::vector<Node> NodesOf(const CLI::App& app) {
  std::vector<std::string> everywhere;  // the program's own options, behind every command
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name != "version") everywhere.push_back("--" + name);
    }
  }
  std::vector<Node> nodes;
  Collect(app, "", everywhere, &nodes);
  return nodes;
}

/// `case` arms that name the words behind each command.
std::string Arms(const std::vector<Node>& nodes) {
  std::string arms;
  for (const Node& node : nodes) {
    arms += fmt::format("    '{}') list='{}' ;;\n", node.path, fmt::join(node.words, " "));
  }
  return arms;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  const std::string& name = app.get_name();
  // Words that are no commands (values, names) leave the command as it is.
  return fmt::format(
      "# bash completion of {0}\n"
      "_{0}_words() {{\n"
      "  local list=''\n"
      "  case \"$1\" in\n"
      "{1}"
      "    *) return 1 ;;\n"
      "  esac\n"
      "  printf '%s' \"$list\"\n"
      "}}\n"
      "_{0}() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" path='' next word\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    next=\"${{path:+$path }}$word\"\n"
      "    if _{0}_words \"$next\" >/dev/null; then path=\"$next\"; fi\n"
      "  done\n"
      "  COMPREPLY=($(compgen -W \"$(_{0}_words \"$path\")\" -- \"$current\"))\n"
      "}}\n"
      "complete -o default -F _{0} {0}\n",
      name, Arms(NodesOf(app)));
}

std::string ZshCompletion(const CLI::App& app) {
  const std::string& name = app.get_name();
  return fmt::format(
      "#compdef {0}\n"
      "_{0}_words() {{\n"
      "  local list=''\n"
      "  case \"$1\" in\n"
      "{1}"
      "    *) return 1 ;;\n"
      "  esac\n"
      "  printf '%s' \"$list\"\n"
      "}}\n"
      "_{0}() {{\n"
      "  local route='' next word\n"
      "  for word in \"${{(@)words[2,CURRENT-1]}}\"; do\n"
      "    next=\"${{route:+$route }}$word\"\n"
      "    if _{0}_words \"$next\" >/dev/null; then route=\"$next\"; fi\n"
      "  done\n"
      "  compadd -- ${{(s: :)\"$(_{0}_words \"$route\")\"}}\n"
      "}}\n"
      "compdef _{0} {0}\n",
      name, Arms(NodesOf(app)));
}

}  // namespace hotel::ctl
