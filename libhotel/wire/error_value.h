// The `error` member of a provider's answer: whether it says something, and which status it stands
// for.
#ifndef HOTEL_WIRE_ERROR_VALUE_H_
#define HOTEL_WIRE_ERROR_VALUE_H_

#include <string_view>

#include "libhotel/wire/json.h"

namespace hotel::wire {

/// What an `error` value says.
struct ErrorValue {
  bool is_null = true;
  bool carries = false;  ///< not null, {}, "", [], false or 0 (facts f)
  int code_status = 0;   ///< its `code` as a number or numeric string in 400-599 (R25); 0 = none
  int type_status = 0;   ///< the status its `type` word stands for; 0 = none
};

/// Reads the value at the cursor. False on a fault of the JSON.
bool ReadErrorValue(JsonCursor& cursor, ErrorValue* error);

/// Reads the value at the cursor as a status code: 400-599 as a number or numeric string into
/// `status`, which is left alone by anything else. False on a fault of the JSON.
bool ReadStatusCode(JsonCursor& cursor, int* status);

/// The status of an error type that has one meaning across dialects; 0 = none.
int StatusOfErrorType(std::string_view raw_type);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_ERROR_VALUE_H_
