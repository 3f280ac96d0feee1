#include "benchmarks/load/times.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hotel::load {

std::string Times::Json() {
  if (values_.empty()) return "null";
  std::sort(values_.begin(), values_.end());
  // The smallest value that at least this share of all values does not exceed.
  const auto at = [this](double share) {
    const auto rank = std::ceil(share * static_cast<double>(values_.size()));
    return values_[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  return fmt::format(R"({{"p50":{:.4f},"p90":{:.4f},"p99":{:.4f},"max":{:.4f}}})", at(0.5), at(0.9),
                     at(0.99), values_.back());
}

}  // namespace hotel::load
