#include "libhotel/decide/rate_limit_classifier.h"

#include <array>
#include <optional>
#include <span>

#include "libhotel/base/strings.h"
#include "libhotel/decide/refusal_body_waits.h"
#include "libhotel/decide/refusal_evidence.h"
#include "libhotel/decide/refusal_header_waits.h"
#include "libhotel/decide/refusal_lexicon.h"
#include "libhotel/decide/refusal_phrases.h"
#include "libhotel/decide/refusal_text.h"

namespace hotel::decide {
namespace {

const HeaderList kNoHeaders;

// Fields in which gateways name the limit that was hit.
constexpr std::array<std::string_view, 6> kNamingHeaders = {
    "x-ratelimit-type",       "x-ratelimit-scope", "x-ratelimit-reason",
    "x-ratelimit-limit-type", "x-amzn-errortype",  "x-error-code"};

/// What the words come to. Null row = nothing, or a contradiction.
struct Decision {
  const PhraseRow* row = nullptr;
  bool contradiction = false;
};

Decision Decide(const Evidence& e) {
  const Findings& m = e.message;
  const Findings& c = e.code;
  if (e.too_large && m.money == nullptr && c.money == nullptr) return {nullptr, true};
  if (e.limit_of_zero) return {&RowOf("limit of zero"), false};
  // What names the violated quota is exact; "exceeded your current quota" around it is boilerplate.
  if (e.quota.window != nullptr) return {e.quota.window, false};
  if (e.quota.busy != nullptr) {
    const bool boilerplate =
        m.money == nullptr || m.money->phrase.key == "exceeded your current quota";
    return boilerplate ? Decision{e.quota.busy, false} : Decision{nullptr, true};
  }
  if (m.money != nullptr || m.window != nullptr) {
    // A free quota of a day comes back.
    const bool window =
        m.money == nullptr || (m.window != nullptr && m.money->phrase.key == "free quota used up");
    const PhraseRow* const spent = window ? m.window : m.money;
    // "No credits left. Limits are 60 requests per minute.": a limit that is only named.
    const bool busy = m.busy != nullptr && (m.busy_was_hit || m.money == nullptr);
    const bool contradicted = busy || c.busy != nullptr;
    return contradicted ? Decision{nullptr, true} : Decision{spent, false};
  }
  if (m.busy != nullptr) {
    if (c.money != nullptr || c.window != nullptr) return {nullptr, true};
    return {m.busy, false};
  }
  if (c.money != nullptr || c.window != nullptr) {
    const PhraseRow* const spent = c.money != nullptr ? c.money : c.window;
    return c.busy != nullptr ? Decision{nullptr, true} : Decision{spent, false};
  }
  if (m.weak != nullptr)
    return c.busy != nullptr ? Decision{c.busy, false} : Decision{m.weak, false};
  if (c.busy != nullptr) return {c.busy, false};
  if (m.soft != nullptr) return {m.soft, false};
  return {};
}

std::string_view SpentDimension(const RefusalText& text) {
  const std::string_view type = text.Value("type");
  if (type == "tokens" || type == "requests") return type;
  for (const Word& word : text.words()) {
    if ((word.lexeme->roles & kNamesTokens) != 0) return "tokens";
    if ((word.lexeme->roles & kNamesRequests) != 0) return "requests";
  }
  return {};
}

bool IsGoogle(const RefusalText& text) { return text.Value("status") == "resource_exhausted"; }

// "Quota exceeded" and "limit reached, it resets" are said of minutes too.
bool YieldsToWait(const PhraseRow& row) {
  return row.weight == Weight::kIsWeak || row.phrase.key == "limit that resets";
}

void ReadScope(const RefusalText& text, const Evidence& e, const PhraseRow& row,
               bool header_governs, RateLimitReading* reading) {
  reading->needs_payment = row.phrase.needs_payment;
  // A sentence about another model beside it does not make a window that model's.
  const bool of_model = row.weight == Weight::kIsWindow && &row == e.message.window
                            ? e.message.window_of_model
                            : e.names_model;
  reading->account_wide = row.phrase.account_wide && !of_model;
  const std::string_view key = row.phrase.key;
  if (key == "request costs more than is left") reading->account_wide = e.affords_nothing;
  if (key == "exceeded your current quota" && IsGoogle(text)) {
    reading->account_wide = false;
    // Google says this of windows too. A header's wait governs alone, and leaves what the words
    // say.
    if (!header_governs) reading->needs_payment = false;
  }
  const bool quota = row.weight == Weight::kIsWeak;
  if (quota && ((e.states | e.advises) & (kBilling | kPayNow)) != 0) reading->needs_payment = true;
  // Credits that come again are an allowance.
  if (key == "balance spent" && ((e.states | e.advises) & kReset) != 0) {
    reading->needs_payment = false;
    reading->default_wait = kWindowPin;
  }
  if (key == "long window") {
    // A rate limit of a day is a model's, unless it is said to be the account's.
    reading->account_wide =
        !e.names_model && (e.names_account || (e.states & (kUsage)) != 0 ||
                           ((e.states & kQuota) != 0 && (e.states & kYour) != 0));
    if (IsGoogle(text)) reading->account_wide = false;
  }
}

}  // namespace

RateLimitReading ReadRefusal(const UpstreamRefusal& refusal, Duration max_wait) {
  const HeaderList& headers = refusal.headers != nullptr ? *refusal.headers : kNoHeaders;
  std::array<std::string_view, kNamingHeaders.size()> quota_names;
  std::size_t named = 0;
  for (const std::string_view name : kNamingHeaders) {
    const std::string_view value = FindHeader(headers, name);
    if (!value.empty()) quota_names[named++] = value;
  }
  const RefusalText text(refusal.body, std::span(quota_names).first(named));
  const Evidence evidence = Collect(text);
  Decision decision = Decide(evidence);
  const HeaderWait header = ReadHeaderWait(headers, refusal.received_at, SpentDimension(text));
  const BodyWait body = ReadBodyWait(text, refusal.received_at);
  if (decision.row == nullptr && !decision.contradiction) {
    if (refusal.status == 402) {
      decision.row = &RowOf("status 402");
    } else if (refusal.status == 529) {
      decision.row = &RowOf("status 529");
    } else if (header.unified_rejected) {
      decision.row = &RowOf("unified limit rejected");
    } else if (header.long_window_spent) {
      decision.row = &RowOf("long window in headers");
    } else if (header.short_window_spent) {
      decision.row = &RowOf("short window in headers");
    }
  }

  RateLimitReading reading;
  reading.classified = true;
  // Any wait above the ceiling governs: what is said to take hours is not busy.
  const bool header_governs = header.wait > max_wait;
  const std::optional<Duration> long_wait = header_governs         ? header.wait
                                            : body.wait > max_wait ? body.wait
                                                                   : std::nullopt;
  const std::optional<Duration> stated = header.wait ? header.wait : body.wait;
  const bool too_large = evidence.too_large && decision.row == nullptr;
  if (decision.row != nullptr && decision.row->phrase.refusal_class == RefusalClass::kExhausted) {
    if (!long_wait && (body.structured || (stated && YieldsToWait(*decision.row)))) {
      reading.refusal_class = RefusalClass::kSaturated;
      reading.wait = body.structured ? body.wait : stated;
      reading.default_wait = kSaturatedWait;
      return reading;
    }
    reading.refusal_class = RefusalClass::kExhausted;
    reading.phrase = decision.row->phrase.key;
    reading.default_wait = decision.row->phrase.default_wait;
    ReadScope(text, evidence, *decision.row, header_governs, &reading);
    reading.wait = long_wait;
    // What the body dates comes back by itself.
    if (long_wait && !header_governs && reading.needs_payment) {
      reading.needs_payment = false;
      reading.account_wide = false;
    }
    return reading;
  }
  if (too_large) return reading;
  if (decision.row != nullptr) reading.phrase = decision.row->phrase.key;
  if (long_wait) {
    reading.refusal_class = RefusalClass::kExhausted;
    reading.wait = long_wait;
    reading.default_wait = kWindowPin;
    constexpr Concepts kAllowance = kLimit | kRate | kQuota | kUsage | kUse;
    const bool yours = (evidence.states & kYou) != 0 && (evidence.states & kHit) != 0 &&
                       (evidence.states & kAllowance) != 0;
    reading.account_wide = (evidence.names_account || yours) && !evidence.names_model;
    return reading;
  }
  if (decision.contradiction || (decision.row == nullptr && !stated)) return reading;
  reading.refusal_class = RefusalClass::kSaturated;
  reading.wait = stated;
  reading.default_wait = kSaturatedWait;
  return reading;
}

RateLimitReading StandardClassifier::Read(const UpstreamRefusal& refusal,
                                          Duration max_wait) const noexcept {
  return refusal.status == 429 ? ReadWords(refusal, max_wait) : RateLimitReading();
}

RateLimitReading StandardClassifier::ReadWords(const UpstreamRefusal& refusal,
                                               Duration max_wait) const noexcept {
  try {
    return ReadRefusal(refusal, max_wait);
  } catch (...) {
    // Out of memory: a refusal nobody could read.
    RateLimitReading reading;
    reading.classified = true;
    return reading;
  }
}

}  // namespace hotel::decide

namespace hotel {

bool StatesNothingRemaining(const HeaderList& headers) noexcept {
  for (const std::string_view name : {"x-ratelimit-remaining-requests",
                                      "x-ratelimit-remaining-tokens", "x-ratelimit-remaining"}) {
    if (base::Trim(FindHeader(headers, name)) == "0") return true;
  }
  return false;
}

}  // namespace hotel
