#include "libhotel/decide/refusal_phrases.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "libhotel/base/strings.h"

namespace hotel {

std::string_view RefusalClassName(RefusalClass refusal_class) noexcept {
  switch (refusal_class) {
    case RefusalClass::kSaturated:
      return "saturated";
    case RefusalClass::kExhausted:
      return "exhausted";
    default:
      return "unknown";
  }
}

namespace decide {
namespace {

constexpr auto kSpentClass = RefusalClass::kExhausted;
constexpr auto kBusyClass = RefusalClass::kSaturated;
constexpr Concepts kAnyBusy = kConcurrent | kBusy;
constexpr Concepts kFound = ~Concepts{0};  // by value, never by words

// Order is precedence inside one clause: what names a small thing (one model, one package) stands
// before what names a big one, and what a person must fix before what time fixes.
constexpr std::array kRows = std::to_array<PhraseRow>({
    // clang-format off
    {{"no resource package", "balance or resource package missing for a model", "Z.ai 1113",
      kSpentClass, false, true, kUntilPaidPin, "facts c, row 1"},
     Weight::kIsMoney, kLack | kPackage, 0, 0, kAnyBusy},
    {{"plan excludes the model", "a plan or subscription does not include the model",
      "Zhipu 1311, MiniMax 2061", kSpentClass, false, true, kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kExcluded | kPlan, 0, 0, kAnyBusy | kShort},
    {{"request costs more than is left", "this request requires more credits", "OpenRouter 402",
      kSpentClass, false, true, kUntilPaidPin, "OpenRouter's error pages"},
     Weight::kIsMoney, kMore | kMoney, 0, 0, kAnyBusy | kShort},
    {{"free quota used up", "a free trial or free quota is used up", "Volcengine, DashScope, Tencent",
      kSpentClass, true, true, kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kFree, kLack | kHit | kExpired, 0, kAnyBusy | kShort | kLong},
    {{"included credits used up", "credits that come with the plan every month are used up",
      "Hugging Face", kSpentClass, true, false, kWeeklyPin, "Hugging Face forum"},
     Weight::kIsWindow, kRecovers | kMoney, kLack | kHit, 0, kAnyBusy | kShort},
    {{"balance spent", "insufficient balance, no credits, out of funds",
      "OpenAI, Anthropic, DeepSeek, Z.ai, MiniMax, Moonshot, OpenRouter, Replicate", kSpentClass,
      true, true, kUntilPaidPin, "facts c, rows 2 and 7"},
     Weight::kIsMoney, kMoney | kLack, 0, 0, kAnyBusy | kShort | kLong},
    {{"balance too low", "a credit or balance limit exceeded", "gateways", kSpentClass, true, true,
      kUntilPaidPin, "general reading"},
     Weight::kIsMoney, kMoney | kHit, 0, 0, kAnyBusy | kShort | kLong | kRate},
    {{"account overdue", "arrears, overdue bill, payment required", "Aliyun, Volcengine, Baidu",
      kSpentClass, true, true, kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kOverdue, 0, 0, kAnyBusy | kShort},
    {{"account suspended", "account suspended, frozen or deactivated", "Moonshot, OpenAI",
      kSpentClass, true, true, kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kSuspended | kAccount, 0, 0, kAnyBusy | kShort},
    {{"plan expired", "subscription, plan or package expired", "Zhipu 1309", kSpentClass, true, true,
      kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kExpired | kPlan, 0, 0, kAnyBusy | kShort},
    {{"spending limit", "billing hard limit or spending limit reached", "OpenAI, Together, Groq",
      kSpentClass, true, true, kUntilPaidPin, "facts c, row 6"},
     Weight::kIsMoney, kSpend, kHit | kLack, kLimit | kQuota, kAnyBusy | kShort | kRate},
    {{"budget window spent", "a budget of a day or a month exceeded", "LiteLLM", kSpentClass, true,
      false, kWindowPin, "LiteLLM's sources"},
     Weight::kIsWindow, kBudget | kLong, kHit | kLack, 0, kAnyBusy | kShort},
    {{"budget spent", "budget exceeded", "LiteLLM and other gateways", kSpentClass, true, true,
      kUntilPaidPin, "LiteLLM's sources"},
     Weight::kIsMoney, kBudget, kHit | kLack, 0, kAnyBusy | kShort},
    {{"exceeded your current quota", "exceeded your current quota, plan and billing",
      "OpenAI, Google", kSpentClass, true, true, kUntilPaidPin, "facts c, row 5"},
     Weight::kIsMoney, kCurrent, kHit | kLack, 0, kAnyBusy | kShort},
    {{"allocated quota", "quota metrics exceed quota limits; hardware", "Vertex AI", kSpentClass,
      false, true, kUntilPaidPin, "Vertex AI"},
     Weight::kIsMoney, kAllotted, kHit | kLack, 0, kAnyBusy | kShort},
    {{"short window", "a limit per second or per minute; RPM, TPM, QPS",
      "OpenAI, Azure, Anthropic, Groq, Together, Cerebras, Google", kBusyClass, false, false,
      kSaturatedWait, "facts c, rows 18 and 19"},
     Weight::kIsBusy, kShort, 0, 0, kLong},
    {{"overage limit", "overage limit reached", "Neuralwatt", kSpentClass, false, false, kWindowPin,
      "facts c, row 12"},
     Weight::kIsWindow, kOverage, kLimit | kHit, 0, kAnyBusy | kShort},
    {{"usage window", "usage, session or subscription limit reached",
      "Ollama Cloud, ChatGPT Codex, OpenCode, Kimi Code, Z.ai 1308", kSpentClass, true, false,
      kWindowPin, "facts c, rows 10 to 12b"},
     Weight::kIsWindow, kUsage, kHit | kLack | kReset, 0, kAnyBusy | kShort | kWeek},
    {{"weekly window", "a limit per week, month or billing cycle reached",
      "Z.ai 1310, Ollama Cloud, Kimi Code, Copilot, Cohere", kSpentClass, true, false, kWeeklyPin,
      "facts c, rows 8 and 9"},
     Weight::kIsWindow, kWeek, kLimit | kQuota | kHit | kLack | kRate | kUsage | kRequests, 0,
     kAnyBusy | kShort},
    {{"long window", "a limit per hour or day reached; RPD, TPD",
      "OpenAI, Groq, Google, Bedrock, OpenRouter, Moonshot", kSpentClass, true, false, kWindowPin,
      "general reading"},
     Weight::kIsWindow, kLong, kLimit | kQuota | kHit | kLack | kRate | kUsage | kRequests, 0,
     kAnyBusy | kShort},
    {{"limit that resets", "limit exhausted, it will reset", "Z.ai, Claude subscriptions",
      kSpentClass, true, false, kWindowPin, "facts c, row 8"},
     Weight::kIsWindow, kReset | kLimit, kLack | kHit, 0, kAnyBusy | kShort | kRate},
    {{"total limit", "a limit in total reached", "Baidu 19, OpenRouter keys", kSpentClass, true,
      true, kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kTotal | kLimit, kHit | kLack, 0, kAnyBusy | kShort | kRequests},
    {{"key limit", "the API key's own limit exceeded", "OpenRouter", kSpentClass, true, true,
      kUntilPaidPin, "OpenRouter's error pages"},
     Weight::kIsMoney, kKey | kLimit, kHit | kLack, 0, kAnyBusy | kShort | kLong | kRate | kRequests},
    {{"insufficient_quota", "insufficient quota, no quota", "OpenAI, one-api gateways", kSpentClass,
      true, true, kUntilPaidPin, "facts c, row 4"},
     Weight::kIsMoney, kQuota | kLack, 0, 0, kAnyBusy | kShort | kHit},
    {{"concurrency", "too many at once: concurrency, parallel, in flight",
      "Z.ai 1302, Kimi Code, Neuralwatt, Moonshot", kBusyClass, false, false, kSaturatedWait,
      "facts c, rows 13 to 16"},
     Weight::kIsBusy, kConcurrent, 0, 0, kLong},
    {{"no capacity", "overloaded, busy, no capacity, queue full",
      "Anthropic, Google, Mistral, vLLM, SGLang, DeepInfra", kBusyClass, false, false,
      kSaturatedWait, "facts c, row 21"},
     Weight::kIsBusy, kBusy, 0, 0, kLong},
    {{"too fast", "requests come too fast or too often", "DashScope, Azure, Ollama Cloud, Zhipu 1303",
      kBusyClass, false, false, kSaturatedWait, "facts c, row 22"},
     Weight::kIsBusy, kPace, 0, 0, kLong | kUsage},
    {{"upstream pool", "rate-limited upstream", "OpenRouter", kBusyClass, false, false,
      kSaturatedWait, "OpenRouter"},
     Weight::kIsBusy, kUpstream | kRate, 0, 0, kLong | kUsage},
    {{"quota spent", "quota exhausted or used up, no window named", "many", kSpentClass, true, false,
      kWindowPin, "general reading"},
     Weight::kIsWeak, kQuota | kLack, 0, 0, kAnyBusy | kShort | kResource},
    {{"your quota exceeded", "your quota or the account's exceeded, no window named", "many",
      kSpentClass, true, false, kWindowPin, "general reading"},
     Weight::kIsWeak, kQuota | kHit, kYour | kAccount | kPlan | kFree, 0,
     kAnyBusy | kShort | kResource},
    {{"shared capacity", "resource exhausted, try again later", "Vertex AI", kBusyClass, false, false,
      kSaturatedWait, "Vertex AI's page on error 429"},
     Weight::kIsSoft, kResource | kLater, 0, 0, 0},
    {{"try again shortly", "try again in a moment", "Kiro, OpenCode, Bedrock", kBusyClass, false,
      false, kSaturatedWait, "general reading"},
     Weight::kIsSoft, kSoon, 0, 0, 0},
    {{"please recharge", "recharge, top up, buy credits", "many", kSpentClass, true, true,
      kUntilPaidPin, "facts c, row 3"},
     Weight::kIsWeak, kPayNow, 0, 0, kFound},
    // Found by value.
    {{"limit of zero", "a limit or quota whose value is 0", "Google, OpenAI", kSpentClass, false,
      true, kUntilPaidPin, "general reading"},
     Weight::kIsMoney, kFound, 0, 0, 0},
    {{"minimax status_code 1008", "base_resp.status_code 1008, balance", "MiniMax", kSpentClass, true,
      true, kUntilPaidPin, "facts c, row 23"},
     Weight::kIsMoney, kFound, 0, 0, 0},
    {{"minimax status_code 1039", "base_resp.status_code 1039, token plan", "MiniMax", kSpentClass,
      false, false, kWindowPin, "facts c, row 24"},
     Weight::kIsWindow, kFound, 0, 0, 0},
    {{"minimax status_code 1002", "base_resp.status_code 1002, requests per minute", "MiniMax",
      kBusyClass, false, false, kSaturatedWait, "facts c"},
     Weight::kIsBusy, kFound, 0, 0, 0},
    {{"code of a spent balance", "a vendor's code: arrears, balance, locked account",
      "Zhipu, Baidu, Tencent", kSpentClass, true, true, kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kFound, 0, 0, 0},
    {{"code of a plan without the model", "a vendor's code: the plan has not got the model",
      "Zhipu 1311, MiniMax 2061", kSpentClass, false, true, kUntilPaidPin, "vendors' code lists"},
     Weight::kIsMoney, kFound, 0, 0, 0},
    {{"code of a spent window", "a vendor's code: usage window, calls per day",
      "Zhipu 1304, 1308 and 1310, Baidu 17, MiniMax 2056", kSpentClass, true, false, kWindowPin,
      "vendors' code lists"},
     Weight::kIsWindow, kFound, 0, 0, 0},
    {{"code of a busy provider", "a vendor's code: rate, concurrency, traffic",
      "Zhipu 1302, 1303, 1305 and 1312, Baidu 18, iFlytek, SiliconFlow", kBusyClass, false, false,
      kSaturatedWait, "vendors' code lists"},
     Weight::kIsBusy, kFound, 0, 0, 0},
    {{"status 402", "nothing but the status 402 Payment Required", "any", kSpentClass, true, true,
      kUntilPaidPin, "RFC 9110"},
     Weight::kIsMoney, kFound, 0, 0, 0},
    {{"status 529", "nothing but the status 529", "Anthropic", kBusyClass, false, false,
      kSaturatedWait, "Anthropic's error page"},
     Weight::kIsBusy, kFound, 0, 0, 0},
    {{"unified limit rejected", "anthropic-ratelimit-unified-status: rejected",
      "Anthropic subscriptions", kSpentClass, true, false, kWindowPin, "facts c, general reading"},
     Weight::kIsWindow, kFound, 0, 0, 0},
    {{"long window in headers", "nothing remaining of an hour, a day or a month, by header",
      "Mistral, Cerebras", kSpentClass, false, false, kWindowPin, "general reading"},
     Weight::kIsWindow, kFound, 0, 0, 0},
    {{"short window in headers", "nothing remaining of a minute, by header", "Mistral, Cerebras",
      kBusyClass, false, false, kSaturatedWait, "general reading"},
     Weight::kIsBusy, kFound, 0, 0, 0},
    // clang-format on
});

// No row is made of these alone.
constexpr Concepts kPassive = kModel | kYour | kYou | kAccount | kKey | kRequests | kPlan | kLimit |
                              kQuota | kRate | kReset | kLater | kCurrent | kBilling | kUse;
constexpr bool PassiveIsEnough() {
  for (const PhraseRow& row : kRows) {
    if (row.all != kFound && row.none != kFound && (row.all & ~kPassive) == 0 &&
        (row.any == 0 || (row.any & kPassive) != 0)) {
      return true;
    }
  }
  return false;
}

static_assert(!PassiveIsEnough(), "a row would never be found");

// Bit i of an entry: row i asks for that concept first.
constexpr std::array kRowsByConcept = [] {
  std::array<std::uint64_t, 64> rows{};
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].all == kFound || kRows[i].none == kFound) continue;
    rows[static_cast<std::size_t>(std::countr_zero(kRows[i].all))] |= std::uint64_t{1} << i;
  }
  return rows;
}();
static_assert(kRows.size() <= 64);

struct CodeRow {
  std::string_view code;
  std::string_view key;
};
// Four digits that begin with 11 or 13 in an error object.
constexpr std::array kZhipuCodes = std::to_array<CodeRow>({
    {"1112", "code of a spent balance"},
    {"1113", "code of a spent balance"},
    {"1121", "code of a spent balance"},
    {"1302", "code of a busy provider"},
    {"1303", "code of a busy provider"},
    {"1304", "code of a spent window"},
    {"1305", "code of a busy provider"},
    {"1308", "code of a spent window"},
    {"1309", "code of a spent balance"},
    {"1310", "code of a spent window"},
    {"1311", "code of a plan without the model"},
    {"1312", "code of a busy provider"},
    {"1313", "code of a spent balance"},
});
// `error_code` as a number.
constexpr std::array kBaiduCodes = std::to_array<CodeRow>({
    {"4", "code of a busy provider"},
    {"17", "code of a spent window"},
    {"18", "code of a busy provider"},
    {"19", "code of a spent balance"},
    {"336501", "code of a busy provider"},
    {"336502", "code of a busy provider"},
});
// Top-level `code` of other vendors.
constexpr std::array kOtherCodes = std::to_array<CodeRow>({
    {"11202", "code of a busy provider"},
    {"11203", "code of a busy provider"},
    {"11201", "code of a spent window"},
    {"10007", "code of a busy provider"},
    {"50505", "code of a busy provider"},
    {"50603", "code of a busy provider"},
    {"30001", "code of a spent balance"},
    {"resourceinsufficient.chargeresourceexhausted", "code of a spent balance"},
    {"failedoperation.resourcepackexhausted", "code of a spent balance"},
});
constexpr std::array kMinimaxCodes = std::to_array<CodeRow>({
    {"1002", "minimax status_code 1002"},
    {"1008", "minimax status_code 1008"},
    {"1039", "minimax status_code 1039"},
    {"1041", "code of a busy provider"},
    {"2045", "code of a busy provider"},
    {"2056", "code of a spent window"},
    {"2061", "code of a plan without the model"},
});

template <std::size_t N>
const PhraseRow* Find(const std::array<CodeRow, N>& codes, std::string_view code) {
  for (const CodeRow& row : codes) {
    if (row.code == code) return &RowOf(row.key);
  }
  return nullptr;
}

}  // namespace

const PhraseRow* MatchClause(Concepts states) {
  if ((states & ~kPassive) == 0) return nullptr;
  // A clause that speaks of money or a quota that is gone is never busy, whatever else it says.
  const bool gone =
      (states & kLack) != 0 && (states & kShort) == 0 &&
      ((states & kMoney) != 0 || ((states & kQuota) != 0 && (states & kConcurrent) == 0));
  std::uint64_t candidates = 0;
  for (Concepts rest = states; rest != 0; rest &= rest - 1) {
    candidates |= kRowsByConcept[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  for (; candidates != 0; candidates &= candidates - 1) {
    const PhraseRow& row = kRows[static_cast<std::size_t>(std::countr_zero(candidates))];
    if (gone && row.weight == Weight::kIsBusy) continue;
    if ((states & row.all) != row.all) continue;
    if (row.any != 0 && (states & row.any) == 0) continue;
    if (row.any_too != 0 && (states & row.any_too) == 0) continue;
    if ((states & row.none) == 0) return &row;
  }
  return nullptr;
}

const PhraseRow& RowOf(std::string_view key) {
  for (const PhraseRow& row : kRows) {
    if (row.phrase.key == key) return row;
  }
  return kRows.back();
}

const PhraseRow* MatchCode(const RefusalText& text) {
  if (const std::string_view code = text.Value("status_code"); !code.empty()) {
    if (const PhraseRow* row = Find(kMinimaxCodes, code)) return row;
  }
  if (const std::string_view code = text.Value("error_code"); !code.empty()) {
    if (const PhraseRow* row = Find(kBaiduCodes, code)) return row;
  }
  const std::string_view code = text.Value("code");
  if (const PhraseRow* row = Find(kZhipuCodes, code)) return row;
  return Find(kOtherCodes, code);
}

std::string RefusalPhrasesMarkdown() {
  std::string page =
      "# How a refusal is read\n\n"
      "A 429 makes one of two claims. *Saturated*: busy, a retry succeeds in seconds; the request "
      "moves on and the\ncircuit is left alone. *Exhausted*: spent, nothing succeeds before a "
      "window "
      "resets or somebody pays; the circuit\nopens at once. Where a provider says neither, or "
      "contradicts itself, the refusal is *unknown*.\n\n"
      "The reader looks for concepts in clauses of text, not for sentences: it takes JSON, HTML "
      "and "
      "JSON inside of JSON\napart, leaves out links and advice (\"add a payment method\"), and "
      "takes "
      "identifiers to pieces (`PerDay`). A wait\nthat a provider states outranks the wait below: "
      "above `rate_limit.saturation_max_wait` it is an exhaustion of that\nlength; below it, it is "
      "saturation unless the words say otherwise. `hotelctl classify` shows the reading of any\n"
      "answer.\n\n"
      "Rows are in order of precedence. The key is what records and `hotelctl classify` show as "
      "`phrase`; it is empty where\na stated wait alone decided. \"account\" is about the whole "
      "account unless the words name one model.\n\n"
      "This page is generated from the table in `libhotel/decide/refusal_phrases.cc`.\n\n"
      "| key | what it says | class | wait | account | to be paid | seen at | known from |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const PhraseRow& row : kRows) {
    const RefusalPhrase& phrase = row.phrase;
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(phrase.default_wait).count();
    const std::string wait = seconds < 60          ? fmt::format("{} s", seconds)
                             : seconds < 3600      ? fmt::format("{} min", seconds / 60)
                             : seconds < 24 * 3600 ? fmt::format("{} h", seconds / 3600)
                                                   : fmt::format("{} d", seconds / 86400);
    page +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", phrase.key, phrase.wording,
                    RefusalClassName(phrase.refusal_class), wait, phrase.account_wide ? "yes" : "",
                    phrase.needs_payment ? "yes" : "", phrase.providers, phrase.provenance);
  }
  return page;
}

}  // namespace decide

const std::vector<RefusalPhrase>& RefusalPhrases() {
  static const std::vector<RefusalPhrase> phrases = [] {
    std::vector<RefusalPhrase> list;
    for (const decide::PhraseRow& row : decide::kRows) list.push_back(row.phrase);
    return list;
  }();
  return phrases;
}

}  // namespace hotel
