// Tables for people.
#ifndef SERVER_CTL_TABLE_H_
#define SERVER_CTL_TABLE_H_

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace hotel::ctl {

/// Text for a terminal: what could move its cursor, turn a line around or hide in it is written as
/// an escape (`\x1b`, `\u202e`), and so are bytes that are no UTF-8.
std::string Printable(std::string_view text);

/// Columns as wide as their widest cell, headings in capitals.
class Table {
 public:
  explicit Table(std::vector<std::string> headings) { rows_.push_back(std::move(headings)); }
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void Print(std::ostream& out) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hotel::ctl

#endif  // SERVER_CTL_TABLE_H_
