#include "libhotel/net/loop_ferry.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "hotel/defaults.h"

#include "absl/status/status.h"
#include "libhotel/base/strings.h"
#include "libhotel/net/crossing.h"

namespace hotel::net {
namespace {

class FerriedExchange final : public Exchange {
 public:
  explicit FerriedExchange(std::shared_ptr<Crossing> crossing) : crossing_(std::move(crossing)) {}
  ~FerriedExchange() override { crossing_->Drop(); }

  void Resume() override { crossing_->Resume(); }
  void Cancel() override { crossing_->Cancel(); }

 private:
  const std::shared_ptr<Crossing> crossing_;
};

// FNV-1a: short inputs, and no need to withstand an adversary, since operators write the URLs.
class Hash {
 public:
  void Add(char c) noexcept {
    value_ ^= static_cast<unsigned char>(c);
    value_ *= 0x100000001b3U;
  }
  // Ends with a byte that no field holds, so that fields do not run into each other.
  void AddField(std::string_view text) noexcept {
    for (const char c : text) Add(base::AsciiLower(c));
    Add('\0');
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

std::string_view WithoutPort(std::string_view authority, std::string_view port) noexcept {
  const std::size_t rest = authority.size() - std::min(authority.size(), port.size());
  return authority.substr(rest) == port ? authority.substr(0, rest) : authority;
}

}  // namespace

std::uint64_t OriginHash(const UpstreamRequest& request) noexcept {
  const std::string_view url = request.url;
  Hash hash;
  const std::size_t colon = url.find("://");
  if (colon != std::string_view::npos) {
    const std::string_view scheme = url.substr(0, colon);
    const std::string_view rest = url.substr(colon + 3);
    const bool https = scheme.size() == std::string_view("https").size();
    hash.AddField(scheme);
    hash.AddField(WithoutPort(rest.substr(0, rest.find_first_of("/?#")), https ? ":443" : ":80"));
  }
  if (request.transport != nullptr && !request.transport->IsDefault()) {
    hash.AddField(request.transport->ca_file);
    hash.AddField(request.transport->proxy.Reveal());
    hash.AddField(request.transport->unix_socket);
    hash.Add(request.transport->http2 ? '1' : '0');
  }
  // The remainder that is taken of it depends on the low bits most.
  return hash.value() ^ (hash.value() >> 32);
}

absl::StatusOr<std::unique_ptr<LoopFerry>> LoopFerry::Create(Loop* home, std::size_t loops,
                                                             const MakeDispatcher& make) {
  // The home loop may be running on another thread: its dispatcher comes last, when nothing can
  // fail any more and have it destroyed here.
  std::unique_ptr<LoopFerry> ferry(new LoopFerry);
  for (std::size_t i = 1; i < loops; ++i) {
    absl::StatusOr<std::shared_ptr<FarLoop>> far = FarLoop::Start(home, make);
    if (!far.ok()) return far.status();
    ferry->far_.push_back(*std::move(far));
  }
  absl::StatusOr<std::unique_ptr<Dispatcher>> own = make(home);
  if (!own.ok()) return own.status();
  ferry->own_ = *std::move(own);
  return ferry;
}

LoopFerry::~LoopFerry() {
  for (const auto& far : far_) far->Close();
}

std::size_t LoopFerry::LoopOf(const UpstreamRequest& request) const noexcept {
  return static_cast<std::size_t>(OriginHash(request) % (far_.size() + 1));
}

std::unique_ptr<Exchange> LoopFerry::Start(UpstreamRequest request, ResponseHandler* handler) {
  const std::size_t loop = LoopOf(request);
  if (loop == 0) return own_->Start(std::move(request), handler);
  auto crossing = std::make_shared<Crossing>(far_[loop - 1], std::move(request), handler);
  crossing->Begin();
  return std::make_unique<FerriedExchange>(std::move(crossing));
}

}  // namespace hotel::net

namespace hotel {

absl::StatusOr<std::unique_ptr<Dispatcher>> MakeSpreadDispatcher(Loop* loop, std::size_t loops,
                                                                 const CurlOptions& options) {
  if (loops < 1 || loops > kMostEventLoops) {
    return absl::InvalidArgumentError(std::to_string(loops) + " event loops; there may be 1 to " +
                                      std::to_string(kMostEventLoops));
  }
  if (loops == 1) return MakeCurlDispatcher(loop, options);
  CurlOptions share = options;
  share.max_connections = std::max<std::size_t>(1, options.max_connections / loops);
  absl::StatusOr<std::unique_ptr<net::LoopFerry>> ferry = net::LoopFerry::Create(
      loop, loops, [&share](Loop* each) { return MakeCurlDispatcher(each, share); });
  if (!ferry.ok()) return ferry.status();
  return std::unique_ptr<Dispatcher>(*std::move(ferry));
}

}  // namespace hotel
