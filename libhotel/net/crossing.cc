#include "libhotel/net/crossing.h"

#include <utility>

namespace hotel::net {
namespace {

// Buffers grow with bursts; a stream of small frames needs not keep that.
constexpr std::size_t kKeptCapacity = std::size_t{8} << 10;

void Empty(std::string* buffer) {
  buffer->clear();
  if (buffer->capacity() > kKeptCapacity) std::string().swap(*buffer);
}

ExchangeResult CancelledAt(TransportPhase phase) {
  ExchangeResult result;
  result.outcome = ExchangeResult::Outcome::kCancelled;
  result.phase = phase;
  return result;
}

}  // namespace

Crossing::Crossing(std::shared_ptr<FarLoop> far, UpstreamRequest request, ResponseHandler* handler)
    : far_(std::move(far)), handler_(handler), request_(std::move(request)) {}

// Home
// ---------------------------------------------------------------------------------------------

void Crossing::Begin() {
  far_->loop()->Post([self = shared_from_this()] { self->BeginFar(); });
}

void Crossing::Resume() {
  if (!paused_ || resume_posted_ || !Hears()) return;
  resume_posted_ = true;
  far_->home()->Post([self = shared_from_this()] {
    self->resume_posted_ = false;
    self->paused_ = false;
    self->Deliver();
  });
}

void Crossing::Cancel() {
  if (!Hears() || far_->closed()) return;
  cancelled_ = true;
  if (result_) {
    // It ended over there already; only the handler does not know.
    far_->home()->Post([self = shared_from_this()] { self->Deliver(); });
  } else {
    Tell(Wish::kCancel);
  }
}

void Crossing::Drop() {
  const bool over = std::exchange(handler_, nullptr) == nullptr || result_;
  if (!over && !far_->closed()) Tell(Wish::kDrop);
}

// Noted before it is sent, so that what is not begun yet is never begun, and nothing more is kept.
void Crossing::Tell(Wish wish) {
  {
    base::MutexLock lock(&mutex_);
    wish_ = wish;
    Empty(&arriving_body_);
  }
  far_->loop()->Post([self = shared_from_this()] { self->ObeyFar(); });
}

void Crossing::Deliver() {
  TakeArrived();
  if (handler_ == nullptr || (far_->closed() && !cancelled_)) return;
  if (cancelled_) {
    if (result_) Finish();
    return;
  }
  if (head_) {
    head_delivered_ = true;
    Head head = *std::move(head_);
    head_.reset();
    handler_->OnHead(head.status, std::move(head.headers));
  }
  if (Hears()) DeliverBody();
  if (Hears() && result_ && body_.empty()) Finish();
}

void Crossing::TakeArrived() {
  body_.erase(0, std::exchange(consumed_, 0));
  base::MutexLock lock(&mutex_);
  announced_ = false;
  if (arriving_head_) head_ = std::exchange(arriving_head_, std::nullopt);
  if (arriving_result_) result_ = std::exchange(arriving_result_, std::nullopt);
  if (body_.empty()) {
    body_.swap(arriving_body_);
  } else {
    body_ += arriving_body_;
    arriving_body_.clear();
  }
}

void Crossing::DeliverBody() {
  const std::size_t before = consumed_;
  while (Hears() && !paused_ && consumed_ < body_.size()) {
    const std::string_view piece = std::string_view(body_).substr(consumed_, kPiece);
    if (handler_->OnBody(piece) == Flow::kPause) {
      paused_ = true;
    } else {
      consumed_ += piece.size();
    }
  }
  const std::size_t taken = consumed_ - before;
  if (consumed_ == body_.size()) {
    Empty(&body_);
    consumed_ = 0;
  }
  if (taken == 0) return;
  bool resume = false;
  {
    base::MutexLock lock(&mutex_);
    on_the_way_ -= taken;
    resume = far_paused_ && on_the_way_ <= kMostOnTheWay / 2;
    if (resume) far_paused_ = false;
  }
  if (resume) far_->loop()->Post([self = shared_from_this()] { self->ResumeFar(); });
}

void Crossing::Finish() {
  ExchangeResult result = *result_;
  if (cancelled_) {
    // However it ended over there, and as far as the handler knows.
    const bool unseen = result.phase == TransportPhase::kBody && !head_delivered_;
    const bool reused = result.reused_connection;
    result = CancelledAt(unseen ? TransportPhase::kHead : result.phase);
    result.reused_connection = reused;
  }
  std::exchange(handler_, nullptr)->OnDone(result);
}

// Far
// ----------------------------------------------------------------------------------------------

void Crossing::BeginFar() {
  Wish wish;
  {
    base::MutexLock lock(&mutex_);
    wish = wish_;
  }
  UpstreamRequest request = *std::move(request_);
  request_.reset();
  if (wish != Wish::kRun) return EndFar(CancelledAt(TransportPhase::kNotSent));
  far_->Keep(shared_from_this());
  exchange_ = far_->dispatcher()->Start(std::move(request), this);
}

void Crossing::ObeyFar() {
  if (exchange_ == nullptr) return;
  Wish wish;
  {
    base::MutexLock lock(&mutex_);
    wish = wish_;
  }
  if (wish == Wish::kCancel) return exchange_->Cancel();
  exchange_.reset();
  far_->Forget(shared_from_this());
}

void Crossing::ResumeFar() {
  if (exchange_ != nullptr) exchange_->Resume();
}

void Crossing::OnHead(int status, HeaderList headers) {
  head_seen_ = true;
  bool announce = false;
  {
    base::MutexLock lock(&mutex_);
    if (wish_ != Wish::kRun) return;
    arriving_head_ = Head{status, std::move(headers)};
    announce = NeedsAnnouncement();
  }
  if (announce) far_->Announce(shared_from_this());
}

Flow Crossing::OnBody(std::string_view bytes) {
  bool announce = false;
  {
    base::MutexLock lock(&mutex_);
    if (wish_ != Wish::kRun) return Flow::kContinue;
    if (on_the_way_ > 0 && on_the_way_ + bytes.size() > kMostOnTheWay) {
      far_paused_ = true;
      return Flow::kPause;
    }
    on_the_way_ += bytes.size();
    arriving_body_ += bytes;
    announce = NeedsAnnouncement();
  }
  if (announce) far_->Announce(shared_from_this());
  return Flow::kContinue;
}

void Crossing::OnDone(const ExchangeResult& result) {
  const std::shared_ptr<Crossing> self = shared_from_this();
  far_->Forget(self);
  exchange_.reset();
  EndFar(result);
}

void Crossing::Lose() {
  exchange_.reset();
  EndFar(CancelledAt(head_seen_ ? TransportPhase::kBody : TransportPhase::kSent));
}

void Crossing::EndFar(const ExchangeResult& result) {
  bool announce = false;
  {
    base::MutexLock lock(&mutex_);
    if (wish_ == Wish::kDrop) return;
    arriving_result_ = result;
    announce = NeedsAnnouncement();
  }
  if (announce) far_->Announce(shared_from_this());
}

bool Crossing::NeedsAnnouncement() { return !std::exchange(announced_, true); }

}  // namespace hotel::net
