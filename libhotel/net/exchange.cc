#include "libhotel/net/exchange.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <errno.h>
#include <sys/socket.h>

#include "absl/status/status.h"
#include "libhotel/net/http_text.h"

namespace hotel::net {
namespace {

// CURL_WRITEFUNC_ERROR is 7.87; a header callback has the same "not all taken" convention.
constexpr std::size_t kAbort = CURL_WRITEFUNC_ERROR;

}  // namespace

Transfer::Transfer(UpstreamRequest request, ResponseHandler* handler,
                   std::shared_ptr<Shared> shared)
    : request_(std::move(request)),
      handler_(handler),
      shared_(std::move(shared)),
      head_(shared_->head) {}

Transfer::~Transfer() { ReleaseHandle(); }

void Transfer::Fail(TransportError error, std::string detail) {
  if (failure_ != TransportError::kNone) return;
  failure_ = error;
  failure_detail_ = std::move(detail);
}

EasyCallbacks Transfer::Callbacks(curl_closesocket_callback close_socket, void* close_context) {
  return {
      &Transfer::OnRead,       &Transfer::OnSeek,          &Transfer::OnWrite, &Transfer::OnHeader,
      &Transfer::OnOpenSocket, &Transfer::OnBeforeRequest, close_socket,       close_context};
}

// Whether the request may go where it is to go.
bool Transfer::CheckPlaces() {
  const auto refuse = [this](TransportError error, const absl::Status& status) {
    Fail(error, std::string(status.message()));
    return false;
  };
  const TransportOptions* transport = request_.transport.get();
  if (transport != nullptr && !transport->unix_socket.empty()) {
    const absl::Status allowed = shared_->rules.CheckUnixSocket(transport->unix_socket);
    if (!allowed.ok()) return refuse(TransportError::kRefusedAddress, allowed);
    if (!transport->proxy.empty()) {
      return refuse(TransportError::kOther,
                    absl::InvalidArgumentError("a socket cannot be reached through a proxy"));
    }
    absl::StatusOr<ProviderUrl> url = ProviderUrl::Parse(request_.url);
    if (!url.ok()) return refuse(TransportError::kOther, url.status());
    url_ = std::make_shared<const ProviderUrl>(*std::move(url));
    return true;
  }
  absl::StatusOr<std::shared_ptr<const ProviderUrl>> url = shared_->urls.Check(request_.url);
  if (!url.ok()) {
    return refuse(absl::IsPermissionDenied(url.status()) ? TransportError::kRefusedAddress
                                                         : TransportError::kOther,
                  url.status());
  }
  url_ = *std::move(url);
  if (transport == nullptr || transport->proxy.empty()) return true;
  absl::StatusOr<ProxyUrl> proxy = ProxyUrl::Parse(transport->proxy);
  if (!proxy.ok()) return refuse(TransportError::kOther, proxy.status());
  const absl::Status allowed = shared_->rules.CheckProxy(*proxy);
  if (!allowed.ok()) return refuse(TransportError::kRefusedAddress, allowed);
  proxy_ = *std::move(proxy);
  return true;
}

bool Transfer::Prepare() {
  if (!CheckPlaces()) return false;
  headers_ = HeaderLines::Build(request_.headers);
  if (!headers_ || !IsToken(request_.method)) {
    Fail(TransportError::kOther, "the request's method or a header cannot be sent as it is");
    return false;
  }
  request_.headers = {};  // its lines have them all
  easy_ = shared_->handles.Take();
  const std::size_t size = request_.body.size();
  if (size > 0 && size <= kSmallBody) {
    small_body_.resize(size);
    request_.body.Read(0, small_body_.data(), size);
  }
  const EasyOptions options{&request_,
                            &url_->canonical,
                            headers_->list(),
                            proxy_ ? &*proxy_ : nullptr,
                            small_body_.empty() ? nullptr : &small_body_,
                            error_text_.data(),
                            this};
  if (easy_ == nullptr || !SetRequestOptions(easy_, options)) {
    Fail(TransportError::kOther, "libcurl refused the request's options");
    return false;
  }
  return true;
}

void Transfer::ReleaseHandle(bool reusable) {
  if (easy_ == nullptr) return;
  long sent = 0;
  ::curl_easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &sent);
  bytes_left_ = request_began_ && (sent > sent_before_ || body_offset_ > 0);
  shared_->handles.Return(std::exchange(easy_, nullptr), reusable && !request_.transport);
  headers_.reset();
  small_body_ = std::string();
  paused_ = false;
}

