// The plain front: one thread per request, and the only file that touches cpp-httplib.
//
// httplib parses the request line, routes to one handler and formats answers. It never sees a
// client's socket, header fields or body: it is handed a rebuilt head that holds nothing but
// method, path and Connection, because 0.11.4 applies ranges and compression on the client's word,
// believes client-sent REMOTE_ADDR, decodes header values, and bounds neither time nor chunked
// bodies. Accepting is done here as well (its backlog is 5 and its accept loop ends on a failed
// accept).
#include "server/front.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include "libhotel/base/mutex.h"
#include "libhotel/base/strings.h"
#include "server/answer.h"
#include "server/connection.h"
#include "server/lingerer.h"
#include "server/worker_pool.h"

// What is used below is partly protected (svr_sock_, process_request) and changes between releases.
static_assert(std::string_view(CPPHTTPLIB_VERSION).substr(0, 5) == "0.11.",
              "front.cc is written for cpp-httplib 0.11; check every use before raising this");

namespace hotel::server {
namespace {

/// A batch goes out in pieces of this size, so that a slow client's progress is seen.
constexpr std::size_t kSendPiece = 64 * 1024;

/// One request and its answer: httplib's view of the connection.
class Exchange final : public httplib::Stream {
 public:
  Exchange(Connection* connection, const FrontOptions* options, RequestHandler* handler)
      : connection_(connection), options_(options), handler_(handler) {}

  /// The request that was read, or why it is refused.
  RequestHead head;
  std::optional<RequestError> error;

  /// Makes the head httplib reads. `keep`: the connection may be kept.
  void Prepare(bool keep) {
    close_ = !keep;
    if (error) {
      input_ = "GET / HTTP/1.1\r\n";
    } else {
      const auto path = std::string_view(head.target).substr(0, head.target.find_first_of("?#"));
      input_ = fmt::format("{} {} HTTP/1.1\r\n", head.method, path);
    }
    input_ += close_ ? "Connection: close\r\n\r\n" : "\r\n";
  }

  void Attach(httplib::Request* request) { request_ = request; }

  /// Called by httplib in place of its routes.
  void Handle(const httplib::Request& request, httplib::Response* response,
              const std::shared_ptr<WakeFd>& wake, const std::atomic<bool>& draining);

  /// After httplib is through: an answer that did not get out is given up.
  void Finish() {
    if (!answer_) return;
    if (!answered_) {
      aborted_ = true;
      answer_->Abandon();
    }
    answer_->Finish();
  }

  bool close() const noexcept { return close_ || aborted_; }
  bool linger() const noexcept { return linger_ && !aborted_; }

  // httplib::Stream
  bool is_readable() const override { return read_ < input_.size(); }
  bool is_writable() const override { return !aborted_ && !connection_->PeerGone(); }
  ssize_t read(char* out, size_t size) override {
    const auto count = input_.copy(out, size, read_);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    if (aborted_ || !connection_->SendAll({bytes, size})) return -1;
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return connection_->fd(); }

 private:
  void Refuse(Reply reply, httplib::Response* response);
  void CloseAfterwards();
  /// Sends what has come of a stream, or waits for more.
  bool Pump(WakeFd* wake, httplib::DataSink* sink);

