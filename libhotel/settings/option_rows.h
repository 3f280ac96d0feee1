// How rows of the option table are written down. One function per block of options.
#ifndef HOTEL_SETTINGS_OPTION_ROWS_H_
#define HOTEL_SETTINGS_OPTION_ROWS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hotel/settings.h"
#include "hotel/types.h"

#include "libhotel/settings/registry.h"

namespace hotel::settings {

// Ranges of durations; the upper ends keep every product of options far from overflow.
inline constexpr std::int64_t kAboveZero = 1;
inline constexpr std::int64_t kHour = Duration(std::chrono::hours(1)).count();
inline constexpr std::int64_t kDay = Duration(std::chrono::hours(24)).count();
inline constexpr std::int64_t kMonth = Duration(std::chrono::hours(30 * 24)).count();

/// The getter and setter of a field that is reached by two member pointers. Enums are held as the
/// index of their word.
template <auto kBlock, auto kField>
struct Field {
  using Type = std::remove_reference_t<decltype((std::declval<EngineSettings&>().*kBlock).*kField)>;
  using Stored =
      std::conditional_t<std::is_same_v<Type, int> || std::is_enum_v<Type>, std::int64_t, Type>;

  static constexpr OptionType TypeOf() {
    if (std::is_same_v<Type, bool>) return OptionType::kBool;
    if (std::is_same_v<Type, int>) return OptionType::kInt;
    if (std::is_same_v<Type, double>) return OptionType::kNumber;
    if (std::is_same_v<Type, Duration>) return OptionType::kDuration;
    if (std::is_enum_v<Type>) return OptionType::kChoice;
    if (std::is_same_v<Type, EndpointSet>) return OptionType::kEndpoints;
    return OptionType::kStatuses;
  }
  static OptionValue Get(const EngineSettings& settings) {
    return static_cast<Stored>((settings.*kBlock).*kField);
  }
  static void Set(EngineSettings* settings, const OptionValue& value) {
    (settings->*kBlock).*kField = static_cast<Type>(std::get<Stored>(value));
  }
};

/// A row being put together.
class Row {
 public:
  template <typename F>
  static Row Of(std::string_view path, ProfileTexts defaults, std::string_view help) {
    return Row(path, F::TypeOf(), defaults, help, F::Get, F::Set);
  }
  Row(std::string_view path, OptionType type, ProfileTexts defaults, std::string_view help,
      OptionValue (*get)(const EngineSettings&), void (*set)(EngineSettings*, const OptionValue&)) {
    option_.path = path;
    option_.type = type;
    option_.defaults = defaults;
    option_.help = help;
    option_.get = get;
    option_.set = set;
  }

  Row Between(std::int64_t min, std::int64_t max) const {
    Row row = *this;
    row.option_.min = min;
    row.option_.flat_min = min;
    row.option_.max = max;
    return row;
  }
  Row Words(std::initializer_list<std::string_view> words) const {
    Row row = *this;
    for (const std::string_view word : words) row.option_.words[row.option_.word_count++] = word;
    return row;
  }
  Row Env(std::string_view variable) const {
    Row row = *this;
    row.option_.env = variable;
    return row;
  }
  /// The flat key; it takes what the path takes.
  Row Flat(std::string_view key) const {
    Row row = *this;
    row.option_.flat_key = key;
    return row;
  }
  /// A flat key with a lower end of its own.
  Row FlatFrom(std::string_view key, std::int64_t min) const {
    Row row = Flat(key);
    row.option_.flat_min = min;
    return row;
  }
  /// A flat key under which zero stands for the built-in default.
  Row FlatZeroIsDefault(std::string_view key) const {
    Row row = FlatFrom(key, 0);
    row.option_.flat_zero_is_default = true;
    return row;
  }
  /// A row that is another way to write (parts of) these.
  Row ViewOf(std::array<std::string_view, 2> paths) const {
    Row row = *this;
    row.option_.view_of = paths;
    return row;
  }
  /// A duration that may be written as a bare number of seconds.
  Row Seconds() const {
    Row row = *this;
    row.option_.bare_seconds = true;
    return row;
  }
  Row GlobalOnly() const {
    Row row = *this;
    row.option_.per_provider = false;
    return row;
  }

  operator Option() const { return option_; }  // NOLINT(google-explicit-constructor)

 private:
  Option option_;
};

std::vector<Option> BreakerRows();
std::vector<Option> RetryRows();
std::vector<Option> FailoverRows();
std::vector<Option> LimitRows();    ///< rate_limit, inflight_limiter
std::vector<Option> TimeoutRows();  ///< timeouts, stream
std::vector<Option> LogRows();
std::vector<Option> ClientLimitRows();
std::vector<Option> DiscoveryRows();

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_OPTION_ROWS_H_
