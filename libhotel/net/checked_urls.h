// URLs that were parsed and found allowed.
#ifndef HOTEL_NET_CHECKED_URLS_H_
#define HOTEL_NET_CHECKED_URLS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "libhotel/net/address_policy.h"
#include "libhotel/net/provider_url.h"

namespace hotel::net {

/// Requests go to the same few URLs over and over. What is known of one can not become wrong: it
/// depends on the text and on rules that never change (names are checked again on the address, at
/// every connect). Refused URLs are not kept. Loop thread only.
class CheckedUrls {
 public:
  static constexpr std::size_t kMaxUrls = 256;

  /// `rules` must outlive this object.
  explicit CheckedUrls(const AddressRules* rules) : rules_(rules) {}

  /// As ProviderUrl::Parse and AddressRules::CheckUrl: InvalidArgument when it cannot be read,
  /// PermissionDenied when the rules forbid it.
  absl::StatusOr<std::shared_ptr<const ProviderUrl>> Check(const std::string& url);

  std::size_t size() const noexcept { return urls_.size(); }

 private:
  const AddressRules* const rules_;
  std::unordered_map<std::string, std::shared_ptr<const ProviderUrl>> urls_;
};

}  // namespace hotel::net

#endif  // HOTEL_NET_CHECKED_URLS_H_
