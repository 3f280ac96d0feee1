// The stable machine-readable words of gateway-written errors: the one table of them, from which
// the reference page docs/errors.md is generated.
#ifndef HOTEL_DECIDE_ERROR_CODES_H_
#define HOTEL_DECIDE_ERROR_CODES_H_

#include <string>
#include <string_view>
#include <vector>

namespace hotel::decide {

enum class ErrorCode {
  kInvalidRequest,
  kInvalidModelFormat,
  kModelNotFound,
  kProviderNotFound,
  kEndpointNotSupported,
  kFailoverGroupDisabled,
  kFailoverGroupEmpty,
  kKeysUndecryptable,
  kProviderNotAllowed,
  kBudgetNeedsPrice,
  kRateLimitExceeded,
  kTokenRateLimitExceeded,
  kBudgetExceeded,
  kNoAvailableProvider,
  kCircuitOpen,
  kCircuitCapacity,
  kAllProvidersFailed,
  kProviderBadRequest,
  kProviderNotEntitled,
  kProviderModelGone,
  kProviderSaturated,
  kProviderQuotaExhausted,
  kProviderRateLimited,
  kProviderError,
  kProviderTimeout,
  kProviderUnusable,
  kAnswerTooLarge,
  kFailoverTimeout,
  kStreamIncomplete,
  kGatewayShutdown,
  // The sidecar's own: said before a request reaches the router.
  kInvalidVirtualKey,
  kNotFound,
  kMethodNotAllowed,
  kMalformedRequest,
  kInvalidTarget,
  kRequestTimeout,
  kLengthRequired,
  kRequestTooLarge,
  kUriTooLong,
  kUnsupportedContentEncoding,
  kExpectationFailed,
  kRequestHeadTooLarge,
  kTooManyHeaders,
  kMethodNotImplemented,
  kTransferCodingNotImplemented,
  kStarting,
  kServerBusy,
  kBuffersFull,
  kTooManyConnections,
  kHttpVersionNotSupported,
};

/// One row of the table.
struct ErrorCodeRow {
  ErrorCode code;
  std::string_view word;     ///< as it stands in `error.code`
  std::string_view status;   ///< HTTP status, or where it comes from
  std::string_view meaning;  ///< one sentence for the reference page
};

/// Every row, in the order of the enum.
const std::vector<ErrorCodeRow>& ErrorCodeTable();

/// The word of a code. Static storage.
std::string_view ErrorCodeWord(ErrorCode code) noexcept;

/// The reference page, docs/errors.md.
std::string ErrorCodesMarkdown();

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_ERROR_CODES_H_
