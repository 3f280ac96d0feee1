// Error answers in the client's dialect.
#ifndef HOTEL_WIRE_ERRORS_H_
#define HOTEL_WIRE_ERRORS_H_

#include <string>
#include <string_view>

#include "libhotel/wire/endpoints.h"

namespace hotel::wire {

/// `type` of an error body for a status (facts g): authentication_error, permission_error,
/// not_found_error, rate_limit_error, server_error, invalid_request_error.
std::string_view OpenAiErrorType(int status) noexcept;

/// `error.type` of an Anthropic error body for a status (facts g): invalid_request_error,
/// authentication_error, permission_error, not_found_error, request_too_large, rate_limit_error,
/// overloaded_error, api_error.
std::string_view AnthropicErrorType(int status) noexcept;

/// The body of an error answer: `{"error":{"message":...,"type":...,"code":...}}`, in the messages
/// dialect `{"type":"error","error":{"type":...,"message":...,"code":...}}`. `code` is the stable
/// machine-readable word.
std::string ErrorBody(Dialect dialect, int status, std::string_view code, std::string_view message);
/// The same with a type that is not the status's.
std::string ErrorBodyOfType(Dialect dialect, std::string_view type, std::string_view code,
                            std::string_view message);

/// The one event that ends a stream that is not whole, blank line included (R36-R38; decisions 10);
/// "" in the plain dialect, where only a missing end can tell.
std::string StreamError(Dialect dialect, std::string_view code, std::string_view message);

/// A provider's refusal of the payload as the client gets it (facts g): the provider's own bytes
/// when they are a JSON object with an `error` member and at most 1 MiB (in the messages dialect:
/// an Anthropic error), otherwise an envelope with sanitized text; `secret` and key-shaped words
/// are masked in either case.
std::string RelayProviderError(Dialect dialect, int status, std::string_view body,
                               std::string_view secret);

/// At most `limit` bytes of provider text for a record: control characters dropped, cut at a
/// character boundary, `secret` and key-shaped words masked, UUIDs replaced.
std::string SanitizeDetail(std::string_view text, std::string_view secret, std::size_t limit);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_ERRORS_H_
