// Completion of a program's command line by a shell, written from the table of its commands.
#ifndef SERVER_CTL_COMPLETION_H_
#define SERVER_CTL_COMPLETION_H_

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace hotel::ctl {

/// The shells it can be written for.
std::vector<std::string> CompletionShells();

/// A script to be read by one of them (`source <(hotelctl completion bash)`).
std::string Completion(const CLI::App& app, std::string_view shell);

}  // namespace hotel::ctl

#endif  // SERVER_CTL_COMPLETION_H_
