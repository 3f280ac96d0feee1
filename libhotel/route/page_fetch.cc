#include "libhotel/route/page_fetch.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "absl/status/status.h"
#include "libhotel/base/redact.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/inflate.h"
#include "libhotel/wire/upstream.h"

namespace hotel::route {
namespace {

constexpr Duration kTryTimeout = std::chrono::seconds(15);
constexpr Duration kStep = std::chrono::seconds(1);
constexpr std::size_t kMostExcerpt = 160;

bool IsTransient(int status) { return status == 429 || status >= 500; }

}  // namespace

PageFetch::PageFetch(Loop* loop, Dispatcher* dispatcher, std::shared_ptr<const Provider> provider,
                     Duration connect_timeout, Done done)
    : loop_(loop),
      dispatcher_(dispatcher),
      provider_(std::move(provider)),
      connect_timeout_(connect_timeout),
      done_(std::move(done)) {}

PageFetch::~PageFetch() { loop_->CancelTimer(timer_); }

void PageFetch::Start(const std::string& after) {
  url_ = wire::ModelsUrl(*provider_, after);
  Try();
}

void PageFetch::Try() {
  auto headers = wire::CredentialHeaders(*provider_);
  if (!headers.ok()) return Finish(headers.status());
  ++tries_;
  status_ = 0;
  too_large_ = false;
  coding_.clear();
  body_.clear();
  UpstreamRequest request;
  request.method = "GET";
  request.url = url_;
  request.headers = *std::move(headers);
  request.headers.push_back({"accept", "application/json"});
  request.connect_timeout = connect_timeout_;
  request.transport = provider_->transport;
  timer_ = loop_->RunAt(loop_->Now() + kTryTimeout, [this] { OnTime(); });
  exchange_ = dispatcher_->Start(std::move(request), this);
}

void PageFetch::OnHead(int status, HeaderList headers) {
  status_ = status;
  coding_ = base::Lower(FindHeader(headers, "content-encoding"));
}

Flow PageFetch::OnBody(std::string_view bytes) {
  if (too_large_) return Flow::kContinue;
  if (body_.size() + bytes.size() <= kMostBytes) {
    body_.append(bytes);
    return Flow::kContinue;
  }
  too_large_ = true;
  body_.clear();
  exchange_->Cancel();
  return Flow::kContinue;
}

void PageFetch::OnDone(const ExchangeResult& result) {
  loop_->CancelTimer(timer_);
  if (too_large_) return EndTry("the list of models is larger than 8 MiB", false);
  if (result.outcome != ExchangeResult::Outcome::kComplete) {
    return EndTry(fmt::format("the list of models could not be fetched: {}",
                              result.detail.empty() ? TransportErrorName(result.error)
                                                    : base::RedactKeys(result.detail)),
                  true);
  }
  if (status_ < 200 || status_ > 299) {
    return EndTry(
        fmt::format("the list of models was answered with status {}{}", status_, Excerpt()),
        IsTransient(status_));
  }
  Finish(Decoded());
}

void PageFetch::OnTime() {
  exchange_.reset();
  EndTry("the list of models did not come in time", true);
}

void PageFetch::EndTry(std::string why, bool again) {
  if (!again || tries_ == kMostTries) return Finish(absl::UnavailableError(why));
  // The exchange that calls this is dropped in a later turn, with the next try.
  timer_ = loop_->RunAt(loop_->Now() + tries_ * kStep, [this] { Try(); });
}

void PageFetch::Finish(absl::StatusOr<std::string> result) {
  loop_->Post([alive = std::weak_ptr<bool>(alive_), this, result = std::move(result)]() mutable {
    if (alive.expired()) return;
    const Done done = std::move(done_);
    done(std::move(result));  // may destroy this
  });
}

absl::StatusOr<std::string> PageFetch::Decoded() const {
  if (coding_.empty() || coding_ == "identity") return body_;
  std::optional<std::string> plain = wire::Inflate(coding_, body_, kMostBytes);
  if (plain) return *std::move(plain);
  return absl::UnavailableError("the list of models is in a coding that is not read");
}

std::string PageFetch::Excerpt() const {
  const absl::StatusOr<std::string> body = Decoded();
  if (!body.ok() || body->empty()) return "";
  // Masked before it is cut: half a credential is not recognised.
  constexpr std::size_t kMostSearched = 4096;
  std::string text =
      base::Redact(std::string_view(*body).substr(0, kMostSearched), provider_->api_key.Reveal());
  for (char& c : text) {
    if (base::IsAsciiControl(c)) c = ' ';
  }
  if (text.size() > kMostExcerpt) {
    std::size_t end = kMostExcerpt;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text.resize(end);
  }
  return ": " + std::string(base::Trim(text));
}

}  // namespace hotel::route
