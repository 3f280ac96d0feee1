// The credential in the head of a request.
#ifndef SERVER_PRESENTED_KEY_H_
#define SERVER_PRESENTED_KEY_H_

#include <string_view>

#include "hotel/types.h"

namespace hotel::server {

/// The credential of a request: `Authorization: Bearer`, else `x-api-key`. Empty when there is none
/// or when it is ambiguous (two of the same field, another scheme).
std::string_view PresentedKey(const HeaderList& headers);

}  // namespace hotel::server

#endif  // SERVER_PRESENTED_KEY_H_
