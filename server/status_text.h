// Reason phrases of the statuses an answer can have.
#ifndef SERVER_STATUS_TEXT_H_
#define SERVER_STATUS_TEXT_H_

#include <string_view>

namespace hotel::server {

/// The phrase RFC 9110 gives for `status`; the name of its class for any other.
std::string_view StatusText(int status) noexcept;

}  // namespace hotel::server

#endif  // SERVER_STATUS_TEXT_H_
