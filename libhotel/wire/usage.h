// Token counts in the shapes in which providers write them (F053, F067).
#ifndef HOTEL_WIRE_USAGE_H_
#define HOTEL_WIRE_USAGE_H_

#include <optional>

#include "hotel/request_log.h"  // TokenUsage

#include "libhotel/wire/json.h"

namespace hotel::wire {

/// Reads the value of a `usage` member at the cursor into `usage`, merged with what is there
/// already (MergeUsage). The names of chat (prompt_tokens, completion_tokens, their details,
/// prompt_cache_hit_tokens), of messages and responses (input_tokens, output_tokens, cache_*) and
/// of embeddings (total_tokens alone) are understood wherever they stand. Without a single count
/// `usage` is left alone; negative, broken and absurd ones are none. False on a fault of the JSON.
bool ReadUsage(JsonCursor& cursor, std::optional<TokenUsage>* usage);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_USAGE_H_
