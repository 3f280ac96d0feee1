// Providers that take few requests at a time, and answers that hold a slot for a while.
#ifndef HOTEL_TESTS_SCENARIO_SLOTS_H_
#define HOTEL_TESTS_SCENARIO_SLOTS_H_

#include <stdexcept>
#include <string>

#include "tests/scenario/frames.h"
#include "tests/scenario/harness.h"

namespace hotel::scenario {

/// A provider that takes this many requests at a time, as the operator says.
inline void Ceiling(Harness& h, const std::string& name, int max_in_flight) {
  ProviderSpec spec;
  spec.name = name;
  spec.type = "openai";
  spec.base_url = "https://" + name + ".test/v1";
  spec.max_in_flight = max_in_flight;
  if (!h.store->UpsertProvider(spec).ok()) throw std::runtime_error("no ceiling for " + name);
}

inline Script AnswerAfter(Duration wait, const Script& script) {
  Script late;
  late.After(wait);
  for (const Script::Step& step : script.steps()) {
    if (step.kind == Script::Step::Kind::kHead) late.Head(step.status, step.headers);
    if (step.kind == Script::Step::Kind::kBytes) late.Bytes(step.bytes);
  }
  return late.End();
}

inline Script ChatAfter(Duration wait) { return AnswerAfter(wait, Script::Chat("Good day")); }

/// A stream that says a word every second.
inline Script Talking(int seconds_long) {
  Script script = Open({Role(), Text("x")});
  for (int i = 0; i < seconds_long; ++i) script.After(seconds(1)).Bytes(Text("x") + "\n\n");
  return script.Bytes(Bytes({Fin(), Done()})).End();
}

inline InflightView Window(const Harness& h, const std::string& provider) {
  for (const InflightView& view : h.limiter->Views(h.clock.Now())) {
    if (view.provider_name == provider) return view;
  }
  return {};
}

}  // namespace hotel::scenario

#endif  // HOTEL_TESTS_SCENARIO_SLOTS_H_
