// What libcurl's codes mean for the caller.
#include <algorithm>
#include <string>

#include "libhotel/net/exchange.h"

namespace hotel::net {

TransportPhase Transfer::Phase() const noexcept {
  if (head_delivered_) return TransportPhase::kBody;
  if (head_.started()) return TransportPhase::kHead;
  return bytes_left_ ? TransportPhase::kSent : TransportPhase::kNotSent;
}

ExchangeResult Transfer::CancelledResult() const {
  ExchangeResult result;
  result.outcome = ExchangeResult::Outcome::kCancelled;
  result.phase = Phase();
  result.reused_connection = reused_;
  return result;
}

ExchangeResult Transfer::Result(CURLcode code) const {
  ExchangeResult result;
  result.phase = Phase();
  result.reused_connection = reused_;
  if (code == CURLE_OK && failure_ == TransportError::kNone && head_delivered_) return result;
  result.outcome = ExchangeResult::Outcome::kFailed;
  result.error = ErrorOf(code, result.phase);
  result.detail = DetailOf(code, result.phase);
  return result;
}

TransportError Transfer::ErrorOf(CURLcode code, TransportPhase phase) const noexcept {
  if (failure_ != TransportError::kNone) return failure_;
  if (resend_refused_) return TransportError::kInterrupted;
  const bool sent = phase != TransportPhase::kNotSent;
  const std::string_view text(error_text_.data());
  switch (code) {
    case CURLE_OK:  // an end without a head
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_SEND_FAIL_REWIND:
      return TransportError::kInterrupted;
    case CURLE_PROXY:
      return TransportError::kConnect;
    case CURLE_RECV_ERROR:
      if (proxy_ && !request_began_) return TransportError::kConnect;  // it refused the tunnel
      // libcurl reports broken chunk framing under the same code as a reset; only its text tells.
      return text.find("hunk") != std::string_view::npos ||
                     text.find("exadecimal") != std::string_view::npos
                 ? TransportError::kProtocol
                 : TransportError::kInterrupted;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return TransportError::kResolve;
    case CURLE_COULDNT_CONNECT:
      if (starved_) return TransportError::kLocal;
      return !refused_address_.empty() && !address_tried_ ? TransportError::kRefusedAddress
                                                          : TransportError::kConnect;
    case CURLE_OPERATION_TIMEDOUT:  // the only timeout set is the connect timeout
      return TransportError::kConnectTimeout;
    case CURLE_INTERFACE_FAILED:
      return TransportError::kConnect;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_SSL_SHUTDOWN_FAILED:
      return TransportError::kTls;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
      return sent ? TransportError::kProtocol : TransportError::kOther;
    case CURLE_OUT_OF_MEMORY:
      // How 7.88 reports a header line beyond its own 100 KiB.
      return sent && !head_delivered_ ? TransportError::kTooLarge : TransportError::kOther;
    default:
#if CURL_AT_LEAST_VERSION(8, 6, 0)
      if (code == CURLE_TOO_LARGE && sent && !head_delivered_) return TransportError::kTooLarge;
#endif
      return TransportError::kOther;
  }
}

std::string Transfer::DetailOf(CURLcode code, TransportPhase phase) const {
  if (failure_ != TransportError::kNone) return failure_detail_;
  if (resend_refused_) return "the kept connection closed before it answered";
  if (starved_) return "this process has no descriptor or memory left for a connection";
  if (ErrorOf(code, phase) == TransportError::kRefusedAddress) {
    return "the address policy refuses " + refused_address_ +
           "; if the provider really is there, name its host in allowed_provider_hosts";
  }
  // Before the request left, libcurl's own text speaks of the network and of certificates, and says
  // much more than the code. Later it may quote the answer, so the code's fixed text has to do.
  std::string text(error_text_.data());
  if (phase != TransportPhase::kNotSent || text.empty()) return ::curl_easy_strerror(code);
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace hotel::net
