// One answer, produced piece by piece: a function of the behaviour and the time, without a socket.
#ifndef HOTEL_SERVER_SIM_SCRIPT_H_
#define HOTEL_SERVER_SIM_SCRIPT_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/sim/answers.h"
#include "server/sim/behaviour.h"

namespace hotel::sim {

using TimePoint = std::chrono::steady_clock::time_point;

class Script {
 public:
  struct Step {
    enum class Kind {
      kMore,   ///< more is due already: send what there is, then ask again
      kWait,   ///< ask again at `until`
      kHang,   ///< nothing more comes
      kDone,   ///< the answer is whole
      kClose,  ///< end the connection once everything is sent
      kReset,  ///< reset the connection
    };
    Kind kind = Kind::kDone;
    TimePoint until{};
  };

  /// `plan` keeps `behaviour` alive. `echo` is a JSON string (speech: plain text), used when
  /// `behaviour.echo`.
  Script(std::shared_ptr<const Plan> plan, const Behaviour& behaviour, AnswerContext context,
         bool stream, std::string echo, TimePoint now);

  /// Appends to `out` what is due at `now`.
  Step Next(TimePoint now, std::string* out);

  /// Keeps `held` for as long as the answer runs.
  void Hold(std::shared_ptr<const void> held) { held_while_running_ = std::move(held); }

  bool streaming() const { return stream_; }
  /// True when the connection ends with this answer.
  bool closes() const { return behaviour_->until_close; }

 private:
  enum class Stage { kBeforeHead, kHead, kFirst, kBody, kEnd, kStartBreak, kBreak, kHang };

  void BuildPlain();
  void Head(TimePoint now, std::string* out);
  void Plain(std::string* out);
  void Frame(TimePoint now, std::string* out);
  void EndOfStream(std::string* out);
  /// Sends or, when the body trickles, holds a part of the body.
  void Body(std::string_view bytes, std::string* out);
  void Piece(std::string_view bytes, std::string* out);
  void Trickle(TimePoint now, std::string* out);
  Step Waiting(TimePoint now, std::string* out);
  void StartBreak(TimePoint now);

  /// Text number `index` as a JSON string.
  std::string_view Text(int index);
  std::string_view Sound(int index);
  int frames() const;
  /// The text of all frames together.
  std::size_t SizedBytes() const;
  bool BreaksAt(int where) const;
  bool chunked() const { return stream_ && !behaviour_->until_close; }

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const void> held_while_running_;
  const Behaviour* behaviour_;
  AnswerContext context_;
  StreamWriter writer_;
  bool stream_;
  bool no_body_ = false;
  Stage stage_ = Stage::kBeforeHead;
  TimePoint wait_until_{};
  TimePoint next_keepalive_{};
  bool head_sent_ = false;
  bool opened_ = false;
  int frame_ = 0;
  std::string text_;   ///< the current piece, or the echo, as a JSON string
  std::string plain_;  ///< a plain answer's body
  std::string held_;   ///< of the body, waiting to trickle out
  std::size_t held_at_ = 0;
};

}  // namespace hotel::sim

#endif  // HOTEL_SERVER_SIM_SCRIPT_H_
