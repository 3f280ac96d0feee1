#include "server/metrics.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libhotel/base/strings.h"
#include "server/metric_series.h"
#include "server/metric_table.h"
#include "tests/support/catch.h"

namespace hotel::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// `name{label="value",...}` to value, as the page has it.
std::map<std::string, double> Samples(const Metrics& metrics) {
  std::map<std::string, double> samples;
  std::istringstream page(metrics.Page(nullptr, nullptr));
  for (std::string line; std::getline(page, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.rfind(' ');
    samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
  }
  return samples;
}

/// Those of the family, by what stands between the braces.
std::map<std::string, double> Family(const Metrics& metrics, const std::string& name) {
  std::map<std::string, double> found;
  for (const auto& [series, value] : Samples(metrics)) {
    if (!base::StartsWith(series, name + "{")) continue;
    found[series.substr(name.size() + 1, series.size() - name.size() - 2)] = value;
  }
  return found;
}

using Values = std::map<std::string, double>;

AttemptRecord Attempt(int index, const std::string& provider, int status, ErrorKind kind) {
  AttemptRecord attempt;
  attempt.attempt = index;
  attempt.provider_id = "id-" + provider;
  attempt.provider = provider;
  attempt.model = "up-" + provider;
  attempt.tries = 1;
  if (status != 0) attempt.status = status;
  attempt.error_kind = kind;
  return attempt;
}

AttemptRecord Skip(const std::string& provider, BreakerEffect effect, ErrorKind kind) {
  AttemptRecord skip = Attempt(-1, provider, 0, kind);
  skip.tries = 0;
  skip.breaker = effect;
  return skip;
}

/// A request whose last attempt decided.
RequestRecord Record(const std::string& model, int status, ErrorKind kind,
                     std::vector<AttemptRecord> attempts) {
  RequestRecord record;
  record.requested_model = model;
  record.status = status;
  record.error_kind = kind;
  record.duration = milliseconds(300);
  if (!attempts.empty() && attempts.back().attempt >= 0) {
    record.provider_id = attempts.back().provider_id;
    record.provider = attempts.back().provider;
  }
  record.attempts = std::move(attempts);
  return record;
}

RequestRecord Served(const std::string& model, const std::string& provider) {
  return Record(model, 200, ErrorKind::kNone, {Attempt(0, provider, 200, ErrorKind::kNone)});
}

Event CircuitOpened(const std::string& provider, const std::string& model,
                    const std::string& cause) {
  Event event;
  event.type = "circuit_breaker.open";
  event.metadata = {{"provider", provider}, {"model", model}, {"cause", cause}};
  return event;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("docs/metrics.md is generated from the table") {
  const std::string path = HOTEL_SOURCE_DIR "/docs/metrics.md";
  if (std::getenv("HOTEL_UPDATE_DOCS") != nullptr) std::ofstream(path) << MetricsMarkdown();
  CHECK(ReadFile(path) == MetricsMarkdown());
}

TEST_CASE("names follow the customs of Prometheus and stand once in the table") {
  std::set<std::string_view> names;
  for (const MetricRow& row : MetricTable()) {
    const std::string_view name = row.name;
    INFO(name);
    CHECK(names.insert(name).second);
    CHECK(base::StartsWith(name, "hotel_"));
    const bool total = name.substr(name.size() - 6) == "_total";
    CHECK(total == (row.type == MetricType::kCounter));
    if (row.type == MetricType::kHistogram) CHECK(name.substr(name.size() - 8) == "_seconds");
    CHECK(RowOf(row.metric).name == row.name);
  }
}

TEST_CASE("buckets rise") {
  for (const auto* buckets : {&DurationBuckets(), &TtftBuckets()}) {
    CHECK(std::is_sorted(buckets->begin(), buckets->end()));
    CHECK(std::adjacent_find(buckets->begin(), buckets->end()) == buckets->end());
  }
}

TEST_CASE("a served request is counted by who served it and what was asked for") {
  Metrics metrics;
  metrics.Record(Served("hotel/glm", "acme"));
  metrics.Record(Served("hotel/glm", "acme"));
  CHECK(Family(metrics, "hotel_requests_total") ==
        Values{{R"(error_kind="none",model="hotel/glm",provider="acme",status_class="2xx")", 2}});
  CHECK(Family(metrics, "hotel_request_duration_seconds_count") ==
        Values{{R"(model="hotel/glm",provider="acme")", 2}});
  CHECK(Family(metrics, "hotel_request_duration_seconds_sum").begin()->second == Approx(0.6));
  const Values buckets = Family(metrics, "hotel_request_duration_seconds_bucket");
  CHECK(buckets.size() == DurationBuckets().size() + 1);
  CHECK(buckets.at(R"(model="hotel/glm",provider="acme",le="0.25")") == 0);
  CHECK(buckets.at(R"(model="hotel/glm",provider="acme",le="0.5")") == 2);
  CHECK(buckets.at(R"(model="hotel/glm",provider="acme",le="600")") == 2);
  CHECK(buckets.at(R"(model="hotel/glm",provider="acme",le="+Inf")") == 2);
  for (const char* silent :
       {"hotel_ttft_seconds_count", "hotel_tokens_total", "hotel_failover_attempts_total",
        "hotel_upstream_rate_limit_total", "hotel_failover_exhausted_total"}) {
    CHECK(Family(metrics, silent).empty());
  }
}

TEST_CASE("F169 the status is the client's, and a broken stream has its error kind") {
  Metrics metrics;
  const auto failed = [](int status, ErrorKind kind) {
    return Record("hotel/g", status, kind, {Attempt(0, "p", status, kind)});
  };
  metrics.Record(failed(529, ErrorKind::kProviderError));
  metrics.Record(failed(499, ErrorKind::kClientDisconnect));
  metrics.Record(failed(422, ErrorKind::kProviderBadRequest));
  metrics.Record(failed(200, ErrorKind::kProviderTimeout));
  metrics.Record(failed(304, ErrorKind::kNone));
  metrics.Record(failed(0, ErrorKind::kInternal));
  const auto series = [](const std::string& kind, const std::string& status_class) {
    return "error_kind=\"" + kind + R"(",model="hotel/g",provider="p",status_class=")" +
           status_class + "\"";
  };
  CHECK(Family(metrics, "hotel_requests_total") ==
        Values{{series("provider_error", "5xx"), 1},
               {series("client_disconnect", "499"), 1},
               {series("provider_bad_request", "4xx"), 1},
               {series("provider_timeout", "2xx"), 1},
               {series("none", "3xx"), 1},
               {series("internal", "unknown"), 1}});
}

TEST_CASE("the first output of a stream is timed") {
  Metrics metrics;
  RequestRecord record = Served("hotel/g", "p");
  record.streaming = true;
  record.ttft = milliseconds(70);
  metrics.Record(record);
  const Values buckets = Family(metrics, "hotel_ttft_seconds_bucket");
  CHECK(buckets.size() == TtftBuckets().size() + 1);
  CHECK(buckets.at(R"(model="hotel/g",provider="p",le="0.05")") == 0);
  CHECK(buckets.at(R"(model="hotel/g",provider="p",le="0.1")") == 1);
}

TEST_CASE("tokens are those of the served answer and of losers that were paid for") {
  Metrics metrics;
  AttemptRecord loser = Attempt(0, "slow", 0, ErrorKind::kHedgeSuperseded);
  loser.usage = TokenUsage{40, 0, 0, 0, true};
  AttemptRecord winner = Attempt(1, "fast", 200, ErrorKind::kNone);
  winner.usage = TokenUsage{41, 9, 30, 5, false};
  RequestRecord record = Record("hotel/g", 200, ErrorKind::kNone, {loser, winner});
  record.usage = winner.usage;
  metrics.Record(record);
  CHECK(Family(metrics, "hotel_tokens_total") ==
        Values{{R"(kind="prompt",model="hotel/g",provider="slow")", 40},
               {R"(kind="prompt",model="hotel/g",provider="fast")", 41},
               {R"(kind="completion",model="hotel/g",provider="fast")", 9},
               {R"(kind="prompt_cached",model="hotel/g",provider="fast")", 30},
               {R"(kind="reasoning",model="hotel/g",provider="fast")", 5}});
}

TEST_CASE("attempts beyond the first are counted where they went, skips and unsent ones are not") {
  Metrics metrics;
  AttemptRecord unsent = Attempt(3, "d", 0, ErrorKind::kProviderError);
  unsent.tries = 0;
  metrics.Record(Record("hotel/g", 200, ErrorKind::kNone,
                        {Skip("z", BreakerEffect::kSkipped, ErrorKind::kNone),
                         Attempt(0, "a", 503, ErrorKind::kProviderError),
                         Attempt(1, "b", 0, ErrorKind::kHedgeSuperseded), unsent,
                         Attempt(4, "a", 200, ErrorKind::kNone)}));
  CHECK(Family(metrics, "hotel_failover_attempts_total") ==
        Values{{R"(model="hotel/g",provider="a")", 1}, {R"(model="hotel/g",provider="b")", 1}});
}

TEST_CASE("every attempt that ended with a 429 is counted with what it was read as") {
  Metrics metrics;
  AttemptRecord busy = Attempt(0, "a", 429, ErrorKind::kProviderSaturated);
  busy.rate_limit = "saturated";
  AttemptRecord spent = Attempt(1, "b", 429, ErrorKind::kProviderQuotaExhausted);
  spent.rate_limit = "exhausted";
  AttemptRecord unread = Attempt(2, "c", 429, ErrorKind::kProviderError);
  metrics.Record(Record("hotel/g", 200, ErrorKind::kNone,
                        {busy, spent, unread, Attempt(3, "d", 200, ErrorKind::kNone)}));
  CHECK(Family(metrics, "hotel_upstream_rate_limit_total") ==
        Values{{R"(class="saturated",model="up-a",provider="a")", 1},
               {R"(class="exhausted",model="up-b",provider="b")", 1},
               {R"(class="unknown",model="up-c",provider="c")", 1}});
}

TEST_CASE("a group that nobody served tells why") {
  Metrics metrics;
  const AttemptRecord open = Skip("a", BreakerEffect::kSkipped, ErrorKind::kNone);
  const AttemptRecord full = Skip("b", BreakerEffect::kNoop, ErrorKind::kProviderSaturated);
  const AttemptRecord busy = Attempt(0, "c", 429, ErrorKind::kProviderSaturated);
  const AttemptRecord broken = Attempt(0, "d", 500, ErrorKind::kProviderError);
  const auto reason_of = [](const RequestRecord& record) {
    Metrics own;
    own.Record(record);
    const Values values = Family(own, "hotel_failover_exhausted_total");
    if (values.empty()) return std::string();
    CHECK(values.size() == 1);
    CHECK(values.begin()->second == 1);
    return values.begin()->first;
  };
  constexpr auto kBusy = ErrorKind::kProviderSaturated;
  constexpr auto kFailed = ErrorKind::kProviderError;
  CHECK(reason_of(Record("hotel/G", 429, kBusy, {open, open})) ==
        R"(group="g",reason="no_available_provider")");
  CHECK(reason_of(Record("hotel/g", 502, kFailed, {})) ==
        R"(group="g",reason="no_available_provider")");
  CHECK(reason_of(Record("hotel/g", 429, kBusy, {open, full})) == R"(group="g",reason="all_busy")");
  CHECK(reason_of(Record("hotel/g", 429, kBusy, {full, busy})) == R"(group="g",reason="all_busy")");
  CHECK(reason_of(Record("hotel/g", 500, kFailed, {open, full, broken})) ==
        R"(group="g",reason="all_failed")");
  CHECK(reason_of(Record("smart", 500, kFailed, {broken})) ==
        R"(group="smart",reason="all_failed")");
  // Nobody was exhausted.
  CHECK(reason_of(Record("d/up-d", 500, kFailed, {broken})).empty());
  CHECK(reason_of(Record("hotel/g", 200, kFailed, {broken})).empty());
  CHECK(reason_of(Record("hotel/g", 400, ErrorKind::kProviderBadRequest, {broken})).empty());
  CHECK(reason_of(Record("hotel/g", 404, ErrorKind::kValidation, {})).empty());
  CHECK(reason_of(Record("hotel/g", 499, ErrorKind::kClientDisconnect, {broken})).empty());
  CHECK(reason_of(Record("hotel/g", 504, ErrorKind::kFailoverTimeout, {broken})).empty());
}

TEST_CASE("opened circuits are counted with their cause") {
  Metrics metrics;
  metrics.OnEvent(CircuitOpened("acme", "z-ai/glm", "upstream status 503"));
  metrics.OnEvent(CircuitOpened("acme", "z-ai/glm", "upstream status 503"));
  metrics.OnEvent(CircuitOpened("acme", "", "connect failed"));
  Event closed = CircuitOpened("acme", "z-ai/glm", "");
  closed.type = "circuit_breaker.closed";
  metrics.OnEvent(closed);
  Event bare;
  bare.type = "circuit_breaker.open";
  metrics.OnEvent(bare);
  CHECK(Family(metrics, "hotel_circuit_breaker_opens_total") ==
        Values{{R"(cause="upstream status 503",model="z-ai/glm",provider="acme")", 2},
               {R"(cause="connect failed",model="unknown",provider="acme")", 1},
               {R"(cause="unknown",model="unknown",provider="unknown")", 1}});
}

TEST_CASE("names that lead nowhere are no labels") {
  Metrics metrics;
  for (int i = 0; i < 50; ++i) {
    metrics.Record(Record("made-up-" + std::to_string(i), 404, ErrorKind::kValidation, {}));
  }
  metrics.Record(Record("early", 499, ErrorKind::kClientDisconnect, {}));
  metrics.Record(Record("late", 503, ErrorKind::kInternal, {}));
  const auto unknown = [](const std::string& kind, const std::string& status_class) {
    return "error_kind=\"" + kind + R"(",model="unknown",provider="unknown",status_class=")" +
           status_class + "\"";
  };
  CHECK(Family(metrics, "hotel_requests_total") == Values{{unknown("validation", "4xx"), 50},
                                                          {unknown("client_disconnect", "499"), 1},
                                                          {unknown("internal", "5xx"), 1}});
  // A group whose candidates were all skipped was found.
  metrics.Record(Record("hotel/g", 429, ErrorKind::kProviderSaturated,
                        {Skip("a", BreakerEffect::kSkipped, ErrorKind::kNone)}));
  CHECK(Family(metrics, "hotel_requests_total")
            .count(R"(error_kind="provider_saturated",model="hotel/g",provider="unknown",)"
                   R"(status_class="4xx")") == 1);
}

TEST_CASE("a model that its provider does not know is no label, but one that served stays one") {
  Metrics metrics;
  const auto gone = [](const std::string& name) {
    AttemptRecord attempt = Attempt(0, "acme", 404, ErrorKind::kProviderModelGone);
    attempt.model = name.substr(name.find('/') + 1);
    return Record(name, 404, ErrorKind::kProviderModelGone, {attempt});
  };
  for (int i = 0; i < 20; ++i) metrics.Record(gone("acme/made-up-" + std::to_string(i)));
  const auto series = [](const std::string& model, const std::string& kind,
                         const std::string& status_class) {
    return "error_kind=\"" + kind + "\",model=\"" + model + R"(",provider="acme",status_class=")" +
           status_class + "\"";
  };
  const std::string unknown = series("unknown", "provider_model_gone", "4xx");
  CHECK(Family(metrics, "hotel_requests_total") == Values{{unknown, 20}});
  metrics.Record(Served("acme/real", "acme"));
  metrics.Record(gone("acme/real"));
  metrics.Record(gone("hotel/group"));
  CHECK(Family(metrics, "hotel_requests_total") ==
        Values{{unknown, 20},
               {series("acme/real", "none", "2xx"), 1},
               {series("acme/real", "provider_model_gone", "4xx"), 1},
               {series("hotel/group", "provider_model_gone", "4xx"), 1}});
}

TEST_CASE("a label is short, printable UTF-8") {
  CHECK(LabelText("") == "unknown");
  CHECK(LabelText("z-ai/glm 4.6") == "z-ai/glm 4.6");
  CHECK(LabelText("a\nb\x01"
                  "c\x7f") == "a?b?c?");
  CHECK(LabelText("caf\xC3\xA9 \xFF\xC3") == "caf\xC3\xA9 ??");
  const std::string long_name = std::string(kMostLabelBytes - 1, 'x') + "\xC3\xA9" + "tail";
  CHECK(LabelText(long_name) == std::string(kMostLabelBytes - 1, 'x'));
  Metrics metrics;
  metrics.Record(Served("acme/a\"b\\c\n" + std::string(1 << 20, 'x'), "acme"));
  const std::string page = metrics.Page(nullptr, nullptr);
  CHECK(page.size() < 10000);
  CHECK(page.find(R"(model="acme/a\"b\\c?xxx)") != std::string::npos);
}

TEST_CASE("F195 made-up names do not make the page grow without end") {
  Metrics metrics;
  constexpr int kMore = 50;
  for (int i = 0; i < kMostPairs + kMore; ++i) {
    RequestRecord record = Served("acme/m" + std::to_string(i), "acme");
    record.attempts[0].usage = TokenUsage{1, 0, 0, 0, false};
    metrics.Record(record);
  }
  Values requests = Family(metrics, "hotel_requests_total");
  CHECK(requests.size() == kMostPairs + 1);
  const std::string other = R"(error_kind="none",model="other",provider="acme",status_class="2xx")";
  CHECK(requests.at(other) == kMore);
  CHECK(Family(metrics, "hotel_tokens_total").size() == kMostPairs + 1);
  CHECK(Family(metrics, "hotel_request_duration_seconds_count").size() == kMostPairs + 1);
  // Those that have series keep them.
  metrics.Record(Served("acme/m3", "acme"));
  CHECK(Family(metrics, "hotel_requests_total")
            .at(R"(error_kind="none",model="acme/m3",provider="acme",status_class="2xx")") == 2);
  // Providers without end, too.
  for (int i = 0; i < 500; ++i) {
    metrics.Record(Served("hotel/g", "provider-" + std::to_string(i)));
  }
  requests = Family(metrics, "hotel_requests_total");
  CHECK(requests.size() < kMostPairs + 200);
  CHECK(requests.at(R"(error_kind="none",model="other",provider="other",status_class="2xx")") >=
        300);
}

TEST_CASE("F195 nor do outcomes, refusals and causes") {
  Metrics metrics;
  for (int i = 0; i < kMostPairs; ++i) {
    const std::string model = "acme/m" + std::to_string(i);
    for (int kind = 1; kind <= 9; ++kind) {
      metrics.Record(Record(model, 500, static_cast<ErrorKind>(kind),
                            {Attempt(0, "acme", 500, static_cast<ErrorKind>(kind))}));
    }
  }
  CHECK(Family(metrics, "hotel_requests_total").size() <= kMostLabelSets + 84);
  const Values opens_before = Family(metrics, "hotel_circuit_breaker_opens_total");
  CHECK(opens_before.empty());
  for (int i = 0; i < kMostLabelSets + 1000; ++i) {
    metrics.OnEvent(CircuitOpened("acme", "m" + std::to_string(i), "cause"));
  }
  Values opens = Family(metrics, "hotel_circuit_breaker_opens_total");
  CHECK(opens.size() == kMostLabelSets + 1);
  CHECK(opens.at(R"(cause="cause",model="other",provider="acme")") == 1000);
  for (int i = 0; i < 1000; ++i) {
    metrics.OnEvent(CircuitOpened("p" + std::to_string(i), "m", "cause"));
  }
  opens = Family(metrics, "hotel_circuit_breaker_opens_total");
  CHECK(opens.size() <= kMostLabelSets + 101);
  CHECK(opens.at(R"(cause="other",model="other",provider="other")") > 800);
}

TEST_CASE("series have the labels that the table names") {
  Metrics metrics;
  AttemptRecord busy = Attempt(0, "a", 429, ErrorKind::kProviderSaturated);
  RequestRecord record = Record("hotel/g", 500, ErrorKind::kProviderError,
                                {busy, Attempt(1, "b", 500, ErrorKind::kProviderError)});
  record.ttft = seconds(1);
  record.attempts[1].usage = TokenUsage{1, 1, 1, 1, false};
  metrics.Record(record);
  metrics.OnEvent(CircuitOpened("a", "m", "cause"));
  const auto samples = Samples(metrics);
  int seen = 0;
  for (const MetricRow& row : MetricTable()) {
    const std::string name =
        std::string(row.name) + (row.type == MetricType::kHistogram ? "_count" : "");
    std::set<std::string> wanted;
    for (const auto label : base::Split(row.labels, ',')) wanted.emplace(base::Trim(label));
    for (const auto& [series, value] : samples) {
      if (!base::StartsWith(series, name + "{")) continue;
      ++seen;
      INFO(series);
      std::set<std::string> labels;
      for (const auto part : base::Split(std::string_view(series).substr(name.size() + 1), ',')) {
        labels.emplace(part.substr(0, part.find('=')));
      }
      CHECK(labels == wanted);
    }
  }
  CHECK(seen >= 12);
}

TEST_CASE("records from several threads are all counted while pages are read") {
  Metrics metrics;
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&metrics, t] {
      for (int i = 0; i < kEach; ++i) {
        metrics.Record(Served("hotel/g" + std::to_string(i % 7), "p" + std::to_string(t)));
        metrics.OnEvent(CircuitOpened("p", "m", "cause"));
      }
    });
  }
  for (int i = 0; i < 20; ++i) CHECK(!metrics.Page(nullptr, nullptr).empty());
  for (std::thread& thread : threads) thread.join();
  double requests = 0;
  for (const auto& [series, value] : Family(metrics, "hotel_requests_total")) requests += value;
  CHECK(requests == kThreads * kEach);
  CHECK(Family(metrics, "hotel_circuit_breaker_opens_total").begin()->second == kThreads * kEach);
}

}  // namespace
}  // namespace hotel::server
