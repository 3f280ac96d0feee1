#include "libhotel/decide/refusal_text.h"

#include <algorithm>
#include <array>

#include "hotel/rate_limit.h"

#include "libhotel/base/strings.h"

namespace hotel::decide {
namespace {

using base::AsciiLower;
using base::IsAsciiDigit;
using base::IsAsciiSpace;

constexpr std::size_t kHeaderRoom = 2048;
constexpr std::size_t kMaxName = 48;
constexpr std::size_t kMaxValues = 128;

// Values that say nothing about the refusal, or only what could be bought.
constexpr std::array<std::string_view, 20> kSilentNames = {
    "@type",       "request_id", "requestid", "id",        "sid",       "url",          "param",
    "domain",      "service",    "consumer",  "user_id",   "plan_type", "model",        "name",
    "remedy_hint", "object",     "trace_id",  "timestamp", "provider",  "provider_name"};
constexpr std::array<std::string_view, 12> kCodeNames = {
    "code",      "type",     "status", "reason",    "error_code", "error_type",
    "errorcode", "err_code", "__type", "errortype", "error_name", "subcode"};
constexpr std::array<std::string_view, 7> kQuotaNames = {
    "quotaid",      "quota_limit", "quota_metric", "quotametric",
    "limit_source", "limit_type",  "quota_id"};

template <std::size_t N>
bool IsOneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Names of fields that hold a wait or a date: "19s" in one is no limit per 19 seconds.
bool NamesTime(std::string_view name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto at = [&](std::string_view word) { return base::StartsWith(name.substr(i), word); };
    switch (name[i]) {
      case 'r':
        if (at("retry") || at("reset")) return true;
        break;
      case 'd':
        if (at("delay")) return true;
        break;
      case 'w':
        if (at("wait")) return true;
        break;
      case 'c':
        if (at("cooldown")) return true;
        break;
      default:
        break;
    }
  }
  return false;
}

bool IsLetter(char c) {
  const char lower = AsciiLower(c);
  return (lower >= 'a' && lower <= 'z') || static_cast<unsigned char>(c) >= 0x80;
}
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
// First byte of a character of U+3000 and above: scripts that put no spaces between words.
bool IsIdeograph(char c) { return static_cast<unsigned char>(c) >= 0xE3; }
constexpr std::string_view kFullStop = "\xE3\x80\x82";

// Bytes of the typographic mark (dash, curly quote, middle dot, no-break space) at the start of
// `text`; 0 when there is none.
std::size_t MarkLength(std::string_view text) {
  if (static_cast<unsigned char>(text.front()) < 0x80) return 0;
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead == 0xE2 ? 3 : lead == 0xC2 ? 2 : 0;
  return std::min(length, text.size());
}
bool IsQuote(char c) { return c == '"' || c == '\''; }

void AppendUtf8(unsigned code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (code >> 6)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xE0 | (code >> 12)));
    out->push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3F)));
  }
}

// The four hex digits at the start of `text`; false when there are none.
bool ReadHex4(std::string_view text, unsigned* code) {
  if (text.size() < 4) return false;
  *code = 0;
  for (const char c : text.substr(0, 4)) {
    const char lower = AsciiLower(c);
    if (IsAsciiDigit(c)) {
      *code = *code * 16 + static_cast<unsigned>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      *code = *code * 16 + static_cast<unsigned>(lower - 'a' + 10);
    } else {
      return false;
    }
  }
  return true;
}

bool IsSentenceMark(char c) { return c == '.' || c == '!' || c == '?' || c == ';'; }

}  // namespace

void RefusalText::Reserve(std::size_t size) {
  if (flat_.capacity() != 0 && flat_.capacity() >= flat_.size() + size) return;
  // Once, before the first view is handed out.
  flat_.reserve(size);
  lower_.reserve(size);
  words_.reserve(size / 4);
  clauses_.reserve(32);
  values_.reserve(32);
}

