#include "server/sidecar.h"

int main(int argc, char** argv) { return hotel::server::RunSidecar(argc, argv); }
