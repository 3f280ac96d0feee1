// How an answer is taken, and what it looks like to the client.
#include <string>
#include <string_view>

#include "libhotel/base/strings.h"
#include "libhotel/route/attempt.h"
#include "libhotel/route/outgoing.h"
#include "libhotel/route/usage_estimate.h"
#include "libhotel/wire/stream_frame.h"

namespace hotel::route {
namespace {

constexpr std::string_view kJsonType = "application/json";
constexpr std::string_view kSseType = "text/event-stream";
constexpr std::string_view kHtmlType = "text/html";
constexpr std::string_view kBinaryType = "application/octet-stream";

bool IsType(std::string_view content_type, std::string_view type) {
  return base::EqualsIgnoreCase(content_type.substr(0, type.size()), type);
}

/// What calls itself JSON: also `application/problem+json` and the old `text/json`.
bool IsJson(std::string_view content_type) {
  const std::string_view type = base::Trim(content_type.substr(0, content_type.find(';')));
  constexpr std::string_view kSuffix = "+json";
  return IsType(type, kJsonType) || base::EqualsIgnoreCase(type, "text/json") ||
         (type.size() > kSuffix.size() &&
          base::EqualsIgnoreCase(type.substr(type.size() - kSuffix.size()), kSuffix));
}

}  // namespace

/// How the body of a 2xx is taken.
Attempt::Mode Attempt::ModeOfAnswer() const {
  const std::string_view type = try_->content_type;
  if (try_->status == 204 || try_->status == 205) return Mode::kBuffer;
  const bool coded = !try_->content_encoding.empty();
  if (plain()) {
    // Vectors and ranks are JSON whatever they are called; a page is no answer anywhere.
    const bool only_json = endpoint_ == Endpoint::kEmbeddings || endpoint_ == Endpoint::kRerank;
    if (only_json || IsJson(type) || IsType(type, kHtmlType)) return Mode::kBuffer;
    return IsType(type, kSseType) && !coded ? Mode::kStream : Mode::kOpaque;
  }
  if (!streaming_asked_ || IsJson(type)) return Mode::kBuffer;
  // Whatever is not plainly JSON is read as a stream: providers mislabel SSE (F077).
  return coded ? Mode::kOpaque : Mode::kStream;
}

std::string_view Attempt::content_type() const noexcept {
  switch (try_->mode) {
    case Mode::kStream:
      return kSseType;
    case Mode::kOpaque:
      if (!plain()) return kSseType;
      return try_->content_type.empty() ? kBinaryType : std::string_view(try_->content_type);
    case Mode::kRaw:
      return try_->content_type;
    case Mode::kBuffer:
      if (plain() && !try_->content_type.empty()) return try_->content_type;
      break;
    case Mode::kError:
    case Mode::kUnknown:
      break;
  }
  return kJsonType;
}

HeaderList Attempt::RelayedHeaders(bool head_only) const {
  if (endpoint_ != Endpoint::kPassthrough) {
    return try_->mode == Mode::kError ? HeaderList() : try_->headers;
  }
  HeaderList relayed;
  for (const Header& header : try_->headers) {
    const bool length = head_only && base::EqualsIgnoreCase(header.name, "content-length");
    if (length || IsPassedOn(header.name)) relayed.push_back(header);
  }
  return relayed;
}

std::int64_t Attempt::output_estimate() const noexcept {
  if (plain()) return 0;
  if (try_->mode == Mode::kStream) return try_->relay.output_estimate();
  if (try_->mode == Mode::kOpaque) return static_cast<std::int64_t>(try_->line_bytes / 4);
  return try_->mode == Mode::kBuffer ? EstimateTokens(try_->body) : 0;
}

std::string Attempt::closing() const {
  if (try_->mode != Mode::kStream) return {};
  const StreamRelay& relay = try_->relay;
  std::string end(separator());
  if (!relay.done()) end += wire::MissingTerminator(wire::DialectOf(endpoint_));
  return end;
}

}  // namespace hotel::route
