// A virtual model: one name in front of several models (seed 003; facts b of it, B1-B7).
#ifndef HOTEL_VIRTUAL_MODEL_H_
#define HOTEL_VIRTUAL_MODEL_H_

#include <string>
#include <vector>

namespace hotel {

/// One model behind a virtual one.
struct VirtualTarget {
  /// `<provider>/<model>`, or the source of another virtual model; with `provider`, its model id.
  std::string model;
  /// When set, the target is this provider's own model, also where a virtual model bears its name.
  std::string provider{};
  /// Share of first places under round_robin; 1 to 1000.
  int weight = 1;
};

struct VirtualModelSpec {
  /// Which target comes first; the others follow in the order they are written.
  enum class Strategy {
    kRoundRobin,  ///< each in turn, as often as its weight says
    kFailover,    ///< the first one written
  };
  /// What clients ask for, exactly. It may be the name of a real model, `<provider>/<model>`, which
  /// it then covers; a target of that name means the real one.
  std::string source;
  Strategy strategy = Strategy::kRoundRobin;
  std::vector<VirtualTarget> targets;
};

}  // namespace hotel

#endif  // HOTEL_VIRTUAL_MODEL_H_
