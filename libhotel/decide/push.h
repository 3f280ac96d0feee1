// Appends an action.
#ifndef HOTEL_DECIDE_PUSH_H_
#define HOTEL_DECIDE_PUSH_H_

#include <utility>
#include <vector>

#include "libhotel/decide/attempt_types.h"

namespace hotel::decide {

// In place: moving a whole Action makes GCC 12 suspect the alternatives that are not there.
template <typename T>
void Push(std::vector<Action>* out, T action) {
  out->emplace_back(std::in_place_type<T>, std::move(action));
}

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_PUSH_H_
