// Completion of a program's command line by a shell, written from the table of its commands.
#ifndef SERVER_CTL_COMPLETION_H_
#define SERVER_CTL_COMPLETION_H_

#include <string>

#include <CLI/CLI.hpp>

namespace hotel::ctl {

/// A script to be read by bash (`source <(hotelctl completion bash)`).
std::string BashCompletion(const CLI::App& app);
/// The same for zsh.
std::string ZshCompletion(const CLI::App& app);

}  // namespace hotel::ctl

#endif  // SERVER_CTL_COMPLETION_H_
