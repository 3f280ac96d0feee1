// One page of a provider's list of models, fetched on the loop.
#ifndef HOTEL_ROUTE_PAGE_FETCH_H_
#define HOTEL_ROUTE_PAGE_FETCH_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "hotel/dispatcher.h"
#include "hotel/failover_group.h"
#include "hotel/loop.h"
#include "hotel/types.h"

#include "absl/status/statusor.h"

namespace hotel::route {

/// Loop thread only. Tries again on transport failures, 429 and 5xx: three times, one second later
/// each time than the time before (facts l). A try that has not ended after 15 s failed.
class PageFetch final : private ResponseHandler {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;
  static constexpr int kMostTries = 4;
  /// Gets the decoded body, or a sentence without credentials. Called once, in a later turn, unless
  /// the fetch is destroyed before.
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  PageFetch(Loop* loop, Dispatcher* dispatcher, std::shared_ptr<const Provider> provider,
            Duration connect_timeout, Done done);
  ~PageFetch() override;

  /// Once. `after` as in wire::ModelsUrl.
  void Start(const std::string& after);

 private:
  void Try();
  void OnHead(int status, HeaderList headers) override;
  Flow OnBody(std::string_view bytes) override;
  void OnDone(const ExchangeResult& result) override;
  void OnTime();
  /// The try is over; `why` says what was wrong with it.
  void EndTry(std::string why, bool again);
  void Finish(absl::StatusOr<std::string> result);
  /// What a status other than 200 came with, in one line and masked.
  std::string Excerpt() const;
  absl::StatusOr<std::string> Decoded() const;

  Loop* const loop_;
  Dispatcher* const dispatcher_;
  const std::shared_ptr<const Provider> provider_;
  const Duration connect_timeout_;
  Done done_;
  std::string url_;
  int tries_ = 0;
  int status_ = 0;
  bool too_large_ = false;
  std::string coding_;
  std::string body_;
  std::unique_ptr<Exchange> exchange_;
  Loop::TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for posted tasks
};

}  // namespace hotel::route

#endif  // HOTEL_ROUTE_PAGE_FETCH_H_
