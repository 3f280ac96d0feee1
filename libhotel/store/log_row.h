// A record as it is written: its texts one behind the other in one piece of memory, since a loop
// waits while it is made.
#ifndef HOTEL_STORE_LOG_ROW_H_
#define HOTEL_STORE_LOG_ROW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotel/request_log.h"
#include "hotel/types.h"

namespace hotel::store {

class LogRow {
 public:
  enum Text : std::size_t {
    kRequestId,
    kModel,
    kResolvedModel,
    kProviderId,
    kProvider,
    kKeyName,
    kKeyId,
    kClientIp,
    kErrorMessage,
    kAttempts,  ///< LogEntry::attempts
    kTexts,
  };

  /// Texts are cut to what a row may hold: clients choose model names and ids.
  explicit LogRow(const RequestRecord& record);

  std::string_view text(Text which) const {
    const std::size_t begin = which == 0 ? 0 : ends_[which - 1];
    return std::string_view(bytes_).substr(begin, ends_[which] - begin);
  }

  Endpoint endpoint;
  bool streaming;
  int status;
  ErrorKind error_kind;
  /// The attempt that served; without one, the last that reached a provider; 0 when none did.
  int deciding_attempt;
  std::int64_t duration_ms;
  std::optional<std::int64_t> ttft_ms;
  std::optional<TokenUsage> usage;
  std::optional<std::int64_t> cost;
  std::int64_t created_ms;  ///< since 1970
  /// It may stand in running_requests.
  bool noted = false;
  /// Every attempt was at the row's provider and ended with the row's status, and there is one.
  bool plain;
  /// Otherwise what the attempts were and ended with, 0 = without a response.
  std::vector<std::pair<std::string, int>> attempts;

 private:
  std::string bytes_;
  std::array<std::uint32_t, kTexts> ends_{};
};

}  // namespace hotel::store

#endif  // HOTEL_STORE_LOG_ROW_H_
