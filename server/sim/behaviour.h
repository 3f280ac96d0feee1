// What a model name asks of the simulated provider: `status-429+retry-after-2`, `cut-after-3`, ...
//
// The names are one table in behaviour.cc; `hotel-sim --help` and docs/sim.md are printed from it.
#ifndef HOTEL_SERVER_SIM_BEHAVIOUR_H_
#define HOTEL_SERVER_SIM_BEHAVIOUR_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/sim/answers.h"

namespace hotel::sim {

using Millis = std::chrono::milliseconds;

/// How an answer breaks off, if it does.
struct Break {
  enum class How { kNone, kSilence, kCut, kReset };
  /// Places before the body; from 0 on it is a number of frames (of bytes, in a plain answer).
  static constexpr int kBeforeHead = -2;
  static constexpr int kAfterHead = -1;

  How how = How::kNone;
  int where = kBeforeHead;
};

/// One way of answering.
struct Behaviour {
  // Shape of a good answer.
  bool echo = false;         ///< the text is a description of the request
  bool tool_call = false;    ///< the model calls a function
  int frames = -1;           ///< pieces of text; -1 = the four of "Hello from hotel-sim."
  int frame_bytes = 16;      ///< text of one piece when `frames` or the size is given
  bool sized = false;        ///< frames or frame_bytes was given
  Millis gap{};              ///< between frames
  bool crlf = false;         ///< line ends of a stream
  bool until_close = false;  ///< the body's end is the connection's end
  Millis takes{};            ///< before the head of a good answer
  bool gzip = false;         ///< content coding of what is no stream

  // Faults.
  int status = 200;
  Wording wording = Wording::kPlain;
  std::vector<std::pair<std::string, std::string>> headers;
  Millis delay_head{};
  Millis delay_first{};
  Break broken;
  int malformed_at = 0;  ///< this frame (from 1) is not JSON; 0 = none
  bool role_only = false;
  Millis keepalive{};     ///< 0 = none
  int error_frame = 0;    ///< status carried by an error event; 0 = none
  int error_after = 0;    ///< frames before it
  int hidden_error = 0;   ///< status in the body of a 200; 0 = none
  int trickle_bytes = 0;  ///< 0 = body at once
  Millis trickle_gap{};
  bool no_done = false;
  bool no_finish = false;
  bool hang_after_done = false;
  std::string want_key;  ///< empty = any
};

/// When the faults apply. Without one they always do.
struct Schedule {
  int first = 0;  ///< the first N requests
  Millis first_time{};
  std::optional<int> after;  ///< all but the first N requests
  std::optional<Millis> after_time;
  int every = 0;    ///< each Nth request
  int percent = 0;  ///< so many in a hundred, evenly spread
  Millis down{};    ///< the first `down` of each `period`
  Millis period{};
  std::optional<int> ceiling;  ///< while so many answers run at the path
};

/// A model name, understood.
struct Plan {
  Behaviour faulty;
  Behaviour healthy;  ///< used outside the schedule
  std::optional<Schedule> schedule;

  /// What request number `n` (from 1), `since_start` after the start or the last reset, gets while
  /// `running` other answers run at its path.
  const Behaviour& For(std::uint64_t n, Millis since_start, std::uint64_t running) const;
};

/// Reads a model name; what stands before its last '/' is ignored. nullopt when a part of it is in
/// no row of the table or out of range.
std::optional<Plan> ParseModel(std::string_view model);

/// An example of every row, for GET /models.
std::vector<std::string> ExampleModels();
/// The table as text for a terminal and as Markdown.
std::string TableText();
std::string TableMarkdown();

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_BEHAVIOUR_H_
