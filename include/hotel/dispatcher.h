// The transport seam: one HTTP exchange with one upstream.
//
// Implement `Dispatcher` to route over something else than curl (an in-process model, a test
// script). Everything here happens on the loop thread the dispatcher belongs to.
#ifndef HOTEL_DISPATCHER_H_
#define HOTEL_DISPATCHER_H_

#include <memory>
#include <string>
#include <string_view>

#include "hotel/transport.h"
#include "hotel/types.h"

namespace hotel {

/// What goes out. Header values are sent as they are: the builder guarantees that they hold no
/// control characters. `Host`, `Content-Length` and framing are the dispatcher's.
struct UpstreamRequest {
  std::string method = "POST";
  std::string url;  ///< absolute http:// or https://
  HeaderList headers;
  Body body;
  /// Name lookup, connect and TLS together. > 0.
  Duration connect_timeout{};
  /// What is particular to this provider's connections; null = nothing.
  std::shared_ptr<const TransportOptions> transport;
};

/// How far an exchange got. It decides whether repeating it is safe: after kSent the provider may
/// have acted (and billed) although no answer came.
enum class TransportPhase {
  kNotSent,  ///< lookup, connect, TLS: no byte of the request left
  kSent,     ///< at least one byte of the request was written, no line of the answer came
  kHead,     ///< at least one whole line of the answer's head came
  kBody,     ///< the head was delivered
};
const char* TransportPhaseName(TransportPhase phase) noexcept;

/// What went wrong underneath HTTP.
enum class TransportError {
  kNone,
  kResolve,         ///< the name has no address
  kRefusedAddress,  ///< the address policy forbids where the name leads
  kConnect,         ///< refused, unreachable
  kConnectTimeout,  ///< UpstreamRequest::connect_timeout passed
  kTls,             ///< handshake or certificate
  kInterrupted,     ///< reset, broken pipe, closed before the answer was complete
  kProtocol,        ///< what came is not HTTP, or breaks its framing
  kLocal,     ///< this process is out of descriptors or memory: says nothing about the provider
  kTooLarge,  ///< the answer's head exceeds the dispatcher's bounds
  kOther,
};
const char* TransportErrorName(TransportError error) noexcept;

/// The end of an exchange.
struct ExchangeResult {
  enum class Outcome {
    kComplete,   ///< the answer ended as its framing said
    kFailed,     ///< see `error`
    kCancelled,  ///< Exchange::Cancel was called first
  };
  Outcome outcome = Outcome::kComplete;
  TransportPhase phase = TransportPhase::kNotSent;
  TransportError error = TransportError::kNone;
  /// True when the request went out on a connection that had served another one before.
  bool reused_connection = false;
  /// A short technical reason for logs; holds no header, body or credential.
  std::string detail;
};

/// Receives one exchange, in this order: OnHead at most once, OnBody any number of times, OnDone
/// exactly once and last. Never called from inside Dispatcher::Start, Exchange::Resume or
/// Exchange::Cancel. Must outlive OnDone. Must not throw.
class ResponseHandler {
 public:
  virtual ~ResponseHandler() = default;

  /// The final head: 1xx heads are swallowed, redirects are delivered like any other status.
  virtual void OnHead(int status, HeaderList headers) = 0;

  /// A piece of the body, transfer coding removed, content coding as sent. kPause means *not
  /// consumed*: nothing more comes until Exchange::Resume, then the same bytes come again (perhaps
  /// cut differently).
  virtual Flow OnBody(std::string_view bytes) = 0;

  virtual void OnDone(const ExchangeResult& result) = 0;
};

/// A running exchange. Destroying it before OnDone cancels it without a further callback.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Ends a pause. No effect when not paused.
  virtual void Resume() = 0;
  /// Closes the upstream connection at once (that is what stops a provider generating) and delivers
  /// OnDone(kCancelled) in a later turn. No effect after OnDone.
  virtual void Cancel() = 0;
};

/// Starts exchanges. Loop thread only.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;

  /// Begins an exchange. Never fails synchronously: what goes wrong arrives as OnDone.
  /// `handler` must stay alive until OnDone or until the Exchange is destroyed.
  virtual std::unique_ptr<Exchange> Start(UpstreamRequest request, ResponseHandler* handler) = 0;
};

}  // namespace hotel

#endif  // HOTEL_DISPATCHER_H_
