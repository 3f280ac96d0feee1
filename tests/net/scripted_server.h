// An upstream that does exactly what a test says, byte by byte, on a real socket.
#ifndef HOTEL_TESTS_NET_SCRIPTED_SERVER_H_
#define HOTEL_TESTS_NET_SCRIPTED_SERVER_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libhotel/net/unique_fd.h"

struct ssl_ctx_st;
struct ssl_st;

namespace hotel::net_test {

using SteadyTime = std::chrono::steady_clock::time_point;

class ScriptedServer;

/// One accepted connection, as its script sees it. Each runs on a thread of its own. All bytes read
/// are recorded in the server.
class Peer {
 public:
  /// Connections count from 0.
  std::size_t index() const { return index_; }
  /// Reads up to and with the empty line. What was read, cut short when the client left.
  std::string ReadHead();
  /// Reads `size` bytes.
  std::string ReadBytes(std::size_t size);
  /// A head, and the body its Content-Length announces. False when the client left first.
  bool ReadRequest();
  /// The head and the body of the last ReadRequest.
  const std::string& head() const { return head_; }
  const std::string& body() const { return body_; }

  /// Speaks TLS from here on; false when the handshake failed. The server's own TLS must be off.
  bool StartTls(ssl_ctx_st* context);
  /// False once the connection is broken.
  bool Send(std::string_view bytes);
  /// Lets time pass: this is how scripts pace what they send. Ends early with the server.
  void Pause(std::chrono::milliseconds time);
  /// Half-closes.
  void FinishWriting();
  /// Closes with RST.
  void Reset();
  /// Closes now instead of at the script's end.
  void Close();
  /// Reads and drops until the client closes or resets; records when. False if the server was
  /// stopped first.
  bool WaitClosed();
  /// Waits until the test calls ScriptedServer::Release.
  void WaitReleased();

 private:
  friend class ScriptedServer;
  Peer(ScriptedServer* server, std::size_t index, net::UniqueFd fd, ssl_st* ssl)
      : server_(server), index_(index), fd_(std::move(fd)), ssl_(ssl) {}
  long Read(char* out, std::size_t size);
  bool Fill();

  ScriptedServer* server_;
  std::size_t index_;
  net::UniqueFd fd_;
  ssl_st* ssl_;
  std::string buffer_;
  std::string head_;
  std::string body_;
};

class ScriptedServer {
 public:
  using Script = std::function<void(Peer&)>;
  struct Options {
    bool ipv6 = false;
    ssl_ctx_st* tls = nullptr;   ///< speaks TLS; connections whose handshake fails run no script
    int receive_buffer = 0;      ///< SO_RCVBUF of accepted sockets; 0 = the system's
    std::string unix_path = {};  ///< listens there instead of on a port
  };

  explicit ScriptedServer(Script script) : ScriptedServer(std::move(script), Options{}) {}
  ScriptedServer(Script script, Options options);
  ~ScriptedServer();  ///< breaks every connection and joins the scripts

  int port() const { return port_; }
  /// http(s)://127.0.0.1:port or http(s)://[::1]:port, then `path`.
  std::string Url(std::string_view path = "/v1/chat/completions") const;

  /// Accepted so far.
  std::size_t connections() const;
  /// Bytes the client sent on connection `index`.
  std::string received(std::size_t index) const;
  /// Requests of all connections, counted by their heads.
  std::size_t requests() const;
  /// When the client was seen to close connection `index`; waits up to `limit`. Epoch: never.
  SteadyTime WaitClosedAt(std::size_t index, std::chrono::milliseconds limit);
  /// How many connections were seen to close; waits up to `limit` for `count` of them.
  std::size_t WaitClosedCount(std::size_t count, std::chrono::milliseconds limit);
  /// Waits until `count` connections were accepted.
  bool WaitConnections(std::size_t count, std::chrono::milliseconds limit);
  /// Waits until connection `index` received `size` bytes.
  bool WaitReceived(std::size_t index, std::size_t size, std::chrono::milliseconds limit);
  /// Lets every script behind WaitReleased go on.
  void Release();

 private:
  friend class Peer;
  void Accept();
  void Serve(std::size_t index, net::UniqueFd fd);

  const Script script_;
  const Options options_;
  net::UniqueFd listener_;
  int port_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool released_ = false;
  std::vector<std::string> received_;
  std::map<std::size_t, int> open_;  // by index, to break them at the end
  std::map<std::size_t, SteadyTime> closed_;
  std::vector<std::thread> scripts_;
  std::thread acceptor_;
};

/// "HTTP/1.1 STATUS X", the headers given, Content-Length, and the body.
std::string Reply(int status, std::string_view body, std::string_view headers = "");
/// A body as one chunk of the chunked coding.
std::string Chunk(std::string_view bytes);
inline constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
inline constexpr std::string_view kStreamEnd = "0\r\n\r\n";

}  // namespace hotel::net_test

#endif  // HOTEL_TESTS_NET_SCRIPTED_SERVER_H_
