#include "libhotel/wire/model_listing.h"

#include <string>

#include "absl/status/status.h"
#include "libhotel/wire/upstream.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

ListingPage Read(const std::string& body, const std::string& type = "openai") {
  auto page = ReadListing(body, type);
  if (!page.ok()) throw std::runtime_error(page.status().ToString());
  return *std::move(page);
}

TEST_CASE("listing: OpenAI's form, a plain array, names alone, and other servers' forms") {
  for (const char* body :
       {R"({"object":"list","data":[{"id":"a","object":"model","owned_by":"x"},{"id":"b"}]})",
        R"([{"id":"a"},{"id":"b"}])", R"(["a","b"])", R"({"models":[{"name":"a"},{"model":"b"}]})",
        R"({"data":[{"id":" a "},{"id":"b"},{"id":"a"},{"id":""},{"id":7},null,{"x":1}]})"}) {
    const ListingPage page = Read(body);
    INFO(body);
    REQUIRE(page.models.size() == 2);
    CHECK(page.models[0].model_id == "a");
    CHECK(page.models[1].model_id == "b");
    CHECK_FALSE(page.more);
  }
  CHECK(Read(R"({"data":[{"id":"a","owned_by":"x"}]})").models[0].owned_by == "x");
}

TEST_CASE("listing: an empty list is one, an answer without a list is not") {
  CHECK(Read(R"({"data":[]})").models.empty());
  CHECK(Read(R"({"object":"list","data":null})").models.empty());
  for (const char* body : {"", "<html>", "{}", R"({"error":"no such route: sk-abcdefgh12345678"})",
                           R"({"data":{}})", "7", R"({"data":[)"}) {
    const auto page = ReadListing(body, "openai");
    INFO(body);
    REQUIRE(absl::IsInvalidArgument(page.status()));
    CHECK(page.status().ToString().find("sk-") == std::string::npos);
  }
}

TEST_CASE("listing: OpenRouter's prices per token become prices per million") {
  const ListedModel model = Read(R"({"data":[{"id":"z-ai/glm-4.6","name":"Z.AI: GLM 4.6",
    "description":"A model.","context_length":202752,
    "architecture":{"modality":"text->text","input_modalities":["text","image"],
      "output_modalities":["text"]},
    "pricing":{"prompt":"0.0000006","completion":"0.0000022","input_cache_read":"0.00000011"},
    "top_provider":{"context_length":202752,"max_completion_tokens":65536},
    "supported_parameters":["tools","temperature"]}]})")
                                .models.at(0);
  CHECK(model.name == "Z.AI: GLM 4.6");
  CHECK(model.context_length == 202752);
  CHECK(model.max_output_tokens == 65536);
  CHECK(model.prices.input == 0.6);
  CHECK(model.prices.output == 2.2);
  CHECK(model.prices.cached_input == 0.11);
  CHECK(model.details.description == "A model.");
  CHECK(model.details.modality == "text->text");
  CHECK(model.details.input_modalities == std::vector<std::string>{"text", "image"});
  CHECK(model.details.parameters == std::vector<std::string>{"tools", "temperature"});
}

TEST_CASE("listing: prices per million are taken as such, impossible ones are unknown") {
  const auto models =
      Read(R"([{"id":"a","pricing":{"prompt":0.5,"completion":2,"unit":"per_million_tokens"}},
               {"id":"b","pricing":{"input":"1.25","output":10,"cached_input":0}},
               {"id":"c","pricing":{"prompt":"-1","completion":"1e300","input_cache_read":"x"}}])")
          .models;
  CHECK(models[0].prices.input == 0.5);
  CHECK(models[0].prices.output == 2.0);
  CHECK(models[1].prices.input == 1.25);
  CHECK(models[1].prices.cached_input == 0.0);
  CHECK(models[2].prices == ModelPrices());
}

TEST_CASE("listing: windows under the names that servers use, out of range dropped") {
  const auto models = Read(R"([{"id":"a","max_model_len":4096},{"id":"b","context_window":"8192"},
    {"id":"c","context_length":-5},{"id":"d","context_length":1e18},
    {"id":"e","inputTokenLimit":10,"outputTokenLimit":5}])")
                          .models;
  CHECK(models[0].context_length == 4096);
  CHECK(models[1].context_length == 8192);
  CHECK(models[2].context_length == 0);
  CHECK(models[3].context_length == 0);
  CHECK(models[4].max_output_tokens == 5);
}

TEST_CASE("listing: texts are cut between characters, ids with control characters passed over") {
  std::string name(127, 'x');
  name += "\xC3\xA4";
  const auto models = Read(R"([{"id":"a","name":")" + name + R"("},{"id":"b\u0007"},{"id":")" +
                           std::string(257, 'y') + R"("},{"id":"c","name":"two\nlines"}])")
                          .models;
  REQUIRE(models.size() == 2);
  CHECK(models[0].name == std::string(127, 'x'));
  CHECK(models[1].name == "two lines");
}

TEST_CASE("listing: no more than so many models are taken over") {
  std::string body = "[";
  for (std::size_t i = 0; i < kMostListedModels + 5; ++i) {
    if (i > 0) body += ',';
    body += '"' + std::to_string(i) + '"';
  }
  CHECK(Read(body + "]").models.size() == kMostListedModels);
}

TEST_CASE("listing: Anthropic's pages, Google's prefix") {
  const ListingPage page = Read(
      R"({"data":[{"type":"model","id":"claude-x","display_name":"Claude X"}],"has_more":true,
          "first_id":"claude-x","last_id":"claude-x"})",
      "anthropic");
  CHECK(page.more);
  CHECK(page.last_id == "claude-x");
  CHECK(page.models[0].name == "Claude X");
  CHECK(Read(R"({"data":[{"id":"models/gemini-x"}]})", "google").models[0].model_id == "gemini-x");
}

TEST_CASE("listing: where it is asked for") {
  Provider provider;
  provider.type = "openai";
  provider.base_url = "https://a.test/v1?x=1";
  CHECK(ModelsUrl(provider, "") == "https://a.test/v1/models?x=1");
  provider.base_url = "https://a.test";
  CHECK(ModelsUrl(provider, "") == "https://a.test/v1/models");
  provider.type = "anthropic";
  provider.base_url = "https://api.anthropic.com";
  CHECK(ModelsUrl(provider, "") == "https://api.anthropic.com/v1/models?limit=1000");
  CHECK(ModelsUrl(provider, "a b") ==
        "https://api.anthropic.com/v1/models?limit=1000&after_id=a%20b");
  provider.type = "cohere";
  provider.base_url = "https://api.cohere.ai/compatibility/v1";
  CHECK(ModelsUrl(provider, "") == "https://api.cohere.ai/v1/models");
  provider.type = "zai-coding";
  provider.base_url = "https://api.z.ai/api/coding/paas/v4";
  CHECK(ModelsUrl(provider, "") == "https://api.z.ai/api/coding/paas/v4/models");
}

}  // namespace
}  // namespace hotel::wire
