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
inline constexpr std::array<std::string_view, 1> kProfiles = {"failover_first"};

enum class OptionType {
  kBool,
  kInt,
  kNumber,  ///< with decimals
  kDuration,
  kStatuses,  ///< a list of codes and classes
  kChoice,    ///< one of two words, held as a bool that is true for the first
};

/// kBool and kChoice hold a bool.
using OptionValue = std::variant<bool, std::int64_t, double, Duration, StatusSet>;

struct Option {
  /// Path in the configuration file, without "providers.<name>."; empty = only the flat key exists.
  std::string_view path;
  /// Key in the flat `settings:` block; empty = none. For a kChoice it holds a bool.
  std::string_view flat_key;
  /// Environment variable; empty = none.
  std::string_view env;
  OptionType type;
  /// Per profile, spelled as in a configuration; lists separated by commas.
  std::array<std::string_view, kProfiles.size()> defaults;
  /// kInt, kNumber: the numbers themselves, kDuration: nanoseconds. Both inclusive.
  std::int64_t min;
  std::int64_t max;
  std::array<std::string_view, 2> words;  ///< kChoice only
  /// May stand in a provider's own block.
  bool per_provider;
  std::string_view help;
  OptionValue (*get)(const EngineSettings& settings);
  void (*set)(EngineSettings* settings, const OptionValue& value);
};

/// All rows, in the order of the reference page. Static.
const std::vector<Option>& Options();

/// Null when there is none.
const Option* FindOption(std::string_view path) noexcept;
const Option* FindFlatOption(std::string_view flat_key) noexcept;

/// The names one level below `block` ("" = the top level) that lead to an option; `provider`: only
/// those that may stand under a provider. Sorted, each once.
std::vector<std::string> OptionNames(std::string_view block, bool provider);

/// Reads a value from text. For lists: codes and classes separated by commas, "" and "[]" for none.
/// `flat`: spelled as under its flat key. The error message quotes nothing: it is what follows the
/// quoted value in a sentence ("is not a duration; write ...").
absl::StatusOr<OptionValue> ParseOption(const Option& option, std::string_view text, bool flat);

/// true, yes, on, false, no, off, in any case. The error message is like ParseOption's.
absl::StatusOr<bool> ParseBool(std::string_view text);

/// Adds "429" or "5xx" to a set; false when the text is neither.
bool AddStatus(std::string_view text, StatusSet* set);

/// The value as ParseOption reads it.
std::string FormatOption(const Option& option, const OptionValue& value);
/// The allowed values in words: "0 to 100", "above 0s, at most 24h".
std::string RangeText(const Option& option);

/// The defaults of a profile. REQUIRES: profile < kProfiles.size().
EngineSettings ProfileDefaults(std::size_t profile);

/// The reference page of all options (docs/options.md).
std::string OptionsMarkdown();

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_REGISTRY_H_
