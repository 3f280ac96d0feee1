#include "libhotel/decide/refusal_words.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "libhotel/decide/refusal_lexicon.h"
#include "libhotel/decide/refusal_units.h"

namespace hotel::decide {
namespace {

// A plural is the word it is the plural of.
bool SameWord(std::string_view word, std::string_view term) {
  if (word.front() != term.front()) return false;
  return word == term || (word.size() == term.size() + 1 && word.back() == 's' &&
                          word.substr(0, term.size()) == term);
}

class ClauseReader {
 public:
  ClauseReader(const RefusalText& text, const Clause& clause)
      : text_(text), words_(text.words()), clause_(clause) {}

  ClauseMeaning Read() {
    ClauseMeaning meaning;
    bool advice = false;
    for (std::size_t i = clause_.begin; i < clause_.end;) {
      const Word& word = words_[i];
      if (clause_.kind == ClauseKind::kMessage && StartsAdvice(i)) advice = true;
      Concepts* const into = advice ? &meaning.advises : &meaning.states;
      std::size_t taken = 1;
      if (IsRun(word)) *into |= ReadRun(word.text);
      for (const LexiconTerm& term : word.lexeme->terms) {
        if (!Matches(term, i)) continue;
        *into |= term.concepts;
        taken = term.count;
        break;
      }
      // Most words are no unit at all.
      if (word.lexeme->unit.count() != 0 || IsRun(word)) *into |= Window(i);
      i += taken;
    }
    // The name of an error says by itself that the limit in it was hit.
    if (clause_.kind == ClauseKind::kCode && (meaning.states & kUsage) != 0) meaning.states |= kHit;
    return meaning;
  }

 private:
  bool Matches(const LexiconTerm& term, std::size_t at) const {
    if (at + term.count > clause_.end) return false;
    for (std::size_t k = 1; k < term.count; ++k) {
      if (!SameWord(words_[at + k].text, term.words[k])) return false;
    }
    return true;
  }

  // The roles of the word `steps` before, none at the front of the clause.
  Roles RolesBefore(std::size_t at, std::size_t steps) const {
    return at >= clause_.begin + steps ? words_[at - steps].lexeme->roles : 0;
  }

  bool StartsAdvice(std::size_t at) const {
    const Roles roles = words_[at].lexeme->roles;
    if ((roles & (kBeginsAdvice | kPoliteAdvice)) == 0) return false;
    const bool front = at == clause_.begin;
    const Roles before = RolesBefore(at, 1);
    const char mark = words_[at].before;
    const bool start =
        front || (before & kJoins) != 0 || mark == ',' || mark == ':' || mark == '-' || mark == '(';
    if (!start && (before & kModal) == 0) return false;
    if ((roles & kBeginsAdvice) != 0) return (roles & kFrontAdvice) == 0 || front;
    return (before & kPlease) != 0;
  }

  // "per minute", "/ day", "5-hour", "for 5 hour", "per 60s".
  Concepts Window(std::size_t at) const {
    const Word& word = words_[at];
    if (UnitOf(word, true).count() == 0) return 0;
    // The number in "20 / min" counts requests.
    const std::optional<double> number =
        at > clause_.begin && word.before != '/' ? NumberOf(words_[at - 1].text) : std::nullopt;
    const Duration unit = UnitOf(word, number.has_value());
    if (unit.count() == 0) return 0;
    if (number && MeansLater(text_, at + 1, clause_.end)) return 0;
    const std::size_t steps = number ? 2 : 1;
    const bool first = at < clause_.begin + steps;
    const std::string_view opener = first ? std::string_view() : words_[at - steps].text;
    const Roles roles = RolesBefore(at, steps);
    const char mark = number ? words_[at - 1].before : word.before;
    const bool opened = mark == '/' || (roles & kOpensWindow) != 0;
    if (!number) {
      // "hour allocated quota", "for the day".
      const bool names =
          at + 1 < clause_.end && (words_[at + 1].lexeme->roles & kAllowanceWord) != 0;
      const bool whole = opener == "the" && unit > std::chrono::hours(1);
      return opened || names || whole ? WindowOf(unit) : 0;
    }
    const Duration span =
        PlausibleSpan(*number, unit).value_or(*number < 1 ? Duration(1) : kMaxStatedSpan);
    if (opened) return WindowOf(span);
    // "for 5 hour" is a window of hours; "wait for 30 seconds" is a wait.
    if ((roles & kForWord) != 0 && span > std::chrono::minutes(1) &&
        !(at >= clause_.begin + 3 && words_[at - 3].text == "wait")) {
      return WindowOf(span);
    }
    if ((roles & kOpensWait) != 0) return 0;
    // The rest of a compound wait: "8 hours 24 minutes".
    if ((!first && UnitOf(words_[at - steps], true).count() != 0) || opener == "and") return 0;
    return WindowOf(span);
  }

  static Concepts WindowOf(Duration span) {
    if (span <= std::chrono::minutes(1)) return kShort;
    // What is counted over a few hours is a subscription.
    if (span > std::chrono::hours(1) && span <= std::chrono::hours(12)) return kLong | kUsage;
    return span >= std::chrono::hours(24 * 7) ? kLong | kWeek : kLong;
  }

  const RefusalText& text_;
  const std::vector<Word>& words_;
  const Clause& clause_;
};

}  // namespace

ClauseMeaning ReadClause(const RefusalText& text, const Clause& clause) {
  return ClauseReader(text, clause).Read();
}

}  // namespace hotel::decide
