#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "benchmarks/load/times.h"

namespace hotel::load {

/// Reads one HTTP/1.1 answer as it arrives and notes when its parts came. Times are nanoseconds of
/// the monotonic clock.
class Answer {
 public:
  enum class State { kHead, kBody, kDone, kBroken };

  /// The times between frames go to `gaps`.
  explicit Answer(Times* gaps) : gaps_(gaps) {}

  /// Starts the next answer.
  void Reset();

  /// Takes what arrived at `now`. Bytes after the end of the answer make it broken: the client
  /// never asks before it has the answer.
  State Feed(std::string_view bytes, int64_t now);

  /// The peer closed. Done when the answer had neither length nor chunks, else what it was.
  State Close();

  State state() const { return state_; }
  int status() const { return status_; }
  /// True when the peer will close the connection after this answer.
  bool closes() const { return closes_; }
  int64_t head_at() const { return head_at_; }
  int64_t first_frame_at() const { return first_frame_at_; }
  /// Events with text in them.
  int frames() const { return frames_; }
  /// True when `data: [DONE]` was seen.
  bool terminated() const { return terminated_; }
  /// The beginning of the body of a refusal.
  const std::string& refusal() const { return refusal_; }
  int64_t body_bytes() const { return body_bytes_; }

 private:
  enum class Part { kSize, kData, kDataEnd, kTrailer };

  bool ReadHead();
  void ReadHeader(std::string_view name, std::string_view value);
  void ReadBody(std::string_view bytes, int64_t now);
  void ReadChunks(std::string_view bytes, int64_t now);
  bool ReadLine(std::string_view* bytes);
  void ReadContent(std::string_view bytes, int64_t now);
  void ReadEvents(std::string_view bytes, int64_t now);
  void ReadEvent(std::string_view event, int64_t now);

  Times* gaps_;
  State state_ = State::kHead;
  Part part_ = Part::kSize;
  std::string head_;
  std::string line_;
  std::string event_;
  std::string refusal_;
  int status_ = 0;
  bool closes_ = false;
  bool chunked_ = false;
  bool has_length_ = false;
  bool is_stream_ = false;
  bool terminated_ = false;
  uint64_t left_ = 0;
  int64_t body_bytes_ = 0;
  int64_t head_at_ = 0;
  int64_t first_frame_at_ = 0;
  int64_t last_frame_at_ = 0;
  int frames_ = 0;
};

}  // namespace hotel::load
