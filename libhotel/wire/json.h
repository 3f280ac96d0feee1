// A strict, copy-free reader of JSON text (RFC 8259).
//
// Why not simdjson: its DOM refuses integers beyond 64 bits and lone surrogate escapes, both of
// which are valid JSON that has to reach a provider unchanged (F159); its on-demand mode does not
// validate what it skips; and both want the text copied behind padding, for request bodies of up to
// 50 MiB. What is needed here is less: well-formedness, byte positions, a few members. simdjson
// still does the UTF-8 check.
#ifndef HOTEL_WIRE_JSON_H_
#define HOTEL_WIRE_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace hotel::wire {

enum class JsonKind { kObject, kArray, kString, kNumber, kTrue, kFalse, kNull, kNone };

/// Walks one JSON text front to back; never allocates. After the first fault `ok()` is false and
/// every further step fails. Views point into the text.
class JsonCursor {
 public:
  /// Containers nested deeper than this are a fault (`too_deep()`).
  static constexpr std::size_t kMaxDepth = 512;

  explicit JsonCursor(std::string_view text) noexcept : text_(text) {}
  explicit JsonCursor(std::string&& temporary) = delete;  // would dangle

  bool ok() const noexcept { return ok_; }
  bool too_deep() const noexcept { return too_deep_; }
  /// Offset of the next byte to be read. Behind Peek() that is the start of the next value.
  std::size_t offset() const noexcept { return pos_; }

  /// What the next value is, judged by its first byte; kNone at the end and where no value begins.
  JsonKind Peek() noexcept;

  /// Reads a string; `raw` is what stands between the quotes, escapes checked but not resolved.
  bool String(std::string_view* raw) noexcept;
  bool Number(std::string_view* token) noexcept;
  /// Reads any value.
  bool Skip() noexcept;
  /// True when only white space is left and there was no fault.
  bool AtEnd() noexcept;

  /// Reads an object: `member(raw_key)` must read the member's value and return ok().
  template <typename Member>
  bool Object(Member&& member) {
    if (!Open('{')) return false;
    if (TryByte('}')) return Leave();
    do {
      std::string_view key;
      if (!String(&key) || !Byte(':') || !member(key)) return Fail();
    } while (TryByte(','));
    return Byte('}') && Leave();
  }

  /// Reads an array: `element()` must read one value and return ok().
  template <typename Element>
  bool Array(Element&& element) {
    if (!Open('[')) return false;
    if (TryByte(']')) return Leave();
    do {
      if (!element()) return Fail();
    } while (TryByte(','));
    return Byte(']') && Leave();
  }

 private:
  bool Fail() noexcept {
    ok_ = false;
    return false;
  }
  bool FailAt(std::size_t pos) noexcept {
    pos_ = pos;
    return Fail();
  }
  bool Leave() noexcept {
    --depth_;
    return true;
  }
  void SkipSpace() noexcept;
  bool Open(char bracket) noexcept;
  bool TryByte(char c) noexcept;
  bool Byte(char c) noexcept { return TryByte(c) || Fail(); }
  bool Word(std::string_view word) noexcept;
  /// Both read what stands at the position, which Peek has found.
  bool NumberHere(std::string_view* token) noexcept;
  bool Scalar(JsonKind kind) noexcept;

  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t depth_ = 0;
  bool ok_ = true;
  bool too_deep_ = false;
};

/// Resolves the escapes of a raw JSON string into UTF-8. False when it holds a lone surrogate,
/// which has no UTF-8 form; `out` then has U+FFFD in its place.
bool JsonUnescape(std::string_view raw, std::string* out);

/// True when the raw JSON string, which holds an escape, means `text`.
bool JsonEscapedTextIs(std::string_view raw, std::string_view text);

/// True when the raw JSON string means `text`, in whatever spelling. Inline, with the answer in the
/// first byte nearly always: every member of every frame is compared with a handful of names.
inline bool JsonTextIs(std::string_view raw, std::string_view text) {
  if (raw.empty() || text.empty()) return raw.empty() && text.empty();
  if (raw.front() != text.front() && raw.front() != '\\') return false;
  // Escapes only ever lengthen a text.
  if (raw.size() < text.size()) return false;
  if (raw.find('\\') != std::string_view::npos) return JsonEscapedTextIs(raw, text);
  return raw == text;
}

/// True for a number token that means zero ("0", "-0.0", "0e5").
bool JsonNumberIsZero(std::string_view token) noexcept;

/// `text` as a JSON string token, quotes included. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

}  // namespace hotel::wire

#endif  // HOTEL_WIRE_JSON_H_
