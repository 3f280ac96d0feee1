#include <malloc.h>

#include "server/sidecar.h"

int main(int argc, char** argv) {
  // A request takes and gives back a few large buffers (libcurl's among them). By default glibc
  // hands such memory back to the system at once and asks for it again with the next request.
  ::mallopt(M_MMAP_THRESHOLD, 4 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  return hotel::server::RunSidecar(argc, argv);
}
