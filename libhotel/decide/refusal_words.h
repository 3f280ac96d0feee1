// What the words of a clause are about: concepts instead of wordings, so that a sentence nobody has
// listed is read by what it says.
#ifndef HOTEL_DECIDE_REFUSAL_WORDS_H_
#define HOTEL_DECIDE_REFUSAL_WORDS_H_

#include "libhotel/decide/refusal_concepts.h"
#include "libhotel/decide/refusal_text.h"

namespace hotel::decide {

/// What one clause says, and what it advises (add a payment method, upgrade, visit, ...): advice is
/// no statement about why the request was refused.
struct ClauseMeaning {
  Concepts states = 0;
  Concepts advises = 0;
};
ClauseMeaning ReadClause(const RefusalText& text, const Clause& clause);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_WORDS_H_
