#include "tests/scenario/harness.h"

#include <stdexcept>
#include <utility>

#include "tests/support/catch.h"

namespace hotel::scenario {

std::string Url(const std::string& provider) { return "https://" + provider + ".test/"; }

Harness::Harness(Settings with, std::unique_ptr<Store> own_store)
    : settings(std::move(with)),
      store(own_store != nullptr ? std::move(own_store) : testing::MakeMemoryStore(&clock)),
      real_breaker_(MakeCircuitBreaker(&settings, &events)),
      breaker(real_breaker_.get()) {
  MakeRouterWith({});
}

void Harness::MakeRouterWith(std::vector<VirtualModelSpec> models, RequestGate* gate) {
  RouterDeps deps;
  deps.clock = &clock;
  deps.loop = &loop;
  deps.dispatcher = &upstreams;
  deps.groups = store.get();
  deps.breaker = &breaker;
  deps.classifier = classifier.get();
  deps.limiter = limiter.get();
  deps.ledger = caps.get();
  deps.settings = &settings;
  deps.events = &events;
  deps.log = &log;
  deps.gate = gate;
  deps.virtual_models = std::move(models);
  deps.seed = 7;
  router = MakeRouter(deps);
}

Harness& Harness::Virtual(std::vector<VirtualModelSpec> models) {
  MakeRouterWith(std::move(models));
  return *this;
}

Harness& Harness::Gate(RequestGate* gate) {
  MakeRouterWith({}, gate);
  return *this;
}

Harness::~Harness() {
  router->EndAll();
  loop.RunUntilIdle();
  Settle();
  for (const auto& sink : sinks_) {
    CHECK(sink->ended);
    CHECK(sink->violations == Lines());
  }
  CHECK(log.records.size() == sinks_.size());
  CHECK(router->active_calls() == 0);
  CHECK(upstreams.open() == 0);
  CHECK(breaker.outstanding() == 0);
  for (const InflightView& view : limiter->Views(clock.Now())) {
    CHECK(view.inflight == 0);
    CHECK(view.waiting == 0);
  }
  CHECK(loop.pending_timers() == 0);
}

Harness& Harness::Demo(const std::vector<std::string>& providers) {
  Lines members;
  for (const std::string& name : providers) {
    testing::AddProvider(*store, name);
    members.push_back(name + "/m");
  }
  testing::AddGroup(*store, "demo", members);
  return *this;
}

Harness& Harness::On(const std::string& provider, Script script) {
  upstreams.On(Url(provider), std::move(script));
  return *this;
}

Client Harness::Send(std::string body, std::string request_id,
                     std::shared_ptr<testing::RecordingSink> sink) {
  RouteRequest request;
  request.body = std::make_shared<const std::string>(std::move(body));
  request.request_id = std::move(request_id);
  request.key_name = "dev";
  return Send(std::move(request), std::move(sink));
}

Client Harness::Send(RouteRequest request, std::shared_ptr<testing::RecordingSink> sink) {
  Client client;
  client.sink = sink != nullptr ? std::move(sink) : std::make_shared<testing::RecordingSink>();
  sinks_.push_back(client.sink);
  client.request_body = request.body;
  client.call = router->Start(std::move(request), client.sink);
  CHECK_FALSE(client.sink->has_head);  // never from inside Start
  return client;
}

Client Harness::Chat(const std::string& model, bool stream) {
  return Send("{\"model\":\"" + model + "\",\"messages\":[]" +
              (stream ? ",\"stream\":true}" : "}"));
}

void Harness::Wait(Client& client) {
  const TimePoint begin = clock.Now();
  loop.RunUntilIdle();
  while (!client.sink->ended) {
    const auto next = loop.next_timer();
    if (!next) throw std::runtime_error("the request hangs: no answer and nothing to wait for");
    loop.Advance(*next - clock.Now());
  }
  client.took = clock.Now() - begin;
}

Client Harness::Ask(const std::string& model, bool stream) {
  Client client = Chat(model, stream);
  Wait(client);
  return client;
}

std::size_t Harness::Calls(const std::string& provider) const {
  return upstreams.CountTo(Url(provider));
}

const testing::SeenRequest& Harness::Seen(const std::string& provider, std::size_t n) const {
  for (const testing::SeenRequest& seen : upstreams.seen()) {
    if (seen.request.url.rfind(Url(provider), 0) == 0 && n-- == 0) return seen;
  }
  throw std::runtime_error("no such request to " + provider);
}

std::string Harness::Circuit(const std::string& provider, const std::string& model) const {
  for (const CircuitView& view : breaker.Views(clock.Now())) {
    if (view.key.provider_name != provider || view.key.model != model) continue;
    return std::string(CircuitStateName(view.state)) + " " + std::to_string(view.consecutive_fails);
  }
  return "none";
}

Lines Harness::Trail() const {
  Lines lines;
  for (const AttemptRecord& attempt : log.records.back().attempts) {
    const std::string kind = ErrorKindName(attempt.error_kind);
    lines.push_back(std::to_string(attempt.attempt) + " " + attempt.provider + " " +
                    (attempt.status ? std::to_string(*attempt.status) : "-") + " " +
                    BreakerEffectName(attempt.breaker) + " " + (kind.empty() ? "-" : kind));
  }
  return lines;
}

std::size_t Harness::EventCount(std::string_view type) const {
  std::size_t count = 0;
  for (const Event& event : events.events) count += event.type == type ? 1 : 0;
  return count;
}

std::string ErrorBody(std::string_view message, std::string_view type, std::string_view code) {
  return "{\"error\":{\"message\":\"" + std::string(message) + "\",\"type\":\"" +
         std::string(type) + "\",\"code\":\"" + std::string(code) + "\"}}";
}

std::string Message(const std::string& body) {
  constexpr std::string_view kBefore = "\"message\":\"";
  const std::size_t begin = body.find(kBefore);
  if (begin == std::string::npos) return "no message in: " + body;
  const std::size_t from = begin + kBefore.size();
  return body.substr(from, body.find('"', from) - from);
}

std::string BytesOf(const Script& script) {
  std::string bytes;
  for (const Script::Step& step : script.steps()) {
    if (step.kind == Script::Step::Kind::kBytes) bytes += step.bytes;
  }
  return bytes;
}

}  // namespace hotel::scenario
