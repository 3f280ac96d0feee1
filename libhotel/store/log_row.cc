#include "libhotel/store/log_row.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "hotel/circuit_breaker.h"
#include "hotel/request_log.h"
#include "hotel/types.h"

#include "libhotel/base/strings.h"
#include "libhotel/wire/json.h"

namespace hotel::store {
namespace {

constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxMessage = 1000;
/// A request visits every member of its group at worst, and some twice.
constexpr std::size_t kMaxAttempts = 2000;
/// What an attempt takes, as a first guess.
constexpr std::size_t kUsualAttempt = 320;

std::int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::string_view Cut(std::string_view text, std::size_t bytes) {
  return text.size() > bytes ? base::TruncateUtf8(text, bytes) : text;
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
}

void AppendString(std::string* out, std::string_view text) {
  if (!IsPlain(text)) {
    *out += wire::JsonString(text);
    return;
  }
  *out += '"';
  *out += text;
  *out += '"';
}

void AppendText(std::string* out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  *out += name;
  AppendString(out, text);
}

void AppendNumber(std::string* out, std::string_view name, std::int64_t number) {
  *out += name;
  const fmt::format_int digits(number);
  out->append(digits.data(), digits.size());
}

void AppendAttempt(std::string* out, const AttemptRecord& attempt) {
  AppendNumber(out, R"({"attempt":)", attempt.attempt);
  *out += R"(,"provider_id":)";
  AppendString(out, attempt.provider_id);
  *out += R"(,"provider":)";
  AppendString(out, attempt.provider);
  *out += R"(,"model":)";
  AppendString(out, Cut(attempt.model, kMaxName));
  if (attempt.status) AppendNumber(out, R"(,"status":)", *attempt.status);
  AppendText(out, R"(,"error_kind":)", ErrorKindName(attempt.error_kind));
  AppendText(out, R"(,"detail":)", Cut(attempt.detail, kMaxMessage));
  AppendText(out, R"(,"rate_limit":)", attempt.rate_limit);
  AppendText(out, R"(,"phrase":)", attempt.phrase);
  AppendNumber(out, R"(,"tries":)", attempt.tries);
  AppendNumber(out, R"(,"duration_ms":)", Milliseconds(attempt.duration));
  if (attempt.ttft) AppendNumber(out, R"(,"ttft_ms":)", Milliseconds(*attempt.ttft));
  if (attempt.hedged) *out += R"(,"hedged":true)";
  AppendText(out, R"(,"breaker":)", BreakerEffectName(attempt.breaker));
  *out += '}';
}

int DecidingAttempt(const RequestRecord& record) {
  int last = 0;
  for (const AttemptRecord& attempt : record.attempts) {
    if (attempt.attempt < 0) continue;
    if (attempt.error_kind == ErrorKind::kNone && record.error_kind == ErrorKind::kNone) {
      return attempt.attempt;
    }
    last = std::max(last, attempt.attempt);
  }
  return last;
}

}  // namespace

LogRow::LogRow(const RequestRecord& record)
    : endpoint(record.endpoint),
      streaming(record.streaming),
      status(record.status),
      error_kind(record.error_kind),
      deciding_attempt(DecidingAttempt(record)),
      duration_ms(Milliseconds(record.duration)),
      usage(record.usage),
      cost(record.cost),
      created_ms(record.created_at.time_since_epoch().count()),
      plain(!record.attempts.empty()) {
  if (record.ttft) ttft_ms = Milliseconds(*record.ttft);
  const std::size_t listed = std::min(record.attempts.size(), kMaxAttempts);
  std::size_t size = kUsualAttempt * std::min<std::size_t>(listed, 16);
  const std::array<std::string_view, kAttempts> texts = {
      Cut(record.request_id, kMaxName),      Cut(record.requested_model, kMaxName),
      Cut(record.resolved_model, kMaxName),  Cut(record.provider_id, kMaxName),
      Cut(record.provider, kMaxName),        Cut(record.key_name, kMaxName),
      Cut(record.key_id, kMaxName),          Cut(record.client_ip, kMaxName),
      Cut(record.error_message, kMaxMessage)};
  for (const std::string_view text : texts) size += text.size();
  bytes_.reserve(size);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bytes_ += texts[i];
    ends_[i] = static_cast<std::uint32_t>(bytes_.size());
  }
  bytes_ += '[';
  for (std::size_t i = 0; i < listed; ++i) {
    const AttemptRecord& attempt = record.attempts[i];
    if (i > 0) bytes_ += ',';
    AppendAttempt(&bytes_, attempt);
    plain = plain && attempt.provider_id == record.provider_id &&
            attempt.status.value_or(0) == record.status;
  }
  bytes_ += ']';
  ends_[kAttempts] = static_cast<std::uint32_t>(bytes_.size());
  if (plain) return;
  attempts.reserve(listed);
  for (std::size_t i = 0; i < listed; ++i) {
    attempts.emplace_back(record.attempts[i].provider_id, record.attempts[i].status.value_or(0));
  }
}

}  // namespace hotel::store
