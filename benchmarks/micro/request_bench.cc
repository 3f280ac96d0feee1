// The client's request body: reading it, and putting another model's name into it.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "libhotel/wire/request.h"

namespace hotel::wire {
namespace {

/// A chat request of about this many bytes, its model behind the messages.
std::string RequestOf(std::size_t size) {
  std::string body = R"({"messages":[)";
  const std::string message =
      R"({"role":"user","content":"Tell me \"more\" about hotels.\nAnd about \u00e9t\u00e9, please."})";
  while (body.size() + message.size() + 64 < size) body += message + ",";
  return body + message + R"(],"temperature":0.7,"model":"hotel/large"})";
}

void PeekRequest(benchmark::State& state) {
  const std::string body = RequestOf(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    auto peek = wire::PeekRequest(body);
    if (!peek.ok()) state.SkipWithError("the request was refused");
    benchmark::DoNotOptimize(peek);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.size()));
}
BENCHMARK(PeekRequest)->Arg(1 << 10)->Arg(64 << 10)->Arg(12 << 20);

void WithModel(benchmark::State& state) {
  const auto body =
      std::make_shared<const std::string>(RequestOf(static_cast<std::size_t>(state.range(0))));
  const auto peek = wire::PeekRequest(*body);
  if (!peek.ok()) return state.SkipWithError("the request was refused");
  for (auto _ : state) benchmark::DoNotOptimize(wire::WithModel(body, *peek, "vendor/large-1"));
}
BENCHMARK(WithModel)->Arg(1 << 10)->Arg(12 << 20);

}  // namespace
}  // namespace hotel::wire
