// Everything that is known about a word, found once per word: the terms that begin with it, the
// unit of time it stands for, and the parts it plays in sentences.
#ifndef HOTEL_DECIDE_REFUSAL_LEXICON_H_
#define HOTEL_DECIDE_REFUSAL_LEXICON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hotel/types.h"

#include "libhotel/decide/refusal_concepts.h"
#include "libhotel/decide/refusal_terms.h"

namespace hotel::decide {

/// Sets of parts a word can play.
using Roles = std::uint32_t;

// clang-format off
inline constexpr Roles kBeginsAdvice  = 1U << 0;   ///< add, upgrade, visit, ...
inline constexpr Roles kPoliteAdvice  = 1U << 1;   ///< advice behind "please" only: try, use, ...
inline constexpr Roles kFrontAdvice   = 1U << 2;   ///< advice at the front only: for, to, if
inline constexpr Roles kPlease        = 1U << 3;   ///< please
inline constexpr Roles kJoins         = 1U << 4;   ///< please, or, and
inline constexpr Roles kModal         = 1U << 5;   ///< can, may, to
inline constexpr Roles kOpensWindow   = 1U << 6;   ///< per, each, every, ...
inline constexpr Roles kAllowanceWord = 1U << 7;   ///< allocated, quota, limit, budget
inline constexpr Roles kOpensWait     = 1U << 8;   ///< in, after, wait, ...
inline constexpr Roles kWaitTrigger   = 1U << 9;   ///< again, retry, resets, ...
inline constexpr Roles kWaitFiller    = 1U << 10;  ///< between a trigger and its number
inline constexpr Roles kAfterwards    = 1U << 11;  ///< between a wait and "retry"
inline constexpr Roles kTriesAgain    = 1U << 12;  ///< try, again, sending, ...
inline constexpr Roles kNumbered      = 1U << 13;  ///< limit, requested, afford
inline constexpr Roles kNamesRequests = 1U << 14;  ///< rpm, rpd
inline constexpr Roles kNamesTokens   = 1U << 15;  ///< tpm, tpd
inline constexpr Roles kForWord       = 1U << 16;  ///< for
// clang-format on

/// A term taken to pieces.
struct LexiconTerm {
  std::array<std::string_view, kMaxTermWords> words;
  std::size_t count = 0;
  Concepts concepts = 0;
};

struct Lexeme {
  std::string_view word;
  std::uint64_t bytes = 0;  ///< of the word, for comparison
  Duration unit{0};         ///< what it stands for as a unit of time, or zero
  Roles roles = 0;
  std::span<const LexiconTerm> terms;  ///< that begin with it or its singular, the longest first
};

/// A word or number, lower case. Identifiers are taken apart at underscores, hyphens and changes of
/// case ("PerDay" is two words), numbers at letters ("5h" is two).
struct Word {
  std::string_view text;
  char before = ' ';  ///< the punctuation in front of it, ' ' when there is none
  const Lexeme* lexeme =
      nullptr;  ///< what is known about it, never null once looked up; unknown words share one
};

/// A run of characters of a script that puts no spaces between words (U+3000 and above).
inline bool IsRun(const Word& word) noexcept {
  return static_cast<unsigned char>(word.text.front()) >= 0xE3;
}

/// Looks `words` up. The first call builds the lexicon.
void Recognize(std::span<Word> words);

/// The concepts in a run of characters without spaces.
Concepts ReadRun(std::string_view run);

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_LEXICON_H_
