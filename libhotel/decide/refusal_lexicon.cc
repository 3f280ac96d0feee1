#include "libhotel/decide/refusal_lexicon.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "libhotel/base/strings.h"

namespace hotel::decide {
namespace {

template <class Unsigned>
inline std::uint64_t Load(const char* data) noexcept {
  Unsigned value;
  std::memcpy(&value, data, sizeof(value));
  return value;
}

// One to one for words of up to eight bytes of the same length; the ends of a longer one.
inline std::uint64_t Bytes(std::string_view word) noexcept {
  const char* const data = word.data();
  const std::size_t size = word.size();
  if (size >= 8) return Load<std::uint64_t>(data) ^ (Load<std::uint64_t>(data + size - 8) << 1);
  if (size >= 4) return Load<std::uint32_t>(data) | (Load<std::uint32_t>(data + size - 4) << 32);
  if (size >= 2) return Load<std::uint16_t>(data) | (Load<std::uint16_t>(data + size - 2) << 16);
  return size == 1 ? Load<std::uint8_t>(data) : 0;
}

// An open hash table over all known words, because every word of every refusal is looked up.
class Lexicon {
 public:
  Lexicon() {
    AddTerms();
    for (const RoleRow& row : RoleRows()) {
      for (const std::string_view word : base::Split(row.words, ' '))
        Entry(word).roles |= row.roles;
    }
    for (const UnitWord& unit : UnitWords()) Entry(unit.word).unit = unit.span;
    AddPlurals();
    AddRuns();
  }

  const Lexeme* Find(std::string_view word) const noexcept {
    const std::uint64_t bytes = Bytes(word);
    const std::uint64_t hash = Mix(bytes, word.size());
    for (std::size_t slot = hash % kSlots; slots_[slot].index != 0; slot = (slot + 1) % kSlots) {
      if (slots_[slot].tag != Tag(hash)) continue;
      const Lexeme& found = lexemes_[slots_[slot].index];
      if (found.bytes != bytes || found.word.size() != word.size()) continue;
      if (word.size() <= sizeof(bytes) || found.word == word) return &found;
    }
    return &lexemes_[0];
  }

  Concepts ReadRun(std::string_view run) const noexcept {
    Concepts found = 0;
    for (std::size_t at = 0; at + kCharacter <= run.size(); ++at) {
      if (static_cast<unsigned char>(run[at]) < 0xE3) continue;
      const std::uint32_t key = Character(run.data() + at);
      for (std::size_t slot = RunSlot(key); run_slots_[slot].end != 0;
           slot = (slot + 1) % kRunSlots) {
        const Slot& candidates = run_slots_[slot];
        if (candidates.key != key) continue;
        for (std::size_t i = candidates.begin; i < candidates.end; ++i) {
          if (base::StartsWith(run.substr(at), runs_[i].words)) found |= runs_[i].concepts;
        }
        break;
      }
    }
    return found;
  }

 private:
  struct Place {
    std::uint16_t index = 0;
    std::uint16_t tag = 0;
  };
  struct Slot {
    std::uint32_t key = 0;
    std::uint16_t begin = 0;
    std::uint16_t end = 0;
  };
  static constexpr std::size_t kSlots = 4096;
  static constexpr std::size_t kRunSlots = 1024;
  static constexpr std::size_t kCharacter = 3;  // bytes of one

  static std::uint64_t Mix(std::uint64_t bytes, std::size_t size) noexcept {
    const std::uint64_t mixed = (bytes + size) * 0x9E3779B97F4A7C15ULL;
    return mixed ^ (mixed >> 32);
  }
  static std::uint64_t Hash(std::string_view word) noexcept {
    return Mix(Bytes(word), word.size());
  }
  static std::uint16_t Tag(std::uint64_t hash) noexcept {
    return static_cast<std::uint16_t>(hash >> 48);
  }

  static std::uint32_t Character(const char* data) noexcept {
    return static_cast<std::uint32_t>(Load<std::uint16_t>(data) |
                                      (Load<std::uint8_t>(data + 2) << 16));
  }
  static std::size_t RunSlot(std::uint32_t key) noexcept { return Mix(key, 0) % kRunSlots; }

  Lexeme& Entry(std::string_view word) {
    std::size_t slot = Hash(word) % kSlots;
    for (; slots_[slot].index != 0; slot = (slot + 1) % kSlots) {
      if (lexemes_[slots_[slot].index].word == word) return lexemes_[slots_[slot].index];
    }
    slots_[slot] = {static_cast<std::uint16_t>(lexemes_.size()), Tag(Hash(word))};
    lexemes_.push_back({word, Bytes(word), Duration(0), 0, {}});
    return lexemes_.back();
  }

  void AddTerms() {
    terms_.reserve(Terms().size());
    for (const Term& term : Terms()) {
      LexiconTerm entry;
      entry.concepts = term.concepts;
      for (const std::string_view word : base::Split(term.words, ' ')) {
        entry.words[entry.count++] = word;
      }
      terms_.push_back(entry);
    }
    std::stable_sort(terms_.begin(), terms_.end(), [](const LexiconTerm& a, const LexiconTerm& b) {
      return a.words[0] != b.words[0] ? a.words[0] < b.words[0] : a.count > b.count;
    });
    const std::span<const LexiconTerm> all = terms_;
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i;
      while (end < all.size() && all[end].words[0] == all[i].words[0]) ++end;
      Entry(all[i].words[0]).terms = all.subspan(i, end - i);
      i = end;
    }
  }

  // The plural of a word with terms has them too, unless it has some of its own.
  void AddPlurals() {
    plurals_.reserve(lexemes_.size());
    for (std::size_t i = 1, size = lexemes_.size(); i < size; ++i) {
      const std::span<const LexiconTerm> terms = lexemes_[i].terms;
      if (terms.empty() || terms[0].words[0].size() < 3) continue;
      if (terms[0].words[0] != lexemes_[i].word) continue;  // a plural itself
      plurals_.push_back(std::string(lexemes_[i].word) + "s");
      Lexeme& plural = Entry(plurals_.back());
      if (plural.terms.empty()) plural.terms = terms;
    }
  }

  void AddRuns() {
    runs_.assign(RunTerms().begin(), RunTerms().end());
    const auto head = [](const Term& term) { return term.words.substr(0, kCharacter); };
    std::stable_sort(runs_.begin(), runs_.end(),
                     [&](const Term& a, const Term& b) { return head(a) < head(b); });
    for (std::size_t i = 0; i < runs_.size();) {
      std::size_t end = i;
      while (end < runs_.size() && head(runs_[end]) == head(runs_[i])) ++end;
      const std::uint32_t key = Character(runs_[i].words.data());
      std::size_t slot = RunSlot(key);
      while (run_slots_[slot].end != 0) slot = (slot + 1) % kRunSlots;
      run_slots_[slot] = {key, static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(end)};
      i = end;
    }
  }

  std::vector<LexiconTerm> terms_;
  std::vector<std::string> plurals_;
  std::vector<Lexeme> lexemes_{1};  // the first is the unknown word
  std::vector<Term> runs_;
  std::array<Place, kSlots> slots_{};
  std::array<Slot, kRunSlots> run_slots_{};
};

const Lexicon& TheLexicon() {
  static const Lexicon lexicon;
  return lexicon;
}

}  // namespace

void Recognize(std::span<Word> words) {
  const Lexicon& lexicon = TheLexicon();
  for (Word& word : words) word.lexeme = lexicon.Find(word.text);
}

Concepts ReadRun(std::string_view run) { return TheLexicon().ReadRun(run); }

}  // namespace hotel::decide
