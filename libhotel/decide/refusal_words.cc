#include "libhotel/decide/refusal_words.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "libhotel/base/strings.h"
#include "libhotel/decide/refusal_units.h"

namespace hotel::decide {
namespace {

struct Term {
  std::string_view words;  ///< one to five words with one space between them
  Concepts concepts;
};

constexpr std::array kTerms = std::to_array<Term>({
    // Nothing left.
    {"insufficient", kLack},
    {"not enough", kLack},
    {"not sufficient", kLack},
    {"too low", kLack},
    {"negative", kLack},
    {"below zero", kLack},
    {"zero balance", kLack | kMoney},
    {"no credit", kLack | kMoney},
    {"no credits", kLack | kMoney},
    {"no balance", kLack | kMoney},
    {"no funds", kLack | kMoney},
    {"no remaining", kLack},
    {"no more", kLack},
    {"no available credits", kLack | kMoney},
    {"no available balance", kLack | kMoney},
    {"no available quota", kLack | kQuota},
    {"no quota", kLack | kQuota},
    {"t have enough", kLack},
    {"do not have enough", kLack},
    {"doesn t have enough", kLack},
    {"doesn t have any", kLack},
    {"t have any", kLack},
    {"no usage left", kUsage | kLack},
    {"requires more credits", kMore | kMoney},
    {"requires a paid", kExcluded | kPlan},
    {"out of", kLack},
    {"ran out", kLack},
    {"run out", kLack},
    {"used up", kLack | kHit},
    {"used all", kLack | kHit},
    {"fully used", kLack | kHit},
    {"depleted", kLack | kHit},
    {"exhausted", kLack | kHit},
    {"exhaust", kLack | kHit},
    {"consumed", kLack | kHit},
    {"spent", kLack | kHit},
    {"overdrawn", kLack | kHit},
    {"empty", kLack},
    {"insufficiente", kLack},
    {"saldo insuficiente", kLack | kMoney},
    {"solde insuffisant", kLack | kMoney},
    {"insuficiente", kLack},
    {"insuffisant", kLack},
    {"insuffisants", kLack},
    {"nicht gen\xC3\xBCgend", kLack},
    {"unzureichendes", kLack},
    {"aufgebraucht", kLack | kHit},
    {"agotado", kLack | kHit},
    {"esgotado", kLack | kHit},
    {"épuisé", kLack | kHit},
    {"недостаточно", kLack},
    {"исчерпан", kLack | kHit},
    // Over a line.
    {"exceed", kHit},
    {"exceeds", kHit},
    {"exceeded", kHit},
    {"exceeding", kHit},
    {"reached", kHit},
    {"reach", kHit},
    {"hit", kHit},
    {"over", kHit},
    {"over limit", kHit | kLimit},
    {"overflow", kHit},
    {"crossed", kHit},
    {"passed", kHit},
    {"surpassed", kHit},
    {"overused", kHit},
    {"maxed", kHit},
    {"above", kHit},
    {"superado", kHit},
    {"excedido", kHit},
    {"dépassé", kHit},
    {"atteint", kHit},
    {"atteinte", kHit},
    {"überschritten", kHit},
    {"erreicht", kHit},
    {"alcanzado", kHit},
    {"atingido", kHit},
    {"превышен", kHit},
    {"превышена", kHit},
    // Money.
    {"balance", kMoney},
    {"credit", kMoney},
    {"credits", kMoney},
    {"fund", kMoney},
    {"funds", kMoney},
    {"wallet", kMoney},
    {"money", kMoney},
    {"prepaid", kMoney},
    {"prepayment", kMoney},
    {"neurons", kQuota},
    {"saldo", kMoney},
    {"credito", kMoney},
    {"crediti", kMoney},
    {"solde", kMoney},
    {"crédito", kMoney},
    {"crédits", kMoney},
    {"créditos", kMoney},
    {"fondos", kMoney},
    {"guthaben", kMoney},
    {"средств", kMoney},
    {"баланс", kMoney},
    // Allowances.
    {"quota", kQuota},
    {"quotas", kQuota},
    {"allowance", kQuota},
    {"allotment", kQuota},
    {"allocation", kQuota},
    {"cuota", kQuota},
    {"kontingent", kQuota},
    {"квота", kQuota},
    {"current quota", kQuota | kCurrent},
    {"current token quota", kQuota | kCurrent},
    {"call volume quota", kUsage | kQuota},
    {"limit", kLimit},
    {"limits", kLimit},
    {"limitation", kLimit},
    {"limited to", kLimit},
    {"cap", kLimit},
    {"ceiling", kLimit},
    {"threshold", kLimit},
    {"límite", kLimit},
    {"limite", kLimit},
    {"лимит", kLimit},
    // Caps on spending.
    {"spend", kSpend},
    {"spending", kSpend},
    {"spend limit", kSpend | kLimit},
    {"billing", kSpend},
    {"hard limit", kLimit | kSpend},
    {"budget", kBudget},
    {"max budget", kBudget | kLimit},
    {"plan and billing", kBilling},
    {"billing details", kBilling},
    // Debts.
    {"billing to be enabled", kOverdue},
    {"billing disabled", kOverdue},
    {"enable billing", kOverdue},
    {"arrears", kOverdue},
    {"arrearage", kOverdue},
    {"overdue", kOverdue},
    {"unpaid", kOverdue},
    {"past due", kOverdue},
    {"delinquent", kOverdue},
    {"payment required", kOverdue},
    {"payment is required", kOverdue},
    {"requires payment", kOverdue},
    {"payment failed", kOverdue},
    {"payment method required", kOverdue},
    {"bill overdue", kOverdue},
    {"billing not active", kOverdue},
    {"billing is not active", kOverdue},
    {"good standing", kOverdue},
    // What a person is asked to do.
    {"recharge", kPayNow},
    {"top up", kPayNow},
    {"topup", kPayNow},
    {"add credits", kPayNow},
    {"add more credits", kPayNow},
    {"add more", kPayNow},
    {"add funds", kPayNow},
    {"buy credits", kPayNow},
    {"buy more credits", kPayNow},
    {"purchase credits", kPayNow},
    {"purchase more credits", kPayNow},
    {"purchase credit", kPayNow},
    // Accounts.
    {"suspended", kSuspended},
    {"deactivated", kSuspended},
    {"frozen", kSuspended},
    {"locked", kSuspended},
    {"not active", kSuspended},
    {"inactive", kSuspended},
    {"account", kAccount},
    {"accounts", kAccount},
    {"organization", kAccount},
    {"organisation", kAccount},
    {"org", kAccount},
    {"team", kAccount},
    {"workspace", kAccount},
    {"tenant", kAccount},
    {"api key", kAccount | kKey},
    {"virtual key", kAccount | kKey},
    {"this key", kAccount | kKey},
    {"key limit", kAccount | kKey | kLimit},
    {"trial key", kAccount | kKey},
    {"per user", kAccount},
    {"for user", kAccount},
    {"your", kYour},
    {"you ve", kYour | kYou},
    {"you have", kYour | kYou},
    {"you are", kYour | kYou},
    {"you re", kYour | kYou},
    // Subscription windows.
    {"usage limit", kUsage | kLimit},
    {"usage limits", kUsage | kLimit},
    {"usage cap", kUsage | kLimit},
    {"usage quota", kUsage | kQuota},
    {"usage allowance", kUsage | kQuota},
    {"usage allocation", kUsage | kQuota},
    {"extra usage", kUsage},
    {"session limit", kUsage | kLimit},
    {"plan limit", kUsage | kLimit},
    {"plan limits", kUsage | kLimit},
    {"message limit", kUsage | kLimit},
    {"subscription quota", kUsage | kQuota},
    {"subscription limit", kUsage | kLimit},
    {"premium requests", kUsage},
    {"premium request", kUsage},
    {"overage", kOverage},
    {"token plan", kPlan},
    {"reset", kReset},
    {"resets", kReset},
    {"resetting", kReset},
    {"refreshed", kReset},
    {"refreshes", kReset},
    {"refresh", kReset},
    {"regenerate", kReset},
    {"renew", kReset},
    {"replenished", kReset},
    {"renews", kReset},
    {"regain access", kReset},
    {"plan", kPlan},
    {"subscription", kPlan},
    {"package", kPlan},
    {"membership", kPlan},
    {"resource package", kPlan | kPackage},
    {"resource pack", kPlan | kPackage},
    {"monthly included", kRecovers},
    {"included credits", kRecovers | kMoney},
    // One model.
    {"model", kModel},
    {"models", kModel},
    {"deployment", kModel},
    {"endpoint", kModel},
    {"model requests", 0},
    {"run this model", 0},
    {"use this model", 0},
    {"access this model", 0},
    {"run the model", 0},
    {"inference limit", kSpend | kLimit},
    // Not part of what was bought.
    {"usage not included", kExcluded | kPlan},
    {"not included", kExcluded},
    {"does not include", kExcluded},
    {"doesn t include", kExcluded},
    {"not support", kExcluded},
    {"not available", kExcluded},
    {"not available on", kExcluded},
    {"no access", kExcluded},
    {"not entitled", kExcluded},
    // Too many at once.
    {"concurrent", kConcurrent},
    {"concurrently", kConcurrent},
    {"concurrency", kConcurrent},
    {"parallel", kConcurrent},
    {"simultaneous", kConcurrent},
    {"simultaneously", kConcurrent},
    {"in flight", kConcurrent},
    {"inflight", kConcurrent},
    {"connections", kConcurrent},
    {"max request", kConcurrent},
    {"worker", kConcurrent},
    {"gleichzeitige", kConcurrent},
    {"simultanées", kConcurrent},
    {"simultáneas", kConcurrent},
    {"параллельных", kConcurrent},
    {"одновременных", kConcurrent},
    // No room.
    {"overloaded", kBusy},
    {"overload", kBusy},
    {"over capacity", kBusy},
    {"capacity", kBusy},
    {"busy", kBusy},
    {"high demand", kBusy},
    {"heavy demand", kBusy},
    {"high load", kBusy},
    {"heavy load", kBusy},
    {"under load", kBusy},
    {"high traffic", kBusy},
    {"heavy traffic", kBusy},
    {"surge", kBusy},
    {"congested", kBusy},
    {"congestion", kBusy},
    {"crowded", kBusy},
    {"peak load", kBusy},
    {"queue", kBusy},
    {"queued", kBusy},
    {"pending requests", kBusy},
    {"saturated", kBusy},
    {"cold start", kBusy},
    {"upstream", kUpstream},
    {"temporarily rate limited", kBusy},
    {"shared pool", kBusy},
    {"no instances", kBusy},
    {"no healthy", kBusy},
    {"überlastet", kBusy},
    {"ausgelastet", kBusy},
    {"surchargé", kBusy},
    {"sobrecargado", kBusy},
    {"saturado", kBusy},
    {"перегружен", kBusy},
    // Soon over.
    {"shortly", kSoon},
    {"a moment", kSoon},
    {"momentarily", kSoon},
    {"brief wait", kSoon},
    {"brief moment", kSoon},
    {"few seconds", kSoon},
    {"a few moments", kSoon},
    {"a bit", kSoon},
    {"back off", kSoon},
    {"slow down", kPace},
    {"wait before", kSoon},
    {"at the moment", kSoon},
    {"exponential backoff", kSoon},
    {"try again later", kLater},
    {"retry later", kLater},
    // Rates.
    {"rate limit", kRate},
    {"rate limits", kRate},
    {"rate limited", kRate},
    {"ratelimit", kRate},
    {"too many requests", kRate},
    {"too many tokens", kRate},
    {"throttled", kRate},
    {"throttling", kRate},
    {"throttle", kRate},
    {"throttling rate quota", kPace},
    {"throttling burst rate", kPace},
    {"throttling allocation quota", kPace},
    {"requests rate limit", kPace},
    {"call rate", kPace},
    {"token rate", kPace},
    {"rate is too high", kPace},
    {"request rate", kPace},
    {"flow control", kPace},
    {"burst", kPace},
    {"requests throttling triggered", kPace},
    {"current requests list", kPace},
    {"limit requests", kPace},
    {"frequency", kPace},
    {"too frequent", kPace},
    {"too frequently", kPace},
    {"too fast", kPace},
    {"too quickly", kPace},
    {"rate increased", kPace},
    {"rate growth", kPace},
    {"spike arrest", kPace},
    {"unusual traffic", kRate},
    // The request itself.
    {"request too large", kTooLarge},
    {"too large for", kTooLarge},
    {"prompt is too long", kTooLarge},
    {"context length", kTooLarge},
    {"single request", kTooLarge},
    {"tokens must be reduced", kTooLarge},
    // Gifts.
    {"free trial", kFree},
    {"free tier", kFree},
    {"free quota", kFree | kQuota},
    {"free allocated quota", kFree | kQuota},
    {"free credits", kFree | kMoney},
    {"trial quota", kFree | kQuota},
    {"trial credits", kFree | kMoney},
    {"trial", kFree},
    {"expired", kExpired},
    {"has ended", kExpired},
    {"ended", kExpired},
    {"total", kTotal},
    {"lifetime", kTotal},
    // Google.
    {"resource exhausted", kResource},
    {"resource has been exhausted", kResource},
    {"quota metrics exceed quota limits", kAllotted | kQuota | kHit},
    {"requests per base model", kRequests | kShort},
    {"tokens per base model", kRequests | kShort},
    {"gpus", kAllotted},
    {"request", kRequests},
    {"requests", kRequests},
    {"prediction", kRequests},
    // Windows by name.
    {"rpm", kShort},
    {"tpm", kShort},
    {"rps", kShort},
    {"tps", kShort},
    {"qps", kShort},
    {"qpm", kShort},
    {"ipm", kShort},
    {"itpm", kShort},
    {"otpm", kShort},
    {"rpd", kLong},
    {"tpd", kLong},
    {"ipd", kLong},
    {"rph", kLong},
    {"tph", kLong},
    {"asph", kLong},
    {"hourly", kLong},
    {"daily", kLong},
    {"today", kLong},
    {"nightly", kLong},
    {"weekly", kLong | kWeek},
    {"monthly", kLong | kWeek},
    {"yearly", kLong | kWeek},
    {"annual", kLong | kWeek},
    {"billing cycle", kLong | kWeek},
    {"billing period", kLong | kWeek},
    {"current cycle", kLong | kWeek},
    {"this month", kLong | kWeek},
    {"this week", kLong | kWeek},
    {"diario", kLong},
    {"diaria", kLong},
    {"mensual", kLong | kWeek},
    {"mensuel", kLong | kWeek},
    {"mensuelle", kLong | kWeek},
    {"quotidien", kLong},
    {"quotidienne", kLong},
    {"tageslimit", kLong | kLimit},
    {"tägliches", kLong},
    {"monatliches", kLong | kWeek},
    {"monatslimit", kLong | kWeek | kLimit},
    {"diário", kLong},
    {"дневной", kLong},
    {"суточный", kLong},
    {"месячный", kLong | kWeek},
});

// Scripts without spaces: found anywhere in a run of characters.
constexpr std::array kRuns = std::to_array<Term>({
    {"余额不足", kLack | kMoney},
    {"余额", kMoney},
    {"令牌额度", kMoney},
    {"用户额度", kMoney},
    {"餘額不足", kLack | kMoney},
    {"欠费", kOverdue},
    {"逾期", kOverdue},
    {"未支付", kOverdue},
    {"充值", kPayNow},
    {"不足", kLack},
    {"用完", kLack | kHit},
    {"用尽", kLack | kHit},
    {"耗尽", kLack | kHit},
    {"用光", kLack | kHit},
    {"额度", kQuota},
    {"配额", kQuota},
    {"限额", kQuota},
    {"免费额度", kFree | kQuota},
    {"试用", kFree},
    {"上限", kLimit},
    {"限制", kLimit},
    {"达到", kHit},
    {"已达", kHit},
    {"超过", kHit},
    {"超出", kHit},
    {"超限", kHit | kLimit},
    {"套餐", kPlan},
    {"订阅", kPlan},
    {"资源包", kPlan | kPackage},
    {"暂未开放", kExcluded},
    {"不包含", kExcluded},
    {"未开通", kExcluded},
    {"到期", kExpired},
    {"过期", kExpired},
    {"停用", kSuspended},
    {"冻结", kSuspended},
    {"禁用", kSuspended},
    {"锁定", kSuspended},
    {"账户", kAccount},
    {"账号", kAccount},
    {"帐户", kAccount},
    {"用户", kAccount},
    {"您", kYour},
    {"模型", kModel},
    {"重置", kReset},
    {"恢复", kReset},
    {"使用上限", kUsage | kLimit},
    {"使用限额", kUsage | kQuota},
    {"用量", kUsage},
    {"并发", kConcurrent},
    {"繁忙", kBusy},
    {"负载", kBusy},
    {"饱和", kBusy},
    {"过载", kBusy},
    {"拥挤", kBusy},
    {"访问量过大", kBusy},
    {"排队", kBusy},
    {"流量限制", kPace},
    {"限流", kPace},
    {"流控", kPace},
    {"频率", kPace},
    {"频繁", kPace},
    {"速率", kPace},
    {"过快", kPace},
    {"请求过多", kRate},
    {"稍后", kLater},
    {"每分钟", kShort},
    {"每秒", kShort},
    {"每天", kLong},
    {"每日", kLong},
    {"当日", kLong},
    {"当天", kLong},
    {"今日", kLong},
    {"今天", kLong},
    {"每小时", kLong},
    {"每周", kLong | kWeek},
    {"本周", kLong | kWeek},
    {"每月", kLong | kWeek},
    {"本月", kLong | kWeek},
    {"当月", kLong | kWeek},
    {"残高", kMoney},
    {"クレジット", kMoney},
    {"利用上限", kUsage | kLimit},
    {"達し", kHit},
    {"今月", kLong | kWeek},
    {"本日", kLong},
    {"混み合", kBusy},
    {"混雑", kBusy},
    {"同時", kConcurrent},
    {"1日", kLong},
    {"毎分", kShort},
    {"잔액", kMoney},
    {"크레딧", kMoney},
    {"부족", kLack},
    {"한도", kLimit},
    {"초과", kHit},
    {"분당", kShort},
    {"일일", kLong},
    {"혼잡", kBusy},
    {"월간", kLong | kWeek},
    {"동시", kConcurrent},
});

// What a provider asks for begins with one of these.
constexpr std::array<std::string_view, 44> kAdvice = {
    "add",      "upgrade",  "upgrading", "visit",  "contact",  "see",    "check",     "refer",
    "consider", "increase", "reduce",    "go",     "purchase", "buy",    "subscribe", "enable",
    "switch",   "learn",    "view",      "manage", "need",     "want",   "unlock",    "submit",
    "for",      "to",       "if",        "get",    "link",     "set",    "apply",     "navigate",
    "email",    "create",   "recharge",  "top",    "register", "update", "move",      "renew",
    "head",     "adjust",   "monitor",   "note"};
// These only behind "please", "or", "and": alone they begin statements too.
constexpr std::array<std::string_view, 8> kPoliteAdvice = {"request", "use",  "try",   "reach",
                                                           "make",    "wait", "limit", "review"};

struct Entry {
  std::array<std::string_view, 5> words;
  std::size_t count = 0;
  Concepts concepts = 0;
};

// Terms by their first word, the longest first: an open hash table, because every word of every
// refusal is looked up.
class Vocabulary {
 public:
  Vocabulary() {
    entries_.reserve(kTerms.size());
    for (const Term& term : kTerms) entries_.push_back(EntryOf(term));
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.words[0] != b.words[0] ? a.words[0] < b.words[0] : a.count > b.count;
    });
    for (std::size_t i = 0; i < entries_.size();) {
      std::size_t end = i;
      while (end < entries_.size() && entries_[end].words[0] == entries_[i].words[0]) ++end;
      std::size_t slot = Hash(entries_[i].words[0]);
      while (slots_[slot].end != 0) slot = (slot + 1) % kSlots;
      slots_[slot] = {static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(end)};
      i = end;
    }
  }

