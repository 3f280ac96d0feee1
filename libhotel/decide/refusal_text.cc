#include "libhotel/decide/refusal_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "hotel/rate_limit.h"

#include "libhotel/base/strings.h"
#include "libhotel/decide/refusal_plain.h"

namespace hotel::decide {
namespace {

using base::IsAsciiSpace;

constexpr std::size_t kHeaderRoom = 2048;
constexpr std::size_t kMaxValues = 128;

// What a byte is part of.
constexpr std::uint8_t kLetter = 1;
constexpr std::uint8_t kUpper = 2;
constexpr std::uint8_t kDigit = 4;
// First byte of a character of U+3000 and above: scripts that put no spaces between words.
constexpr std::uint8_t kIdeograph = 8;
// First byte of a typographic mark: dash, curly quote, middle dot, no-break space.
constexpr std::uint8_t kMark = 16;
constexpr std::uint8_t kNameByte = 32;  // of an identifier
constexpr std::array kClasses = [] {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = 0; c < classes.size(); ++c) {
    if ((c >= 'a' && c <= 'z') || c >= 0x80) classes[c] |= kLetter;
    if (c >= 'A' && c <= 'Z') classes[c] |= kLetter | kUpper;
    if (c >= '0' && c <= '9') classes[c] |= kDigit;
    if (c >= 0xE3) classes[c] |= kIdeograph;
    if (c < 0x80 && ((classes[c] & (kLetter | kDigit)) != 0 || c == '_' || c == '-')) {
      classes[c] |= kNameByte;
    }
    if (c == 0xE2 || c == 0xC2) classes[c] |= kMark;
  }
  return classes;
}();
std::uint8_t ClassOf(char c) noexcept { return kClasses[static_cast<unsigned char>(c)]; }
bool IsLetter(char c) noexcept { return (ClassOf(c) & kLetter) != 0; }
bool IsDigit(char c) noexcept { return (ClassOf(c) & kDigit) != 0; }

std::size_t MarkLength(char lead) noexcept {
  return static_cast<unsigned char>(lead) == 0xE2 ? 3 : 2;
}
constexpr std::string_view kFullStop = "\xE3\x80\x82";

bool IsQuote(char c) { return c == '"' || c == '\''; }
bool IsSentenceMark(char c) { return c == '.' || c == '!' || c == '?' || c == ';'; }

// The end of the run of a-z that begins at `pos`, found eight bytes at a time.
std::size_t SkipLower(std::string_view text, std::size_t pos) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = kOnes * 0x80;
  std::uint64_t bytes = 0;
  for (; pos + sizeof(bytes) <= text.size(); pos += sizeof(bytes)) {
    std::memcpy(&bytes, text.data() + pos, sizeof(bytes));
    const std::uint64_t low7 = bytes & ~kHighs;
    const std::uint64_t from_a = low7 + kOnes * (0x80 - 'a');
    const std::uint64_t above_z = low7 + kOnes * (0x7F - 'z');
    const std::uint64_t other = (~(from_a ^ above_z) | bytes) & kHighs;
    if (other == 0) continue;
    const int bits = std::endian::native == std::endian::little ? std::countr_zero(other)
                                                                : std::countl_zero(other);
    return pos + static_cast<std::size_t>(bits) / 8;
  }
  while (pos < text.size() && text[pos] >= 'a' && text[pos] <= 'z') ++pos;
  return pos;
}

}  // namespace

RefusalText::RefusalText(std::string_view body, std::span<const std::string_view> quota_names) {
  body = body.substr(0, kRefusalBodyLimit);
  std::size_t size = body.size();
  for (const std::string_view value : quota_names) size += value.size() + 1;
  size = std::min(size, body.size() + kHeaderRoom);
  // Once, before the first view is handed out.
  flat_.reserve(size);
  lower_.reserve(size);
  words_.reserve(size / 5 + 8);
  clauses_.reserve(32);
  values_.reserve(32);
  for (const std::string_view value : quota_names) {
    const std::size_t begin = flat_.size();
    if (begin + value.size() + 1 > kHeaderRoom) continue;
    flat_.append(value).push_back('\n');
    Tokenize(begin, ClauseKind::kQuotaName);
  }
  const std::size_t begin = flat_.size();
  AppendPlain(body, &flat_);
  Tokenize(begin, ClauseKind::kMessage);
}