void Transfer::Finish(const ExchangeResult& result) {
  if (finished_) return;
  finished_ = true;
  if (ResponseHandler* handler = std::exchange(handler_, nullptr)) handler->OnDone(result);
}

void Transfer::PrepareAgain() {
  stale_ = false;
  SetFreshConnection(easy_);
}

CURLcode Transfer::Unpause() {
  paused_ = false;
  return ::curl_easy_pause(easy_, CURLPAUSE_CONT);
}

std::size_t Transfer::OnRead(char* out, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const std::size_t got = transfer->request_.body.Read(transfer->body_offset_, out, size * count);
  transfer->body_offset_ += got;
  return got;
}

int Transfer::OnSeek(void*, curl_off_t, int) { return CURL_SEEKFUNC_FAIL; }

std::size_t Transfer::OnWrite(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  if (transfer->Gone()) return kAbort;
  const Flow flow = transfer->handler_->OnBody(std::string_view(data, size * count));
  if (transfer->Gone()) return kAbort;
  if (flow == Flow::kPause) {
    transfer->paused_ = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  return size * count;
}

std::size_t Transfer::OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  return transfer->HeaderLine(std::string_view(data, size * count)) ? size * count : kAbort;
}

bool Transfer::HeaderLine(std::string_view line) {
  if (Gone()) return false;
  if (head_delivered_) return true;  // a trailer
  switch (head_.Feed(line)) {
    case ResponseHead::Progress::kMore:
      return true;
    case ResponseHead::Progress::kFinal:
      head_delivered_ = true;
      handler_->OnHead(head_.status(), head_.TakeHeaders());
      return !Gone();
    case ResponseHead::Progress::kProtocol:
      Fail(TransportError::kProtocol, "the answer's head is not valid HTTP/1");
      return false;
    case ResponseHead::Progress::kTooLarge:
      Fail(TransportError::kTooLarge, "the answer's head is too large");
      return false;
  }
  return false;
}

curl_socket_t Transfer::OnOpenSocket(void* self, curlsocktype purpose, curl_sockaddr* address) {
  if (purpose != CURLSOCKTYPE_IPCXN) return CURL_SOCKET_BAD;
  return static_cast<Transfer*>(self)->OpenSocket(*address);
}

curl_socket_t Transfer::OpenSocket(const curl_sockaddr& address) {
  if (request_began_) {
    // libcurl wants to send the request a second time, because the reused connection died before a
    // byte came back. Whether to repeat it is the caller's decision.
    resend_refused_ = true;
    return CURL_SOCKET_BAD;
  }
  // A socket's path was checked by name, and nothing but what was asked for has this family.
  const bool by_path = request_.transport && !request_.transport->unix_socket.empty();
  if (!by_path || address.family != AF_UNIX) {
    const std::optional<base::IpAddress> ip = base::IpAddress::FromSockaddr(&address.addr);
    const std::string& host = proxy_ ? proxy_->host : url_->host;
    if (by_path || !ip || !shared_->rules.Allows(*ip, host, proxy_ ? proxy_->port : url_->port)) {
      refused_address_ = ip ? ip->ToString() : "an address that is not IP";
      return CURL_SOCKET_BAD;
    }
  }
  address_tried_ = true;
  const int fd = ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (fd < 0) {
    starved_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  } else {
    opened_.push_back(fd);
  }
  return fd;
}

int Transfer::OnBeforeRequest(void* self, char* remote_ip, char*, int, int local_port) {
  return static_cast<Transfer*>(self)->BeforeRequest(remote_ip, local_port) ? CURL_PREREQFUNC_OK
                                                                            : CURL_PREREQFUNC_ABORT;
}

bool Transfer::BeforeRequest(std::string_view remote_ip, int local_port) {
  if (request_began_) {  // a resend on another kept connection
    resend_refused_ = true;
    return false;
  }
  if (address_tried_) {
    for (const int fd : opened_) {
      shared_->sockets.Opened(fd, local_port, remote_ip, request_.transport);
    }
  } else if (!shared_->sockets.Fit(local_port, remote_ip, request_.transport.get(),
                                   &shared_->taken)) {
    // It ended, or spoke unasked, after the loop last looked at it; or it is another provider's.
    stale_ = true;
    return false;
  } else {
    reused_ = true;
  }
  ::curl_easy_getinfo(easy_, CURLINFO_REQUEST_SIZE, &sent_before_);
  request_began_ = true;
  return true;
}

}  // namespace hotel::net
