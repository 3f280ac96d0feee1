// What reading a refusal costs; it happens once per 429.
#include <chrono>
#include <string>

#include <benchmark/benchmark.h>

#include "hotel/rate_limit.h"

#include "libhotel/decide/rate_limit_classifier.h"

namespace hotel {
namespace {

void ReadOne(benchmark::State& state, const std::string& body, const HeaderList& headers) {
  const decide::StandardClassifier classifier;
  const UpstreamRefusal refusal{429, &headers, body, WallTime(), ""};
  for (auto _ : state) {
    benchmark::DoNotOptimize(classifier.Read(refusal, std::chrono::seconds(60)));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}

/// A refusal of the usual length.
void ShortRefusal(benchmark::State& state) {
  ReadOne(
      state,
      R"({"error":{"message":"Rate limit reached for gpt-4o in organization org-1 on tokens per )"
      R"(min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.6s.",)"
      R"("type":"tokens","param":null,"code":"rate_limit_exceeded"}})",
      {{"content-type", "application/json"},
       {"x-ratelimit-remaining-tokens", "0"},
       {"x-ratelimit-reset-tokens", "18.6s"}});
}
BENCHMARK(ShortRefusal);

/// 4 KiB of violations, the way Google lists them.
void LongRefusal(benchmark::State& state) {
  std::string body =
      R"({"error":{"code":429,"message":"You exceeded your current quota","details":[)";
  while (body.size() < 4000) {
    body +=
        R"({"quotaMetric":"example.com/generate_requests","quotaId":"RequestsPerMinutePerModel",)"
        R"("quotaDimensions":{"location":"global","model":"some-model"},"quotaValue":"50"},)";
  }
  body.resize(4096, ' ');
  ReadOne(state, body, {});
}
BENCHMARK(LongRefusal);

/// 4 KiB of prose: every word is looked up.
void LongProse(benchmark::State& state) {
  std::string body = "{\"message\":\"";
  while (body.size() < 4000) {
    body += "The organization has reached a limit of requests for this model. Wait before retry. ";
  }
  body.resize(4096, ' ');
  ReadOne(state, body, {});
}
BENCHMARK(LongProse);

/// 4 KiB without a space: every character may begin a term.
void LongRun(benchmark::State& state) {
  std::string body = "{\"message\":\"";
  while (body.size() < 4000) body += "您的请求已收到请控制调用的次数并在稍后重新提交此模型的请求";
  ReadOne(state, body + "\"}", {});
}
BENCHMARK(LongRun);

/// A page of HTML, as gateways send it.
void LongPage(benchmark::State& state) {
  std::string body = "<html><head><title>429 Too Many Requests</title></head><body>";
  while (body.size() < 4000) {
    body += "<div class=\"row\"><p>The service cannot take your request.</p><br/></div>\n";
  }
  ReadOne(state, body, {});
}
BENCHMARK(LongPage);

}  // namespace
}  // namespace hotel
