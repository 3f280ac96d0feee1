// The sockets of the simulated provider: one thread, one epoll, bounded buffers.
#ifndef HOTEL_SERVER_SIM_SERVER_H_
#define HOTEL_SERVER_SIM_SERVER_H_

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "server/sim/sim.h"

namespace hotel::sim {

class Server {
 public:
  explicit Server(Sim* sim);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens. Returns the port, or 0 with `error` set.
  int Listen(const std::string& host, const std::string& port, std::string* error);
  /// Serves until SIGINT or SIGTERM, which must be blocked in every thread.
  void Run();

 private:
  struct Connection;

  void Accept();
  void Readable(Connection* connection);
  /// Takes requests and produces answers until there is something to wait for. May destroy
  /// `connection`.
  void Advance(Connection* connection, TimePoint now);
  /// One step; false when there is nothing more to do for now.
  bool TakeRequest(Connection* connection, TimePoint now);
  bool ContinueAnswer(Connection* connection, TimePoint now);
  void EndAnswer(Connection* connection);
  /// Sends what is buffered. False when the connection failed and was destroyed.
  bool Flush(Connection* connection);
  void SetTimer(Connection* connection, TimePoint when);
  void RunTimers(TimePoint now);
  /// `reset`: with an RST instead of a FIN.
  void Destroy(Connection* connection, bool reset);
  void ClientLeft(Connection* connection);

  Sim* sim_;
  int epoll_ = -1;
  int listener_ = -1;
  int signals_ = -1;
  std::size_t max_connections_ = 0;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
  std::set<std::pair<TimePoint, Connection*>> timers_;
  std::string read_buffer_;
};

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_SERVER_H_
