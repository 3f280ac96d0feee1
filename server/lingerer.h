// Closing connections whose client may still be sending.
#ifndef SERVER_LINGERER_H_
#define SERVER_LINGERER_H_

#include <cstddef>
#include <thread>
#include <vector>

#include "hotel/types.h"

#include "libhotel/base/mutex.h"
#include "server/socket.h"

namespace hotel::server {

/// A socket that is closed with unread bytes in it is reset, and the reset may destroy the answer
/// on its way to the client. This thread takes connections whose answer has been sent, ends their
/// sending side, reads and drops what still comes, and closes them when the client has closed, has
/// been silent for two seconds, or after ten seconds. Thread-safe.
class Lingerer {
 public:
  Lingerer();
  ~Lingerer();

  /// Takes a connection; beyond a thousand of them it is closed at once.
  void Add(Fd connection);

  /// Closes all and ends the thread. Idempotent.
  void Stop();

 private:
  struct Entry {
    Fd fd;
    TimePoint heard{};
    TimePoint last{};
  };
  void Run();
  /// Reads from those that are readable, closes those that are done.
  static void Serve(std::vector<Entry>* entries, int timeout_ms, int wake_fd);

  WakeFd wake_;
  base::Mutex mutex_;
  std::vector<Entry> added_ HOTEL_GUARDED_BY(mutex_);
  std::size_t count_ HOTEL_GUARDED_BY(mutex_) = 0;
  bool stopped_ HOTEL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace hotel::server

#endif  // SERVER_LINGERER_H_
