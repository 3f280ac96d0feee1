// What a provider answers when it is asked for its models.
#ifndef HOTEL_WIRE_MODEL_LISTING_H_
#define HOTEL_WIRE_MODEL_LISTING_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/discovery.h"

#include "absl/status/statusor.h"

namespace hotel::wire {

/// More models than this are not taken over.
inline constexpr std::size_t kMostListedModels = 10'000;

/// One page of a list.
struct ListingPage {
  std::vector<ListedModel> models;  ///< in the order of the list, no id twice
  bool more = false;                ///< there is a page behind this one
  std::string last_id;              ///< where that one begins; "" when the list does not say
};

/// Reads `{"data": [...]}`, `{"models": [...]}` or an array, of objects or of names. An entry
/// without a usable id (1-256 bytes of plain text) is passed over, and so is every field that is
/// not as expected; texts are cut, numbers out of range dropped. Prices in `pricing` are dollars a
/// token (`prompt`, `completion`, `input_cache_read`), or a million of them where the unit or the
/// names (`input`, `output`, `cached_input`) say so. `type` is the provider's.
///
/// InvalidArgument when the bytes are no JSON or hold no list; nothing of them is in the message.
absl::StatusOr<ListingPage> ReadListing(std::string_view body, std::string_view type);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_MODEL_LISTING_H_
