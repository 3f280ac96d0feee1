#include "libhotel/wire/json.h"

#include <bitset>
#include <cstdint>

#include <simdjson.h>

#include "libhotel/base/strings.h"
#include "libhotel/base/utf8.h"
#include "libhotel/wire/json_bytes.h"

namespace hotel::wire {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

// The four hex digits at `pos`; -1 when there are none.
int Hex4(std::string_view text, std::size_t pos) noexcept {
  return text.size() < pos + 4 ? -1 : base::HexNumber(text.substr(pos, 4));
}

char SimpleEscape(char c) noexcept {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // quote, backslash, slash
  }
}

bool IsEscape(char c) noexcept {
  switch (c) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return true;
    default:
      return false;
  }
}

// Length of the valid UTF-8 sequence at `pos`, 0 when there is none.
std::size_t Utf8Length(std::string_view text, std::size_t pos) noexcept {
  const auto lead = static_cast<unsigned char>(text[pos]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const std::string_view sequence = text.substr(pos, length);
  if (sequence.size() < length) return 0;
  return length == 1 || simdjson::validate_utf8(sequence) ? length : 0;
}

}  // namespace

// Inlined everywhere: between most tokens there is none, and one look settles that.
inline void JsonCursor::SkipSpace() noexcept {
  while (pos_ < text_.size() && IsJsonSpace(text_[pos_])) ++pos_;
}

JsonKind JsonCursor::Peek() noexcept {
  if (!ok_) return JsonKind::kNone;
  SkipSpace();
  if (pos_ == text_.size()) return JsonKind::kNone;
  switch (text_[pos_]) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
      return JsonKind::kTrue;
    case 'f':
      return JsonKind::kFalse;
    case 'n':
      return JsonKind::kNull;
    default:
      break;
  }
  const char c = text_[pos_];
  return c == '-' || base::IsAsciiDigit(c) ? JsonKind::kNumber : JsonKind::kNone;
}

bool JsonCursor::TryByte(char c) noexcept {
  if (!ok_) return false;
  SkipSpace();
  if (pos_ == text_.size() || text_[pos_] != c) return false;
  ++pos_;
  return true;
}

bool JsonCursor::Open(char bracket) noexcept {
  if (!Byte(bracket)) return false;
  if (depth_ == kMaxDepth) {
    too_deep_ = true;
    return Fail();
  }
  ++depth_;
  return true;
}

// In the readers of strings and numbers the position is a local: a store through `this` could be
// one into the text, as far as the compiler knows.
bool JsonCursor::String(std::string_view* raw) noexcept {
  if (!Byte('"')) return false;
  const std::string_view text = text_;
  const std::size_t start = pos_;
  std::size_t pos = start;
  for (;;) {
    pos = FindJsonSpecial(text, pos);
    if (pos == text.size()) return FailAt(pos);
    const char c = text[pos];
    if (c == '"') break;
    if (c != '\\' || pos + 1 == text.size()) return FailAt(pos);
    const char escaped = text[pos + 1];
    if (escaped == 'u') {
      if (Hex4(text, pos + 2) < 0) return FailAt(pos);
      pos += 6;
    } else {
      if (!IsEscape(escaped)) return FailAt(pos);
      pos += 2;
    }
  }
  *raw = text.substr(start, pos - start);
  pos_ = pos + 1;
  return true;
}

bool JsonCursor::Number(std::string_view* token) noexcept {
  return Peek() == JsonKind::kNumber ? NumberHere(token) : Fail();
}

inline bool JsonCursor::NumberHere(std::string_view* token) noexcept {
  const std::string_view text = text_;
  const std::size_t start = pos_;
  std::size_t pos = start;
  const auto next_is = [&](char c) { return pos < text.size() && text[pos] == c; };
  const auto digits = [&] {
    const std::size_t from = pos;
    while (pos < text.size() && base::IsAsciiDigit(text[pos])) ++pos;
    return pos > from;
  };
  if (next_is('-')) ++pos;
  if (next_is('0')) {
    ++pos;
  } else if (!digits()) {
    return FailAt(pos);
  }
  if (next_is('.')) {
    ++pos;
    if (!digits()) return FailAt(pos);
  }
  if (next_is('e') || next_is('E')) {
    ++pos;
    if (next_is('+') || next_is('-')) ++pos;
    if (!digits()) return FailAt(pos);
  }
  *token = text.substr(start, pos - start);
  pos_ = pos;
  return true;
}

