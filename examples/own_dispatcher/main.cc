// A transport of your own: here the "providers" are functions of this program, so nothing touches a
// socket. The same seam fits an in-process model, a message queue or a recording proxy.
//
//   ./own_dispatcher
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "hotel/hotel.h"

namespace {

struct Reply {
  int status = 200;
  std::string body;
};
using Model = std::function<Reply(const std::string& url, const std::string& body)>;

// One call of the function. The contract of Dispatcher asks that nothing is called back from inside
// Start, Resume or Cancel, so each step is posted to the loop; and a destroyed exchange must stay
// silent, so each step first looks whether it is still wanted.
class FunctionExchange : public hotel::Exchange {
 public:
  FunctionExchange(hotel::Loop* loop, Reply reply, hotel::ResponseHandler* handler)
      : loop_(loop), reply_(std::move(reply)), handler_(handler) {
    Later([this] {
      handler_->OnHead(reply_.status, {{"content-type", "application/json"}});
      Later([this] { SendBody(); });
    });
  }

  void Resume() override {
    if (!std::exchange(paused_, false)) return;
    Later([this] { SendBody(); });
  }

  void Cancel() override {
    if (done_) return;
    alive_ = std::make_shared<int>(0);  // steps already posted find their token gone
    Later([this] { Done(hotel::ExchangeResult::Outcome::kCancelled); });
  }

 private:
  void Later(std::function<void()> step) {
    loop_->Post([step = std::move(step), alive = std::weak_ptr<int>(alive_)] {
      if (!alive.expired()) step();
    });
  }

  void SendBody() {
    if (handler_->OnBody(reply_.body) == hotel::Flow::kPause) {
      paused_ = true;  // not consumed: the same bytes are offered again after Resume
      return;
    }
    Later([this] { Done(hotel::ExchangeResult::Outcome::kComplete); });
  }

  void Done(hotel::ExchangeResult::Outcome outcome) {
    done_ = true;
    hotel::ExchangeResult result;
    result.outcome = outcome;
    result.phase = hotel::TransportPhase::kBody;
    handler_->OnDone(result);
  }

  hotel::Loop* loop_;
  const Reply reply_;
  hotel::ResponseHandler* handler_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  bool paused_ = false;
  bool done_ = false;
};

class FunctionDispatcher : public hotel::Dispatcher {
 public:
  FunctionDispatcher(hotel::Loop* loop, Model model) : loop_(loop), model_(std::move(model)) {}

  std::unique_ptr<hotel::Exchange> Start(hotel::UpstreamRequest request,
                                         hotel::ResponseHandler* handler) override {
    return std::make_unique<FunctionExchange>(loop_, model_(request.url, request.body.ToString()),
                                              handler);
  }

 private:
  hotel::Loop* loop_;
  Model model_;
};

Reply Think(const std::string& url, const std::string& body) {
  if (url.find("overloaded.example") != std::string::npos) {
    return {529, R"({"error":{"message":"overloaded"}})"};
  }
  return {200, R"({"id":"1","object":"chat.completion","choices":[{"index":0,"message":)"
               R"({"role":"assistant","content":"I got )" +
                   std::to_string(body.size()) + R"( bytes."},"finish_reason":"stop"}]})"};
}

}  // namespace

int main() {
  hotel::Options options;
  options.providers = {
      {"busy", "openai", "https://overloaded.example/v1", hotel::Secret(), true, {}},
      {"local", "openai", "https://local.example/v1", hotel::Secret(), true, {}}};
  options.groups = {{"demo", {"busy/big", "local/small"}}};
  options.dispatcher = [](hotel::Loop* loop) {
    return std::make_unique<FunctionDispatcher>(loop, Think);
  };
  auto hotel = hotel::Hotel::Open(options);
  if (!hotel.ok()) {
    std::cerr << hotel.status().message() << '\n';
    return 1;
  }
  hotel::RouteRequest request;
  request.body = std::make_shared<const std::string>(
      R"({"model":"hotel/demo","messages":[{"role":"user","content":"Hello?"}]})");
  const hotel::Answer answer = (*hotel)->Complete(request);
  const std::string served(hotel::FindHeader(answer.headers, "x-hotel-provider"));
  std::cout << answer.body << "\nserved by " << served << '\n';
  return answer.status == 200 && served == "local" ? 0 : 1;
}
