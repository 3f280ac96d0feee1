// Refusals of any form: always a reading that keeps the header's promises, at any cut.
#include <chrono>
#include <string>
#include <string_view>

#include "hotel/rate_limit.h"

#include "libhotel/decide/rate_limit_classifier.h"
#include "libhotel/wire/hidden_error.h"
#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
namespace wire = hotel::wire;

constexpr auto kMaxWait = std::chrono::seconds(60);

void RequireSound(const hotel::RateLimitReading& reading) {
  const bool spent = reading.refusal_class == hotel::RefusalClass::kExhausted;
  const bool busy = reading.refusal_class == hotel::RefusalClass::kSaturated;
  Require(reading.classified, "a 429 is classified");
  Require(spent || (!reading.account_wide && !reading.needs_payment),
          "only a spent account is one");
  Require(!reading.wait || *reading.wait > hotel::Duration(0), "waits are positive");
  Require(!reading.wait || *reading.wait <= std::chrono::hours(24 * 90), "waits are plausible");
  Require(!busy || reading.WaitOrDefault() <= kMaxWait, "busy is over before the ceiling");
  Require(!spent || !reading.wait || *reading.wait > kMaxWait, "a stated short wait is not spent");
  Require((spent || busy) == (reading.default_wait > hotel::Duration(0)), "a class has a default");
}

// The first lines, up to an empty one, are headers.
hotel::HeaderList TakeHeaders(std::string_view* text) {
  hotel::HeaderList headers;
  while (headers.size() < 16) {
    const std::size_t end = text->find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = text->substr(0, end);
    text->remove_prefix(end + 1);
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    headers.push_back({std::string(line.substr(0, colon)), std::string(line.substr(colon + 1))});
  }
  return headers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view body = hotel::fuzz::AsText(data, size);
  const hotel::HeaderList headers = TakeHeaders(&body);
  const hotel::WallTime now(std::chrono::milliseconds(1788256800000));
  const hotel::decide::StandardClassifier classifier;
  const std::size_t step = body.size() < 256 ? 1 : body.size() / 64;
  for (std::size_t cut = 0; cut <= body.size(); cut += step) {
    // A copy of the exact size, so that the sanitizers see a read behind the end.
    const std::string exact(body.substr(0, cut));
    RequireSound(classifier.Read({429, &headers, exact, now, ""}, kMaxWait));
    const auto start = wire::ReadHiddenStart(exact, false);
    const auto whole = wire::ReadHiddenError(exact);
    if (start.kind == wire::HiddenStart::Kind::kError) {
      Require(whole && whole->status == start.error.status, "a start is judged like a whole body");
    }
    if (whole) Require(whole->status >= 400 && whole->status < 600, "hidden statuses are errors");
    if (const auto envelope = wire::ReadMinimaxEnvelope(exact)) {
      Require(envelope->status >= 400 && envelope->status < 600, "envelope statuses are errors");
    }
  }
  return 0;
}
