#include "benchmarks/load/answer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <strings.h>

namespace hotel::load {
namespace {

constexpr std::size_t kHeadLimit = 64 * 1024;
constexpr std::size_t kLineLimit = 4096;
constexpr std::size_t kRefusalLimit = 300;

bool Same(std::string_view text, std::string_view name) {
  return text.size() == name.size() && strncasecmp(text.data(), name.data(), name.size()) == 0;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number* number, int base = 10) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), *number, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace

void Answer::Reset() {
  // The strings keep their memory for the next answer.
  std::string head = std::move(head_);
  std::string line = std::move(line_);
  std::string event = std::move(event_);
  *this = Answer(gaps_);
  head_ = std::move(head);
  line_ = std::move(line);
  event_ = std::move(event);
  head_.clear();
  line_.clear();
  event_.clear();
}

Answer::State Answer::Feed(std::string_view bytes, int64_t now) {
  if (state_ == State::kHead) {
    // An answer's head is small: looking at it again from its start costs nothing.
    const std::size_t before = head_.size();
    head_.append(bytes.substr(0, kHeadLimit));
    const std::size_t end = head_.find("\r\n\r\n");
    if (end == std::string::npos) {
      if (head_.size() >= kHeadLimit) state_ = State::kBroken;
      return state_;
    }
    head_.resize(end + 2);
    bytes.remove_prefix(end + 4 - before);
    head_at_ = now;
    if (!ReadHead()) return state_ = State::kBroken;
    state_ = has_length_ && left_ == 0 ? State::kDone : State::kBody;
    if (state_ == State::kDone && !bytes.empty()) state_ = State::kBroken;
  }
  if (state_ == State::kBody && !bytes.empty()) {
    if (chunked_) {
      ReadChunks(bytes, now);
    } else {
      ReadBody(bytes, now);
    }
  }
  return state_;
}

Answer::State Answer::Close() {
  if (state_ == State::kBody && !chunked_ && !has_length_) state_ = State::kDone;
  return state_;
}

bool Answer::ReadHead() {
  std::string_view rest = head_;
  if (rest.size() < 14 || rest.substr(0, 7) != "HTTP/1." ||
      !ReadNumber(rest.substr(9, 3), &status_)) {
    return false;
  }
  closes_ = rest[7] == '0';
  for (rest.remove_prefix(rest.find("\r\n") + 2); !rest.empty();) {
    const std::size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    ReadHeader(line.substr(0, colon), Trim(line.substr(colon + 1)));
  }
  if (!chunked_ && !has_length_) closes_ = true;
  return !(chunked_ && has_length_);
}

void Answer::ReadHeader(std::string_view name, std::string_view value) {
  if (Same(name, "content-length")) {
    has_length_ = ReadNumber(value, &left_);
  } else if (Same(name, "transfer-encoding")) {
    chunked_ = Same(value, "chunked");
  } else if (Same(name, "connection")) {
    closes_ = Same(value, "close");
  } else if (Same(name, "content-type")) {
    is_stream_ = Same(value.substr(0, 17), "text/event-stream");
  }
}

void Answer::ReadBody(std::string_view bytes, int64_t now) {
  if (has_length_ && bytes.size() > left_) {
    state_ = State::kBroken;
    return;
  }
  ReadContent(bytes, now);
  if (!has_length_) return;
  left_ -= bytes.size();
  if (left_ == 0) state_ = State::kDone;
}

void Answer::ReadChunks(std::string_view bytes, int64_t now) {
  while (!bytes.empty() && state_ == State::kBody) {
    if (part_ == Part::kData) {
      const std::string_view data = bytes.substr(0, left_);
      bytes.remove_prefix(data.size());
      left_ -= data.size();
      ReadContent(data, now);
      if (left_ == 0) part_ = Part::kDataEnd;
      continue;
    }
    if (!ReadLine(&bytes)) return;
    if (part_ == Part::kSize) {
      const std::string_view size = std::string_view(line_).substr(0, line_.find(';'));
      if (!ReadNumber(Trim(size), &left_, 16)) state_ = State::kBroken;
      part_ = left_ == 0 ? Part::kTrailer : Part::kData;
    } else if (part_ == Part::kDataEnd) {
      if (!line_.empty()) state_ = State::kBroken;
      part_ = Part::kSize;
    } else if (line_.empty()) {
      state_ = bytes.empty() ? State::kDone : State::kBroken;
    }
    line_.clear();
  }
}

/// Moves what belongs to the current line into line_; true when the line is whole (without its
/// CRLF).
bool Answer::ReadLine(std::string_view* bytes) {
  const std::size_t end = bytes->find('\n');
  const std::size_t count = end == std::string_view::npos ? bytes->size() : end + 1;
  line_.append(bytes->substr(0, count));
  bytes->remove_prefix(count);
  if (line_.size() > kLineLimit) state_ = State::kBroken;
  if (end == std::string_view::npos) return false;
  if (line_.size() < 2 || line_[line_.size() - 2] != '\r') {
    state_ = State::kBroken;
    return false;
  }
  line_.resize(line_.size() - 2);
  return true;
}

void Answer::ReadContent(std::string_view bytes, int64_t now) {
  body_bytes_ += static_cast<int64_t>(bytes.size());
  if (status_ != 200) refusal_.append(bytes.substr(0, kRefusalLimit - refusal_.size()));
  if (is_stream_) ReadEvents(bytes, now);
}

/// Events end with an empty line; hotel-sim ends lines with LF unless told otherwise.
void Answer::ReadEvents(std::string_view bytes, int64_t now) {
  if (!event_.empty()) {
    // Only an event that arrives in pieces is copied.
    const std::size_t before = event_.size();
    event_.append(bytes);
    const std::size_t end = event_.find("\n\n", before - 1);
    if (end == std::string::npos) return;
    bytes.remove_prefix(end + 2 - before);
    event_.resize(end);
    ReadEvent(event_, now);
    event_.clear();
  }
  for (std::size_t end; (end = bytes.find("\n\n")) != std::string_view::npos;) {
    ReadEvent(bytes.substr(0, end), now);
    bytes.remove_prefix(end + 2);
  }
  event_.assign(bytes);
}

void Answer::ReadEvent(std::string_view event, int64_t now) {
  if (event == "data: [DONE]") {
    terminated_ = true;
    return;
  }
  static constexpr std::string_view kText = "\"content\":\"";
  const std::size_t text = event.find(kText);
  if (text == std::string_view::npos || event.substr(text + kText.size(), 1) == "\"") return;
  if (frames_++ == 0) {
    first_frame_at_ = now;
  } else {
    gaps_->Add(now - last_frame_at_);
  }
  last_frame_at_ = now;
}

}  // namespace hotel::load
