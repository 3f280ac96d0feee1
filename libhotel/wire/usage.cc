#include "libhotel/wire/usage.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "libhotel/wire/stream_frame.h"

namespace hotel::wire {
namespace {

// No request costs more; a larger number is none, and sums cannot overflow.
constexpr std::int64_t kMaxCount = 1'000'000'000'000;

struct Counts {
  std::optional<std::int64_t> prompt;
  std::optional<std::int64_t> input;
  std::optional<std::int64_t> completion;
  std::optional<std::int64_t> total;
  std::int64_t cached = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_creation = 0;
  std::int64_t reasoning = 0;
};

template <typename Count>
bool ReadCount(JsonCursor& cursor, Count* count) {
  if (cursor.Peek() != JsonKind::kNumber) return cursor.Skip();
  std::string_view token;
  if (!cursor.Number(&token)) return false;
  double value = -1;
  const auto [stop, fault] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (fault == std::errc() && value >= 0 && value <= static_cast<double>(kMaxCount)) {
    *count = static_cast<std::int64_t>(value);
  }
  return true;
}

bool ReadDetails(JsonCursor& cursor, std::string_view wanted, std::int64_t* count) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  return cursor.Object([&](std::string_view key) {
    return JsonTextIs(key, wanted) ? ReadCount(cursor, count) : cursor.Skip();
  });
}

bool ReadMember(JsonCursor& cursor, std::string_view key, Counts* counts) {
  const auto is = [key](std::string_view name) { return JsonTextIs(key, name); };
  if (is("prompt_tokens")) return ReadCount(cursor, &counts->prompt);
  if (is("input_tokens")) return ReadCount(cursor, &counts->input);
  if (is("completion_tokens") || is("output_tokens")) {
    return ReadCount(cursor, &counts->completion);
  }
  if (is("total_tokens")) return ReadCount(cursor, &counts->total);
  if (is("prompt_tokens_details") || is("input_tokens_details")) {
    return ReadDetails(cursor, "cached_tokens", &counts->cached);
  }
  if (is("completion_tokens_details") || is("output_tokens_details")) {
    return ReadDetails(cursor, "reasoning_tokens", &counts->reasoning);
  }
  if (is("prompt_cache_hit_tokens") || is("cached_tokens")) {
    return ReadCount(cursor, &counts->cached);
  }
  if (is("cache_read_input_tokens")) return ReadCount(cursor, &counts->cache_read);
  if (is("cache_creation_input_tokens")) return ReadCount(cursor, &counts->cache_creation);
  return cursor.Skip();
}

std::optional<TokenUsage> Sum(const Counts& counts) {
  if (!counts.prompt && !counts.input && !counts.completion && !counts.total) return std::nullopt;
  TokenUsage usage;
  usage.completion = counts.completion.value_or(0);
  if (counts.prompt) {
    usage.prompt = *counts.prompt;
  } else if (counts.input) {
    // The messages dialect counts what came from the cache or went into it apart.
    usage.prompt = *counts.input + counts.cache_read + counts.cache_creation;
  } else if (!counts.completion) {
    usage.prompt = *counts.total;
  }
  // Some leave reasoning out of the completion; their own total tells.
  if (counts.total == usage.prompt + usage.completion + counts.reasoning) {
    usage.completion += counts.reasoning;
  }
  usage.cached = std::min(std::max(counts.cached, counts.cache_read), usage.prompt);
  usage.reasoning = std::min(counts.reasoning, usage.completion);
  return usage;
}

}  // namespace

bool ReadUsage(JsonCursor& cursor, std::optional<TokenUsage>* usage) {
  if (cursor.Peek() != JsonKind::kObject) return cursor.Skip();
  Counts counts;
  if (!cursor.Object([&](std::string_view key) { return ReadMember(cursor, key, &counts); })) {
    return false;
  }
  if (const std::optional<TokenUsage> sum = Sum(counts)) MergeUsage(*sum, usage);
  return true;
}

}  // namespace hotel::wire
