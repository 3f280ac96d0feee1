#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hotel::load {

/// Times of one kind, in milliseconds once printed.
class Times {
 public:
  void Add(int64_t nanoseconds) { values_.push_back(static_cast<float>(nanoseconds) / 1e6F); }
  /// {"p50":..,"p90":..,"p99":..,"max":..}, or null without values.
  std::string Json();

 private:
  std::vector<float> values_;
};

}  // namespace hotel::load
