// A store without a disk, with the same rules as the real one.
#ifndef HOTEL_TESTING_MEMORY_STORE_H_
#define HOTEL_TESTING_MEMORY_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "hotel/clock.h"
#include "hotel/defaults.h"

namespace hotel::testing {

/// An in-memory SQLite store (same code, no file), ready to be filled. `clock` must outlive it.
std::unique_ptr<Store> MakeMemoryStore(const Clock* clock);

/// Adds a provider at `https://<name>.test/v1` (spaces as hyphens) that serves any model. Keyless
/// unless `api_key` is given: sealing a key costs a real key derivation, tens of milliseconds.
/// Returns its id. Throws std::runtime_error on failure (tests only).
std::string AddProvider(Store& store, const std::string& name, const std::string& api_key = "",
                        const std::string& type = "openai");

/// Adds `hotel/<group>` over `<provider>/<model>` members, creating model rows. Throws as above.
void AddGroup(Store& store, const std::string& group, const std::vector<std::string>& members);

}  // namespace hotel::testing

#endif  // HOTEL_TESTING_MEMORY_STORE_H_
