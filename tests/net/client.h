// A loop, a dispatcher on it, and calls whose callbacks a test can wait for.
#ifndef HOTEL_TESTS_NET_CLIENT_H_
#define HOTEL_TESTS_NET_CLIENT_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/defaults.h"
#include "hotel/dispatcher.h"

namespace hotel::net_test {

inline constexpr std::chrono::seconds kLong(60);

/// A call's callbacks, recorded. The hooks run on the loop thread.
class Recorder : public ResponseHandler {
 public:
  // Set before the start.
  std::function<void()> on_head;
  std::function<Flow(std::string_view)> on_body;  ///< kPause: the bytes are not recorded
  std::function<void()> on_done;

  bool WaitHead(std::chrono::milliseconds limit = kLong);
  bool WaitBody(std::size_t size, std::chrono::milliseconds limit = kLong);
  /// True when OnDone came in time.
  bool WaitDone(std::chrono::milliseconds limit = kLong);

  int status() const;
  HeaderList headers() const;
  std::string body() const;
  ExchangeResult result() const;
  bool done() const;
  int heads() const;
  /// Callbacks that broke the order head, body, done.
  int violations() const;

  void OnHead(int status, HeaderList headers) override;
  Flow OnBody(std::string_view bytes) override;
  void OnDone(const ExchangeResult& result) override;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int status_ = 0;
  int heads_ = 0;
  int violations_ = 0;
  bool done_ = false;
  HeaderList headers_;
  std::string body_;
  ExchangeResult result_;
};

struct Call {
  Recorder recorder;
  std::unique_ptr<Exchange> exchange;  // loop thread only
};

class Client {
 public:
  /// Loopback is allowed, over http.
  static CurlOptions LoopbackOptions();
  static UpstreamRequest Post(std::string url, std::string body = "{}");

  Client() : Client(LoopbackOptions()) {}
  explicit Client(const CurlOptions& options, std::size_t loops = 1);
  ~Client();

  Loop* loop() { return thread_->loop(); }
  Dispatcher* dispatcher() { return dispatcher_.get(); }

  /// Runs `task` on the loop and waits for its end.
  void OnLoop(const std::function<void()>& task);
  /// Starts an exchange; the client keeps the call.
  Call& Start(UpstreamRequest request);
  Call& Start(UpstreamRequest request, const std::function<void(Call&)>& prepare);
  /// Starts one and waits for its end.
  Call& Run(UpstreamRequest request);
  void Cancel(Call& call);
  void Resume(Call& call);
  /// Destroys the exchange object.
  void Drop(Call& call);
  /// Destroys the dispatcher on the loop.
  void DropDispatcher();

 private:
  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::unique_ptr<Call>> calls_;
};

/// Descriptors this process has open.
std::size_t OpenDescriptors();
/// Waits until the count is `expected` or less; returns the last count.
std::size_t WaitOpenDescriptors(std::size_t expected, std::chrono::milliseconds limit = kLong);

}  // namespace hotel::net_test

#endif  // HOTEL_TESTS_NET_CLIENT_H_