// Resolves escapes however often they were escaped, and drops HTML tags.
void RefusalText::Flatten(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool html = first != std::string_view::npos && text[first] == '<';
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = std::min(text.find('\\', i), text.size());
    if (html) next = std::min(next, text.find('<', i));
    flat_.append(text.substr(i, next - i));
    i = next;
    if (i == text.size()) break;
    if (text[i] == '<') {
      const std::size_t close = text.find('>', i);
      flat_.push_back('\n');
      i = close == std::string_view::npos ? text.size() : close + 1;
      continue;
    }
    while (i < text.size() && text[i] == '\\') ++i;
    if (i == text.size()) break;
    unsigned code = 0;
    if (text[i] == 'u' && ReadHex4(text.substr(i + 1), &code)) {
      if (code >= 0xD800 && code < 0xE000) code = ' ';  // half of a pair: no word has one
      AppendUtf8(code == 0 ? ' ' : code, &flat_);
      i += 5;
    } else if (text[i] == 'n' || text[i] == 'r' || text[i] == 't') {
      flat_.push_back('\n');
      ++i;
    } else {
      flat_.push_back(text[i++]);
    }
  }
}

// Takes what was added to `flat_` from `begin` on.
void RefusalText::LowerFrom(std::size_t begin) {
  lower_.resize(flat_.size());
  std::transform(flat_.begin() + static_cast<std::ptrdiff_t>(begin), flat_.end(),
                 lower_.begin() + static_cast<std::ptrdiff_t>(begin),
                 [](char c) { return AsciiLower(c); });
}

void RefusalText::AddHeader(std::string_view value, ClauseKind kind) {
  Reserve(kHeaderRoom + kRefusalBodyLimit);
  if (flat_.size() + value.size() + 1 > kHeaderRoom) return;
  const std::size_t begin = flat_.size();
  flat_.append(value).push_back('\n');
  LowerFrom(begin);
  Tokenize(begin, kind);
}

void RefusalText::ReadBody(std::string_view body) {
  body = body.substr(0, kRefusalBodyLimit);
  Reserve(body.size());
  const std::size_t begin = flat_.size();
  Flatten(body);
  LowerFrom(begin);
  Tokenize(begin, ClauseKind::kMessage);
}

std::string_view RefusalText::Value(std::string_view name) const noexcept {
  for (const NamedValue& value : values_) {
    if (value.name == name) return value.value;
  }
  return {};
}

void RefusalText::EndClause(ClauseKind kind) {
  if (clause_begin_ < words_.size()) clauses_.push_back({clause_begin_, words_.size(), kind});
  clause_begin_ = words_.size();
}

// At a closing quote: when a colon follows, what stands between it and the quote before is a name.
// Returns where to go on, or npos when it is none.
std::size_t RefusalText::ReadName(std::size_t quote, std::size_t start, ClauseKind* kind) {
  std::size_t colon = quote + 1;
  while (colon < flat_.size() && IsAsciiSpace(flat_[colon])) ++colon;
  if (colon >= flat_.size() || flat_[colon] != ':') return std::string::npos;
  const std::size_t open = quote == 0 ? std::string::npos : flat_.rfind(flat_[quote], quote - 1);
  if (open == std::string::npos || open < start || quote - open - 1 > kMaxName) {
    return std::string::npos;
  }
  const std::string_view all = lower_;
  const std::string_view name = all.substr(open + 1, quote - open - 1);
  if (name.empty() || name.find_first_of(" \n\t") != std::string_view::npos) {
    return std::string::npos;
  }
  // Its words are no prose.
  const char* const name_begin = lower_.data() + open;
  while (!words_.empty() && words_.size() > clause_begin_ &&
         words_.back().text.data() > name_begin) {
    words_.pop_back();
  }
  EndClause(*kind);
  std::size_t pos = colon + 1;
  while (pos < flat_.size() && IsAsciiSpace(flat_[pos])) ++pos;
  std::size_t end = pos;
  bool quoted = false;
  if (pos < flat_.size() && IsQuote(flat_[pos])) {
    quoted = true;
    end = std::min(flat_.find(flat_[pos], pos + 1), flat_.size());
    ++pos;
  } else {
    while (end < flat_.size() && !IsAsciiSpace(flat_[end]) && flat_[end] != ',' &&
           flat_[end] != '}' && flat_[end] != ']') {
      ++end;
    }
  }
  pos = std::min(pos, flat_.size());
  end = std::max(end, pos);
  const bool timed = NamesTime(name);
  if (values_.size() < kMaxValues) values_.push_back({name, all.substr(pos, end - pos), timed});
  if (IsOneOf(name, kQuotaNames)) {
    *kind = ClauseKind::kQuota;
  } else if (IsOneOf(name, kCodeNames)) {
    *kind = ClauseKind::kCode;
  } else {
    *kind = ClauseKind::kMessage;
  }
  const bool container = pos < flat_.size() && (flat_[pos] == '{' || flat_[pos] == '[');
  const bool silent = timed || IsOneOf(name, kSilentNames);
  if (silent && (quoted || !container)) return end;
  // A number beside a name is a value, not a word of a sentence.
  if (!quoted && pos < flat_.size() && !container) return end;
  return pos;
}

