// Two providers behind one name: the first one is down, the second one answers.
//
//   hotel-sim --listen 127.0.0.1:9101 &
//   ./minimal http://127.0.0.1:9101/v1
//
// hotel-sim acts as its model names say: "status-503" refuses, "ok" answers. With real providers
// the URLs are theirs, `api_key` is set, and plain http and loopback need not be allowed.
#include <iostream>
#include <memory>
#include <string>

#include "hotel/hotel.h"

int main(int argc, char* argv[]) {
  if (argc < 2) {
    std::cerr << "usage: minimal FIRST_URL [SECOND_URL]\n";
    return 2;
  }
  hotel::Options options;
  options.addresses.allow_http = true;
  options.addresses.allowed_hosts = {"127.0.0.1"};
  // Name, type, base URL, key, enabled, models (none listed: whatever it is asked for).
  options.providers = {{"first", "openai", argv[1], hotel::Secret(), true, {}},
                       {"second", "openai", argv[argc - 1], hotel::Secret(), true, {}}};
  options.groups = {{"demo", {"first/status-503", "second/ok"}}};
  auto hotel = hotel::Hotel::Open(options);
  if (!hotel.ok()) {
    std::cerr << hotel.status().message() << '\n';
    return 1;
  }
  hotel::RouteRequest request;
  request.body = std::make_shared<const std::string>(
      R"({"model":"hotel/demo","messages":[{"role":"user","content":"Hello?"}]})");
  const hotel::Answer answer = (*hotel)->Complete(request);
  std::cout << answer.body << "\nstatus " << answer.status
            << ", x-hotel-attempts: " << hotel::FindHeader(answer.headers, "x-hotel-attempts")
            << '\n';
  return answer.status == 200 ? 0 : 1;
}
