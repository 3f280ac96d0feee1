#include "server/ctl/completion.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hotel::ctl {
namespace {

/// What may stand behind a command: those below it and its options.
struct Node {
  std::string path;  ///< "settings set"; "" = the program itself
  std::vector<std::string> words;
};

void AddOnce(std::string word, std::vector<std::string>* words) {
  if (std::find(words->begin(), words->end(), word) == words->end()) {
    words->push_back(std::move(word));
  }
}

/// Names of the options; options are also held by nameless commands, the groups.
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
  const auto commands =
      app.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); });
  Node node{path, {}};
  for (const CLI::App* command : commands) node.words.push_back(command->get_name());
  AddOptions(app, &node.words);
  for (const std::string& word : everywhere) AddOnce(word, &node.words);
  nodes->push_back(std::move(node));
  for (const CLI::App* command : commands) {
    Collect(*command, path.empty() ? command->get_name() : path + " " + command->get_name(),
            everywhere, nodes);
  }
}

std::vector<Node> NodesOf(const CLI::App& app) {
  std::vector<std::string> everywhere;  // the program's own options, behind every command
  AddOptions(app, &everywhere);
  everywhere.erase(std::remove(everywhere.begin(), everywhere.end(), "--version"),
                   everywhere.end());
  std::vector<Node> nodes;
  Collect(app, "", everywhere, &nodes);
  return nodes;
}

/// How a shell writes it: `{0}` is the program, `{1}` the arms, one for each command. In an arm
/// `{0}` is the command and `{1}` are the words behind it. Words that are no commands (values,
/// names) leave the command as it is; where no word fits, files are offered.
struct Shell {
  std::string_view name;
  std::string_view arm;
  std::string_view script;
};

constexpr std::string_view kCaseArm = "    '{0}') printf '%s\\n' '{1}' ;;\n";

constexpr Shell kShells[] = {
    {"bash", kCaseArm, R"sh(# bash completion of {0}
_{0}_words() {{
  case "$1" in
{1}    *) return 1 ;;
  esac
}}
_{0}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" route='' next word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    next="${{route:+$route }}$word"
    if _{0}_words "$next" >/dev/null; then route="$next"; fi
  done
  COMPREPLY=($(compgen -W "$(_{0}_words "$route")" -- "$current"))
}}
complete -o default -F _{0} {0}
)sh"},
    {"zsh", kCaseArm, R"sh(#compdef {0}
_{0}_words() {{
  case "$1" in
{1}    *) return 1 ;;
  esac
}}
_{0}() {{
  local route='' next word
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    next="${{route:+$route }}$word"
    if _{0}_words "$next" >/dev/null; then route="$next"; fi
  done
  compadd -- ${{(s: :)"$(_{0}_words "$route")"}} || _files
}}
compdef _{0} {0}
)sh"},
    {"fish", "    case '{0}'\n      string split -- ' ' '{1}'\n", R"sh(# fish completion of {0}
function __{0}_words
  switch "$argv"
{1}    case '*'
      return 1
  end
end
function __{0}_complete
  set -l route
  set -l given (commandline -opc)
  for word in $given[2..-1]
    if __{0}_words $route $word >/dev/null
      set -a route $word
    end
  end
  set -l current (commandline -ct)
  set -l fitting (string match -- "$current*" (__{0}_words $route))
  if set -q fitting[1]
    printf '%s\n' $fitting
  else
    __fish_complete_path "$current"
  end
end
complete -c {0} -f -a '(__{0}_complete)'
)sh"},
};

}  // namespace

std::vector<std::string> CompletionShells() {
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  return names;
}

std::string Completion(const CLI::App& app, std::string_view shell) {
  const auto* const found = std::find_if(std::begin(kShells), std::end(kShells),
                                         [shell](const Shell& row) { return row.name == shell; });
  if (found == std::end(kShells)) return "";
  std::string arms;
  for (const Node& node : NodesOf(app)) {
    arms += fmt::format(fmt::runtime(found->arm), node.path, fmt::join(node.words, " "));
  }
  return fmt::format(fmt::runtime(found->script), app.get_name(), arms);
}

}  // namespace hotel::ctl
