#include <cassert>
#include <cstddef>
#include <string>
#include <vector>

#include "hotel/settings.h"

namespace hotel {

StatusSet& StatusSet::AddCode(int code) {
  assert(code >= 100 && code <= 599);
  codes_.set(static_cast<std::size_t>(code));
  return *this;
}

StatusSet& StatusSet::AddClass(int hundreds) {
  assert(hundreds >= 1 && hundreds <= 5);
  classes_.set(static_cast<std::size_t>(hundreds));
  return *this;
}

bool StatusSet::Contains(int status) const noexcept {
  if (ContainsExactly(status)) return true;
  return ContainsClass(status >= 500 ? 5 : status / 100);
}

bool StatusSet::ContainsExactly(int status) const noexcept {
  return status >= 100 && status <= 599 && codes_[static_cast<std::size_t>(status)];
}

bool StatusSet::ContainsClass(int hundreds) const noexcept {
  return hundreds >= 1 && hundreds <= 5 && classes_[static_cast<std::size_t>(hundreds)];
}

std::vector<std::string> StatusSet::ToStrings() const {
  std::vector<std::string> result;
  for (std::size_t code = 100; code < codes_.size(); ++code) {
    if (codes_[code]) result.push_back(std::to_string(code));
  }
  for (std::size_t hundreds = 1; hundreds < classes_.size(); ++hundreds) {
    if (classes_[hundreds]) result.push_back(std::to_string(hundreds) + "xx");
  }
  return result;
}

}  // namespace hotel