  Connection* const connection_;
  const FrontOptions* const options_;
  RequestHandler* const handler_;
  std::string input_;
  std::size_t read_ = 0;
  httplib::Request* request_ = nullptr;
  std::shared_ptr<Answer> answer_;
  bool answered_ = false;
  bool close_ = false;
  bool linger_ = false;
  bool aborted_ = false;
};

/// Copies status and fields; returns the content type, which httplib wants apart.
std::string CopyHead(int status, const HeaderList& headers, httplib::Response* response) {
  std::string content_type;
  response->status = status;
  for (const auto& header : headers) {
    if (base::EqualsIgnoreCase(header.name, "content-type")) {
      content_type = header.value;
    } else {
      response->set_header(header.name, header.value);
    }
  }
  return content_type;
}

void SetBody(std::string body, const std::string& content_type, httplib::Response* response) {
  response->body = std::move(body);
  response->set_header("Content-Type", content_type);
}

void Exchange::CloseAfterwards() {
  close_ = true;
  request_->headers.erase("Connection");
  request_->headers.emplace("Connection", "close");
}

void Exchange::Refuse(Reply reply, httplib::Response* response) {
  SetBody(std::move(reply.body), CopyHead(reply.status, reply.headers, response), response);
}

void Exchange::Handle(const httplib::Request& request, httplib::Response* response,
                      const std::shared_ptr<WakeFd>& wake, const std::atomic<bool>& draining) {
  if (error) {
    linger_ = true;
    return Refuse(handler_->OnError(*error), response);
  }
  if (auto reply = handler_->OnHead(head, request.path)) {
    if (head.has_body()) {
      linger_ = true;
      CloseAfterwards();
    }
    return Refuse(std::move(*reply), response);
  }
  Request incoming{request.method, request.path, std::move(head.headers), std::string()};
  if (const auto failed = connection_->NextBody(head, &incoming.body)) {
    CloseAfterwards();
    linger_ = true;
    aborted_ = failed->status == 0;
    if (!aborted_) Refuse(handler_->OnError(*failed), response);
    return;
  }

  answer_ = std::make_shared<Answer>(options_->answer_buffer, wake);
  handler_->OnRequest(std::move(incoming), answer_);
  std::optional<Answer::Head> start;
  while (!start) {
    wake->Clear();
    start = answer_->TakeHead();
    if (!start && !connection_->WaitFor(wake->fd())) break;
  }
  if (!start || start->status == 0) {
    aborted_ = true;
    return;
  }
  if (draining.load()) CloseAfterwards();
  const auto content_type = CopyHead(start->status, start->headers, response);
  if (!start->streaming) {
    SetBody(answer_->TakeBatch().bytes, content_type, response);
    answered_ = true;
    return;
  }
  auto pump = [this, wake](std::size_t, httplib::DataSink& sink) {
    return Pump(wake.get(), &sink);
  };
  if (head.http10) {
    // No chunked coding for HTTP/1.0: the end of the connection ends the answer.
    CloseAfterwards();
    response->set_content_provider(content_type, pump);
  } else {
    response->set_chunked_content_provider(content_type, pump);
  }
}

bool Exchange::Pump(WakeFd* wake, httplib::DataSink* sink) {
  wake->Clear();
  const auto batch = answer_->TakeBatch();
  for (std::size_t at = 0; at < batch.bytes.size(); at += kSendPiece) {
    const auto count = std::min(kSendPiece, batch.bytes.size() - at);
    if (!is_writable() || !sink->write(batch.bytes.data() + at, count)) return false;
    answer_->Sent(count);
  }
  if (batch.ended) {
    answered_ = true;
    sink->done();
    return true;
  }
  return !batch.bytes.empty() || connection_->WaitFor(wake->fd());
}

class HttplibFront final : public Front, private httplib::Server {
 public:
  HttplibFront(FrontOptions options, Fd listener)
      : options_(std::move(options)),
        listener_(std::move(listener)),
        address_(LocalAddress(listener_.get())),
        pool_(options_.max_workers, options_.max_waiting,
              [this](Fd fd) { ServeConnection(std::move(fd)); }) {
    // httplib takes a missing socket for a shutdown and cuts streams. (Its constructor also makes
    // the process ignore SIGPIPE, which is right for a server.)
    svr_sock_ = listener_.get();
    set_keep_alive_max_count(static_cast<std::size_t>(options_.max_requests_per_connection));
    set_keep_alive_timeout(
        std::chrono::duration_cast<std::chrono::seconds>(options_.keep_alive_timeout).count());
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      current_->exchange->Handle(request, &response, current_->wake, draining_);
      return HandlerResponse::Handled;
    });
  }
  ~HttplibFront() override { Stop(); }

  std::string address() const override { return address_; }
  void Serve(RequestHandler* handler) override;
  void StopAccepting() override;
  bool WaitIdle(Duration timeout) override;
  void Stop() override;

 private:
  /// What this thread is answering: httplib's handler is not told.
  struct Current {
    Exchange* exchange;
    std::shared_ptr<WakeFd> wake;
  };
  static thread_local Current* current_;

  void AcceptLoop();
  void ServeConnection(Fd fd);
  /// Serves requests until the connection shall be closed; true = linger.
  bool Converse(Connection* connection);
  /// Lets httplib answer; false when nothing could be sent.
  bool Run(Exchange* exchange, const std::shared_ptr<WakeFd>& wake);
  /// Counts the connection among those Stop cuts; false when it is too late.
  bool Register(int fd);
  /// One open connection less.
  void Unregister(int fd);

  const FrontOptions options_;
  const Fd listener_;
  const std::string address_;
  RequestHandler* handler_ = nullptr;
  std::atomic<bool> draining_ = false;
  WakeFd drain_;
  WorkerPool pool_;
  Lingerer lingerer_;
  std::thread acceptor_;

  base::Mutex mutex_;
  std::condition_variable idle_;
  std::unordered_set<int> live_ HOTEL_GUARDED_BY(mutex_);
  std::size_t open_ HOTEL_GUARDED_BY(mutex_) = 0;  ///< live and waiting
  bool cut_ HOTEL_GUARDED_BY(mutex_) = false;
};

