#include "libhotel/decide/error_codes.h"

#include <array>
#include <cstddef>

#include "fmt/format.h"

namespace hotel::decide {
namespace {

using C = ErrorCode;
constexpr std::array kRows = {
    ErrorCodeRow{C::kInvalidRequest, "invalid_request", "400",
                 "The body is not a JSON object the endpoint understands."},
    ErrorCodeRow{C::kInvalidModelFormat, "invalid_model_format", "400",
                 "The model name has none of the known forms."},
    ErrorCodeRow{C::kModelNotFound, "model_not_found", "404",
                 "No failover group or provider model has this name."},
    ErrorCodeRow{C::kFailoverGroupDisabled, "failover_group_disabled", "404",
                 "The failover group is switched off."},
    ErrorCodeRow{C::kFailoverGroupEmpty, "failover_group_empty", "404",
                 "The failover group has no entries."},
    ErrorCodeRow{C::kKeysUndecryptable, "keys_undecryptable", "500",
                 "The master key opens none of the candidates' provider keys."},
    ErrorCodeRow{
        C::kNoAvailableProvider, "no_available_provider", "429 or 502",
        "No candidate could be asked. 429 with Retry-After: circuits are open and the first "
        "one comes back then. 502: entries are off or missing."},
    ErrorCodeRow{
        C::kAllProvidersFailed, "all_providers_failed", "502",
        "The last candidate could not be reached, sent no first output in time, or sent an "
        "unusable answer."},
    ErrorCodeRow{
        C::kProviderBadRequest, "provider_bad_request", "as upstream",
        "The provider refused the payload and its own error object could not be forwarded."},
    ErrorCodeRow{C::kProviderNotEntitled, "provider_not_entitled", "401, 402 or 403",
                 "The last candidate refused the gateway's credential, plan or balance."},
    ErrorCodeRow{C::kProviderModelGone, "provider_model_gone", "404",
                 "The last candidate does not serve the model."},
    ErrorCodeRow{C::kProviderSaturated, "provider_saturated", "429",
                 "The last candidate refused for rate or capacity."},
    ErrorCodeRow{C::kProviderError, "provider_error", "as upstream",
                 "The last candidate answered with a server error."},
    ErrorCodeRow{C::kProviderTimeout, "provider_timeout", "504",
                 "The last candidate did not finish within its attempt's time limit."},
    ErrorCodeRow{
        C::kProviderUnusable, "provider_unusable", "500",
        "No request could be built for any candidate: check the providers' keys and URLs."},
    ErrorCodeRow{C::kAnswerTooLarge, "answer_too_large", "502",
                 "The provider's answer is larger than the gateway accepts."},
    ErrorCodeRow{C::kFailoverTimeout, "failover_timeout", "504",
                 "The request's overall deadline passed."},
    ErrorCodeRow{
        C::kStreamIncomplete, "stream_incomplete", "in the stream",
        "The stream ended before it was whole; what came before this event is not the whole "
        "answer."},
    ErrorCodeRow{C::kGatewayShutdown, "gateway_shutdown", "503 or in the stream",
                 "The gateway is going down; repeat the request."},
};

constexpr bool InEnumOrder() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].code) != i) return false;
  }
  return true;
}
static_assert(InEnumOrder(), "rows stand in the order of ErrorCode");

}  // namespace

const std::vector<ErrorCodeRow>& ErrorCodeTable() {
  static const std::vector<ErrorCodeRow> rows(kRows.begin(), kRows.end());
  return rows;
}

std::string_view ErrorCodeWord(ErrorCode code) noexcept {
  return kRows[static_cast<std::size_t>(code)].word;
}

std::string ErrorCodesMarkdown() {
  std::string page =
      "# Error codes\n\n"
      "Every error the gateway writes carries one of these words in `error.code`. They are stable: "
      "programs may rely\non them. The message beside the word is for people and may change. An "
      "error object a provider wrote is\nforwarded with the provider's own code.\n\n"
      "This page is generated from the table in `libhotel/decide/error_codes.cc`.\n\n"
      "| code | status | meaning |\n|---|---|---|\n";
  for (const ErrorCodeRow& row : kRows) {
    page += fmt::format("| `{}` | {} | {} |\n", row.word, row.status, row.meaning);
  }
  return page;
}

}  // namespace hotel::decide
