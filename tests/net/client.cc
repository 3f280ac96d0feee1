#include "tests/net/client.h"

#include <filesystem>
#include <future>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

namespace hotel::net_test {

bool Recorder::WaitHead(std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return heads_ > 0; });
}

bool Recorder::WaitBody(std::size_t size, std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return body_.size() >= size; });
}

bool Recorder::WaitDone(std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return done_; });
}

int Recorder::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

HeaderList Recorder::headers() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return headers_;
}

std::string Recorder::body() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return body_;
}

ExchangeResult Recorder::result() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return result_;
}

bool Recorder::done() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}

int Recorder::heads() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return heads_;
}

int Recorder::violations() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return violations_;
}

void Recorder::OnHead(int status, HeaderList headers) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_ || heads_ > 0) ++violations_;
    ++heads_;
    status_ = status;
    headers_ = std::move(headers);
  }
  changed_.notify_all();
  if (on_head) on_head();
}

Flow Recorder::OnBody(std::string_view bytes) {
  const Flow flow = on_body ? on_body(bytes) : Flow::kContinue;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_ || heads_ != 1) ++violations_;
    if (flow == Flow::kContinue) body_ += bytes;
  }
  changed_.notify_all();
  return flow;
}

void Recorder::OnDone(const ExchangeResult& result) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_) ++violations_;
    done_ = true;
    result_ = result;
  }
  changed_.notify_all();
  if (on_done) on_done();
}

CurlOptions Client::LoopbackOptions() {
  CurlOptions options;
  options.addresses.allow_http = true;
  options.addresses.allowed_hosts = {"127.0.0.1", "::1"};
  return options;
}

UpstreamRequest Client::Post(std::string url, std::string body) {
  UpstreamRequest request;
  request.url = std::move(url);
  request.headers = {{"Content-Type", "application/json"}};
  request.body = Body(std::make_shared<const std::string>(std::move(body)));
  request.connect_timeout = std::chrono::seconds(5);
  return request;
}

Client::Client(const CurlOptions& options, std::size_t loops) {
  absl::StatusOr<std::unique_ptr<LoopThread>> thread = StartEventLoop();
  if (!thread.ok()) throw std::runtime_error(std::string(thread.status().message()));
  thread_ = *std::move(thread);
  absl::StatusOr<std::unique_ptr<Dispatcher>> dispatcher =
      MakeSpreadDispatcher(thread_->loop(), loops, options);
  if (!dispatcher.ok()) throw std::runtime_error(std::string(dispatcher.status().message()));
  dispatcher_ = *std::move(dispatcher);
}

Client::~Client() { thread_->Stop(); }

void Client::OnLoop(const std::function<void()>& task) {
  std::promise<void> ran;
  loop()->Post([&] {
    task();
    ran.set_value();
  });
  ran.get_future().wait();
}

Call& Client::Start(UpstreamRequest request) {
  return Start(std::move(request), [](Call&) {});
}

Call& Client::Start(UpstreamRequest request, const std::function<void(Call&)>& prepare) {
  calls_.push_back(std::make_unique<Call>());
  Call& call = *calls_.back();
  prepare(call);
  OnLoop([&] { call.exchange = dispatcher_->Start(std::move(request), &call.recorder); });
  return call;
}

Call& Client::Run(UpstreamRequest request) {
  Call& call = Start(std::move(request));
  call.recorder.WaitDone();
  return call;
}

void Client::Cancel(Call& call) {
  OnLoop([&] { call.exchange->Cancel(); });
}

void Client::Resume(Call& call) {
  OnLoop([&] { call.exchange->Resume(); });
}

void Client::Drop(Call& call) {
  OnLoop([&] { call.exchange.reset(); });
}

void Client::DropDispatcher() {
  OnLoop([&] { dispatcher_.reset(); });
}

std::size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t WaitOpenDescriptors(std::size_t expected, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::size_t count = OpenDescriptors();
  while (count > expected && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    count = OpenDescriptors();
  }
  return count;
}

}  // namespace hotel::net_test
