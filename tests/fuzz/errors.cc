// Provider text on its way to clients and records: always well formed, never with a credential.
#include "libhotel/wire/errors.h"

#include <string>
#include <string_view>

#include <simdjson.h>

#include "libhotel/wire/json.h"
#include "libhotel/wire/payload.h"
#include "libhotel/wire/sse.h"
#include "libhotel/wire/stream_frame.h"
#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
namespace wire = hotel::wire;

constexpr std::string_view kSecret = "Zq/9\"x\\w";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The error member as a client sees it, whatever its spelling: no string of the text means the
// secret.
void RequireNoSecret(std::string_view json) {
  Require(!Has(json, kSecret), "the secret is not in the bytes");
  for (std::size_t quote = json.find('"'); quote != std::string_view::npos;) {
    wire::JsonCursor cursor(json.substr(quote));
    std::string_view raw;
    if (!cursor.String(&raw)) break;
    std::string plain;
    wire::JsonUnescape(raw, &plain);
    Require(!Has(plain, kSecret), "the secret is not in a string");
    quote = json.find('"', quote + cursor.offset());
  }
}

void CheckRelayed(std::string_view relayed, wire::Dialect dialect) {
  wire::JsonCursor cursor(wire::TrimPayload(relayed));
  bool has_error = false;
  bool has_type = false;
  const bool read = cursor.Object([&](std::string_view key) {
    has_error = has_error || wire::JsonTextIs(key, "error");
    has_type = has_type || wire::JsonTextIs(key, "type");
    return cursor.Skip();
  });
  Require(read && cursor.AtEnd() && has_error, "the client gets a JSON object with an error");
  if (dialect == wire::Dialect::kMessages) Require(has_type, "Anthropic's error has a type");
  RequireNoSecret(relayed);
}

void CheckStreamError(const std::string& event, wire::Dialect dialect) {
  int events = 0;
  wire::SseSplitter splitter;
  splitter.Feed(event, [&](const wire::SseEvent& seen) {
    ++events;
    Require(wire::ReadStreamFrame(dialect, seen.name, seen.data).kind ==
                wire::StreamFrame::Kind::kError,
            "the last event is an error");
    Require(seen.end_offset == event.size(), "the last event ends the stream");
    return true;
  });
  Require(events == 1, "a stream error is one event");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hotel::fuzz::AsText(data, size);

  for (const wire::Dialect dialect : {wire::Dialect::kChat, wire::Dialect::kMessages}) {
    CheckRelayed(wire::RelayProviderError(dialect, 400, text, kSecret), dialect);
  }

  for (const std::size_t limit : {std::size_t{0}, std::size_t{10}, std::size_t{160}}) {
    const std::string detail = wire::SanitizeDetail(text, kSecret, limit);
    Require(detail.size() <= limit, "a detail keeps its limit");
    Require(simdjson::validate_utf8(detail), "a detail is text");
    Require(!Has(detail, kSecret), "the secret is not in a detail");
    for (const char c : detail) {
      Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a detail is printable");
    }
  }

  for (const wire::Dialect dialect :
       {wire::Dialect::kChat, wire::Dialect::kMessages, wire::Dialect::kResponses}) {
    CheckStreamError(wire::StreamError(dialect, "stream_incomplete", text), dialect);
  }

  const std::string token = wire::JsonString(text);
  std::string plain;
  Require(wire::JsonUnescape(std::string_view(token).substr(1, token.size() - 2), &plain),
          "a token has no half surrogates");
  if (simdjson::validate_utf8(text)) Require(plain == text, "a token means its text");
  return 0;
}
