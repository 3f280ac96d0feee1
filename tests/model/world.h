// Random lives of requests in virtual time.
//
// A tape is made from one seed: a few requests on the real machine, under the options of a profile
// or random ones, hit by whatever an upstream, a client, a clock, the limiter or an operator may
// do, stray events included. Circuits answer at random; they have models of their own. Every action
// is checked as it comes out.
#ifndef HOTEL_TESTS_MODEL_WORLD_H_
#define HOTEL_TESTS_MODEL_WORLD_H_

#include <cstdint>
#include <string>

namespace hotel::model {

/// What happened on the tapes, to see that they reach everything.
struct Coverage {
  std::uint64_t tapes = 0;
  std::uint64_t requests = 0;
  std::uint64_t events = 0;
  std::uint64_t actions[8] = {};
  std::uint64_t hows[6] = {};
  std::uint64_t reasons[14] = {};
  std::uint64_t verdicts[6] = {};
  std::uint64_t timeouts[5] = {};
  std::uint64_t refusals[3] = {};
  std::uint64_t probes = 0;
  std::uint64_t repeats = 0;         // tries behind the first
  std::uint64_t last_once_more = 0;  // requests that asked the last candidate once more
  std::uint64_t slots = 0;           // requests that were sent with a slot from the line
  std::uint64_t races = 0;           // requests with more than one attempt at a time
  std::uint64_t superseded = 0;
  std::uint64_t cuts = 0;
  std::uint64_t slow = 0;
  std::uint64_t settled = 0;
  std::uint64_t pauses = 0;
  std::uint64_t whole_on_clock = 0;
  std::uint64_t overdue_when_left = 0;
};

/// Plays the tape of `seed`. Returns "" or the first broken invariant.
std::string PlayTape(std::uint64_t seed, Coverage* coverage);

}  // namespace hotel::model

#endif  // HOTEL_TESTS_MODEL_WORLD_H_
