#include "libhotel/decide/refusal_evidence.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "libhotel/decide/refusal_lexicon.h"
#include "libhotel/decide/refusal_units.h"
#include "libhotel/decide/refusal_words.h"

namespace hotel::decide {
namespace {

// What says that a limit was in the way, not only that there is one.
constexpr Concepts kRefused = kHit | kLack | kRate | kPace | kBusy | kConcurrent;

bool WordsAre(const RefusalText& text, std::size_t at, std::size_t end,
              std::initializer_list<std::string_view> expected) {
  for (const std::string_view word : expected) {
    if (at >= end || text.words()[at].text != word) return false;
    ++at;
  }
  return true;
}

// Numbers that decide: "Limit 6000, Requested 12328", "limit: 0", "can only afford 0".
void ReadNumbers(const RefusalText& text, Evidence* evidence) {
  constexpr std::size_t kNear = 8;
  std::optional<double> limit;
  std::size_t limit_at = 0;
  const auto& words = text.words();
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if ((words[i].lexeme->roles & kNumbered) == 0) continue;
    const std::string_view word = words[i].text;
    const std::size_t at = i + (words[i + 1].text == "of" || words[i + 1].text == "is" ? 2 : 1);
    if (at >= words.size()) break;
    const std::optional<double> number = NumberOf(words[at].text);
    if (!number) continue;
    if (word == "afford") {
      evidence->affords_nothing = *number <= 0;
    } else if (word == "limit") {
      limit = number;
      limit_at = i;
      if (*number == 0 && words[at].before != '-') evidence->limit_of_zero = true;
    } else if (limit && i - limit_at <= kNear && *number > *limit && *limit > 0) {
      evidence->too_large = true;
    }
  }
  for (const NamedValue& value : text.values()) {
    if ((value.name == "quota_limit_value" || value.name == "quotavalue") && value.value == "0") {
      evidence->limit_of_zero = true;
    }
  }
}

// "for gpt-4o in organization", "this model", a model in quotes; not "model requests".
bool NamesModel(const RefusalText& text, const Clause& clause, const ClauseMeaning& meaning) {
  if ((meaning.states & kModel) != 0) return true;
  const auto& words = text.words();
  for (std::size_t i = clause.begin; i < clause.end; ++i) {
    if ((words[i].lexeme->roles & kForWord) == 0 || i + 1 >= clause.end) continue;
    for (std::size_t k = i + 2; k < std::min(i + 12, clause.end); ++k) {
      if (WordsAre(text, k, clause.end, {"in", "organization"}) ||
          WordsAre(text, k, clause.end, {"in", "project"})) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

void Findings::Add(const PhraseRow* row) {
  if (row == nullptr) return;
  const PhraseRow** const slot = row->weight == Weight::kIsMoney    ? &money
                                 : row->weight == Weight::kIsWindow ? &window
                                 : row->weight == Weight::kIsWeak   ? &weak
                                 : row->weight == Weight::kIsBusy   ? &busy
                                                                    : &soft;
  if (*slot == nullptr) *slot = row;
}

Evidence Collect(const RefusalText& text) {
  Evidence evidence;
  for (const Clause& clause : text.clauses()) {
    const ClauseMeaning meaning = ReadClause(text, clause);
    const PhraseRow* const row = MatchClause(meaning.states);
    const Concepts soft = (meaning.states | meaning.advises) & (kSoon | kLater);
    switch (clause.kind) {
      case ClauseKind::kMessage:
        evidence.message.Add(row);
        if (row != nullptr && row->weight == Weight::kIsBusy && (meaning.states & kRefused) != 0) {
          evidence.message.busy_was_hit = true;
        }
        evidence.states |= meaning.states | soft;
        evidence.advises |= meaning.advises;
        if ((meaning.states & kTooLarge) != 0) evidence.too_large = true;
        if (NamesModel(text, clause, meaning)) {
          evidence.names_model = true;
          if (row != nullptr && row == evidence.message.window) {
            evidence.message.window_of_model = true;
          }
        }
        if ((meaning.states & (kAccount | kKey)) != 0) evidence.names_account = true;
        break;
      case ClauseKind::kCode:
        evidence.code.Add(row);
        evidence.codes |= meaning.states;
        break;
      case ClauseKind::kQuotaName:
        evidence.quota.Add(row);
        if ((meaning.states & kModel) != 0) evidence.names_model = true;
        break;
    }
  }
  evidence.code.Add(MatchCode(text));
  ReadNumbers(text, &evidence);
  // Said in two sentences.
  if (evidence.message.soft == nullptr)
    evidence.message.Add(MatchClause(evidence.states & (kResource | kLater)));
  if (evidence.message.soft == nullptr) evidence.message.Add(MatchClause(evidence.states & kSoon));
  if (evidence.message.window == nullptr && evidence.message.busy == nullptr) {
    const PhraseRow* const row = MatchClause(evidence.states);
    if (row != nullptr && row->phrase.key == "limit that resets") evidence.message.Add(row);
  }
  if (evidence.message.weak == nullptr && (evidence.advises & kPayNow) != 0) {
    evidence.message.Add(&RowOf("please recharge"));
  }
  return evidence;
}

}  // namespace hotel::decide
