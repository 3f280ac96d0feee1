#include "libhotel/wire/form_head.h"

#include <algorithm>
#include <utility>

#include "libhotel/base/strings.h"

namespace hotel::wire {
namespace {

constexpr std::size_t kMaxBoundary = 70;
constexpr std::string_view kBoundaryMarks = "'()+_,-./:=? ";
constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

bool IsToken(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return base::IsAsciiAlnum(c) || kTokenMarks.find(c) != std::string_view::npos;
  });
}

// Reads `value; name=value; name="value"` piece by piece.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : rest_(text) {}

  // What stands in front of the parameters.
  std::string_view Value() {
    const std::size_t end = std::min(rest_.find(';'), rest_.size());
    const std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return base::Trim(value);
  }

  // False at the end and on a fault (`bad()`).
  bool Parameter(std::string* name, std::string* value) {
    SkipSpace();
    if (rest_.empty()) return false;
    if (rest_.front() != ';') return Fail();
    rest_.remove_prefix(1);
    SkipSpace();
    if (rest_.empty()) return false;  // a lone semicolon ends it
    const std::size_t equals = rest_.find('=');
    if (equals == std::string_view::npos) return Fail();
    const std::string_view key = base::Trim(rest_.substr(0, equals));
    if (!IsToken(key)) return Fail();
    *name = base::Lower(key);
    rest_.remove_prefix(equals + 1);
    SkipSpace();
    return !rest_.empty() && rest_.front() == '"' ? Quoted(value) : Bare(value);
  }

  bool bad() const noexcept { return bad_; }

 private:
  bool Fail() noexcept {
    bad_ = true;
    return false;
  }
  void SkipSpace() noexcept {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool Bare(std::string* value) {
    const std::size_t end = std::min(rest_.find_first_of("; \t\""), rest_.size());
    value->assign(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return !value->empty() || Fail();
  }
  bool Quoted(std::string* value) {
    value->clear();
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      value->push_back(rest_[i]);
    }
    return Fail();
  }

  std::string_view rest_;
  bool bad_ = false;
};

bool ReadDisposition(std::string_view text, FormField* field) {
  FieldReader reader(text);
  if (!base::EqualsIgnoreCase(reader.Value(), "form-data")) return false;
  std::string name;
  std::string value;
  bool named = false;
  while (reader.Parameter(&name, &value)) {
    if (name == "name*") return false;
    if (name == "filename" || name == "filename*") field->file = true;
    if (name != "name") continue;
    if (std::exchange(named, true)) return false;
    field->name = value;
  }
  return named && !reader.bad();
}

bool IsPlainEncoding(std::string_view value) noexcept {
  return base::EqualsIgnoreCase(value, "7bit") || base::EqualsIgnoreCase(value, "8bit") ||
         base::EqualsIgnoreCase(value, "binary");
}

// Tabs are the only controls that a line may hold: a lone CR or LF would be a line end to some.
bool IsLine(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(),
                     [](char c) { return c == '\t' || !base::IsAsciiControl(c); });
}

}  // namespace

std::optional<std::string> FormBoundary(std::string_view content_type) {
  FieldReader reader(content_type);
  if (!base::EqualsIgnoreCase(reader.Value(), "multipart/form-data")) return std::nullopt;
  std::optional<std::string> boundary;
  std::string name;
  std::string value;
  while (reader.Parameter(&name, &value)) {
    if (name != "boundary") continue;
    if (boundary) return std::nullopt;
    boundary = value;
  }
  if (reader.bad() || !boundary) return std::nullopt;
  const auto usable = [](char c) {
    return base::IsAsciiAlnum(c) || kBoundaryMarks.find(c) != std::string_view::npos;
  };
  if (boundary->empty() || boundary->size() > kMaxBoundary || boundary->back() == ' ' ||
      !std::all_of(boundary->begin(), boundary->end(), usable)) {
    return std::nullopt;
  }
  return boundary;
}

std::optional<FormField> ReadFormHead(std::string_view head) {
  FormField field;
  bool disposition = false;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (!IsLine(line) || colon == std::string_view::npos) return std::nullopt;
    const std::string_view name = line.substr(0, colon);
    if (!IsToken(name)) return std::nullopt;  // a folded line is none either
    const std::string_view value = base::Trim(line.substr(colon + 1));
    if (base::EqualsIgnoreCase(name, "content-transfer-encoding")) {
      field.encoded = field.encoded || !IsPlainEncoding(value);
    } else if (base::EqualsIgnoreCase(name, "content-disposition")) {
      if (std::exchange(disposition, true) || !ReadDisposition(value, &field)) return std::nullopt;
    }
  }
  if (!disposition) return std::nullopt;
  return field;
}

}  // namespace hotel::wire
