// What the handlers of the admin API work with.
#ifndef SERVER_API_CONTEXT_H_
#define SERVER_API_CONTEXT_H_

#include <set>
#include <string>

#include "hotel/defaults.h"
#include "hotel/hotel.h"
#include "hotel/key_store.h"
#include "hotel/log_store.h"
#include "hotel/request_gate.h"
#include "hotel/types.h"

#include "libhotel/observe/request_health.h"
#include "server/app_log.h"

namespace hotel::server::api {

/// What stands in the configuration file: it can be read here and is changed there.
struct FileOwned {
  std::string file;
  std::set<std::string> providers;  ///< in routing form
  std::set<std::string> groups;     ///< display_model
};

/// What a sidecar says about itself.
struct SystemFacts {
  std::string listen;    ///< "127.0.0.1:8081"
  std::string data_dir;  ///< absolute
  TimePoint started{};
};

/// Valid as long as requests are served. All of it is thread-safe or immutable.
struct Context {
  Hotel* hotel = nullptr;
  LogStore* log = nullptr;
  KeyStore* keys = nullptr;
  KeyGate* key_gate = nullptr;
  AppLog* app_log = nullptr;
  const observe::RequestHealth* health = nullptr;
  FileOwned file;
  AddressPolicy addresses;
  SystemFacts system;
};

}  // namespace hotel::server::api

#endif  // SERVER_API_CONTEXT_H_
