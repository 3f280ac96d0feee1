// One request at the gate of virtual keys.
#ifndef HOTEL_GUARD_KEY_PASS_H_
#define HOTEL_GUARD_KEY_PASS_H_

#include <memory>

#include "hotel/key_store.h"
#include "hotel/request_gate.h"

namespace hotel::guard {

struct KeyAccount;

/// `key` is one of `keys`.
std::unique_ptr<GatePass> MakeKeyPass(std::shared_ptr<const KeySnapshot> keys,
                                      const VirtualKey* key, std::shared_ptr<KeyAccount> account);

/// For a key that is not known any more.
std::unique_ptr<GatePass> MakeClosedPass();

}  // namespace hotel::guard

#endif  // HOTEL_GUARD_KEY_PASS_H_
