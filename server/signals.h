// SIGTERM and SIGINT.
#ifndef SERVER_SIGNALS_H_
#define SERVER_SIGNALS_H_

#include <functional>

namespace hotel::server {

/// Keeps the stop signals from every thread that is started afterwards. Call before any is.
void BlockStopSignals();

/// Watches for stop signals from now on, on a thread of its own. One that comes during the start
/// ends the process with 0, behind a call of `during_start`: whoever stops a program does not wait
/// for what it has not begun. Call once.
void WatchStopSignals(std::function<void(int signal)> during_start);

/// From now on there is something to bring to an end.
void EndOfStart();

/// Waits for the first stop signal and returns it; from then on a second one ends the process at
/// once, with 128 + its number.
int WaitForStopSignal();

}  // namespace hotel::server

#endif  // SERVER_SIGNALS_H_
