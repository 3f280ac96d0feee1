#include "libhotel/net/checked_urls.h"

#include <utility>

namespace hotel::net {

absl::StatusOr<std::shared_ptr<const ProviderUrl>> CheckedUrls::Check(const std::string& url) {
  const auto known = urls_.find(url);
  if (known != urls_.end()) return known->second;
  absl::StatusOr<ProviderUrl> parsed = ProviderUrl::Parse(url);
  if (!parsed.ok()) return parsed.status();
  const absl::Status allowed = rules_->CheckUrl(*parsed);
  if (!allowed.ok()) return absl::PermissionDeniedError(allowed.message());
  auto checked = std::make_shared<const ProviderUrl>(*std::move(parsed));
  // Nobody has this many providers; whoever makes up URLs shall not fill the memory.
  if (urls_.size() >= kMaxUrls) urls_.clear();
  urls_.emplace(url, checked);
  return checked;
}

}  // namespace hotel::net