thread_local HttplibFront::Current* HttplibFront::current_ = nullptr;

void HttplibFront::Serve(RequestHandler* handler) {
  assert(handler_ == nullptr);
  handler_ = handler;
  acceptor_ = std::thread([this] { AcceptLoop(); });
}

void HttplibFront::AcceptLoop() {
  for (bool more = true; more;) {
    auto fd = Accept(listener_.get(), &more);
    if (!fd) continue;
    {
      base::MutexLock lock(&mutex_);
      ++open_;
    }
    auto refused = pool_.Submit(std::move(*fd));
    if (!refused.valid()) continue;
    Connection connection(std::move(refused), &options_);
    Exchange exchange(&connection, &options_, handler_);
    exchange.error = {503, "server_busy", "too many requests are being served; retry shortly"};
    exchange.Prepare(false);
    Run(&exchange, nullptr);
    lingerer_.Add(connection.Release());
    Unregister(-1);
  }
}

bool HttplibFront::Register(int fd) {
  base::MutexLock lock(&mutex_);
  return !cut_ && live_.insert(fd).second;
}

void HttplibFront::Unregister(int fd) {
  base::MutexLock lock(&mutex_);
  live_.erase(fd);
  if (--open_ == 0) idle_.notify_all();
}

void HttplibFront::ServeConnection(Fd fd) {
  const int number = fd.get();
  Connection connection(std::move(fd), &options_);
  const bool linger = Register(number) && Converse(&connection);
  // Before the descriptor is closed: its number may be reused at once.
  Unregister(number);
  if (linger) lingerer_.Add(connection.Release());
}

bool HttplibFront::Converse(Connection* connection) {
  const auto wake = std::make_shared<WakeFd>();
  if (!wake->valid()) return false;
  for (int served = 0;; ++served) {
    const bool first = served == 0;
    std::string bytes;
    Exchange exchange(connection, &options_, handler_);
    switch (connection->NextHead(first ? options_.head_timeout : options_.keep_alive_timeout,
                                 first ? drain_.fd() : pool_.pressure_fd(), &bytes)) {
      case Connection::ReadHead::kClosed:
        return false;
      case Connection::ReadHead::kTimeout:
        exchange.error = {408, "request_timeout", "the request head did not arrive in time"};
        break;
      case Connection::ReadHead::kTooLarge:
        exchange.error = {431, "request_head_too_large", "the request head is too large"};
        break;
      case Connection::ReadHead::kMalformed:
        exchange.error = {400, "malformed_request", "lines must end in CR LF"};
        break;
      case Connection::ReadHead::kHead:
        exchange.error = ParseRequestHead(bytes, options_.head, &exchange.head);
        break;
    }
    exchange.Prepare(!exchange.error && exchange.head.keep_alive && !draining_.load() &&
                     served + 1 < options_.max_requests_per_connection);
    if (!Run(&exchange, wake)) return false;
    if (exchange.close()) return exchange.linger();
  }
}

bool HttplibFront::Run(Exchange* exchange, const std::shared_ptr<WakeFd>& wake) {
  Current current{exchange, wake};
  current_ = &current;
  bool closed = false;
  const bool sent =
      process_request(*exchange, exchange->close(), closed,
                      [exchange](httplib::Request& request) { exchange->Attach(&request); });
  current_ = nullptr;
  exchange->Finish();
  return sent;
}

void HttplibFront::StopAccepting() {
  if (draining_.exchange(true)) return;
  // The descriptor stays open: accept() returns, and httplib goes on serving what has begun.
  ::shutdown(listener_.get(), SHUT_RDWR);
  if (acceptor_.joinable()) acceptor_.join();
  drain_.Set();
  pool_.Drain();
}

bool HttplibFront::WaitIdle(Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  base::MutexLock lock(&mutex_);
  while (open_ > 0) {
    if (idle_.wait_until(lock.native(), deadline) == std::cv_status::timeout) return open_ == 0;
  }
  return true;
}

void HttplibFront::Stop() {
  StopAccepting();
  {
    base::MutexLock lock(&mutex_);
    cut_ = true;
    for (const int fd : live_) ::shutdown(fd, SHUT_RDWR);
  }
  pool_.Stop();
  lingerer_.Stop();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Front>> OpenFront(const FrontOptions& options) {
  auto listener = ListenTcp(options.host, options.port);
  if (!listener.ok()) return listener.status();
  return std::make_unique<HttplibFront>(options, std::move(*listener));
}

}  // namespace hotel::server
