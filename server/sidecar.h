// hoteld as a whole: from command line to exit status.
#ifndef SERVER_SIDECAR_H_
#define SERVER_SIDECAR_H_

namespace hotel::server {

/// Runs the sidecar until it is told to stop. Exit status: 0, 1 when it could not run, 2 when the
/// command line or the configuration is wrong.
int RunSidecar(int argc, char** argv);

}  // namespace hotel::server

#endif  // SERVER_SIDECAR_H_
