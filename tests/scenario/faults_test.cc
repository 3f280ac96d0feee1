// The same traffic with the Nth exchange failing, for every N and every way of failing: always
// exactly one answer, every permit and every exchange given back (the harness checks the books).
#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"
#include "tests/scenario/options.h"
#include "tests/scenario/refusals.h"
#include "tests/scenario/slots.h"
#include "tests/support/catch.h"

namespace hotel::scenario {
namespace {

struct Fault {
  const char* what;
  Script script;
};

std::vector<Fault> Faults() {
  return {
      {"refused", Script::Refused()},
      {"reset", Script::Reset()},
      {"503", Script::Json(503, "{}")},
      {"busy", Busy(2)},
      {"spent", SpentWindow()},
      {"unknown 429", Mute()},
      {"402", Script::Json(402, "{}")},
      {"404", Script::Json(404, "{}")},
      {"400", Script::Json(400, R"({"error":{"message":"no"}})")},
      {"redirect", Script().Head(307, {{"location", "https://x.test/"}}).End()},
      {"silence", Script().Hang()},
      {"silence behind the head", Script().Head(200).Hang()},
      {"silence in a refusal", Script().Head(500).Bytes("{").Hang()},
      {"cut behind the head", Cut(Open({}))},
      {"cut behind the opener", Cut(Open({Role()}))},
      {"cut behind output", Cut(Open({Role(), Text("x")}))},
      {"silence behind output", Open({Role(), Text("x")}).Hang()},
      {"error frame", Open({ErrorFrame("503")}).Hang()},
      {"error frame behind output", Open({Text("x"), ErrorFrame("503")}).Hang()},
      {"[DONE] at once", Open({Done()}).Hang()},
      {"empty", Script().Head(200).End()},
      {"not JSON", Script::Json(200, "oops")},
      {"status 600", Script().Head(600).End()},
  };
}

Script Answer(const testing::SeenRequest& seen) {
  const bool stream = seen.body.find("\"stream\":true") != std::string::npos;
  Script script;
  script.After(milliseconds(10));
  const Script good = stream ? Script::ChatStream("Good day to you") : Script::Chat("Good day");
  for (const Script::Step& step : good.steps()) {
    if (step.kind == Script::Step::Kind::kHead) script.Head(step.status, step.headers);
    if (step.kind == Script::Step::Kind::kBytes) script.Bytes(step.bytes).After(milliseconds(10));
  }
  return script.End();
}

/// Three providers that answer well, but for the exchanges `is_faulty` names.
void Serve(Harness& h, std::function<bool(std::size_t)> is_faulty, const Script& fault) {
  const auto count = std::make_shared<std::size_t>(0);
  for (const char* name : {"u1", "u2", "u3"}) {
    h.upstreams.OnEach(Url(name), [count, is_faulty, fault](const testing::SeenRequest& seen) {
      return is_faulty((*count)++) ? fault : Answer(seen);
    });
  }
}

std::vector<Client> Traffic(Harness& h) {
  std::vector<Client> clients;
  clients.push_back(h.Chat("hotel/demo", false));
  clients.push_back(h.Chat("hotel/demo", true));
  clients.push_back(h.Chat("u2/m", true));
  h.loop.Advance(milliseconds(25));
  clients.push_back(h.Chat("hotel/demo", true));
  return clients;
}

bool IsPlausible(int status) {
  for (const int known : {200, 400, 402, 404, 429, 500, 502, 503, 504}) {
    if (status == known) return true;
  }
  return false;
}

TEST_CASE("the Nth exchange fails, for every N: one answer each, the rest unharmed") {
  for (const Fault& fault : Faults()) {
    for (std::size_t n = 0; n < 4; ++n) {
      INFO(fault.what << " at exchange " << n);
      Harness h;
      h.Demo({"u1", "u2", "u3"});
      Serve(
          h, [n](std::size_t i) { return i == n; }, fault.script);
      std::vector<Client> clients = Traffic(h);
      int whole = 0;
      for (Client& client : clients) {
        h.Wait(client);
        CHECK(IsPlausible(client.status()));
        if (client.status() == 200 && client.sink->end.complete) ++whole;
      }
      CHECK(whole >= 3);  // one exchange can harm one request
    }
  }
}

TEST_CASE("every exchange from the Nth on fails, for every N: one answer each") {
  for (const Fault& fault : Faults()) {
    for (std::size_t n = 0; n < 6; ++n) {
      INFO(fault.what << " from exchange " << n);
      Harness h;
      h.Demo({"u1", "u2", "u3"});
      Serve(
          h, [n](std::size_t i) { return i >= n; }, fault.script);
      std::vector<Client> clients = Traffic(h);
      for (Client& client : clients) {
        h.Wait(client);
        CHECK(IsPlausible(client.status()));
        if (!client.sink->end.complete) {
          CHECK(client.body().find("[DONE]") == std::string::npos);
        }
      }
      // F017: retry.max_retries for each candidate, and one repeat of the last for each request.
      const std::size_t tries = 1 + 2;
      CHECK(h.upstreams.seen().size() <= (3 + 3 + 1 + 3) * tries + 4);
    }
  }
}

/// Settings under which a request's way is another one.
std::vector<std::pair<const char*, Settings>> Ways() {
  Settings race = FailoverFirst();
  race.global.hedging = {true, milliseconds(100)};
  Settings repeats = RetryFirst({{"resilience.retry.streaming", "before_commit"}});
  return {{"a race", race},
          {"retry_first", RetryFirst()},
          {"repeats of streams too", repeats},
          {"one probe at a time",
           FailoverFirst({{"circuit_breaker_threshold", "1"},
                          {"resilience.circuit_breaker.half_open_max_in_flight", "1"}})}};
}

TEST_CASE("the same in a race, with repeats, with probes: one answer each, the books balance") {
  for (const auto& [way, settings] : Ways()) {
    for (const Fault& fault : Faults()) {
      for (const std::size_t from : {0, 1, 2, 4}) {
        INFO(way << ", " << fault.what << " from exchange " << from);
        Harness h(settings);
        h.Demo({"u1", "u2", "u3"});
        Serve(
            h, [from](std::size_t i) { return i >= from && i < from + 6; }, fault.script);
        for (int round = 0; round < 2; ++round) {
          std::vector<Client> clients = Traffic(h);
          for (Client& client : clients) {
            h.Wait(client);
            CHECK(IsPlausible(client.status()));
            if (!client.sink->end.complete) {
              CHECK(client.body().find("[DONE]") == std::string::npos);
            }
          }
          h.loop.Advance(minutes(2));
        }
      }
    }
  }
}

TEST_CASE("one slot each: whoever fails or leaves, the line moves on and nobody is lost") {
  for (const Fault& fault : Faults()) {
    for (const bool leave : {false, true}) {
      INFO(fault.what << (leave ? ", two leave" : ""));
      Harness h;
      h.Demo({"u1", "u2", "u3"});
      for (const char* name : {"u1", "u2", "u3"}) Ceiling(h, name, 1);
      Serve(
          h, [](std::size_t i) { return i % 3 == 1; }, fault.script);
      std::vector<Client> clients;
      for (int i = 0; i < 3; ++i) {
        for (Client& client : Traffic(h)) clients.push_back(std::move(client));
      }
      if (leave) {
        clients[1].call->Cancel();
        clients[8].call->Cancel();
      }
      for (std::size_t i = 0; i < clients.size(); ++i) {
        h.Wait(clients[i]);
        if (!leave) CHECK(IsPlausible(clients[i].status()));
      }
    }
  }
}

enum class Way { kCancel, kDrop, kEndAll };

void LeaveAt(Duration at, Way way, const Script& fault, std::size_t faulty) {
  Harness h;
  h.Demo({"u1", "u2", "u3"});
  Serve(
      h, [faulty](std::size_t i) { return i < faulty; }, fault);
  std::vector<Client> clients = Traffic(h);
  h.loop.Advance(at);
  switch (way) {
    case Way::kCancel:
      for (Client& client : clients) client.call->Cancel();
      for (Client& client : clients) client.call->Cancel();
      break;
    case Way::kDrop:
      for (Client& client : clients) client.call.reset();
      break;
    case Way::kEndAll:
      h.router->EndAll();
      break;
  }
  h.loop.RunUntilIdle();
  CHECK(h.router->active_calls() == 0);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    CHECK(clients[i].sink->ended);
    const RequestRecord& record = h.log.records.at(i);
    if (way != Way::kEndAll) CHECK((record.status == 499 || IsPlausible(record.status)));
    for (const AttemptRecord& attempt : record.attempts) {
      if (attempt.error_kind != ErrorKind::kClientDisconnect) continue;
      CHECK(attempt.breaker == BreakerEffect::kNoop);
    }
  }
  h.Settle();
  CHECK(h.upstreams.open() == 0);
}

TEST_CASE("the client leaves at every instant: the upstreams are closed, the books balance") {
  for (int at = 0; at <= 400; at += 5) {
    for (const Way way : {Way::kCancel, Way::kDrop, Way::kEndAll}) {
      INFO("at " << at << " ms, way " << static_cast<int>(way));
      LeaveAt(milliseconds(at), way, Script::Json(503, "{}"), 2);
    }
  }
}

TEST_CASE("the client leaves in the middle of every fault") {
  for (const Fault& fault : Faults()) {
    for (const int at : {0, 5, 150, 1000}) {
      INFO(fault.what << " at " << at << " ms");
      LeaveAt(milliseconds(at), Way::kCancel, fault.script, 1000);
      LeaveAt(milliseconds(at), Way::kEndAll, fault.script, 1000);
    }
  }
}

/// Leaves from inside its own callback.
class LeavingSink : public testing::RecordingSink {
 public:
  explicit LeavingSink(int when) : when_(when) {}
  void OnHead(const AnswerHead& answer_head) override {
    RecordingSink::OnHead(answer_head);
    Count();
  }
  Flow OnBody(std::string_view bytes) override {
    const Flow flow = RecordingSink::OnBody(bytes);
    Count();
    return flow;
  }
  void OnEnd(const AnswerEnd& answer_end) override {
    RecordingSink::OnEnd(answer_end);
    Count();
  }
  std::unique_ptr<Call>* call = nullptr;

 private:
  void Count() {
    if (when_-- != 0) return;
    (*call)->Cancel();
    call->reset();
  }
  int when_;
};

TEST_CASE("the client leaves from inside each callback of its own sink") {
  for (const bool stream : {false, true}) {
    for (int when = 0; when < 9; ++when) {
      INFO("callback " << when << (stream ? " stream" : ""));
      Harness h;
      h.Demo({"u1", "u2"}).On("u1", Script::Json(503, ""));
      h.On("u2", stream ? Script::ChatStream("one two three four") : Script::Chat("Good day"));
      const auto sink = std::make_shared<LeavingSink>(when);
      Client client =
          h.Send(std::string(R"({"model":"hotel/demo")") + (stream ? R"(,"stream":true})" : "}"),
                 "", sink);
      sink->call = &client.call;
      h.Wait(client);
      CHECK(client.sink->ended);
    }
  }
}

}  // namespace
}  // namespace hotel::scenario
