// Reading values out of a document: expansion of variables, and errors that are collected.
#ifndef HOTEL_SETTINGS_READER_H_
#define HOTEL_SETTINGS_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "libhotel/settings/config.h"
#include "libhotel/settings/document.h"

namespace hotel::settings {

/// A scalar after expansion. Error messages quote `source`, the text of the file: an expanded
/// variable may hold a credential.
struct Text {
  std::string value;
  std::string source;
};

/// `text` in quotes for a message: short, one line, key-shaped words masked.
std::string Quoted(std::string_view text);

/// "<what was written> is not a duration; write ...".
std::string ValueProblem(const Text& text, const absl::Status& status);

/// The candidate nearest to `word` when it is near enough to be a typing mistake, else "".
std::string_view Nearest(std::string_view word, const std::vector<std::string>& candidates);

/// "; did you mean X?" or "; known ones are: A, B" for an unknown word.
std::string Suggestion(std::string_view word, const std::vector<std::string>& candidates);

/// Expands `${VAR}`, `${VAR:-default}` (used when VAR is unset or empty) and `$$`; any other `$`
/// stays. Returns false and sets `problem` for an unset variable or a malformed reference.
bool ExpandVariables(std::string_view text, const EnvLookup& env, std::string* value,
                     std::string* problem);

/// Not thread-safe. Every method that cannot read what it should adds an error and returns nothing.
class Reader {
 public:
  /// `env` must outlive the reader.
  Reader(std::string file, const EnvLookup* env) : file_(std::move(file)), env_(env) {}

  const EnvLookup& env() const noexcept { return *env_; }

  void Error(int line, std::string path, std::string message);
  void Warn(int line, std::string path, std::string message);
  /// `FILE:LINE: path`.
  std::string Place(int line, std::string_view path) const;
  /// About a variable of the environment, not about the file.
  void EnvError(std::string_view variable, std::string message);
  void EnvWarn(std::string_view variable, std::string message);

  /// The members of a mapping, duplicate keys reported and left out. A missing value is an empty
  /// mapping. Pointers live as long as the document.
  std::vector<const Member*> Members(const Node& node, const std::string& path);
  /// Reports a member whose key is not in `known`.
  void UnknownKey(const Member& member, const std::string& path,
                  const std::vector<std::string>& known);

  /// The items of a sequence; nullopt when it is none.
  std::optional<std::vector<NodePtr>> Items(const Node& node, const std::string& path,
                                            std::string_view example);

  /// A scalar, expanded. `what` names what is wanted: "a duration such as 30s".
  std::optional<Text> Scalar(const Node& node, const std::string& path, std::string_view what);
  /// A scalar with at least one character.
  std::optional<std::string> NonEmpty(const Node& node, const std::string& path,
                                      std::string_view what);
  std::optional<bool> Bool(const Node& node, const std::string& path);

  /// Moves what was collected into `result`, in line order.
  void Finish(ReadResult* result);

 private:
  std::string file_;
  const EnvLookup* env_;
  std::vector<ConfigError> errors_;
  std::vector<ConfigError> warnings_;
  std::size_t left_out_ = 0;
};

/// "a.b" below "a"; keys are shown on one line, however they were written.
std::string Join(std::string_view path, std::string_view key);
/// "a[3]".
std::string Join(std::string_view path, std::size_t index);

}  // namespace hotel::settings

#endif  // HOTEL_SETTINGS_READER_H_
