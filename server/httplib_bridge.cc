#include "server/httplib_bridge.h"

#include <utility>

#include <fmt/format.h>
#include <httplib.h>

#include "libhotel/base/strings.h"

namespace hotel::server {
namespace {

// What is used below is partly protected and has changed between releases: Debian 12 has 0.11,
// Ubuntu 24.04 0.14, Debian 13 0.18. A release not named here must be looked at first.
constexpr int MinorVersion() {
  constexpr std::string_view version = CPPHTTPLIB_VERSION;
  static_assert(version.substr(0, 2) == "0.");
  int minor = 0;
  for (std::size_t i = 2; i < version.size() && version[i] != '.'; ++i) {
    minor = minor * 10 + (version[i] - '0');
  }
  return minor;
}
static_assert(MinorVersion() >= 11 && MinorVersion() <= 18,
              "httplib_bridge.cc is written for cpp-httplib 0.11 to 0.18; check every use first");

/// A connection that is only memory.
class MemoryStream final : public httplib::Stream {
 public:
  explicit MemoryStream(std::string input) : input_(std::move(input)) {}

  bool is_readable() const override { return read_ < input_.size(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* out, size_t size) override {
    const std::size_t count = input_.copy(out, size, read_);
    read_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    output.append(bytes, size);
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
  socket_t socket() const override { return -1; }

  std::string output;

 private:
  const std::string input_;
  std::size_t read_ = 0;
};

void Copy(Reply reply, httplib::Response* response) {
  response->status = reply.status;
  std::string content_type;
  for (Header& header : reply.headers) {
    if (base::EqualsIgnoreCase(header.name, "content-type")) {
      content_type = std::move(header.value);
    } else {
      response->set_header(header.name, header.value);
    }
  }
  response->set_content(std::move(reply.body), content_type);
}

}  // namespace

class HttplibBridge::Server final : public httplib::Server {
 public:
  using Route = HttplibBridge::Handler;  // the base class has names of its own

  explicit Server(Route fallback) {
    HandlerWithResponse on_error = [fallback = std::move(fallback)](const httplib::Request& request,
                                                                    httplib::Response& response) {
      // Also called for error replies of routes: those have a body already.
      if (response.body.empty()) Copy(fallback(Translate(request)), &response);
      return HandlerResponse::Handled;
    };
    set_error_handler(std::move(on_error));
  }

  void Add(const std::string& pattern, Route handler) {
    Get(pattern, [handler = std::move(handler)](const httplib::Request& request,
                                                httplib::Response& response) {
      Copy(handler(Translate(request)), &response);
    });
  }

  void Run(const hotel::server::Request& asked, MemoryStream* stream, bool keep_alive) {
    bool closed = false;
    asked_ = &asked;
    Process(*this, stream, !keep_alive, &closed);
    asked_ = nullptr;
  }

 private:
  /// With the fields as they came: httplib is not shown them, and would decode them.
  static hotel::server::Request Translate(const httplib::Request& request) {
    return {request.method, request.path, asked_->headers, {}, request.path, asked_->peer};
  }

  // Both forms are spelled in a template, so that only the one that exists is looked up.
  template <typename Self>
  static void Process(Self& self, MemoryStream* stream, bool close, bool* closed) {
    const std::function<void(httplib::Request&)> no_setup;
    if constexpr (requires { self.process_request(*stream, close, *closed, no_setup); }) {
      self.process_request(*stream, close, *closed, no_setup);
    } else {
      self.process_request(*stream, std::string(), 0, std::string(), 0, close, *closed, no_setup);
    }
  }

  /// What the thread answers; httplib calls handlers on the thread that runs it.
  static thread_local const hotel::server::Request* asked_;
};

thread_local const hotel::server::Request* HttplibBridge::Server::asked_ = nullptr;

HttplibBridge::HttplibBridge(Handler fallback)
    : server_(std::make_unique<Server>(std::move(fallback))) {}
HttplibBridge::~HttplibBridge() = default;

void HttplibBridge::Get(const std::string& pattern, Handler handler) {
  server_->Add(pattern, std::move(handler));
}

std::string HttplibBridge::Answer(const Request& request, bool keep_alive) {
  MemoryStream stream(fmt::format("{} {} HTTP/1.1\r\n{}\r\n", request.method, request.path,
                                  keep_alive ? "" : "Connection: close\r\n"));
  server_->Run(request, &stream, keep_alive);
  // httplib announces its own limits of a connection; the front has others.
  std::string answer = std::move(stream.output);
  const std::size_t head_end = answer.find("\r\n\r\n");
  const std::size_t line = answer.find("\r\nKeep-Alive: ");
  if (line < head_end) answer.erase(line, answer.find("\r\n", line + 2) - line);
  return answer;
}

}  // namespace hotel::server
