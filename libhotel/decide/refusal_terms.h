// The vocabulary: which words stand for which concepts, in the languages providers write in. Data.
#ifndef HOTEL_DECIDE_REFUSAL_TERMS_H_
#define HOTEL_DECIDE_REFUSAL_TERMS_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "libhotel/decide/refusal_concepts.h"

namespace hotel::decide {

inline constexpr std::size_t kMaxTermWords = 5;

struct Term {
  std::string_view words;  ///< one to kMaxTermWords lower-case words with one space between them
  Concepts concepts;
};

/// Terms of scripts that put spaces between words.
std::span<const Term> Terms() noexcept;

/// Terms of scripts that do not: found anywhere in a run of characters, each beginning with a
/// character of three bytes.
std::span<const Term> RunTerms() noexcept;

}  // namespace hotel::decide

#endif  // HOTEL_DECIDE_REFUSAL_TERMS_H_
