// Random lives of requests over shared circuits, in virtual time.
//
// A tape is made from one seed: a few requests on the real machine and the real breaker, hit by
// whatever an upstream, a client, a clock or an operator may do, stray events included. Every
// action is checked as it comes out.
#ifndef HOTEL_TESTS_MODEL_WORLD_H_
#define HOTEL_TESTS_MODEL_WORLD_H_

#include <cstdint>
#include <string>

namespace hotel::model {

/// What happened on a tape, to see that the tapes reach everything.
struct Coverage {
  std::uint64_t tapes = 0;
  std::uint64_t events = 0;
  std::uint64_t hows[6] = {};
  std::uint64_t reasons[14] = {};
  std::uint64_t effects[6] = {};
  std::uint64_t refused = 0;
  std::uint64_t stale_reports = 0;
  std::uint64_t probes = 0;
  std::uint64_t repeats = 0;
};

/// Plays the tape of `seed`. Returns "" or the first broken invariant.
std::string PlayTape(std::uint64_t seed, Coverage* coverage);

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_WORLD_H_
