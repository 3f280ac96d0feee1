// The rows of `log` (facts b).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

template <auto kField>
using Log = Field<&EngineSettings::log, kField>;
constexpr std::int64_t kTenYears = 10 * 365 * kDay;

}  // namespace

std::vector<Option> LogRows() {
  return {
      Row::Of<Log<&LogSettings::retention>>(
          "log.retention", {"0", "0"},
          "Age at which rows of the request log are deleted, looked at every hour. 0 = never.")
          .Between(0, kTenYears)
          .Flat("log_retention")
          .GlobalOnly(),
  };
}

}  // namespace hotel::settings
