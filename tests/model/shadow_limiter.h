// In-flight windows for the reading: what the requests of a tape wait in line for.
#ifndef HOTEL_TESTS_MODEL_SHADOW_LIMITER_H_
#define HOTEL_TESTS_MODEL_SHADOW_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/model/random_inputs.h"

namespace hotel::model {

class ShadowLimiter {
 public:
  ShadowLimiter(int providers, Dice& dice) {
    for (int i = 0; i < providers; ++i) {
      Window window;
      window.limit = dice.Pick<int, 4>({0, 0, 1, 2});
      window.others = dice.Below(window.limit + 1);
      windows_.push_back(window);
    }
  }

  bool Room(int provider) const {
    const Window& window = At(provider);
    return window.limit == 0 || window.own + window.others < window.limit;
  }
  void Take(int provider) { ++At(provider).own; }
  void GiveBack(int provider) { --At(provider).own; }
  /// Behind the slot's settlement.
  void Cut(int provider) {
    Window& window = At(provider);
    const int limit = std::max(1, window.own + window.others);
    if (window.limit == 0 || limit < window.limit) window.limit = limit;
  }
  /// Somebody else's request ends or begins.
  void Stir(Dice& dice) {
    Window& window = At(dice.Below(static_cast<int>(windows_.size())));
    if (window.others > 0 && dice.OneIn(2)) {
      --window.others;
    } else if (window.limit > 0 && window.own + window.others < window.limit) {
      ++window.others;
    }
  }
  int own() const {
    int sum = 0;
    for (const Window& window : windows_) sum += window.own;
    return sum;
  }

 private:
  struct Window {
    int limit = 0;  // 0 = none
    int own = 0;
    int others = 0;
  };
  Window& At(int provider) { return windows_[static_cast<std::size_t>(provider)]; }
  const Window& At(int provider) const { return windows_[static_cast<std::size_t>(provider)]; }

  std::vector<Window> windows_;
};

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_SHADOW_LIMITER_H_
