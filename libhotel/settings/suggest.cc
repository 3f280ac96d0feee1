// "Did you mean": the nearest known word to an unknown one.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libhotel/base/strings.h"
#include "libhotel/settings/reader.h"

namespace hotel::settings {
namespace {

constexpr std::size_t kMaxShown = 20;

// Insertions, deletions, replacements and swaps of neighbours, upper and lower case alike. Only for
// short words: time and memory are the product of the lengths.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto same = [&](std::size_t x, std::size_t y) {
        return base::AsciiLower(a[x]) == base::AsciiLower(b[y]);
      };
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::size_t tolerance = word.size() < 4 ? 1 : word.size() < 8 ? 2 : 3;
  std::string_view best;
  std::size_t best_distance = tolerance + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > tolerance || longer > 128) continue;
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string Suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  if (const std::string_view near = Nearest(word, candidates); !near.empty()) {
    return fmt::format("; did you mean {}?", Quoted(near));
  }
  if (candidates.empty()) return "; there are none";
  std::vector<std::string> shown(
      candidates.begin(),
      candidates.begin() + static_cast<std::ptrdiff_t>(std::min(candidates.size(), kMaxShown)));
  if (shown.size() < candidates.size()) shown.push_back("...");
  return fmt::format("; known ones are: {}", fmt::join(shown, ", "));
}

}  // namespace hotel::settings