std::string_view RefusalText::Value(std::string_view name) const noexcept {
  for (const NamedValue& value : values_) {
    if (value.name == name) return value.value;
  }
  return {};
}

void RefusalText::EndClause(ClauseKind kind) {
  if (clause_begin_ == words_.size()) return;
  Recognize(std::span(words_).subspan(clause_begin_));
  clauses_.push_back({clause_begin_, words_.size(), kind});
  clause_begin_ = words_.size();
}

// At an opening quote: where the closing one is when an identifier and a colon stand behind it, as
// nearly always in JSON; npos when not.
std::size_t RefusalText::SimpleName(std::size_t open) const noexcept {
  const std::size_t size = flat_.size();
  std::size_t pos = open + 1;
  while (pos < size && (ClassOf(flat_[pos]) & kNameByte) != 0) ++pos;
  const bool name = pos + 1 < size && pos - open - 1 <= kMaxFieldName && pos > open + 1 &&
                    flat_[pos] == flat_[open] && flat_[pos + 1] == ':';
  return name ? pos : std::string::npos;
}

// At a closing quote: where the opening one is when a name stands between and a colon follows; npos
// when not.
std::size_t RefusalText::OpeningQuote(std::size_t quote, std::size_t start) const noexcept {
  std::size_t colon = quote + 1;
  while (colon < flat_.size() && IsAsciiSpace(flat_[colon])) ++colon;
  if (colon >= flat_.size() || flat_[colon] != ':') return std::string::npos;
  std::size_t open = quote;
  const std::size_t last = std::max(start, quote - std::min(quote, kMaxFieldName + 1));
  do {
    if (open == last) return std::string::npos;
    --open;
    if (flat_[open] == ' ' || flat_[open] == '\n' || flat_[open] == '\t') return std::string::npos;
  } while (flat_[open] != flat_[quote]);
  return open + 1 < quote ? open : std::string::npos;
}

// Takes the name between two quotes, with a colon behind it, and its value unless that is prose.
// Returns where to go on.
std::size_t RefusalText::ReadName(std::size_t open, std::size_t quote, ClauseKind* kind) {
  const std::size_t size = flat_.size();
  const std::string_view all = lower_;
  const std::string_view name = all.substr(open + 1, quote - open - 1);
  // Its words are no prose.
  const char* const name_begin = lower_.data() + open;
  while (words_.size() > clause_begin_ && words_.back().text.data() > name_begin) {
    words_.pop_back();
  }
  EndClause(*kind);
  std::size_t pos = flat_.find(':', quote) + 1;
  while (pos < size && IsAsciiSpace(flat_[pos])) ++pos;
  const bool quoted = pos < size && IsQuote(flat_[pos]);
  const bool container = pos < size && (flat_[pos] == '{' || flat_[pos] == '[');
  std::size_t end = pos;
  if (quoted) {
    end = std::min(flat_.find(flat_[pos], pos + 1), size);
    ++pos;
  } else if (container) {
    ++end;
  } else {
    while (end < size && !IsAsciiSpace(flat_[end]) && flat_[end] != ',' && flat_[end] != '}' &&
           flat_[end] != ']') {
      ++end;
    }
  }
  const FieldName says = ReadFieldName(name);
  if (values_.size() < kMaxValues)
    values_.push_back({name, all.substr(pos, end - pos), says.timed});
  *kind = says.kind;
  const bool prose = quoted && !says.silent && !says.timed;
  // A number beside a name is a value, not a word of a sentence.
  return prose || container ? pos : end;
}

// Whether a byte begins or ends a capital letter. Capitals beyond ASCII differ from their small
// form in the second byte.
bool RefusalText::IsCapital(std::size_t pos) const noexcept {
  if (flat_[pos] != lower_[pos]) return true;
  const bool lead = static_cast<unsigned char>(flat_[pos]) >= 0xC0;
  return lead && pos + 1 < flat_.size() && flat_[pos + 1] != lower_[pos + 1] &&
         static_cast<unsigned char>(flat_[pos + 1]) >= 0x80;
}

