// The rows of `client_limits` (facts b, o).
#include "libhotel/settings/option_rows.h"

namespace hotel::settings {
namespace {

using C = ClientLimitSettings;
template <auto kField>
using Limit = Field<&EngineSettings::client_limits, kField>;
constexpr std::int64_t kMostRequests = 10000;
constexpr std::int64_t kMostTokens = 100000000;

}  // namespace

std::vector<Option> ClientLimitRows() {
  return {
      Row::Of<Limit<&C::enabled>>(
          "client_limits.enabled", {"true", "true"},
          "Off: clients may send as much as they like, whatever their keys' limits say; budgets "
          "hold all the same. Switched on again, every limit begins anew.")
          .Flat("rate_limit_enabled")
          .Env("RATE_LIMIT_ENABLED")
          .GlobalOnly(),
      Row::Of<Limit<&C::ip_enabled>>("client_limits.ip_enabled", {"true", "true"},
                                     "Off: requests are not counted by address.")
          .Flat("rate_limit_ip_enabled")
          .GlobalOnly(),
      Row::Of<Limit<&C::ip_rps>>(
          "client_limits.ip_rps", {"0", "0"},
          "Requests a second from one address, looked at before the key. 0 = not limited.")
          .Between(0, kMostRequests)
          .Flat("rate_limit_ip_rps")
          .Env("RATE_LIMIT_IP_RPS")
          .GlobalOnly(),
      Row::Of<Limit<&C::ip_burst>>("client_limits.ip_burst", {"60", "60"},
                                   "Requests from one address at once.")
          .Between(1, kMostRequests)
          .Flat("rate_limit_ip_burst")
          .Env("RATE_LIMIT_IP_BURST")
          .GlobalOnly(),
      Row::Of<Limit<&C::rps>>(
          "client_limits.rps", {"0", "0"},
          "Requests a second of every virtual key that has no limit of its own. 0 = not limited.")
          .Between(0, kMostRequests)
          .Flat("rate_limit_rps")
          .Env("RATE_LIMIT_RPS")
          .GlobalOnly(),
      Row::Of<Limit<&C::burst>>("client_limits.burst", {"20", "20"},
                                "Requests of such a key at once.")
          .Between(1, kMostRequests)
          .Flat("rate_limit_burst")
          .Env("RATE_LIMIT_BURST")
          .GlobalOnly(),
      Row::Of<Limit<&C::tpm>>(
          "client_limits.tpm", {"0", "0"},
          "Tokens a minute of every virtual key that has no limit of its own. 0 = not limited.")
          .Between(0, kMostTokens)
          .Flat("rate_limit_tpm")
          .Env("RATE_LIMIT_TPM")
          .GlobalOnly(),
      Row::Of<Limit<&C::max_wait_ms>>(
          "client_limits.max_wait_ms", {"200", "200"},
          "Milliseconds a request of a key above its rate may wait for its turn; where that is not "
          "enough it is refused at once.")
          .Between(0, kMostRequests)
          .Flat("rate_limit_max_wait_ms")
          .Env("RATE_LIMIT_MAX_WAIT_MS")
          .GlobalOnly(),
  };
}

}  // namespace hotel::settings