bool JsonCursor::Word(std::string_view word) noexcept {
  if (text_.substr(pos_, word.size()) != word) return Fail();
  pos_ += word.size();
  return true;
}

inline bool JsonCursor::Scalar(JsonKind kind) noexcept {
  std::string_view ignored;
  switch (kind) {
    case JsonKind::kString:
      return String(&ignored);
    case JsonKind::kNumber:
      return NumberHere(&ignored);
    case JsonKind::kTrue:
      return Word("true");
    case JsonKind::kFalse:
      return Word("false");
    case JsonKind::kNull:
      return Word("null");
    default:
      return Fail();
  }
}

// A loop, not a recursion: one bit per open container says whether it is an object.
bool JsonCursor::Skip() noexcept {
  std::bitset<kMaxDepth + 1> is_object;
  const std::size_t outside = depth_;
  std::string_view key;
  for (;;) {
    // A value begins here.
    const JsonKind kind = Peek();
    if (kind == JsonKind::kObject || kind == JsonKind::kArray) {
      const bool object = kind == JsonKind::kObject;
      if (!Open(object ? '{' : '[')) return false;
      is_object[depth_] = object;
      if (!TryByte(object ? '}' : ']')) {
        if (object && !(String(&key) && Byte(':'))) return false;
        continue;
      }
      Leave();
    } else if (!Scalar(kind)) {
      return false;
    }
    // A value ended here.
    for (;;) {
      if (depth_ == outside) return true;
      const bool object = is_object[depth_];
      if (TryByte(',')) {
        if (object && !(String(&key) && Byte(':'))) return false;
        break;
      }
      if (!Byte(object ? '}' : ']')) return false;
      Leave();
    }
  }
}

bool JsonCursor::AtEnd() noexcept {
  SkipSpace();
  return ok_ && pos_ == text_.size();
}

bool JsonUnescape(std::string_view raw, std::string* out) {
  bool whole = true;
  out->clear();
  std::size_t pos = 0;
  while (pos < raw.size()) {
    const std::size_t slash = raw.find('\\', pos);
    out->append(raw.substr(pos, slash == std::string_view::npos ? slash : slash - pos));
    if (slash == std::string_view::npos || slash + 1 >= raw.size()) break;
    if (raw[slash + 1] != 'u') {
      out->push_back(SimpleEscape(raw[slash + 1]));
      pos = slash + 2;
      continue;
    }
    const int unit = Hex4(raw, slash + 2);
    pos = slash + 6;
    std::uint32_t code = unit < 0 ? 0xFFFD : static_cast<std::uint32_t>(unit);
    if (code >= 0xD800 && code < 0xE000) {
      const int low = raw.substr(pos, 2) == "\\u" ? Hex4(raw, pos + 2) : -1;
      if (code < 0xDC00 && low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (static_cast<std::uint32_t>(low) - 0xDC00);
        pos += 6;
      } else {
        code = 0xFFFD;
        whole = false;
      }
    }
    base::AppendUtf8(code, out);
  }
  return whole;
}

bool JsonEscapedTextIs(std::string_view raw, std::string_view text) {
  // The longest spelling of a byte is `\u00XX`: longer texts need not be resolved.
  if (raw.size() > 6 * text.size()) return false;
  std::string plain;
  return JsonUnescape(raw, &plain) && plain == text;
}

bool JsonNumberIsZero(std::string_view token) noexcept {
  return token.substr(0, token.find_first_of("eE")).find_first_of("123456789") ==
         std::string_view::npos;
}

std::string JsonString(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out.push_back('"');
  std::size_t pos = 0;
  while (pos < text.size()) {
    const char c = text[pos];
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
      ++pos;
    } else if (c == '\n') {
      out.append("\\n");
      ++pos;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00");
      out.push_back(kHexDigits[(c >> 4) & 0xF]);
      out.push_back(kHexDigits[c & 0xF]);
      ++pos;
    } else if (const std::size_t length = Utf8Length(text, pos); length > 0) {
      out.append(text.substr(pos, length));
      pos += length;
    } else {
      out.append("\xEF\xBF\xBD");
      ++pos;
    }
  }
  out.push_back('"');
  return out;
}

}  // namespace hotel::wire
