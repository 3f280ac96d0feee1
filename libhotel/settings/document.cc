#include "libhotel/settings/document.h"

#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "libhotel/base/strings.h"

namespace hotel::settings {
namespace {

int LineOf(const YAML::Mark& mark) { return mark.line + 1; }

// Thrown through yaml-cpp by the handler below and caught in ParseDocument: events have no other
// way to say no.
struct Refused {
  SyntaxError error;
};

[[noreturn]] void Refuse(int line, std::string message) {
  throw Refused{{line, std::move(message)}};
}

std::string Unshielded(std::string text);

class TreeBuilder : public YAML::EventHandler {
 public:
  /// `shielded`: the text went through ShieldReferences.
  explicit TreeBuilder(bool shielded) : shielded_(shielded) {}

  NodePtr root() const { return root_ != nullptr ? root_ : std::make_shared<const Node>(); }
  /// Where the last key, value or collection was seen.
  int last_line() const noexcept { return last_line_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Leaf(Node::Kind::kNull, mark, anchor, {});
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    Leaf(Node::Kind::kScalar, mark, anchor, shielded_ ? Unshielded(value) : value);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) Refuse(LineOf(mark), "an alias may not stand inside its own anchor");
    Add(it->second, LineOf(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Node::Kind::kSequence, mark, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Node::Kind::kMapping, mark, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  // A collection that is not complete yet.
  struct Frame {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    Member member;
  };

  void Leaf(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor, std::string text) {
    last_line_ = LineOf(mark);
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->line = LineOf(mark);
    node->text = std::move(text);
    Complete(std::move(node), anchor);
  }

  void Open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      Refuse(LineOf(mark), fmt::format("nested more than {} levels deep", kMaxDepth));
    }
    Frame frame;
    frame.node = std::make_shared<Node>();
    frame.node->kind = kind;
    frame.node->line = LineOf(mark);
    frame.anchor = anchor;
    open_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    Complete(std::move(frame.node), frame.anchor);
  }

  void Complete(std::shared_ptr<Node> node, YAML::anchor_t anchor) {
    // The mark of an empty value is where the next token stands; its key is the better place.
    if (node->kind == Node::Kind::kNull && !open_.empty() && open_.back().has_key) {
      node->line = open_.back().member.line;
    }
    if (anchor != 0) anchors_[anchor] = node;
    const int line = node->line;
    Add(std::move(node), line);
  }

  void Add(NodePtr node, int line) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& top = open_.back();
    top.node->weight += node->weight;
    if (top.node->weight > kMaxNodes) Refuse(line, "too many values, aliases counted as copies");
    if (top.node->kind == Node::Kind::kSequence) {
      top.node->items.push_back(std::move(node));
    } else if (!top.has_key) {
      if (node->kind != Node::Kind::kScalar) Refuse(line, "a key must be a plain word");
      top.has_key = true;
      top.member = {node->text, line, nullptr};
    } else {
      top.has_key = false;
      top.member.value = std::move(node);
      top.node->members.push_back(std::move(top.member));
    }
  }

  bool shielded_;
  std::vector<Frame> open_;
  std::unordered_map<YAML::anchor_t, NodePtr> anchors_;
  NodePtr root_;
  int last_line_ = 1;
};

// Braces of `${NAME}` in a form that means nothing to YAML, so that a reference may stand unquoted
// inside `{...}`: two characters of the private use area, for the time of the parsing.
constexpr std::string_view kOpenBrace = "\xEE\x80\x80";
constexpr std::string_view kCloseBrace = "\xEE\x80\x81";

bool IsNameByte(char c) noexcept { return base::IsAsciiAlnum(c) || c == '_'; }

std::string ShieldReferences(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] != '$' || i + 1 == text.size()) continue;
    if (text[i + 1] == '$') {  // an escaped dollar: what follows is no reference
      result += text[++i];
      continue;
    }
    if (text[i + 1] != '{') continue;
    const std::size_t end = text.find_first_of("}\n", i + 2);
    std::size_t name_end = i + 2;
    while (name_end < text.size() && IsNameByte(text[name_end])) ++name_end;
    const bool whole = end != std::string_view::npos && text[end] == '}' && name_end > i + 2 &&
                       (name_end == end || text.substr(name_end, 2) == ":-");
    if (!whole) continue;
    result += kOpenBrace;
    result += text.substr(i + 2, end - i - 2);
    result += kCloseBrace;
    i = end;
  }
  return result;
}

std::string Unshielded(std::string text) {
  for (const auto& [shield, brace] : {std::pair{kOpenBrace, "{"}, std::pair{kCloseBrace, "}"}}) {
    for (std::size_t at = text.find(shield); at != std::string::npos; at = text.find(shield, at)) {
      text.replace(at, shield.size(), brace);
    }
  }
  return text;
}

// The text with an end-of-document mark behind it: without one, yaml-cpp takes the end of the file
// for the end of a quoted value and swallows everything behind a forgotten quote.
std::string WithEnd(std::string_view text) {
  std::string result(text);
  if (!result.empty() && result.back() != '\n') result += '\n';
  return result += "...\n";
}

// What yaml-cpp takes badly is refused before it sees it: NUL and 0x04 end its input silently, a
// wrong UTF-8 byte goes through to the values, and its scanner keeps every token behind an opening
// bracket until it knows whether the bracket starts a key.
bool CheckText(std::string_view text, SyntaxError* error) {
  int line = 1;
  std::size_t openings = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '[' || c == '{') ++openings;
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F) {
      *error = {line, "holds a control character; the file must be UTF-8 text"};
      return false;
    }
    if (openings > kMaxFlowOpenings) {
      *error = {line, fmt::format("more than {} brackets", kMaxFlowOpenings)};
      return false;
    }
    if (byte >= 0x80) {
      const std::size_t length = base::Utf8Length(text.substr(i));
      if (length == 0) {
        *error = {line, "holds a byte that is not UTF-8"};
        return false;
      }
      i += length - 1;
    }
  }
  return true;
}

}  // namespace

NodePtr ParseDocument(std::string_view text, SyntaxError* error) {
  if (!CheckText(text, error)) return nullptr;
  // A text that uses these two characters itself keeps them.
  const bool shielded = text.find(kOpenBrace) == std::string_view::npos &&
                        text.find(kCloseBrace) == std::string_view::npos;
  TreeBuilder builder(shielded);
  try {
    std::istringstream stream{WithEnd(shielded ? ShieldReferences(text) : std::string(text))};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    NodePtr root = builder.root();
    TreeBuilder rest(shielded);
    if (parser.HandleNextDocument(rest)) {
      *error = {rest.root()->line, "a second document; write everything into one"};
      return nullptr;
    }
    return root;
  } catch (const Refused& refused) {
    *error = refused.error;
  } catch (const YAML::Exception& exception) {
    if (exception.msg == YAML::ErrorMsg::DOC_IN_SCALAR) {
      *error = {builder.last_line(),
                "is not valid YAML: a quote opened here or below is not closed"};
      return nullptr;
    }
    *error = {exception.mark.is_null() ? 0 : LineOf(exception.mark),
              "is not valid YAML: " + exception.msg};
  } catch (const std::exception& exception) {
    *error = {0, fmt::format("cannot be parsed: {}", exception.what())};
  }
  return nullptr;
}

}  // namespace hotel::settings
