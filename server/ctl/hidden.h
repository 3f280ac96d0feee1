// Errors under the status 200, of every provider that is known to send them: for a tool that is
// given a body and nothing else. (The router reads what R24 and a provider's type say.)
#ifndef SERVER_CTL_HIDDEN_H_
#define SERVER_CTL_HIDDEN_H_

#include <optional>
#include <string_view>

namespace hotel::ctl {

/// The status that a body hides, or nullopt when it is an answer. Whole JSON bodies, arrays around
/// one error, business codes, and event streams whose first event with content is an error.
std::optional<int> HiddenStatus(std::string_view body);

}  // namespace hotel::ctl

#endif  // SERVER_CTL_HIDDEN_H_
