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
    ErrorCodeRow{C::kProviderNotFound, "provider_not_found", "404",
                 "No provider that is switched on has the name behind `/p/`."},
    ErrorCodeRow{C::kEndpointNotSupported, "endpoint_not_supported", "400",
                 "No candidate of the name speaks the dialect of the endpoint, and none is "
                 "translated."},
    ErrorCodeRow{C::kFailoverGroupDisabled, "failover_group_disabled", "404",
                 "The failover group is switched off."},
    ErrorCodeRow{C::kFailoverGroupEmpty, "failover_group_empty", "404",
                 "The failover group has no entries."},
    ErrorCodeRow{C::kKeysUndecryptable, "keys_undecryptable", "500",
                 "The master key opens none of the candidates' provider keys."},
    ErrorCodeRow{C::kProviderNotAllowed, "provider_not_allowed", "403",
                 "The virtual key may use none of the providers that serve the model "
                 "(`allowed_providers`)."},
    ErrorCodeRow{C::kBudgetNeedsPrice, "budget_needs_price", "403",
                 "The virtual key has a budget, and calls through `/p/` have no price that could "
                 "be charged to it."},
    ErrorCodeRow{C::kRateLimitExceeded, "rate_limit_exceeded", "429",
                 "The virtual key, or the client's address, sends more requests a second than it "
                 "may. X-RateLimit-Scope says which; retry after the time in Retry-After."},
    ErrorCodeRow{C::kTokenRateLimitExceeded, "token_rate_limit_exceeded", "429",
                 "The virtual key has used more tokens than it may have in a minute. Retry after "
                 "the time in Retry-After."},
    ErrorCodeRow{C::kBudgetExceeded, "budget_exceeded", "429",
                 "The virtual key has spent its budget. Retry-After says when the next period "
                 "begins, or a second where running requests have the rest set aside."},
    ErrorCodeRow{
        C::kNoAvailableProvider, "no_available_provider", "429 or 502",
        "No candidate could be asked. 429 with Retry-After: circuits are open and the first "
        "one comes back then. 502: entries are off or missing."},
    ErrorCodeRow{C::kCircuitOpen, "circuit_open", "503",
                 "The circuit of the model named directly is open "
                 "(`resilience.circuit_breaker.block_direct`)."},
    ErrorCodeRow{C::kCircuitCapacity, "circuit_capacity", "503",
                 "The circuit breaker holds as many circuits as it may "
                 "(`resilience.circuit_breaker.max_models`) and none can be forgotten."},
    ErrorCodeRow{
        C::kAllProvidersFailed, "all_providers_failed", "502",
        "The last candidate could not be reached, sent no first output in time, or sent an "
        "unusable answer."},
    ErrorCodeRow{
        C::kProviderBadRequest, "provider_bad_request", "as upstream",
        "The provider refused the payload and its own error object could not be forwarded."},
    ErrorCodeRow{
        C::kProviderNotEntitled, "provider_not_entitled", "401, 402, 403 or 429",
        "The last candidate refused the gateway's credential, plan or balance. 429: its words "
        "say that somebody has to pay; waiting does not help."},
    ErrorCodeRow{C::kProviderModelGone, "provider_model_gone", "404",
                 "The last candidate does not serve the model."},
    ErrorCodeRow{C::kProviderSaturated, "provider_saturated", "429",
                 "Busy: the last candidate said so, or no candidate had a free slot in time. Retry "
                 "after the time in Retry-After."},
    ErrorCodeRow{
        C::kProviderQuotaExhausted, "provider_quota_exhausted", "429",
        "Spent: the last candidate's quota is used up and comes back when it resets. (One that has "
        "to be paid is `provider_not_entitled`.)"},
    ErrorCodeRow{
        C::kProviderRateLimited, "provider_rate_limited", "429",
        "The last candidate refused with 429 and did not say whether it is busy or spent."},
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
    ErrorCodeRow{C::kInvalidVirtualKey, "invalid_virtual_key", "401",
                 "The request carries no virtual key, or one that is not known."},
    ErrorCodeRow{C::kNotFound, "not_found", "404", "There is nothing under this path."},
    ErrorCodeRow{C::kMethodNotAllowed, "method_not_allowed", "405",
                 "The path exists and does not answer to this method; see Allow."},
    ErrorCodeRow{C::kMalformedRequest, "malformed_request", "400",
                 "The request is not well-formed HTTP/1.1; the connection is closed."},
    ErrorCodeRow{C::kInvalidTarget, "invalid_target", "400",
                 "The path behind `/p/<provider>` has `..` or `.` segments, a backslash or a "
                 "fragment, plain or percent-encoded."},
    ErrorCodeRow{C::kRequestTimeout, "request_timeout", "408",
                 "The request did not arrive in time."},
    ErrorCodeRow{C::kLengthRequired, "length_required", "411",
                 "The request needs a Content-Length or the chunked coding."},
    ErrorCodeRow{C::kRequestTooLarge, "request_too_large", "413",
                 "The body is larger than `server.max_request_size`."},
    ErrorCodeRow{C::kUriTooLong, "uri_too_long", "414", "The request target is too long."},
    ErrorCodeRow{C::kUnsupportedContentEncoding, "unsupported_content_encoding", "415",
                 "Request bodies are taken without a content coding."},
    ErrorCodeRow{C::kExpectationFailed, "expectation_failed", "417",
                 "The only expectation that is met is 100-continue."},
    ErrorCodeRow{C::kRequestHeadTooLarge, "request_head_too_large", "431",
                 "The head is larger than `server.max_head_size`."},
    ErrorCodeRow{C::kTooManyHeaders, "too_many_headers", "431",
                 "The head has more fields than `server.max_headers`."},
    ErrorCodeRow{C::kMethodNotImplemented, "method_not_implemented", "501",
                 "The method is not known here."},
    ErrorCodeRow{C::kTransferCodingNotImplemented, "transfer_coding_not_implemented", "501",
                 "The only transfer coding taken is chunked."},
    ErrorCodeRow{C::kStarting, "starting", "503", "The sidecar is starting; retry shortly."},
    ErrorCodeRow{C::kServerBusy, "server_busy", "503",
                 "As many requests are being served as may be; retry shortly."},
    ErrorCodeRow{C::kBuffersFull, "buffers_full", "503",
                 "The request bodies held at the moment leave no room for this one "
                 "(`server.max_buffered_bytes`); retry shortly."},
    ErrorCodeRow{C::kTooManyConnections, "too_many_connections", "503",
                 "As many connections are open as may be; retry shortly."},
    ErrorCodeRow{C::kHttpVersionNotSupported, "http_version_not_supported", "505",
                 "HTTP/1.1 and HTTP/1.0 are spoken."},
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
