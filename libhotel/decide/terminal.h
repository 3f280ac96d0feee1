// The words of an answer that the gateway writes itself (facts g).
#ifndef HOTEL_DECIDE_TERMINAL_H_
#define HOTEL_DECIDE_TERMINAL_H_

#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "libhotel/decide/attempt_types.h"

namespace hotel::decide {

/// Names that appear in the sentences.
struct TerminalNames {
  std::string_view requested_model;  ///< as the client asked: "hotel/glm-4.6"
  /// Of the attempt the answer is about, or the one named directly; "" if none.
  std::string_view provider;
};

struct TerminalAnswer {
  int status = 502;
  std::string code;  ///< stable word: "no_available_provider", "failover_timeout", ...
  std::string message;
  ErrorKind kind = ErrorKind::kProviderError;
  std::optional<int> retry_after_seconds;  ///< 1..60 where a circuit or a 429 stands behind it
};

/// For kServedError and kClientGone, which write nothing, it gives the words of the record;
/// kClientGone has no code. For kProviderError they are the record's too, and the envelope's when
/// the provider's body cannot be forwarded. REQUIRES: finish.how is not kServed.
TerminalAnswer MakeTerminal(const Finish& finish, const TerminalNames& names, TimePoint now);

/// The three refusals of the resolver, all 404 (seed 000, "Hotel Routing"), and bad model forms
/// (400).
TerminalAnswer ModelNotFound(std::string_view requested_model);
TerminalAnswer GroupDisabled();
TerminalAnswer GroupEmpty();
/// `suggestion` = "hotel/<name>" when a group of that name exists, "" otherwise.
TerminalAnswer BadModelForm(std::string_view suggestion);
TerminalAnswer BadRequest(std::string_view message);
/// Nobody whom `requested_model` names speaks the dialect of the endpoint at `path`.
TerminalAnswer EndpointNotSupported(std::string_view requested_model, std::string_view path);
/// The passthrough names no provider that is switched on.
TerminalAnswer ProviderNotFound(std::string_view provider);
/// The virtual key may use none of the providers that the name leads to.
TerminalAnswer ProviderNotAllowed();
/// All candidates of the route hold a key that the master key does not open.
TerminalAnswer KeysUndecryptable(int count);

/// The error kind of an upstream status (facts a, g).
ErrorKind KindOfStatus(int status) noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_TERMINAL_H_
