// Blocking input and output on one client connection, with deadlines.
#ifndef SERVER_CONNECTION_H_
#define SERVER_CONNECTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hotel/types.h"

#include "server/front.h"
#include "server/request_head.h"
#include "server/socket.h"

namespace hotel::server {

/// One connection. Used by one thread at a time, but for Shutdown of its descriptor, which ends
/// every wait. The socket is non-blocking; waiting is done in poll().
class Connection {
 public:
  Connection(Fd fd, const FrontOptions* options) : fd_(std::move(fd)), options_(options) {}

  int fd() const noexcept { return fd_.get(); }

  enum class ReadHead {
    kHead,       ///< a complete head is in `head`
    kClosed,     ///< the client closed or said nothing in time, or `stop_fd` woke an idle wait
    kTimeout,    ///< a head was begun and not finished in time
    kTooLarge,   ///< longer than the limit
    kMalformed,  ///< line feeds without carriage return
  };
  /// Reads the next head. `idle`: how long the first byte may take; `stop_fd`: readable when a
  /// connection that waits for its first byte shall give up (-1 = none).
  ReadHead NextHead(Duration idle, int stop_fd, std::string* head);

  /// Reads the body `head` announces into `body`. Returns why it can not be had; status 0 = the
  /// client has gone.
  std::optional<RequestError> NextBody(const RequestHead& head, std::string* body);

  /// Sends everything, or returns false: the client has gone or takes nothing.
  bool SendAll(std::string_view bytes);

  /// Waits until `wake_fd` is readable; false when the client has gone first.
  bool WaitFor(int wake_fd);

  /// True when the client has closed its end.
  bool PeerGone() const;

  /// True when bytes that were sent behind the last request are already here.
  bool has_buffered() const noexcept { return at_ < buffer_.size(); }

  /// Gives the descriptor away.
  Fd Release() { return std::move(fd_); }

 private:
  enum class Wait { kReady, kTimeout, kWoken, kGone };
  Wait WaitReadable(TimePoint deadline, int wake_fd);
  /// Reads what is there into the buffer; false at end or error.
  bool Fill();
  std::string_view unread() const noexcept { return std::string_view(buffer_).substr(at_); }
  void Skip(std::size_t count);

  Fd fd_;
  const FrontOptions* options_;
  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace hotel::server

#endif  // SERVER_CONNECTION_H_
