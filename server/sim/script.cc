#include "server/sim/script.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

namespace hotel::sim {
namespace {

constexpr std::array<std::string_view, 4> kWords = {R"("Hello")", R"(" from")", R"(" hotel-sim")",
                                                    R"(".")"};
constexpr std::array<std::string_view, 4> kArguments = {R"("{\"")", R"("city\": \"")", R"("Paris")",
                                                        R"("\"}")"};
constexpr std::string_view kCall = R"("{\"city\": \"Paris\"}")";
constexpr std::string_view kSentence = R"("Hello from hotel-sim.")";
constexpr std::int64_t kMaxPlainText = 64 << 20;
constexpr std::size_t kHighWater = 256 << 10;
/// Between what was sent and a reset, so that the peer has read it before the connection fails.
constexpr Millis kBeforeReset{20};

std::string_view Reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 429:
      return "Too Many Requests";
    case 503:
      return "Service Unavailable";
    default:
      return "Simulated";
  }
}

std::string Gzip(std::string_view bytes) {
  constexpr int kGzipFormat = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

Script::Script(std::shared_ptr<const Plan> plan, const Behaviour& behaviour, AnswerContext context,
               bool stream, std::string echo, TimePoint now)
    : plan_(std::move(plan)),
      behaviour_(&behaviour),
      context_(std::move(context)),
      writer_(context_),
      wait_until_(now + behaviour.delay_head),
      text_(std::move(echo)) {
  const int status = behaviour.status;
  if (status < 300) wait_until_ += behaviour.takes;
  no_body_ = status == 204 || status == 205 || status == 304;
  stream_ = ((stream && CanStream(context_.dialect)) || AlwaysStreams(context_.dialect)) &&
            status < 300 && !no_body_ && behaviour.hidden_error == 0;
  if (!stream_ && !no_body_) BuildPlain();
}

int Script::frames() const {
  const Behaviour& b = *behaviour_;
  if (b.echo) return 1;
  if (b.frames >= 0) return b.frames;
  const int words = static_cast<int>(kWords.size());
  if (!stream_) return words;
  // Enough for the fault to happen.
  return std::max({words, b.broken.where + 1, b.error_after + 1, b.malformed_at});
}

std::string_view Script::Text(int index) {
  if (behaviour_->echo) return text_;
  if (context_.dialect == Dialect::kSpeech) return Sound(index);
  if (!behaviour_->sized) {
    const auto& pieces = context_.tool_call ? kArguments : kWords;
    return pieces[static_cast<std::size_t>(index) % pieces.size()];
  }
  text_.assign(static_cast<std::size_t>(behaviour_->frame_bytes) + 2,
               static_cast<char>('a' + index % 26));
  text_.front() = text_.back() = '"';
  return text_;
}

// Every byte value, the ones that are no text included.
std::string_view Script::Sound(int index) {
  text_.resize(static_cast<std::size_t>(behaviour_->frame_bytes));
  for (std::size_t i = 0; i < text_.size(); ++i) {
    text_[i] = static_cast<char>((i + static_cast<std::size_t>(index) * 16) & 0xFF);
  }
  return text_;
}

void Script::BuildPlain() {
  const Behaviour& b = *behaviour_;
  if (b.hidden_error != 0) {
    plain_ = HiddenErrorBody(b.hidden_error);
  } else if (b.status >= 300) {
    plain_ = ErrorBody(context_.dialect, b.status, b.wording);
    if (b.sized) plain_.resize(std::max(plain_.size(), SizedBytes()), ' ');
  } else {
    std::string_view text = b.tool_call ? kCall : kSentence;
    if (b.echo) text = text_;
    if (b.sized && !b.echo && !b.tool_call) {
      text_.assign(SizedBytes() + 2, 'a');
      text_.front() = text_.back() = '"';
      text = text_;
    }
    plain_ = PlainBody(context_, text, frames());
  }
  if (b.malformed_at > 0) plain_.resize(plain_.size() / 2);
  if (b.gzip) plain_ = Gzip(plain_);
}

std::size_t Script::SizedBytes() const {
  return static_cast<std::size_t>(
      std::min(kMaxPlainText, std::int64_t{frames()} * behaviour_->frame_bytes));
}

bool Script::BreaksAt(int where) const {
  return behaviour_->broken.how != Break::How::kNone && behaviour_->broken.where == where;
}

void Script::Head(TimePoint now, std::string* out) {
  const Behaviour& b = *behaviour_;
  auto to = std::back_inserter(*out);
  fmt::format_to(to, "HTTP/1.1 {} {}\r\n", b.status, Reason(b.status));
  if (!no_body_) {
    fmt::format_to(to, "Content-Type: {}\r\n",
                   stream_ ? ContentType(context_.dialect, true) : "application/json");
    if (b.gzip && !stream_) *out += "Content-Encoding: gzip\r\n";
  }
  for (const auto& [name, value] : b.headers) fmt::format_to(to, "{}: {}\r\n", name, value);
  if (b.until_close) {
    *out += "Connection: close\r\n";
  } else if (stream_) {
    *out += "Transfer-Encoding: chunked\r\n";
  } else if (b.status != 204 && b.status != 304) {
    fmt::format_to(to, "Content-Length: {}\r\n", plain_.size());
  }
  *out += "\r\n";
  head_sent_ = true;
  next_keepalive_ = now + b.keepalive;
  if (!stream_ || !b.role_only) return;
  std::string opener;
  writer_.Opener(&opener);
  opened_ = true;
  Body(opener, out);
}

void Script::Plain(std::string* out) {
  const Break& broken = behaviour_->broken;
  const bool breaks =
      broken.how != Break::How::kNone && broken.where < static_cast<std::int64_t>(plain_.size());
  Body(breaks ? std::string_view(plain_).substr(0, static_cast<std::size_t>(broken.where)) : plain_,
       out);
  stage_ = breaks ? Stage::kStartBreak : Stage::kEnd;
}

void Script::Frame(TimePoint now, std::string* out) {
  const Behaviour& b = *behaviour_;
  std::string bytes;
  const bool fails = b.error_frame != 0 && b.error_after == frame_;
  if (!opened_ && !(fails && frame_ == 0)) {
    writer_.Opener(&bytes);
    opened_ = true;
  }
  if (BreaksAt(frame_)) {
    stage_ = Stage::kStartBreak;
  } else if (fails) {
    writer_.Error(b.error_frame, &bytes);
    stage_ = Stage::kEnd;
  } else if (frame_ == frames()) {
    EndOfStream(&bytes);
  } else {
    if (frame_ + 1 == b.malformed_at) {
      writer_.Malformed(&bytes);
    } else {
      writer_.Text(Text(frame_), &bytes);
    }
    ++frame_;
    if (frame_ < frames()) wait_until_ = now + b.gap;
  }
  Body(bytes, out);
}

void Script::EndOfStream(std::string* out) {
  if (!behaviour_->no_finish) writer_.Finish(frames(), out);
  if (!behaviour_->no_done) writer_.Done(frames(), out);
  stage_ = behaviour_->hang_after_done ? Stage::kHang : Stage::kEnd;
}

void Script::Body(std::string_view bytes, std::string* out) {
  if (behaviour_->trickle_bytes > 0) {
    held_ += bytes;
  } else {
    Piece(bytes, out);
  }
}

void Script::Piece(std::string_view bytes, std::string* out) {
  if (bytes.empty()) return;
  if (chunked()) fmt::format_to(std::back_inserter(*out), "{:x}\r\n", bytes.size());
  *out += bytes;
  if (chunked()) *out += "\r\n";
}

void Script::Trickle(TimePoint now, std::string* out) {
  const auto most = static_cast<std::size_t>(behaviour_->trickle_bytes);
  const std::string_view piece = std::string_view(held_).substr(held_at_, most);
  Piece(piece, out);
  held_at_ += piece.size();
  if (held_at_ == held_.size()) {
    held_.clear();
    held_at_ = 0;
  }
  wait_until_ = now + behaviour_->trickle_gap;
}

Script::Step Script::Waiting(TimePoint now, std::string* out) {
  if (stream_ && head_sent_ && behaviour_->keepalive.count() > 0) {
    if (now >= next_keepalive_) {
      std::string comment;
      writer_.KeepAlive(&comment);
      Piece(comment, out);
      next_keepalive_ = now + behaviour_->keepalive;
    }
    return {Step::Kind::kWait, std::min(wait_until_, next_keepalive_)};
  }
  if (wait_until_ == TimePoint::max()) return {Step::Kind::kHang, {}};
  return {Step::Kind::kWait, wait_until_};
}

void Script::StartBreak(TimePoint now) {
  stage_ = Stage::kBreak;
  if (behaviour_->broken.how == Break::How::kSilence) stage_ = Stage::kHang;
  if (behaviour_->broken.how == Break::How::kReset && head_sent_) wait_until_ = now + kBeforeReset;
}

Script::Step Script::Next(TimePoint now, std::string* out) {
  for (;;) {
    if (now < wait_until_) return Waiting(now, out);
    if (out->size() >= kHighWater) return {Step::Kind::kMore, {}};
    if (!held_.empty()) {
      Trickle(now, out);
      continue;
    }
    switch (stage_) {
      case Stage::kBeforeHead:
        stage_ = BreaksAt(Break::kBeforeHead) ? Stage::kStartBreak : Stage::kHead;
        continue;
      case Stage::kHead:
        Head(now, out);
        stage_ = no_body_ ? Stage::kEnd : Stage::kFirst;
        continue;
      case Stage::kFirst:
        wait_until_ = now + behaviour_->delay_first;
        stage_ = Stage::kBody;
        if (BreaksAt(Break::kAfterHead)) {
          wait_until_ = now;
          stage_ = Stage::kStartBreak;
        }
        continue;
      case Stage::kBody:
        stream_ ? Frame(now, out) : Plain(out);
        continue;
      case Stage::kEnd:
        if (chunked()) *out += "0\r\n\r\n";
        return {Step::Kind::kDone, {}};
      case Stage::kStartBreak:
        StartBreak(now);
        continue;
      case Stage::kBreak:
        return {
            behaviour_->broken.how == Break::How::kReset ? Step::Kind::kReset : Step::Kind::kClose,
            {}};
      case Stage::kHang:
        wait_until_ = TimePoint::max();
        continue;
    }
  }
}

}  // namespace hotel::sim
