// YAML text as a tree that remembers lines and duplicate keys.
//
// Built from yaml-cpp's parse events instead of its nodes: duplicates stay visible, depth and size
// are bounded while parsing, and aliases cannot blow the tree up.
#ifndef HOTEL_SETTINGS_DOCUMENT_H_
#define HOTEL_SETTINGS_DOCUMENT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hotel::settings {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

/// One `key: value` of a mapping.
struct Member {
  std::string key;
  int line = 0;  ///< of the key
  NodePtr value;
};

/// Immutable once parsed; an aliased node occurs at several places of the tree.
struct Node {
  enum class Kind { kNull, kScalar, kSequence, kMapping };
  Kind kind = Kind::kNull;
  int line = 0;                 ///< from 1
  std::string text;             ///< kScalar
  std::vector<NodePtr> items;   ///< kSequence
  std::vector<Member> members;  ///< kMapping, duplicates included
  std::size_t weight = 1;       ///< nodes in this subtree, aliases counted as copies
};

/// Why a text has no tree.
struct SyntaxError {
  int line = 0;
  std::string message;
};

/// Limits of a document; more is an error, never a crash or a long wait.
inline constexpr int kMaxDepth = 32;
inline constexpr std::size_t kMaxNodes = 200000;
/// Opening brackets of flow collections in the whole text, wherever they stand.
inline constexpr std::size_t kMaxFlowOpenings = 50000;

/// Parses one document; empty text gives a kNull node. Returns null and fills `error` on failure.
/// REQUIRES: text.size() <= kMaxConfigBytes (the caller says so in its own words).
NodePtr ParseDocument(std::string_view text, SyntaxError* error);

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_DOCUMENT_H_