// Takes one word or number, apart at changes of case and of kind.
std::size_t RefusalText::ReadWord(std::size_t pos, char before) {
  const std::size_t size = flat_.size();
  std::size_t end = pos;
  if (IsAsciiDigit(flat_[pos])) {
    while (end < size &&
           (IsAsciiDigit(flat_[end]) || ((flat_[end] == '.' || flat_[end] == ',') &&
                                         end + 1 < size && IsAsciiDigit(flat_[end + 1])))) {
      ++end;
    }
  } else if (IsIdeograph(flat_[pos])) {
    while (end < size && static_cast<unsigned char>(flat_[end]) >= 0x80 &&
           std::string_view(flat_).substr(end, kFullStop.size()) != kFullStop) {
      ++end;
    }
  } else {
    while (end < size && IsLetter(flat_[end]) && !IsIdeograph(flat_[end]) &&
           MarkLength(std::string_view(flat_).substr(end)) == 0) {
      if (end > pos && IsUpper(flat_[end])) {
        const bool after_lower = !IsUpper(flat_[end - 1]);
        const bool before_lower = end + 1 < size && IsLetter(flat_[end + 1]) &&
                                  !IsUpper(flat_[end + 1]) && IsUpper(flat_[end - 1]);
        // "limitRPMs", "APIError"; the plural of an abbreviation is no word of its own.
        const bool plural =
            before_lower && flat_[end + 1] == 's' && (end + 2 >= size || !IsLetter(flat_[end + 2]));
        if (after_lower || (before_lower && !plural)) break;
      }
      ++end;
    }
  }
  if (end == pos) ++end;
  words_.push_back({std::string_view(lower_).substr(pos, end - pos), before});
  return end;
}

void RefusalText::Tokenize(std::size_t begin, ClauseKind kind) {
  const std::size_t size = flat_.size();
  char before = ' ';
  clause_begin_ = words_.size();
  for (std::size_t pos = begin; pos < size;) {
    const char c = flat_[pos];
    if (c == 'h' && (std::string_view(lower_).substr(pos, 7) == "http://" ||
                     std::string_view(lower_).substr(pos, 8) == "https://")) {
      pos = std::min(flat_.find_first_of(" \n\r\t\"'<>()]},", pos), size);
      continue;
    }
    if (IsIdeograph(c) && std::string_view(flat_).substr(pos, kFullStop.size()) == kFullStop) {
      EndClause(kind);
      pos += kFullStop.size();
      continue;
    }
    if (const std::size_t mark = MarkLength(std::string_view(flat_).substr(pos)); mark != 0) {
      pos += mark;
      before = '-';
      continue;
    }
    if (IsLetter(c) || IsAsciiDigit(c)) {
      pos = ReadWord(pos, before);
      before = ' ';
      continue;
    }
    if (IsQuote(c)) {
      const std::size_t next = ReadName(pos, begin, &kind);
      if (next != std::string::npos) {
        pos = next;
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
