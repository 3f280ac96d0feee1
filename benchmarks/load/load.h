#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "benchmarks/load/answer.h"
#include "benchmarks/load/options.h"
#include "benchmarks/load/results.h"

namespace hotel::load {

/// Drives the connections on one epoll.
class Load {
 public:
  explicit Load(const Options& options);
  ~Load();

  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Blocks until the run is over. What `watch` measures covers the run, or in an idle run the time
  /// in which the connections are held.
  void Run(Watch* watch);

  Results& results() { return results_; }

 private:
  struct Connection {
    explicit Connection(Times* gaps) : answer(gaps) {}

    int fd = -1;
    bool connecting = false;
    bool wants_write = false;
    bool waiting = false;
    std::size_t written = 0;
    int64_t began_at = 0;
    Answer answer;
  };

  bool MayBegin() const;
  void BeginDue();
  void Begin(std::size_t index);
  bool Dial(std::size_t index);
  void Write(std::size_t index);
  void Read(std::size_t index);
  void OnEvent(std::size_t index, uint32_t events);
  void Finish(std::size_t index);
  void Fail(std::size_t index, Fault fault);
  void Disconnect(std::size_t index);
  void FailLate();
  void Turn(int wait_ms);
  void Hold(Watch* watch);

  const Options& options_;
  int epoll_ = -1;
  std::vector<Connection> connections_;
  std::unique_ptr<char[]> buffer_;
  /// Connections before this one have been started.
  std::size_t next_ = 0;
  /// Connections whose last request failed.
  std::vector<std::size_t> again_;
  long waiting_ = 0;
  bool holding_ = false;
  int64_t began_at_ = 0;
  int64_t stop_at_ = 0;
  Results results_;
};

}  // namespace hotel::load