  /// The entries that begin with `word` or with what it is the plural of.
  std::span<const Entry> Find(std::string_view word) const {
    const std::span<const Entry> exact = FindExact(word);
    if (!exact.empty() || word.size() < 4 || word.back() != 's') return exact;
    return FindExact(word.substr(0, word.size() - 1));
  }

 private:
  struct Slot {
    std::uint16_t begin = 0;
    std::uint16_t end = 0;
  };
  static constexpr std::size_t kSlots = 2048;
  static_assert(kTerms.size() * 2 < kSlots);

  static Entry EntryOf(const Term& term) {
    Entry entry;
    entry.concepts = term.concepts;
    std::string_view rest = term.words;
    while (!rest.empty() && entry.count < entry.words.size()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      entry.words[entry.count++] = rest.substr(0, space);
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    return entry;
  }

  static std::size_t Hash(std::string_view word) noexcept {
    std::uint64_t front = 0;
    std::memcpy(&front, word.data(), std::min(word.size(), sizeof(front)));
    front = (front ^ word.size()) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(front >> 53) % kSlots;
  }

  std::span<const Entry> FindExact(std::string_view word) const {
    for (std::size_t slot = Hash(word); slots_[slot].end != 0; slot = (slot + 1) % kSlots) {
      const Slot& found = slots_[slot];
      if (entries_[found.begin].words[0] == word) {
        return std::span(entries_).subspan(found.begin, found.end - found.begin);
      }
    }
    return {};
  }

  std::vector<Entry> entries_;
  std::array<Slot, kSlots> slots_{};
};

const Vocabulary& TheVocabulary() {
  static const Vocabulary vocabulary;
  return vocabulary;
}

template <std::size_t N>
bool IsOneOf(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Concepts ReadRun(std::string_view run) {
  Concepts found = 0;
  for (const Term& term : kRuns) {
    if (run.find(term.words) != std::string_view::npos) found |= term.concepts;
  }
  return found;
}

// A plural is the word it is the plural of.
bool SameWord(std::string_view word, std::string_view term) {
  return word == term || (word.size() == term.size() + 1 && word.back() == 's' &&
                          word.substr(0, term.size()) == term);
}

class ClauseReader {
 public:
  ClauseReader(const RefusalText& text, const Clause& clause)
      : words_(text.words()), clause_(clause) {}

  ClauseMeaning Read() {
    const Vocabulary& vocabulary = TheVocabulary();
    ClauseMeaning meaning;
    bool advice = false;
    for (std::size_t i = clause_.begin; i < clause_.end;) {
      const std::string_view word = words_[i].text;
      if (clause_.kind == ClauseKind::kMessage && StartsAdvice(i)) advice = true;
      Concepts* const into = advice ? &meaning.advises : &meaning.states;
      std::size_t taken = 1;
      if (static_cast<unsigned char>(word.front()) >= 0xE3) {
        *into |= ReadRun(word);
      } else {
        for (const Entry& entry : vocabulary.Find(word)) {
          if (!Matches(entry, i)) continue;
          *into |= entry.concepts;
          taken = entry.count;
          break;
        }
      }
      *into |= Window(i);
      i += taken;
    }
    // The name of an error says by itself that the limit in it was hit.
    if (clause_.kind == ClauseKind::kCode && (meaning.states & kUsage) != 0) meaning.states |= kHit;
    return meaning;
  }

 private:
  bool Matches(const Entry& entry, std::size_t at) const {
    if (at + entry.count > clause_.end) return false;
    for (std::size_t k = 1; k < entry.count; ++k) {
      if (!SameWord(words_[at + k].text, entry.words[k])) return false;
    }
    return true;
  }

  std::string_view Before(std::size_t at, std::size_t steps) const {
    return at >= clause_.begin + steps ? words_[at - steps].text : std::string_view();
  }

  bool StartsAdvice(std::size_t at) const {
    const std::string_view word = words_[at].text;
    const std::string_view before = Before(at, 1);
    const bool polite = before == "please" || before == "or" || before == "and";
    const bool start = before.empty() || polite || words_[at].before == ',' ||
                       words_[at].before == ':' || words_[at].before == '-' ||
                       words_[at].before == '(';
    // Where it stands is asked first: it is the cheaper question.
    if (!start && before != "can" && before != "may" && before != "to") return false;
    if (IsOneOf(word, kAdvice)) {
      // These begin advice only at the front of a sentence.
      return (word != "for" && word != "to" && word != "if") || before.empty();
    }
    return before == "please" && IsOneOf(word, kPoliteAdvice);
  }

  // "per minute", "/ day", "5-hour", "for 5 hour", "per 60s".
  Concepts Window(std::size_t at) const {
    const std::string_view word = words_[at].text;
    // Most words are no unit at all.
    if (UnitOf(word, true).count() == 0) return 0;
    // The number in "20 / min" counts requests.
    const std::optional<double> number = at > clause_.begin && words_[at].before != '/'
                                             ? NumberOf(words_[at - 1].text)
                                             : std::nullopt;
    const Duration unit = UnitOf(word, number.has_value());
    if (unit.count() == 0) return 0;
    // "30 秒后": a wait.
    if (number && word.find("后") != std::string_view::npos) return 0;
    const std::string_view opener = Before(at, number ? 2 : 1);
    const char mark = number ? words_[at - 1].before : words_[at].before;
    static constexpr std::array<std::string_view, 16> kOpeners = {
        "per",  "a",   "an",  "each", "every", "by",   "one",     "within",
        "last", "pro", "par", "por",  "в",     "this", "rolling", "requests"};
    const bool opened = mark == '/' || IsOneOf(opener, kOpeners);
    if (!number) {
      // "hour allocated quota", "for the day".
      static constexpr std::array<std::string_view, 4> kAllowances = {"allocated", "quota", "limit",
                                                                      "budget"};
      const bool names = at + 1 < clause_.end && IsOneOf(words_[at + 1].text, kAllowances);
      const bool whole = opener == "the" && unit > std::chrono::hours(1);
      return opened || names || whole ? WindowOf(unit) : 0;
    }
    const Duration span =
        PlausibleSpan(*number, unit).value_or(*number < 1 ? Duration(1) : kMaxStatedSpan);
    if (opened) return WindowOf(span);
    static constexpr std::array<std::string_view, 16> kWaits = {
        "in",    "after", "wait", "again", "about", "approximately", "another", "next",
        "least", "retry", "for",  "en",    "dans",  "через",         "around",  "resets"};
    // "for 5 hour" is a window of hours; "wait for 30 seconds" is a wait.
    if (opener == "for" && span > std::chrono::minutes(1) && Before(at, 3) != "wait") {
      return WindowOf(span);
    }
    if (IsOneOf(opener, kWaits)) return 0;
    // The rest of a compound wait: "8 hours 24 minutes".
    if (UnitOf(opener, true).count() != 0 || opener == "and") return 0;
    return WindowOf(span);
  }

  static Concepts WindowOf(Duration span) {
    if (span <= std::chrono::minutes(1)) return kShort;
    // What is counted over a few hours is a subscription.
    if (span > std::chrono::hours(1) && span <= std::chrono::hours(12)) return kLong | kUsage;
    return span >= std::chrono::hours(24 * 7) ? kLong | kWeek : kLong;
  }

  const std::vector<Word>& words_;
  const Clause& clause_;
};

}  // namespace

ClauseMeaning ReadClause(const RefusalText& text, const Clause& clause) {
  return ClauseReader(text, clause).Read();
}

}  // namespace hotel::decide
