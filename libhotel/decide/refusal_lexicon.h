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
#include "libhotel/decide/refusal_parts.h"
#include "libhotel/decide/refusal_terms.h"

namespace hotel::decide {

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
