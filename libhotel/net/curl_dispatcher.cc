#include "libhotel/net/curl_dispatcher.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "hotel/defaults.h"

#include "absl/status/status.h"
#include "libhotel/net/curl_options.h"
#include "libhotel/net/event_loop.h"
#include "libhotel/net/exchange.h"

namespace hotel::net {
namespace {

class CurlExchange final : public Exchange {
 public:
  CurlExchange(std::shared_ptr<CurlMulti> multi, std::shared_ptr<Transfer> transfer)
      : multi_(std::move(multi)), transfer_(std::move(transfer)) {}
  ~CurlExchange() override { multi_->Abandon(transfer_); }

  void Resume() override { multi_->Resume(transfer_); }
  void Cancel() override { multi_->Cancel(transfer_); }

 private:
  const std::shared_ptr<CurlMulti> multi_;
  const std::shared_ptr<Transfer> transfer_;
};

std::size_t MostMultis(std::size_t connections) {
  return std::max<std::size_t>(1, connections / CurlDispatcher::kMostConnections);
}

CurlOptions OfOne(CurlOptions options) {
  if (MostMultis(options.max_connections) > 1) {
    options.max_connections = CurlDispatcher::kMostConnections;
  }
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CurlDispatcher>> CurlDispatcher::Create(EventLoop* loop,
                                                                       const CurlOptions& options,
                                                                       Duration keep) {
  absl::StatusOr<std::shared_ptr<CurlMulti>> first = CurlMulti::Create(loop, OfOne(options));
  if (!first.ok()) return first.status();
  return std::unique_ptr<CurlDispatcher>(
      new CurlDispatcher(loop, options, keep, *std::move(first)));
}

CurlDispatcher::CurlDispatcher(EventLoop* loop, const CurlOptions& options, Duration keep,
                               std::shared_ptr<CurlMulti> first)
    : loop_(loop),
      options_(OfOne(options)),
      most_multis_(MostMultis(options.max_connections)),
      keep_(keep),
      multis_{{std::move(first), TimePoint{}}} {}

CurlDispatcher::~CurlDispatcher() {
  loop_->CancelTimer(sweep_);
  for (const Member& member : multis_) member.multi->Shutdown();
}

std::unique_ptr<Exchange> CurlDispatcher::Start(UpstreamRequest request, ResponseHandler* handler) {
  Member& member = Choose();
  member.used = loop_->Now();
  return std::make_unique<CurlExchange>(member.multi,
                                        member.multi->Start(std::move(request), handler));
}

CurlDispatcher::Member& CurlDispatcher::Choose() {
  Member* least = &multis_.front();
  for (Member& member : multis_) {
    if (member.multi->running() < kMostRunning) return member;
    if (member.multi->running() < least->multi->running()) least = &member;
  }
  if (multis_.size() >= most_multis_) return *least;
  absl::StatusOr<std::shared_ptr<CurlMulti>> next = CurlMulti::Create(loop_, options_);
  if (!next.ok()) return *least;  // the system has no descriptors for it
  multis_.push_back({*std::move(next), TimePoint{}});
  ArmSweep();
  return multis_.back();
}

void CurlDispatcher::ArmSweep() {
  if (sweep_ == 0) sweep_ = loop_->RunAt(loop_->Now() + keep_, [this] { Sweep(); });
}

// Without work a multi handle does not look after its idle connections.
void CurlDispatcher::Sweep() {
  sweep_ = 0;
  const TimePoint before = loop_->Now() - keep_;
  const auto idle = [before](const Member& member) {
    return member.multi->running() == 0 && member.used <= before;
  };
  const auto gone = std::stable_partition(multis_.begin() + 1, multis_.end(),
                                          [&](const Member& member) { return !idle(member); });
  for (auto member = gone; member != multis_.end(); ++member) member->multi->Shutdown();
  multis_.erase(gone, multis_.end());
  if (multis_.size() > 1) ArmSweep();
}

}  // namespace hotel::net

namespace hotel {

absl::StatusOr<std::unique_ptr<Dispatcher>> MakeCurlDispatcher(Loop* loop,
                                                               const CurlOptions& options) {
  auto* const event_loop = dynamic_cast<net::EventLoop*>(loop);
  if (event_loop == nullptr) {
    return absl::InvalidArgumentError("the loop was not made by StartEventLoop");
  }
  if (!options.ca_file.empty() && ::access(options.ca_file.c_str(), R_OK) != 0) {
    return absl::InvalidArgumentError("the file of trusted roots cannot be read: " +
                                      options.ca_file);
  }
  const absl::Status ready = net::InitCurl();
  if (!ready.ok()) return ready;
  absl::StatusOr<std::unique_ptr<net::CurlDispatcher>> dispatcher =
      net::CurlDispatcher::Create(event_loop, options);
  if (!dispatcher.ok()) return dispatcher.status();
  return std::unique_ptr<Dispatcher>(*std::move(dispatcher));
}

}  // namespace hotel
