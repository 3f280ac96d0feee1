// Answers: frames of a stream, and a whole one.
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "libhotel/route/stream_relay.h"
#include "libhotel/wire/answer.h"
#include "libhotel/wire/sse.h"
#include "libhotel/wire/stream_frame.h"

namespace hotel {
namespace {

constexpr std::string_view kFrame =
    R"(data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1700000000,)"
    R"("model":"large-1","choices":[{"index":0,"delta":{"content":" and sixteen bytes"},)"
    R"("logprobs":null,"finish_reason":null}]})"
    "\n\n";

void SplitAndReadFrame(benchmark::State& state) {
  wire::SseSplitter splitter;
  for (auto _ : state) {
    splitter.Feed(kFrame, [](const wire::SseEvent& event) {
      benchmark::DoNotOptimize(wire::ReadStreamFrame(wire::Dialect::kChat, event.name, event.data));
      return true;
    });
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(SplitAndReadFrame);

/// A chunk of this many frames on its way through.
void RelayChunk(benchmark::State& state) {
  std::string chunk;
  for (int64_t i = 0; i < state.range(0); ++i) chunk += kFrame;
  route::StreamRelay relay;
  for (auto _ : state) {
    relay.Feed(chunk);
    if (relay.Take().size() != chunk.size()) state.SkipWithError("a chunk was held back");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(RelayChunk)->Arg(1)->Arg(8);

/// Frames that arrive in two pieces.
void RelayHalves(benchmark::State& state) {
  route::StreamRelay relay;
  const std::string_view first = kFrame.substr(0, kFrame.size() / 2);
  const std::string_view second = kFrame.substr(kFrame.size() / 2);
  for (auto _ : state) {
    relay.Feed(first);
    benchmark::DoNotOptimize(relay.Take());
    relay.Feed(second);
    if (relay.Take().size() != kFrame.size()) state.SkipWithError("a frame was held back");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(RelayHalves);

void ReadWholeAnswer(benchmark::State& state) {
  const std::string text(static_cast<std::size_t>(state.range(0)), 'x');
  const std::string body =
      R"({"id":"chatcmpl-7","object":"chat.completion","created":1700000000,"model":"large-1",)"
      R"("choices":[{"index":0,"message":{"role":"assistant","content":")" +
      text +
      R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":4,)"
      R"("total_tokens":11}})";
  for (auto _ : state) {
    const wire::Answer answer = wire::ReadAnswer(Endpoint::kChatCompletions, body);
    if (answer.kind != wire::Answer::Kind::kGood) state.SkipWithError("the answer is not good");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(body.size()));
}
BENCHMARK(ReadWholeAnswer)->Arg(256)->Arg(4 << 10);

}  // namespace
}  // namespace hotel
