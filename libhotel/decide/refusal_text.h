// The text of a refusal, made readable: whatever wraps it (JSON, JSON in a string of JSON, a Python
// dump, a page of HTML, a stream frame, any of them cut off), what is left are words in clauses and
// named values.
#ifndef HOTEL_DECIDE_REFUSAL_TEXT_H_
#define HOTEL_DECIDE_REFUSAL_TEXT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libhotel/decide/refusal_lexicon.h"
#include "libhotel/decide/refusal_names.h"

namespace hotel::decide {

/// Words [begin, end) between sentence ends, string ends and other hard breaks.
struct Clause {
  std::size_t begin = 0;
  std::size_t end = 0;
  ClauseKind kind = ClauseKind::kMessage;
};

/// `"name": value`, in any quotes, at any depth. Lower case.
struct NamedValue {
  std::string_view name;
  std::string_view value;
  bool timed = false;  ///< the name speaks of a wait or a reset
};

/// The parsed form. Views point into the object, which is therefore neither copied nor moved.
class RefusalText {
 public:
  /// Reads `body` (its first kRefusalBodyLimit bytes) behind the values of headers that name the
  /// violated quota.
  explicit RefusalText(std::string_view body, std::span<const std::string_view> quota_names = {});
  RefusalText(const RefusalText&) = delete;
  RefusalText& operator=(const RefusalText&) = delete;

  const std::vector<Word>& words() const noexcept { return words_; }
  const std::vector<Clause>& clauses() const noexcept { return clauses_; }
  const std::vector<NamedValue>& values() const noexcept { return values_; }
  /// The first value called `name` (lower case), or "".
  std::string_view Value(std::string_view name) const noexcept;
  /// All of the text in lower case, links included.
  std::string_view plain() const noexcept { return lower_; }

 private:
  void Tokenize(std::size_t begin, ClauseKind kind);
  std::size_t SimpleName(std::size_t open) const noexcept;
  std::size_t OpeningQuote(std::size_t quote, std::size_t start) const noexcept;
  std::size_t ReadName(std::size_t open, std::size_t quote, ClauseKind* kind);
  bool IsCapital(std::size_t pos) const noexcept;
  std::size_t ReadWord(std::size_t pos, char before);
  void EndClause(ClauseKind kind);

  std::string flat_;
  std::string lower_;
  std::size_t clause_begin_ = 0;
  std::vector<Word> words_;
  std::vector<Clause> clauses_;
  std::vector<NamedValue> values_;
};

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_TEXT_H_
