// In front of the route: who has to wait, who is refused, who pays (facts o; decisions 7).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hotel/request_gate.h"

#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

/// Says what it was told to say, and notes what it was told.
class ScriptedGate final : public RequestGate {
 public:
  std::unique_ptr<GatePass> Arrive(std::string_view key_id) override {
    if (key_id.empty()) return nullptr;
    return std::make_unique<Pass>(this);
  }

  Duration wait{};
  bool refuse = false;
  std::vector<RequestRecord> settled;
  int dropped = 0;  ///< passes that were not settled
  std::int64_t prompt = 0;
  std::int64_t cost = 0;

 private:
  class Pass final : public GatePass {
   public:
    explicit Pass(ScriptedGate* gate) : gate_(gate) {}
    ~Pass() override { gate_->dropped += !settled_; }
    GateAnswer Ask(const GateQuestion& question) override {
      GateAnswer answer;
      gate_->prompt = question.prompt_tokens();
      gate_->cost = question.cost();
      if (asked_++ == 0 && gate_->wait > Duration::zero()) {
        answer.kind = GateAnswer::Kind::kWait;
        answer.until = question.now + gate_->wait;
      } else if (gate_->refuse) {
        answer.kind = GateAnswer::Kind::kRefuse;
        answer.code = "budget_exceeded";
        answer.type = "insufficient_quota";
        answer.error_kind = ErrorKind::kBudget;
        answer.message = "spent";
        answer.headers = {{"retry-after", "7"}};
      }
      return answer;
    }
    void Settle(const RequestRecord& record, TimePoint, WallTime) override {
      CHECK_FALSE(settled_);
      settled_ = true;
      gate_->settled.push_back(record);
    }

   private:
    ScriptedGate* const gate_;
    int asked_ = 0;
    bool settled_ = false;
  };
};

RouteRequest Keyed(const std::string& body) {
  RouteRequest request;
  request.body = std::make_shared<const std::string>(body);
  request.key_id = "k1";
  request.key_name = "app";
  request.client_ip = "192.0.2.1";
  return request;
}

const char* const kAsk =
    R"({"model":"hotel/demo","messages":[{"role":"user","content":"hi there"}]})";
const char* const kAskStream =
    R"({"model":"hotel/demo","stream":true,"messages":[{"role":"user","content":"hi there"}]})";

TEST_CASE("facts o a request waits for its turn without being sent") {
  ScriptedGate gate;
  gate.wait = milliseconds(150);
  Harness h;
  h.Gate(&gate).Demo({"u1"}).On("u1", Script::Chat("Good day"));
  Client client = h.Send(Keyed(kAsk));
  h.loop.Advance(milliseconds(149));
  CHECK(h.Calls("u1") == 0);
  h.Wait(client);
  CHECK(client.status() == 200);
  CHECK(gate.prompt > 0);
  REQUIRE(gate.settled.size() == 1);
  CHECK(gate.settled[0].status == 200);
  CHECK(h.record().key_id == "k1");
  CHECK(h.record().client_ip == "192.0.2.1");
}

TEST_CASE("decisions 7 a refusal at the gate is an answer and a record like any other") {
  ScriptedGate gate;
  gate.refuse = true;
  Harness h;
  h.Gate(&gate).Demo({"u1"}).On("u1", Script::Chat("Good day"));
  Client client = h.Send(Keyed(kAsk));
  h.Wait(client);
  CHECK(client.status() == 429);
  CHECK(client.header("retry-after") == "7");
  CHECK_FALSE(client.header("x-hotel-request-id").empty());
  CHECK(client.body() == ErrorBody("spent", "insufficient_quota", "budget_exceeded"));
  CHECK(h.record().requested_model == "hotel/demo");
  CHECK(h.record().status == 429);
  CHECK(h.record().error_kind == ErrorKind::kBudget);
  CHECK(h.Calls("u1") == 0);
  // Bad requests are counted like good ones.
  gate.refuse = false;
  Client bad = h.Send(Keyed("{"));
  h.Wait(bad);
  CHECK(bad.status() == 400);
  CHECK(gate.settled.size() == 2);
}

