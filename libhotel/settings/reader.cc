#include "libhotel/settings/reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/settings/registry.h"

namespace hotel::settings {
namespace {

// Control characters as escapes, so that an error stays on its line.
std::string OneLine(std::string_view text, std::size_t max_bytes) {
  const std::string_view head = base::TruncateUtf8(text, max_bytes);
  std::string result;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    } else {
      result += c;
    }
  }
  return head.size() < text.size() ? result + "..." : result;
}

const char* KindName(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::kNull:
      return "nothing";
    case Node::Kind::kScalar:
      return "a single value";
    case Node::Kind::kSequence:
      return "a list";
    case Node::Kind::kMapping:
      return "a mapping";
  }
  return "";
}

void SortByLine(std::vector<ConfigError>* errors) {
  std::stable_sort(errors->begin(), errors->end(),
                   [](const ConfigError& a, const ConfigError& b) { return a.line < b.line; });
}

}  // namespace

std::string ConfigError::ToString() const {
  return path.empty() ? fmt::format("{}:{}: {}", file, line, message)
                      : fmt::format("{}:{}: {}: {}", file, line, path, message);
}

std::string Quoted(std::string_view text) {
  return fmt::format("\"{}\"", OneLine(base::RedactKeys(text), 80));
}

std::string ValueProblem(const Text& text, const absl::Status& status) {
  return fmt::format("{} {}", Quoted(text.source), std::string(status.message()));
}

std::string Join(std::string_view path, std::string_view key) {
  const std::string shown = OneLine(base::RedactKeys(key), 120);
  return path.empty() ? shown : fmt::format("{}.{}", path, shown);
}

std::string Join(std::string_view path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

std::string Reader::Place(int line, std::string_view path) const {
  return fmt::format("{}:{}: {}", file_, line, path);
}

void Reader::Error(int line, std::string path, std::string message) {
  if (errors_.size() >= kMaxConfigErrors - 1) {
    ++left_out_;
    return;
  }
  errors_.push_back({file_, line, std::move(path), std::move(message)});
}

void Reader::Warn(int line, std::string path, std::string message) {
  if (warnings_.size() >= kMaxConfigErrors) return;
  warnings_.push_back({file_, line, std::move(path), std::move(message)});
}

void Reader::EnvError(std::string_view variable, std::string message) {
  errors_.push_back({"environment", 0, std::string(variable), std::move(message)});
}

void Reader::EnvWarn(std::string_view variable, std::string message) {
  warnings_.push_back({"environment", 0, std::string(variable), std::move(message)});
}

std::vector<const Member*> Reader::Members(const Node& node, const std::string& path) {
  std::vector<const Member*> members;
  if (node.kind == Node::Kind::kNull) return members;
  if (node.kind != Node::Kind::kMapping) {
    Error(node.line, path, fmt::format("is {}; write a mapping (key: value)", KindName(node.kind)));
    return members;
  }
  std::unordered_map<std::string_view, int> seen;
  for (const Member& member : node.members) {
    const auto [first, added] = seen.emplace(member.key, member.line);
    if (added) {
      members.push_back(&member);
    } else {
      Error(member.line, Join(path, member.key),
            fmt::format("is written twice, first in line {}; keep one of them", first->second));
    }
  }
  return members;
}

void Reader::UnknownKey(const Member& member, const std::string& path,
                        const std::vector<std::string>& known) {
  Error(member.line, Join(path, member.key), "unknown key" + Suggestion(member.key, known));
}

std::optional<std::vector<NodePtr>> Reader::Items(const Node& node, const std::string& path,
                                                  std::string_view example) {
  if (node.kind == Node::Kind::kSequence) return node.items;
  Error(node.line, path,
        fmt::format("is {}; write a list, such as {}", KindName(node.kind), example));
  return std::nullopt;
}

std::optional<Text> Reader::Scalar(const Node& node, const std::string& path,
                                   std::string_view what) {
  if (node.kind == Node::Kind::kSequence || node.kind == Node::Kind::kMapping) {
    Error(node.line, path, fmt::format("is {}; write {}", KindName(node.kind), what));
    return std::nullopt;
  }
  Text text{{}, node.text};
  std::string problem;
  if (!ExpandVariables(node.text, *env_, &text.value, &problem)) {
    Error(node.line, path, std::move(problem));
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> Reader::NonEmpty(const Node& node, const std::string& path,
                                            std::string_view what) {
  std::optional<Text> text = Scalar(node, path, what);
  if (!text) return std::nullopt;
  if (text->value.empty()) {
    Error(node.line, path, fmt::format("is empty; write {}", what));
    return std::nullopt;
  }
  return std::move(text->value);
}

std::optional<bool> Reader::Bool(const Node& node, const std::string& path) {
  const std::optional<Text> text = Scalar(node, path, "true or false");
  if (!text) return std::nullopt;
  const absl::StatusOr<bool> value = ParseBool(text->value);
  if (!value.ok()) {
    Error(node.line, path, ValueProblem(*text, value.status()));
    return std::nullopt;
  }
  return *value;
}

void Reader::Finish(ReadResult* result) {
  SortByLine(&errors_);
  SortByLine(&warnings_);
  if (left_out_ > 0) {
    errors_.push_back(
        {file_, errors_.back().line, "", fmt::format("{} more errors are not shown", left_out_)});
  }
  result->errors = std::move(errors_);
  result->warnings = std::move(warnings_);
}

}  // namespace hotel::settings
