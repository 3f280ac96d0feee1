// Lists of models. The first byte picks the provider's type, the rest is what it answers.
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "libhotel/wire/model_listing.h"
#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;

constexpr std::array<std::string_view, 3> kTypes = {"openai", "google", "anthropic"};
constexpr std::size_t kMostText = 1000;

bool IsPlain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  return true;
}

void RequirePrice(const std::optional<double>& price) {
  if (price) Require(*price >= 0 && *price <= 1000, "prices are in range");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view type = kTypes[data[0] % kTypes.size()];
  const auto page = hotel::wire::ReadListing(hotel::fuzz::AsText(data + 1, size - 1), type);
  if (!page.ok()) return 0;
  Require(page->models.size() <= hotel::wire::kMostListedModels, "a list is bounded");
  Require(page->last_id.empty() || page->more, "only a page with another behind it has an end");
  std::set<std::string> ids;
  for (const hotel::ListedModel& model : page->models) {
    Require(!model.model_id.empty() && model.model_id.size() <= 256, "ids have a length");
    Require(IsPlain(model.model_id) && IsPlain(model.name), "texts are plain");
    Require(model.name.size() <= 128 && model.owned_by.size() <= 128, "labels are cut");
    Require(model.details.description.size() <= kMostText, "texts are cut");
    Require(model.details.capabilities.size() <= 32, "lists are cut");
    Require(model.context_length >= 0 && model.max_output_tokens >= 0, "tokens are in range");
    RequirePrice(model.prices.input);
    RequirePrice(model.prices.output);
    RequirePrice(model.prices.cached_input);
    Require(ids.insert(model.model_id).second, "each model once");
  }
  return 0;
}
