#pragma once

namespace hotel::load {

/// What the kernel knows of one process: all its threads, those that have ended included.
class Process {
 public:
  explicit Process(int pid) : pid_(pid) {}

  int pid() const { return pid_; }
  /// Seconds of CPU since it started, user and system; negative when it is gone.
  double CpuSeconds() const;
  /// Resident memory now, in KiB; 0 when it is gone.
  long ResidentKib() const;

 private:
  int pid_;
};

}  // namespace hotel::load
