// SIGTERM and SIGINT.
#ifndef SERVER_SIGNALS_H_
#define SERVER_SIGNALS_H_

namespace hotel::server {

/// Keeps the stop signals from every thread that is started afterwards. Call before any is.
void BlockStopSignals();

/// Waits for the first stop signal and returns it; from then on a second one ends the process at
/// once, with 128 + its number.
int WaitForStopSignal();

}  // namespace hotel::server

#endif  // SERVER_SIGNALS_H_