// Takes one word or number, apart at changes of case and of kind.
std::size_t RefusalText::ReadWord(std::size_t pos, char before) {
  const std::size_t size = flat_.size();
  std::size_t end = pos;
  const std::uint8_t first = ClassOf(flat_[pos]);
  if ((first & kDigit) != 0) {
    while (end < size && (IsDigit(flat_[end]) || ((flat_[end] == '.' || flat_[end] == ',') &&
                                                  end + 1 < size && IsDigit(flat_[end + 1])))) {
      ++end;
    }
  } else if ((first & kIdeograph) != 0) {
    while (end < size && static_cast<unsigned char>(flat_[end]) >= 0x80 &&
           (flat_[end] != kFullStop.front() ||
            std::string_view(flat_).substr(end, kFullStop.size()) != kFullStop)) {
      ++end;
    }
  } else {
    for (++end; end < size; ++end) {
      end = SkipLower(flat_, end);
      if (end == size) break;
      const std::uint8_t here = ClassOf(flat_[end]);
      if ((here & (kLetter | kIdeograph | kMark)) != kLetter) break;
      if ((here & kUpper) == 0) continue;
      const bool after_lower = !IsCapital(end - 1);
      const bool before_lower =
          !after_lower && end + 1 < size && IsLetter(flat_[end + 1]) && !IsCapital(end + 1);
      // "limitRPMs", "APIError"; the plural of an abbreviation is no word of its own.
      const bool plural =
          before_lower && flat_[end + 1] == 's' && (end + 2 >= size || !IsLetter(flat_[end + 2]));
      if (after_lower || (before_lower && !plural)) break;
    }
  }
  words_.push_back({std::string_view(lower_).substr(pos, end - pos), before, nullptr});
  return end;
}

// Takes what was added to `flat_` from `begin` on.
void RefusalText::Tokenize(std::size_t begin, ClauseKind kind) {
  const std::size_t size = flat_.size();
  AppendLower(std::string_view(flat_).substr(begin), &lower_);
  char before = ' ';
  clause_begin_ = words_.size();
  for (std::size_t pos = begin; pos < size;) {
    const char c = flat_[pos];
    const std::uint8_t kind_of = ClassOf(c);
    if (c == ' ') {
      ++pos;
      continue;
    }
    if (c == 'h' && (base::StartsWith(std::string_view(lower_).substr(pos), "http://") ||
                     base::StartsWith(std::string_view(lower_).substr(pos), "https://"))) {
      pos = std::min(flat_.find_first_of(" \n\r\t\"'<>()]},", pos), size);
      continue;
    }
    if ((kind_of & kIdeograph) != 0 &&
        base::StartsWith(std::string_view(flat_).substr(pos), kFullStop)) {
      EndClause(kind);
      pos += kFullStop.size();
      continue;
    }
    if ((kind_of & kMark) != 0) {
      pos += MarkLength(c);
      before = '-';
      continue;
    }
    if ((kind_of & (kLetter | kDigit)) != 0) {
      pos = ReadWord(pos, before);
      before = ' ';
      continue;
    }
    if (IsQuote(c)) {
      const std::size_t close = SimpleName(pos);
      const std::size_t open = close == std::string::npos ? OpeningQuote(pos, begin) : pos;
      if (open != std::string::npos) {
        pos = ReadName(open, open == pos ? close : pos, &kind);
        before = ' ';
        continue;
      }
      // The end of a value.
      if (pos + 1 < size && (flat_[pos + 1] == ',' || flat_[pos + 1] == '}' ||
                             flat_[pos + 1] == ']' || flat_[pos + 1] == '\n')) {
        EndClause(kind);
        if (flat_[pos + 1] != ',') kind = ClauseKind::kMessage;
      }
    } else if (c == '\n' || (IsSentenceMark(c) && (pos + 1 == size || !IsLetter(flat_[pos + 1])))) {
      EndClause(kind);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      before = ' ';
    }
    if (!IsAsciiSpace(c)) before = c;
    ++pos;
  }
  EndClause(kind);
}

}  // namespace hotel::decide
