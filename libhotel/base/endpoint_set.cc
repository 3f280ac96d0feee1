#include "hotel/settings.h"

namespace hotel {
namespace {

constexpr std::uint32_t Bit(Endpoint endpoint) noexcept {
  return std::uint32_t{1} << static_cast<unsigned>(endpoint);
}

}  // namespace

EndpointSet EndpointSet::All() noexcept {
  EndpointSet set;
  set.bits_ = Bit(Endpoint::kPassthrough) - 1;
  return set;
}

EndpointSet& EndpointSet::Add(Endpoint endpoint) noexcept {
  bits_ |= Bit(endpoint) & All().bits_;
  return *this;
}

bool EndpointSet::Contains(Endpoint endpoint) const noexcept {
  return (bits_ & Bit(endpoint)) != 0;
}

}  // namespace hotel
