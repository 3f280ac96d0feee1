// An answer printed as it arrives, from the second provider: the first one is down.
//
//   hotel-sim --listen 127.0.0.1:9101 &
//   ./stream http://127.0.0.1:9101/v1
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "hotel/hotel.h"

namespace {

class Printer : public hotel::StreamSink {
 public:
  void OnHead(const hotel::AnswerHead& head) override { head_ = head; }
  hotel::Flow OnBody(std::string_view bytes) override {
    std::cout << bytes << std::flush;  // events; the last ones may be an error event
    return hotel::Flow::kContinue;
  }
  void OnEnd(const hotel::AnswerEnd& end) override { complete_.set_value(end.complete); }

  bool Wait() { return complete_.get_future().get(); }
  const hotel::AnswerHead& head() const { return head_; }  // behind Wait

 private:
  hotel::AnswerHead head_;
  std::promise<bool> complete_;
};

}  // namespace

int main(int argc, char* argv[]) {
  if (argc < 2) {
    std::cerr << "usage: stream FIRST_URL [SECOND_URL]\n";
    return 2;
  }
  hotel::Options options;
  options.addresses.allow_http = true;
  options.addresses.allowed_hosts = {"127.0.0.1"};
  options.providers = {{"first", "openai", argv[1], hotel::Secret(), true, {}},
                       {"second", "openai", argv[argc - 1], hotel::Secret(), true, {}}};
  options.groups = {{"demo", {"first/status-503", "second/frames-20"}}};
  auto hotel = hotel::Hotel::Open(options);
  if (!hotel.ok()) {
    std::cerr << hotel.status().message() << '\n';
    return 1;
  }
  hotel::RouteRequest request;
  request.body = std::make_shared<const std::string>(
      R"({"model":"hotel/demo","stream":true,"messages":[{"role":"user","content":"Hello?"}]})");
  const auto printer = std::make_shared<Printer>();
  const auto call = (*hotel)->Start(request, printer);  // letting go of it would cancel
  const bool complete = printer->Wait();
  const hotel::AnswerHead& head = printer->head();
  std::cout << (complete ? "whole" : "cut") << ", status " << head.status
            << ", x-hotel-attempts: " << hotel::FindHeader(head.headers, "x-hotel-attempts")
            << '\n';
  return complete && head.status == 200 ? 0 : 1;
}
