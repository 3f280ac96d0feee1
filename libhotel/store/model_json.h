// What is stored of a model's details, as JSON text.
#ifndef HOTEL_STORE_MODEL_JSON_H_
#define HOTEL_STORE_MODEL_JSON_H_

#include <string>
#include <string_view>

#include "hotel/failover_group.h"

namespace hotel::store {

/// An object; what is empty is left out.
std::string EncodeDetails(const ModelDetails& details);
/// What is not as EncodeDetails writes it reads as empty: a listing brings it back.
ModelDetails DecodeDetails(std::string_view json);

}  // namespace hotel::store

#endif  // HOTEL_STORE_MODEL_JSON_H_
