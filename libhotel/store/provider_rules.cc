#include "libhotel/store/provider_rules.h"

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "hotel/failover_group.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libhotel/base/base_url.h"
#include "libhotel/base/strings.h"
#include "libhotel/store/text_rules.h"

namespace hotel::store {
namespace {

constexpr std::size_t kMaxName = 100;
constexpr std::size_t kMaxTypeBytes = 64;
constexpr std::size_t kMaxUrlBytes = 500;
constexpr std::size_t kMaxPathBytes = 4096;
constexpr std::size_t kMaxKeyBytes = 8192;  // signed tokens run to kilobytes
constexpr std::size_t kMaxModelIdBytes = 256;
constexpr std::size_t kMaxModels = 10000;
constexpr int kMaxInFlight = 10000;

absl::Status CheckName(std::string_view name) {
  absl::Status status = CheckCharacters("provider name", name, 1, kMaxName);
  if (!status.ok()) return status;
  if (name.find('/') != std::string_view::npos) {
    return absl::InvalidArgumentError(fmt::format(
        "provider name '{}' must not hold a '/': it ends where a model id begins", name));
  }
  if (name == "hotel" || name == "p") {
    return absl::InvalidArgumentError(
        fmt::format("a provider cannot be named '{}': the name has a meaning of its own", name));
  }
  return absl::OkStatus();
}

std::string_view WithoutTrailingSlashes(std::string_view url) {
  while (!url.empty() && url.back() == '/') url.remove_suffix(1);
  return url;
}

}  // namespace

absl::StatusOr<ProviderSpec> NormalizeProvider(const ProviderSpec& spec) {
  ProviderSpec result = spec;
  result.name = base::Trim(spec.name);
  result.base_url = WithoutTrailingSlashes(base::Trim(spec.base_url));
  for (const absl::Status& status :
       {CheckName(result.name), CheckText("provider type", result.type, 1, kMaxTypeBytes),
        CheckText("base_url", result.base_url, 1, kMaxUrlBytes),
        CheckText("api_key", result.api_key.Reveal(), 0, kMaxKeyBytes),
        CheckText("ca_file", result.transport.ca_file, 0, kMaxPathBytes),
        CheckText("proxy", result.transport.proxy.Reveal(), 0, kMaxUrlBytes),
        CheckText("unix_socket", result.transport.unix_socket, 0, kMaxPathBytes)}) {
    if (!status.ok()) return status;
  }
  if (const char* problem = base::BaseUrlProblem(result.base_url)) {
    return absl::InvalidArgumentError(fmt::format("base_url: {}", problem));
  }
  if (spec.max_in_flight < 0 || spec.max_in_flight > kMaxInFlight) {
    return absl::InvalidArgumentError(
        fmt::format("max_in_flight is 1 to {}, or 0 for none", kMaxInFlight));
  }
  if (!spec.models.has_value()) return result;
  if (spec.models->size() > kMaxModels) {
    return absl::InvalidArgumentError(
        fmt::format("a provider lists at most {} models", kMaxModels));
  }
  std::vector<std::string> models;
  std::set<std::string> seen;
  for (const std::string& model : *spec.models) {
    absl::StatusOr<std::string> id = NormalizeModelId(model);
    if (!id.ok()) return id.status();
    if (seen.insert(*id).second) models.push_back(*std::move(id));
  }
  result.models = std::move(models);
  return result;
}

absl::StatusOr<std::string> NormalizeModelId(std::string_view model_id) {
  const std::string_view trimmed = base::Trim(model_id);
  absl::Status status = CheckText("model id", trimmed, 1, kMaxModelIdBytes);
  if (!status.ok()) return status;
  return std::string(trimmed);
}

}  // namespace hotel::store
