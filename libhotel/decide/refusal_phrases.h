// The table of wordings: which concepts together mean what. Data with provenance; the reference
// page docs/refusals.md is generated from it.
#ifndef HOTEL_DECIDE_REFUSAL_PHRASES_H_
#define HOTEL_DECIDE_REFUSAL_PHRASES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "hotel/rate_limit.h"

#include "libhotel/decide/refusal_text.h"
#include "libhotel/decide/refusal_words.h"

namespace hotel::decide {

/// How much a row's finding weighs against the others.
enum class Weight : std::uint8_t {
  kIsMoney,   ///< a balance, a cap or a plan: a person must act
  kIsWindow,  ///< a window of use that comes back
  kIsWeak,    ///< "quota" alone: decided by whatever else is said
  kIsBusy,    ///< a short window, concurrency or capacity
  kIsSoft,    ///< "try again shortly": counts when nothing else does
};

/// One row: the clause states all of `all`, something of each `any`, nothing of `none`.
struct PhraseRow {
  RefusalPhrase phrase;
  Weight weight;
  Concepts all;
  Concepts any;
  Concepts any_too;
  Concepts none;
};

/// The first row a clause matches, or null. Code clauses are matched like prose.
const PhraseRow* MatchClause(Concepts states);

/// Rows found by a value instead of words (vendor codes, limits of zero, headers): by key.
const PhraseRow& RowOf(std::string_view key);

/// The row of a vendor's numeric or symbolic code, or null. The field it stands in tells whose it
/// is.
const PhraseRow* MatchCode(const RefusalText& text);

/// The reference page.
std::string RefusalPhrasesMarkdown();

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_PHRASES_H_
