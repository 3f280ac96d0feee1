// What the words of a refusal say, clause by clause, before they are weighed.
#ifndef HOTEL_DECIDE_REFUSAL_EVIDENCE_H_
#define HOTEL_DECIDE_REFUSAL_EVIDENCE_H_

#include "libhotel/decide/refusal_concepts.h"
#include "libhotel/decide/refusal_phrases.h"
#include "libhotel/decide/refusal_text.h"

namespace hotel::decide {

/// The rows found, the first of each weight.
struct Findings {
  bool window_of_model = false;  // the clause that named the window names a model
  bool busy_was_hit = false;     // a busy clause does more than name a limit

  const PhraseRow* money = nullptr;
  const PhraseRow* window = nullptr;
  const PhraseRow* weak = nullptr;
  const PhraseRow* busy = nullptr;
  const PhraseRow* soft = nullptr;

  void Add(const PhraseRow* row);
};

struct Evidence {
  Findings message;
  Findings code;
  Findings quota;
  Concepts states = 0;  // of all messages
  Concepts advises = 0;
  Concepts codes = 0;
  bool names_model = false;
  bool names_account = false;
  bool too_large = false;
  bool limit_of_zero = false;
  bool affords_nothing = false;
};

/// Reads every clause, the vendors' codes and the numbers that decide.
Evidence Collect(const RefusalText& text);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_EVIDENCE_H_
