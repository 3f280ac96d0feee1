#include "libhotel/net/curl_multi.h"

#include <cassert>
#include <chrono>
#include <utility>

#include "libhotel/net/curl_options.h"

namespace hotel::net {

absl::StatusOr<std::shared_ptr<CurlMulti>> CurlMulti::Create(EventLoop* loop,
                                                             const CurlOptions& options) {
  absl::StatusOr<AddressRules> rules = AddressRules::Create(options.addresses);
  if (!rules.ok()) return rules.status();
  std::shared_ptr<CurlMulti> multi(new CurlMulti(loop, options, *std::move(rules)));
  multi->multi_ = ::curl_multi_init();
  const MultiCallbacks callbacks{&CurlMulti::OnSocket, &CurlMulti::OnTimer, multi.get()};
  if (multi->multi_ == nullptr ||
      !SetMultiOptions(multi->multi_, callbacks, options.max_connections)) {
    return absl::FailedPreconditionError("libcurl refused the multi handle's options");
  }
  return multi;
}

CurlMulti::CurlMulti(EventLoop* loop, const CurlOptions& options, AddressRules rules)
    : loop_(loop),
      shared_(std::make_shared<Transfer::Shared>(
          std::move(rules), ResponseHead::Limits{options.max_head_bytes, options.max_head_fields},
          options.ca_file, &CurlMulti::OnCloseSocket, this)) {}

CurlMulti::~CurlMulti() { Shutdown(); }

void CurlMulti::Shutdown() {
  if (multi_ == nullptr) return;
  assert(!in_curl_);
  auto running = std::exchange(running_, {});
  for (auto& [raw, transfer] : running) {
    transfer->ForgetHandler();
    ::curl_multi_remove_handle(multi_, transfer->easy());
    transfer->ReleaseHandle();
  }
  ::curl_multi_cleanup(std::exchange(multi_, nullptr));
  loop_->CancelTimer(std::exchange(timer_, 0));
}

std::shared_ptr<Transfer> CurlMulti::Start(UpstreamRequest request, ResponseHandler* handler) {
  auto transfer = std::make_shared<Transfer>(std::move(request), handler, shared_);
  if (multi_ == nullptr) return transfer;
  if (!transfer->Prepare()) {
    CompleteLater(transfer);
  } else if (in_curl_) {
    to_add_.push_back(transfer);
  } else {
    Add(transfer);
  }
  return transfer;
}

void CurlMulti::Add(const std::shared_ptr<Transfer>& transfer) {
  if (::curl_multi_add_handle(multi_, transfer->easy()) != CURLM_OK) {
    transfer->Fail(TransportError::kOther, "libcurl refused the request");
    CompleteLater(transfer);
    return;
  }
  running_.emplace(transfer.get(), transfer);
}

void CurlMulti::CompleteLater(const std::shared_ptr<Transfer>& transfer) {
  loop_->Post(
      [self = shared_from_this(), transfer] { self->Complete(transfer, CURLE_FAILED_INIT); });
}

void CurlMulti::Complete(const std::shared_ptr<Transfer>& transfer, CURLcode code) {
  if (multi_ == nullptr || transfer->cancelled()) return;  // ended silently, or about to be told
  Remove(transfer.get(), /*reusable=*/code == CURLE_OK);
  transfer->Finish(transfer->Result(code));
}

void CurlMulti::Remove(Transfer* transfer, bool reusable) {
  if (running_.erase(transfer) != 0) ::curl_multi_remove_handle(multi_, transfer->easy());
  transfer->ReleaseHandle(reusable);
}

void CurlMulti::Cancel(const std::shared_ptr<Transfer>& transfer) {
  if (multi_ == nullptr || transfer->finished() || transfer->cancelled()) return;
  transfer->MarkCancelled();
  Detach(transfer);
  loop_->Post(
      [self = shared_from_this(), transfer] { transfer->Finish(transfer->CancelledResult()); });
}

void CurlMulti::Abandon(const std::shared_ptr<Transfer>& transfer) {
  transfer->ForgetHandler();
  if (multi_ == nullptr || transfer->finished() || transfer->cancelled()) return;
  transfer->MarkCancelled();
  Detach(transfer);
}

void CurlMulti::Detach(const std::shared_ptr<Transfer>& transfer) {
  if (in_curl_) {
    to_remove_.push_back(transfer);
  } else {
    // On HTTP/1.1 this closes the socket: the answer was not read to its end.
    Remove(transfer.get());
  }
}

void CurlMulti::Resume(const std::shared_ptr<Transfer>& transfer) {
  if (multi_ == nullptr || !transfer->paused() || transfer->resume_posted) return;
  // Posted: libcurl calls the write callback before it returns from ending a pause.
  transfer->resume_posted = true;
  loop_->Post([self = shared_from_this(), transfer] { self->ContinuePaused(transfer); });
}

void CurlMulti::ContinuePaused(const std::shared_ptr<Transfer>& transfer) {
  transfer->resume_posted = false;
  if (multi_ == nullptr || transfer->cancelled() || !transfer->paused()) return;
  in_curl_ = true;
  shared_->taken.clear();
  const CURLcode code = transfer->Unpause();
  in_curl_ = false;
  // An error here (the handler was called and the exchange is to end) is reported nowhere else.
  if (code != CURLE_OK) Complete(transfer, code);
  Settle();
}

void CurlMulti::Act(curl_socket_t fd, int events) {
  if (multi_ == nullptr) return;
  in_curl_ = true;
  shared_->taken.clear();
  int running = 0;
  ::curl_multi_socket_action(multi_, fd, events, &running);
  in_curl_ = false;
  Settle();
}

// Does what was noted while libcurl ran, and reports what it finished. A handler may start, cancel
// and destroy exchanges in OnDone, and even the dispatcher.
void CurlMulti::Settle() {
  NoteTaken();
  while (multi_ != nullptr) {
    for (const auto& transfer : std::exchange(to_remove_, {})) Remove(transfer.get());
    for (const auto& transfer : std::exchange(to_add_, {})) {
      if (!transfer->cancelled()) Add(transfer);
    }
    for (const auto& transfer : std::exchange(to_fail_, {})) {
      Complete(transfer, CURLE_FAILED_INIT);
    }
    if (multi_ == nullptr) return;
    int left = 0;
    const CURLMsg* message = ::curl_multi_info_read(multi_, &left);
    if (message == nullptr) return DropLoose();
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    char* context = nullptr;
    ::curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context);
    const auto found = running_.find(reinterpret_cast<Transfer*>(context));
    if (found == running_.end()) continue;
    const std::shared_ptr<Transfer> transfer = found->second;
    if (transfer->stale()) {
      // Nothing has been sent and the handler knows nothing: another connection does as well.
      running_.erase(found);
      ::curl_multi_remove_handle(multi_, transfer->easy());
      transfer->PrepareAgain();
      Add(transfer);
      continue;
    }
    WatchIdle(*transfer);
    Complete(transfer, code);
  }
}

int CurlMulti::OnTimer(CURLM*, long timeout_ms, void* self) {
  static_cast<CurlMulti*>(self)->TimerChanged(timeout_ms);
  return 0;
}

// Only notes the time: libcurl must not be called from here.
void CurlMulti::TimerChanged(long timeout_ms) {
  loop_->CancelTimer(std::exchange(timer_, 0));
  if (timeout_ms < 0) return;
  const TimePoint when = loop_->Now() + std::chrono::milliseconds(timeout_ms);
  timer_ = loop_->RunAt(when, [weak = weak_from_this()] {
    const std::shared_ptr<CurlMulti> multi = weak.lock();
    if (multi == nullptr) return;
    multi->timer_ = 0;
    multi->Act(CURL_SOCKET_TIMEOUT, 0);
  });
}

}  // namespace hotel::net
