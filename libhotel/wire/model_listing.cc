#include "libhotel/wire/model_listing.h"

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <simdjson.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"

namespace hotel::wire {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::size_t kMostIdBytes = 256;
constexpr std::size_t kMostLabelBytes = 128;
constexpr std::size_t kMostTextBytes = 1000;
constexpr std::size_t kMostWords = 32;
constexpr std::size_t kMostWordBytes = 64;
constexpr std::int64_t kMostTokens = 1'000'000'000;
constexpr double kMostDollars = 1000;
constexpr double kMillion = 1e6;

using Names = std::initializer_list<std::string_view>;

/// Without control characters, at most `most` bytes, cut between characters.
std::string PlainText(std::string_view text, std::size_t most) {
  std::string plain;
  for (const char c : base::Trim(text)) plain += base::IsAsciiControl(c) ? ' ' : c;
  if (plain.size() <= most) return plain;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(plain[end]) & 0xC0) == 0x80) --end;
  plain.resize(end);
  return plain;
}

std::string TextOf(const object& from, Names names, std::size_t most) {
  for (const std::string_view name : names) {
    std::string_view text;
    if (from[name].get(text) != SUCCESS) continue;
    if (std::string plain = PlainText(text, most); !plain.empty()) return plain;
  }
  return {};
}

