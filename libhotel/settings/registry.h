// The one table of options. A row says where an option can be written, what it may hold, what it is
// by default and where it lives in EngineSettings; parsing, validation, the environment and the
// reference page are driven by it.
#ifndef HOTEL_SETTINGS_REGISTRY_H_
#define HOTEL_SETTINGS_REGISTRY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hotel/settings.h"
#include "hotel/types.h"

#include "absl/status/statusor.h"

namespace hotel::settings {

/// The profiles that can be chosen; each is a column of defaults in the table. The first is the
/// default.
inline constexpr std::array<std::string_view, 2> kProfiles = {"failover_first", "retry_first"};
/// One text per profile, in their order.
using ProfileTexts = std::array<std::string_view, kProfiles.size()>;

enum class OptionType {
  kBool,
  kInt,
  kNumber,  ///< with decimals
  kDuration,
  kStatuses,   ///< a list of codes and classes
  kChoice,     ///< one of a few words, held as the index of the word
  kEndpoints,  ///< a list of endpoints
};

/// kInt and kChoice hold an integer.
using OptionValue = std::variant<bool, std::int64_t, double, Duration, StatusSet, EndpointSet>;

struct Option {
  /// Path in the configuration file, without "providers.<name>."; empty = only the flat key exists.
  std::string_view path;
  /// Key in the flat `settings:` block; empty = none. For a kChoice it holds a boolean that is true
  /// for the first word.
  std::string_view flat_key;
  /// Environment variable; empty = none.
  std::string_view env;
  OptionType type = OptionType::kBool;
  /// Per profile, spelled as in a configuration; lists separated by commas.
  ProfileTexts defaults{};
  /// kInt, kNumber: the numbers themselves, kDuration: nanoseconds. Both inclusive.
  std::int64_t min = 0;
  std::int64_t max = 0;
  /// `min` of the flat key.
  std::int64_t flat_min = 0;
  /// kDuration: a bare number is seconds.
  bool bare_seconds = false;
  /// Under the flat key, 0 stands for the built-in default (facts b, "<=0 -> ...").
  bool flat_zero_is_default = false;
  std::array<std::string_view, 3> words{};  ///< kChoice only
  std::size_t word_count = 0;
  /// A row without a path only has the fields of these rows; "" = none. Writing it beside the first
  /// of them is writing one thing twice.
  std::array<std::string_view, 2> view_of{};
  /// May stand in a provider's own block.
  bool per_provider = true;
  std::string_view help;
  OptionValue (*get)(const EngineSettings& settings) = nullptr;
  void (*set)(EngineSettings* settings, const OptionValue& value) = nullptr;

  /// The path, or the flat key of a row without one: unique.
  std::string_view name() const noexcept { return path.empty() ? flat_key : path; }
};

/// All rows, in the order of the reference page. Static.
const std::vector<Option>& Options();

/// Null when there is none.
const Option* FindOption(std::string_view path) noexcept;
const Option* FindFlatOption(std::string_view flat_key) noexcept;

/// The names one level below `block` ("" = the top level) that lead to an option; `provider`: only
/// those that may stand under a provider. Sorted, each once.
std::vector<std::string> OptionNames(std::string_view block, bool provider);

/// Reads a value from text. For lists: items separated by commas; "", "[]" and "none" for none,
/// "all" for every endpoint.
/// `flat`: spelled as under its flat key. The error message quotes nothing: it is what follows the
/// quoted value in a sentence ("is not a duration; write ...").
absl::StatusOr<OptionValue> ParseOption(const Option& option, std::string_view text, bool flat);

/// true, yes, on, 1, false, no, off, 0, in any case. The error message is like ParseOption's.
absl::StatusOr<bool> ParseBool(std::string_view text);

/// Adds "429" or "5xx" to a set; false when the text is neither.
bool AddStatus(std::string_view text, StatusSet* set);

/// Adds what "chat" or "image" stands for; false when no endpoint is written like that.
bool AddEndpoint(std::string_view text, EndpointSet* set);

/// The value as ParseOption reads it, with the same `flat`.
std::string FormatOption(const Option& option, const OptionValue& value, bool flat = false);
/// "duration", "status list", ...
std::string_view TypeText(OptionType type) noexcept;
/// The allowed values in words: "0 to 100", "above 0s, at most 24h".
std::string RangeText(const Option& option, bool flat = false);

/// The defaults of a profile. REQUIRES: profile < kProfiles.size().
EngineSettings ProfileDefaults(std::size_t profile);

/// The reference page of all options (docs/options.md).
std::string OptionsMarkdown();

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_REGISTRY_H_
