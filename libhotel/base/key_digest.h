// What is kept of a virtual key.
#ifndef HOTEL_BASE_KEY_DIGEST_H_
#define HOTEL_BASE_KEY_DIGEST_H_

#include <string_view>

#include "hotel/virtual_key.h"

namespace hotel::base {

/// SHA-256.
KeyDigest KeyDigestOf(std::string_view key);

}  // namespace hotel::base

#endif  // HOTEL_BASE_KEY_DIGEST_H_