TEST_CASE("who leaves or is sent away while it waits has its pass settled") {
  ScriptedGate gate;
  gate.wait = seconds(5);
  Harness h;
  h.Gate(&gate).Demo({"u1"}).On("u1", Script::Chat("Good day"));
  Client leaving = h.Send(Keyed(kAsk));
  h.loop.Advance(milliseconds(10));
  leaving.call->Cancel();
  h.loop.RunUntilIdle();
  CHECK(leaving.sink->ended);
  CHECK(h.record().status == 499);
  Client caught = h.Send(Keyed(kAsk));
  h.loop.Advance(milliseconds(10));
  h.router->EndAll();
  h.loop.RunUntilIdle();
  CHECK(caught.status() == 503);
  CHECK(gate.settled.size() == 2);
  CHECK(gate.dropped == 0);
  CHECK(h.Calls("u1") == 0);
  CHECK(h.loop.pending_timers() == 0);
}

TEST_CASE("decisions 7 a budget is told what a request may cost at its dearest model") {
  ScriptedGate gate;
  Harness h;
  h.Gate(&gate).Demo({"u1", "u2"}).On("u1", Script::Chat("Good day"));
  Client unpriced = h.Send(Keyed(kAsk));
  h.Wait(unpriced);
  CHECK(gate.cost == 0);
  const auto snapshot = h.store->Snapshot();
  for (const Model& model : snapshot->models()) {
    ModelPatch prices;
    const bool first = snapshot->FindProviderById(model.provider_id)->name == "u1";
    prices.input_price = first ? 1.0 : 2.0;  // dollars a million tokens
    prices.output_price = first ? 5.0 : 10.0;
    REQUIRE(h.store->UpdateModel(model.id, prices).ok());
  }
  h.On("u1", Script::Chat("Good day"));
  Client silent = h.Send(Keyed(kAsk));
  h.Wait(silent);
  CHECK(gate.cost == gate.prompt * 2000 + 4096 * 10000);
  h.On("u1", Script::Chat("Good day"));
  Client limited =
      h.Send(Keyed(R"({"model":"hotel/demo","max_tokens":100,"n":2,"messages":[{"role":"user",)"
                   R"("content":"hi there"}]})"));
  h.Wait(limited);
  CHECK(gate.cost == gate.prompt * 2000 + 200 * 10000);
  Client bad = h.Send(Keyed("{"));
  h.Wait(bad);
  CHECK(gate.cost == 0);
}

TEST_CASE("a record says what the answer cost, and what was thrown away at its own price") {
  ScriptedGate gate;
  Harness h;
  h.Gate(&gate).Demo({"u1", "u2"});
  const auto snapshot = h.store->Snapshot();
  for (const Model& model : snapshot->models()) {
    ModelPatch prices;
    const bool first = snapshot->FindProviderById(model.provider_id)->name == "u1";
    prices.input_price = first ? 1000.0 : 2.0;  // dollars a million tokens
    prices.output_price = first ? 1000.0 : 10.0;
    REQUIRE(h.store->UpdateModel(model.id, prices).ok());
  }
  // The first one answers 200 and then nothing: its prompt is paid for.
  h.On("u1", Open({Role()}).Hang());
  h.On("u2", Open({Text("Good day"), Fin(), Done()}).End());
  Client client = h.Send(Keyed(kAskStream));
  h.Wait(client);
  CHECK(client.status() == 200);
  REQUIRE(h.record().attempts.size() == 2);
  const AttemptRecord& lost = h.record().attempts[0];
  const AttemptRecord& served = h.record().attempts[1];
  REQUIRE(lost.usage.has_value());
  CHECK(*lost.cost == lost.usage->prompt * 1000 * 1000);
  CHECK(*served.cost == served.usage->prompt * 2000 + served.usage->completion * 10000);
  CHECK(*h.record().cost == *lost.cost + *served.cost);
  // The estimate is in nobody's token columns.
  CHECK(h.record().usage == served.usage);
  CHECK(gate.settled.at(0).cost == h.record().cost);
}

}  // namespace
}  // namespace hotel::scenario
