// Event streams: the splitter agrees with a naive reader, and with itself over any chunking.
#include "libhotel/wire/sse.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
using hotel::wire::SseEvent;
using hotel::wire::SseSplitter;

struct Seen {
  std::string name;
  std::string data;
  bool has_data = false;
};

struct Run {
  std::vector<Seen> events;
  std::vector<std::uint64_t> ends;
  SseSplitter::Status status = SseSplitter::Status::kOk;
};

Run Split(std::string_view stream, std::size_t step, std::size_t limit) {
  Run run;
  SseSplitter splitter(limit);
  const auto take = [&](const SseEvent& event) {
    run.events.push_back({std::string(event.name), std::string(event.data), event.has_data});
    run.ends.push_back(event.end_offset);
    return true;
  };
  for (std::size_t pos = 0; pos < stream.size(); pos += step) {
    const std::string chunk(stream.substr(pos, step));  // its own bytes, gone after the call
    splitter.Feed(chunk, take);
  }
  run.status = splitter.Finish(take);
  return run;
}

// Lines first, then fields: the text of the standard, without a thought for speed.
std::vector<Seen> Naive(std::string_view stream) {
  if (stream.substr(0, 3) == "\xEF\xBB\xBF") stream.remove_prefix(3);
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    if (stream[i] != '\n' && stream[i] != '\r') {
      lines.back() += stream[i];
      continue;
    }
    if (stream[i] == '\r' && i + 1 < stream.size() && stream[i + 1] == '\n') ++i;
    lines.emplace_back();
  }
  lines.emplace_back();  // the end dispatches too
  std::vector<Seen> events;
  Seen event;
  bool any_line = false;
  bool any_data = false;
  for (const std::string& line : lines) {
    if (line.empty()) {
      if (any_line) events.push_back(event);
      event = {};
      any_line = any_data = false;
      continue;
    }
    any_line = true;
    const std::size_t colon = line.find(':');
    std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
    if (!value.empty() && value[0] == ' ') value.erase(0, 1);
    const std::string field = line.substr(0, colon);
    if (field == "event") event.name = value;
    if (field != "data") continue;
    if (any_data) event.data += '\n';
    any_data = true;
    event.data += value;
    event.has_data = event.has_data || !value.empty();
  }
  return events;
}

bool Same(const std::vector<Seen>& a, const std::vector<Seen>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].data != b[i].data || a[i].has_data != b[i].has_data) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view stream = hotel::fuzz::AsText(data, size);
  const std::size_t whole_step = size == 0 ? 1 : size;
  const Run whole = Split(stream, whole_step, std::size_t{1} << 30);
  Require(whole.status == SseSplitter::Status::kOk, "without a limit nothing is too large");
  Require(Same(whole.events, Naive(stream)), "events are those of the standard");
  std::uint64_t last = 0;
  for (const std::uint64_t end : whole.ends) {
    Require(end > last && end <= size, "offsets grow and stay inside the stream");
    last = end;
  }
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{7}}) {
    const Run cut = Split(stream, step, std::size_t{1} << 30);
    Require(Same(cut.events, whole.events) && cut.ends == whole.ends, "chunks do not matter");
  }
  const Run limited = Split(stream, whole_step, 16);
  const Run limited_cut = Split(stream, 2, 16);
  Require(Same(limited.events, limited_cut.events) && limited.ends == limited_cut.ends &&
              limited.status == limited_cut.status,
          "chunks do not matter to the limit");
  return 0;
}
