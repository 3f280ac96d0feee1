#include "tests/net/scripted_server.h"

#include <algorithm>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fmt/format.h"
#include "libhotel/base/strings.h"

namespace hotel::net_test {
namespace {

void Require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

std::size_t ContentLength(const std::string& head) {
  const std::string lower = base::Lower(head);
  const std::size_t at = lower.find("\r\ncontent-length:");
  return at == std::string::npos ? 0 : std::stoul(lower.substr(at + 17));
}

}  // namespace

ScriptedServer::ScriptedServer(Script script, Options options)
    : script_(std::move(script)), options_(std::move(options)) {
  const int ip = options_.ipv6 ? AF_INET6 : AF_INET;
  listener_.Reset(
      ::socket(options_.unix_path.empty() ? ip : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Require(listener_.valid(), "socket");
  if (options_.receive_buffer > 0) {  // before listen: accepted sockets inherit it
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &options_.receive_buffer,
                 sizeof(options_.receive_buffer));
  }
  if (!options_.unix_path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options_.unix_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    Require(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
            "bind");
  } else if (options_.ipv6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    socklen_t size = sizeof(address);
    Require(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin6_port);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    Require(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  Require(::listen(listener_.get(), 1024) == 0, "listen");
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    for (const auto& [index, fd] : open_) ::shutdown(fd, SHUT_RDWR);
  }
  changed_.notify_all();
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (std::thread& script : scripts_) script.join();
  if (!options_.unix_path.empty()) ::unlink(options_.unix_path.c_str());
}

std::string ScriptedServer::Url(std::string_view path) const {
  return fmt::format("{}://{}:{}{}", options_.tls != nullptr ? "https" : "http",
                     options_.ipv6 ? "[::1]" : "127.0.0.1", port_, path);
}

void ScriptedServer::Accept() {
  for (;;) {
    net::UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_) return;
    if (!fd.valid()) continue;
    const std::size_t index = received_.size();
    received_.emplace_back();
    open_[index] = fd.get();
    changed_.notify_all();
    scripts_.emplace_back(
        [this, index, owned = std::move(fd)]() mutable { Serve(index, std::move(owned)); });
  }
}

void ScriptedServer::Serve(std::size_t index, net::UniqueFd fd) {
  // OpenSSL writes without MSG_NOSIGNAL; the signal is this thread's alone.
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);

  SSL* ssl = nullptr;
  bool ready = true;
  if (options_.tls != nullptr) {
    ssl = ::SSL_new(options_.tls);
    ::SSL_set_fd(ssl, fd.get());
    ready = ::SSL_accept(ssl) == 1;
  }
  Peer peer(this, index, std::move(fd), ssl);
  if (ready) script_(peer);
  peer.Close();
}

std::size_t ScriptedServer::connections() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return received_.size();
}

std::string ScriptedServer::received(std::size_t index) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return index < received_.size() ? received_[index] : std::string();
}

std::size_t ScriptedServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t count = 0;
  for (const std::string& bytes : received_) {
    for (std::size_t at = bytes.find(" HTTP/1.1\r\n"); at != std::string::npos;
         at = bytes.find(" HTTP/1.1\r\n", at + 1)) {
      ++count;
    }
  }
  return count;
}

SteadyTime ScriptedServer::WaitClosedAt(std::size_t index, std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return closed_.count(index) != 0; });
  const auto found = closed_.find(index);
  return found == closed_.end() ? SteadyTime() : found->second;
}

std::size_t ScriptedServer::WaitClosedCount(std::size_t count, std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return closed_.size() >= count; });
  return closed_.size();
}

bool ScriptedServer::WaitConnections(std::size_t count, std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return received_.size() >= count; });
}

bool ScriptedServer::WaitReceived(std::size_t index, std::size_t size,
                                  std::chrono::milliseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(
      lock, limit, [&] { return index < received_.size() && received_[index].size() >= size; });
}

void ScriptedServer::Release() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    released_ = true;
  }
  changed_.notify_all();
}

bool Peer::StartTls(ssl_ctx_st* context) {
  ssl_ = ::SSL_new(context);
  ::SSL_set_fd(ssl_, fd_.get());
  return ::SSL_accept(ssl_) == 1;
}

long Peer::Read(char* out, std::size_t size) {
  const long got = ssl_ != nullptr ? ::SSL_read(ssl_, out, static_cast<int>(size))
                                   : ::recv(fd_.get(), out, size, 0);
  {
    const std::lock_guard<std::mutex> lock(server_->mutex_);
    if (got > 0) {
      server_->received_[index_].append(out, static_cast<std::size_t>(got));
    } else if (!server_->stopping_) {
      server_->closed_.emplace(index_, std::chrono::steady_clock::now());
    }
  }
  server_->changed_.notify_all();
  return got;
}

bool Peer::Fill() {
  char bytes[16 * 1024];
  const long got = Read(bytes, sizeof(bytes));
  if (got <= 0) return false;
  buffer_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

std::string Peer::ReadHead() {
  std::size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return std::exchange(buffer_, {});
  }
  std::string head = buffer_.substr(0, end + 4);
  buffer_.erase(0, end + 4);
  return head;
}

std::string Peer::ReadBytes(std::size_t size) {
  while (buffer_.size() < size) {
    if (!Fill()) return std::exchange(buffer_, {});
  }
  std::string bytes = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return bytes;
}

bool Peer::ReadRequest() {
  head_ = ReadHead();
  if (head_.size() < 4 || head_.compare(head_.size() - 4, 4, "\r\n\r\n") != 0) return false;
  const std::size_t length = ContentLength(head_);
  body_ = ReadBytes(length);
  return body_.size() == length;
}

bool Peer::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const long sent = ssl_ != nullptr
                          ? ::SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                          : ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Peer::Pause(std::chrono::milliseconds time) {
  std::unique_lock<std::mutex> lock(server_->mutex_);
  server_->changed_.wait_for(lock, time, [this] { return server_->stopping_; });
}

void Peer::WaitReleased() {
  std::unique_lock<std::mutex> lock(server_->mutex_);
  server_->changed_.wait(lock, [this] { return server_->released_ || server_->stopping_; });
}

void Peer::FinishWriting() { ::shutdown(fd_.get(), SHUT_WR); }

void Peer::Reset() {
  const linger now{1, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  Close();
}

void Peer::Close() {
  if (ssl_ != nullptr) ::SSL_free(std::exchange(ssl_, nullptr));
  const std::lock_guard<std::mutex> lock(server_->mutex_);
  server_->open_.erase(index_);
  fd_.Reset();
}

bool Peer::WaitClosed() {
  char bytes[16 * 1024];
  while (Read(bytes, sizeof(bytes)) > 0) {
  }
  const std::lock_guard<std::mutex> lock(server_->mutex_);
  return !server_->stopping_;
}

std::string Reply(int status, std::string_view body, std::string_view headers) {
  return fmt::format("HTTP/1.1 {} X\r\n{}Content-Length: {}\r\n\r\n{}", status, headers,
                     body.size(), body);
}

std::string Chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace hotel::net_test