/// A number, or a text that is one.
std::optional<double> NumberOf(const object& from, std::string_view name) {
  element value;
  if (from[name].get(value) != SUCCESS) return std::nullopt;
  double number = 0;
  std::string_view text;
  if (value.get(number) == SUCCESS) {
    // As it is.
  } else if (value.get(text) == SUCCESS) {
    text = base::Trim(text);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

std::int64_t TokensOf(const object& from, Names names) {
  for (const std::string_view name : names) {
    const auto number = NumberOf(from, name);
    if (number && *number >= 1 && *number <= kMostTokens) return static_cast<std::int64_t>(*number);
  }
  return 0;
}

std::optional<double> DollarsOf(const object& pricing, Names names, double factor) {
  for (const std::string_view name : names) {
    const auto number = NumberOf(pricing, name);
    if (!number) continue;
    // To a millionth of a dollar: what a price per token loses in binary must not show.
    const double dollars = std::round(*number * factor * kMillion) / kMillion;
    if (dollars >= 0 && dollars <= kMostDollars) return dollars;
  }
  return std::nullopt;
}

ModelPrices PricesOf(const object& model) {
  object pricing;
  if (model["pricing"].get(pricing) != SUCCESS) return {};
  std::string_view unit;
  const bool per_million = pricing["unit"].get(unit) == SUCCESS &&
                           base::Lower(unit).find("million") != std::string::npos;
  const double factor = per_million ? 1 : kMillion;
  ModelPrices prices;
  prices.input = DollarsOf(pricing, {"prompt"}, factor);
  prices.output = DollarsOf(pricing, {"completion"}, factor);
  prices.cached_input = DollarsOf(pricing, {"input_cache_read"}, factor);
  if (!prices.input) prices.input = DollarsOf(pricing, {"input"}, 1);
  if (!prices.output) prices.output = DollarsOf(pricing, {"output"}, 1);
  if (!prices.cached_input) prices.cached_input = DollarsOf(pricing, {"cached_input"}, 1);
  return prices;
}

/// Strings of an array, or the names an object says true of.
std::vector<std::string> WordsOf(const object& from, std::string_view name) {
  std::vector<std::string> words;
  const auto add = [&words](std::string_view word) {
    std::string plain = PlainText(word, kMostWordBytes);
    if (!plain.empty() && words.size() < kMostWords) words.push_back(std::move(plain));
  };
  array list;
  object flags;
  if (from[name].get(list) == SUCCESS) {
    for (const element value : list) {
      std::string_view word;
      if (value.get(word) == SUCCESS) add(word);
    }
  } else if (from[name].get(flags) == SUCCESS) {
    for (const simdjson::dom::key_value_pair flag : flags) {
      bool on = false;
      if (flag.value.get(on) == SUCCESS && on) add(flag.key);
    }
  }
  return words;
}

ModelDetails DetailsOf(const object& model) {
  ModelDetails details;
  details.description = TextOf(model, {"description"}, kMostTextBytes);
  object architecture;
  if (model["architecture"].get(architecture) != SUCCESS) architecture = model;
  details.modality = TextOf(architecture, {"modality"}, kMostWordBytes);
  details.input_modalities = WordsOf(architecture, "input_modalities");
  details.output_modalities = WordsOf(architecture, "output_modalities");
  details.capabilities = WordsOf(model, "capabilities");
  details.parameters = WordsOf(model, "supported_parameters");
  return details;
}

/// The id as it is sent; "" when it cannot be one.
std::string IdOf(std::string_view text, std::string_view type) {
  text = base::Trim(text);
  constexpr std::string_view kGoogle = "models/";
  if (type == "google" && base::StartsWith(text, kGoogle)) text.remove_prefix(kGoogle.size());
  if (text.empty() || text.size() > kMostIdBytes) return {};
  for (const char c : text) {
    if (base::IsAsciiControl(c)) return {};
  }
  return std::string(text);
}

ListedModel ReadModel(const element& value, std::string_view type) {
  ListedModel model;
  std::string_view id;
  if (value.get(id) == SUCCESS) {
    model.model_id = IdOf(id, type);
    return model;
  }
  object from;
  if (value.get(from) != SUCCESS) return model;
  for (const std::string_view name : {"id", "name", "model"}) {
    if (from[name].get(id) != SUCCESS) continue;
    model.model_id = IdOf(id, type);
    break;
  }
  if (model.model_id.empty()) return model;
  model.name = TextOf(from, {"display_name", "name"}, kMostLabelBytes);
  if (model.name == model.model_id) model.name.clear();
  model.owned_by = TextOf(from, {"owned_by", "owner"}, kMostLabelBytes);
  model.context_length = TokensOf(from, {"context_length", "context_window", "max_context_length",
                                         "max_model_len", "max_input_tokens", "inputTokenLimit"});
  model.max_output_tokens = TokensOf(from, {"max_output_tokens", "max_output_length",
                                            "max_completion_tokens", "outputTokenLimit"});
  object top;
  if (from["top_provider"].get(top) == SUCCESS) {
    if (model.context_length == 0) model.context_length = TokensOf(top, {"context_length"});
    if (model.max_output_tokens == 0) {
      model.max_output_tokens = TokensOf(top, {"max_completion_tokens"});
    }
  }
  model.prices = PricesOf(from);
  model.details = DetailsOf(from);
  return model;
}

/// The list; nullopt when there is none. A null in its place is an empty one: so some servers write
/// down that they have no model.
std::optional<std::vector<element>> FindList(const element& root) {
  std::vector<element> entries;
  array list;
  object members;
  bool found = root.get(list) == SUCCESS;
  if (!found && root.get(members) == SUCCESS) {
    for (const std::string_view name : {"data", "models"}) {
      element value;
      if (found || members[name].get(value) != SUCCESS) continue;
      if (value.is_null()) return entries;
      found = value.get(list) == SUCCESS;
    }
  }
  if (!found) return std::nullopt;
  for (const element entry : list) entries.push_back(entry);
  return entries;
}

}  // namespace

absl::StatusOr<ListingPage> ReadListing(std::string_view body, std::string_view type) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(body.data(), body.size()).get(root) != SUCCESS) {
    return absl::InvalidArgumentError("the list of models is not JSON");
  }
  const auto entries = FindList(root);
  if (!entries) return absl::InvalidArgumentError("the answer holds no list of models");
  ListingPage page;
  std::unordered_set<std::string> seen;
  for (const element& entry : *entries) {
    if (page.models.size() == kMostListedModels) break;
    ListedModel model = ReadModel(entry, type);
    if (model.model_id.empty() || !seen.insert(model.model_id).second) continue;
    page.models.push_back(std::move(model));
  }
  object members;
  if (root.get(members) != SUCCESS) return page;
  std::string_view last;
  if (members["has_more"].get(page.more) == SUCCESS && page.more &&
      members["last_id"].get(last) == SUCCESS && last.size() <= kMostIdBytes) {
    page.last_id = last;
  }
  return page;
}

}  // namespace hotel::wire
