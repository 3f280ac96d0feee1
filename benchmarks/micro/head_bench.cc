// The head of a request as a common client library sends it.
#include <string_view>

#include <benchmark/benchmark.h>

#include "server/request_head.h"

namespace hotel::server {
namespace {

constexpr std::string_view kHead =
    "POST /v1/chat/completions HTTP/1.1\r\n"
    "Host: 127.0.0.1:8081\r\n"
    "Accept: application/json\r\n"
    "Content-Type: application/json\r\n"
    "User-Agent: OpenAI/JS 4.104.0\r\n"
    "X-Stainless-Retry-Count: 0\r\n"
    "X-Stainless-Timeout: 600\r\n"
    "X-Stainless-Lang: js\r\n"
    "X-Stainless-Runtime: node\r\n"
    "Authorization: Bearer vk-0123456789abcdef\r\n"
    "Content-Length: 512\r\n"
    "Connection: keep-alive\r\n"
    "\r\n";

void ReadRequestHead(benchmark::State& state) {
  const HeadLimits limits;
  for (auto _ : state) {
    RequestHead head;
    if (ScanHead(kHead).size != kHead.size() || ParseRequestHead(kHead, limits, &head)) {
      state.SkipWithError("the head was refused");
    }
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kHead.size()));
}
BENCHMARK(ReadRequestHead);

}  // namespace
}  // namespace hotel::server
