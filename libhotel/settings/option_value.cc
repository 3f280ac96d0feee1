// Values of options as text, and back.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"
#include "libhotel/settings/config.h"
#include "libhotel/settings/registry.h"

namespace hotel::settings {
namespace {

absl::StatusOr<OptionValue> Invalid(std::string message) {
  return absl::InvalidArgumentError(std::move(message));
}

absl::StatusOr<OptionValue> ParseInt(const Option& option, std::string_view text, bool flat) {
  const bool negative = !text.empty() && text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  std::int64_t value = 0;
  if (digits.empty()) return Invalid("is not a whole number; write " + RangeText(option, flat));
  for (const char digit : digits) {
    if (!base::IsAsciiDigit(digit)) {
      return Invalid("is not a whole number; write " + RangeText(option, flat));
    }
    // Far outside of every range: more digits make no difference.
    if (value < 1000000000) value = value * 10 + (digit - '0');
  }
  if (negative) value = -value;
  if (value < (flat ? option.flat_min : option.min) || value > option.max) {
    return Invalid("is out of range; write " + RangeText(option, flat));
  }
  return OptionValue(value);
}

// Digits with an optional decimal part: no sign, exponent, infinity or NaN.
absl::StatusOr<OptionValue> ParseNumber(const Option& option, std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = point == text.npos ? std::string_view("0") : text.substr(point + 1);
  const auto digits = [](std::string_view piece) {
    return !piece.empty() && std::all_of(piece.begin(), piece.end(), base::IsAsciiDigit);
  };
  double value = 0;
  if (!digits(whole) || !digits(part) ||
      std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) {
    return Invalid("is not a number; write " + RangeText(option));
  }
  if (value < static_cast<double>(option.min) || value > static_cast<double>(option.max)) {
    return Invalid("is out of range; write " + RangeText(option));
  }
  return OptionValue(value);
}

absl::StatusOr<OptionValue> ParseSpan(const Option& option, std::string_view text, bool flat) {
  const bool bare = option.bare_seconds && !text.empty() &&
                    std::all_of(text.begin(), text.end(), base::IsAsciiDigit);
  const std::optional<Duration> value =
      bare ? ParseDuration(std::string(text) + "s") : ParseDuration(text);
  if (!value) {
    if (!text.empty() && text.front() == '-' && ParseDuration(text.substr(1))) {
      return Invalid("is negative; write a duration " + RangeText(option, flat));
    }
    return Invalid("is not a duration; write a number with a unit, such as 500ms, 30s or 5m");
  }
  if (flat && option.flat_zero_is_default && value->count() == 0) {
    return OptionValue(*ParseDuration(option.defaults[0]));
  }
  if (value->count() < (flat ? option.flat_min : option.min) || value->count() > option.max) {
    return Invalid("is out of range; write a duration " + RangeText(option, flat));
  }
  return OptionValue(*value);
}

// How endpoints are written, the whole of what a word stands for.
struct EndpointWord {
  std::string_view word;
  std::array<Endpoint, 3> endpoints;
};
constexpr std::array<EndpointWord, 8> kEndpointWords = {{
    {"chat", {Endpoint::kChatCompletions, Endpoint::kChatCompletions, Endpoint::kChatCompletions}},
    {"messages", {Endpoint::kMessages, Endpoint::kMessages, Endpoint::kMessages}},
    {"responses", {Endpoint::kResponses, Endpoint::kResponses, Endpoint::kResponses}},
    {"embeddings", {Endpoint::kEmbeddings, Endpoint::kEmbeddings, Endpoint::kEmbeddings}},
    {"rerank", {Endpoint::kRerank, Endpoint::kRerank, Endpoint::kRerank}},
    {"image", {Endpoint::kImageGenerations, Endpoint::kImageEdits, Endpoint::kImageVariations}},
    {"tts", {Endpoint::kSpeech, Endpoint::kSpeech, Endpoint::kSpeech}},
    {"stt", {Endpoint::kTranscriptions, Endpoint::kTranslations, Endpoint::kTranslations}},
}};

std::string EndpointWordsText() {
  std::string text;
  for (const EndpointWord& row : kEndpointWords) {
    if (!text.empty()) text += ", ";
    text += row.word;
  }
  return text;
}

// Without the brackets a list may stand in.
std::string_view Items(std::string_view text) {
  text = base::Trim(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = base::Trim(text.substr(1, text.size() - 2));
  }
  return text;
}

absl::StatusOr<OptionValue> ParseStatuses(std::string_view text) {
  text = Items(text);
  StatusSet set;
  if (text.empty() || base::EqualsIgnoreCase(text, "none")) return OptionValue(set);
  for (const std::string_view piece : base::Split(text, ',')) {
    if (!AddStatus(base::Trim(piece), &set)) {
      return Invalid("is not a list of statuses; write codes and classes, such as 429,5xx");
    }
  }
  return OptionValue(set);
}

absl::StatusOr<OptionValue> ParseEndpoints(std::string_view text) {
  text = Items(text);
  EndpointSet set;
  if (text.empty() || base::EqualsIgnoreCase(text, "none")) return OptionValue(set);
  for (const std::string_view piece : base::Split(text, ',')) {
    if (!AddEndpoint(base::Trim(piece), &set)) {
      return Invalid("is not a list of endpoints; write all, or some of " + EndpointWordsText());
    }
  }
  return OptionValue(set);
}

std::string FormatEndpoints(const EndpointSet& set) {
  if (set == EndpointSet::All()) return "all";
  std::string text;
  for (const EndpointWord& row : kEndpointWords) {
    if (!set.Contains(row.endpoints[0])) continue;
    if (!text.empty()) text += ',';
    text += row.word;
  }
  return text;
}

absl::StatusOr<OptionValue> ParseBoolOption(std::string_view text) {
  const absl::StatusOr<bool> value = ParseBool(text);
  if (!value.ok()) return value.status();
  return OptionValue(*value);
}

absl::StatusOr<OptionValue> ParseChoice(const Option& option, std::string_view text, bool flat) {
  if (flat) {
    const absl::StatusOr<bool> value = ParseBool(text);
    if (!value.ok()) return value.status();
    return OptionValue(std::int64_t{*value ? 0 : 1});
  }
  for (std::size_t i = 0; i < option.word_count; ++i) {
    if (text == option.words[i]) return OptionValue(static_cast<std::int64_t>(i));
  }
  return Invalid("is not known here; write " + RangeText(option, flat));
}

// Without an exponent, which ParseNumber does not read.
std::string Plain(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find('e') == std::string::npos) return text;
  text = fmt::format("{:.20f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// "a", "a or b", "a, b or c".
std::string WordsText(const Option& option) {
  std::string text(option.words[0]);
  for (std::size_t i = 1; i < option.word_count; ++i) {
    text += i + 1 < option.word_count ? ", " : " or ";
    text += option.words[i];
  }
  return text;
}

}  // namespace

absl::StatusOr<bool> ParseBool(std::string_view text) {
  for (const std::string_view word : {"true", "yes", "on", "1"}) {
    if (base::EqualsIgnoreCase(text, word)) return true;
  }
  for (const std::string_view word : {"false", "no", "off", "0"}) {
    if (base::EqualsIgnoreCase(text, word)) return false;
  }
  return absl::InvalidArgumentError("is neither true nor false; write one of them");
}

bool AddStatus(std::string_view text, StatusSet* set) {
  if (text.size() != 3 || text[0] < '1' || text[0] > '5') return false;
  const int hundreds = text[0] - '0';
  if (base::EqualsIgnoreCase(text.substr(1), "xx")) {
    set->AddClass(hundreds);
    return true;
  }
  if (!base::IsAsciiDigit(text[1]) || !base::IsAsciiDigit(text[2])) return false;
  set->AddCode(hundreds * 100 + (text[1] - '0') * 10 + (text[2] - '0'));
  return true;
}

bool AddEndpoint(std::string_view text, EndpointSet* set) {
  bool found = false;
  for (const EndpointWord& row : kEndpointWords) {
    if (text != row.word && text != "all") continue;
    for (const Endpoint endpoint : row.endpoints) set->Add(endpoint);
    found = true;
  }
  return found;
}

absl::StatusOr<OptionValue> ParseOption(const Option& option, std::string_view text, bool flat) {
  switch (option.type) {
    case OptionType::kBool:
      return ParseBoolOption(text);
    case OptionType::kInt:
      return ParseInt(option, text, flat);
    case OptionType::kNumber:
      return ParseNumber(option, text);
    case OptionType::kDuration:
      return ParseSpan(option, text, flat);
    case OptionType::kStatuses:
      return ParseStatuses(text);
    case OptionType::kChoice:
      return ParseChoice(option, text, flat);
    case OptionType::kEndpoints:
      return ParseEndpoints(text);
  }
  return Invalid("has no type");
}

std::string FormatOption(const Option& option, const OptionValue& value, bool flat) {
  switch (option.type) {
    case OptionType::kBool:
      return std::get<bool>(value) ? "true" : "false";
    case OptionType::kInt:
      return std::to_string(std::get<std::int64_t>(value));
    case OptionType::kNumber:
      return Plain(std::get<double>(value));
    case OptionType::kDuration:
      return FormatDuration(std::get<Duration>(value));
    case OptionType::kStatuses:
      return fmt::format("{}", fmt::join(std::get<StatusSet>(value).ToStrings(), ","));
    case OptionType::kChoice: {
      const std::int64_t index = std::get<std::int64_t>(value);
      if (flat) return index == 0 ? "true" : "false";
      return std::string(option.words[static_cast<std::size_t>(index)]);
    }
    case OptionType::kEndpoints:
      return FormatEndpoints(std::get<EndpointSet>(value));
  }
  return {};
}

std::string_view TypeText(OptionType type) noexcept {
  switch (type) {
    case OptionType::kBool:
      return "boolean";
    case OptionType::kInt:
      return "integer";
    case OptionType::kNumber:
      return "number";
    case OptionType::kDuration:
      return "duration";
    case OptionType::kStatuses:
      return "status list";
    case OptionType::kChoice:
      return "word";
    case OptionType::kEndpoints:
      return "endpoint list";
  }
  return {};
}

std::string RangeText(const Option& option, bool flat) {
  const std::int64_t min = flat ? option.flat_min : option.min;
  switch (option.type) {
    case OptionType::kBool:
      return "true or false";
    case OptionType::kInt:
    case OptionType::kNumber:
      return fmt::format("{} to {}", min, option.max);
    case OptionType::kDuration: {
      const std::string max = FormatDuration(Duration(option.max));
      // The smallest span above zero is a way to write "not zero".
      if (min == 1) return fmt::format("above 0s, at most {}", max);
      return fmt::format("{} to {}{}", FormatDuration(Duration(min)), max,
                         flat && option.flat_zero_is_default
                             ? fmt::format(", 0s for {}", option.defaults[0])
                             : "");
    }
    case OptionType::kStatuses:
      return "codes 100 to 599, classes 1xx to 5xx";
    case OptionType::kChoice:
      return flat ? "true or false" : WordsText(option);
    case OptionType::kEndpoints:
      return "all, or some of " + EndpointWordsText();
  }
  return {};
}

}  // namespace hotel::settings
