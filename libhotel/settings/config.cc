#include "libhotel/settings/config.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "libhotel/settings/document.h"
#include "libhotel/settings/layers.h"
#include "libhotel/settings/reader.h"
#include "libhotel/settings/sections.h"

namespace hotel::settings {
namespace {

std::string TooLarge() {
  return fmt::format("the file is larger than {} MiB", kMaxConfigBytes >> 20);
}

ReadResult Failed(std::string_view file, int line, std::string message) {
  ReadResult result;
  result.errors.push_back({std::string(file), line, "", std::move(message)});
  return result;
}

// The top level, block by block. Blocks depend on each other (groups on providers, providers on the
// server's address policy), not on their order in the file.
struct Blocks {
  std::shared_ptr<const Node> missing = std::make_shared<const Node>();
  NodePtr server = missing;
  NodePtr profile;
  NodePtr flat = missing;
  NodePtr providers = missing;
  NodePtr groups = missing;
  NodePtr virtual_models = missing;
  NodePtr keys = missing;
  std::vector<OptionWrite> dotted;
};

Blocks SplitBlocks(Reader* reader, const Node& root) {
  Blocks blocks;
  const std::vector<std::pair<std::string, NodePtr*>> fixed = {
      {"server", &blocks.server},          {"profile", &blocks.profile},
      {"settings", &blocks.flat},          {"providers", &blocks.providers},
      {"failover_groups", &blocks.groups}, {"virtual_models", &blocks.virtual_models},
      {"virtual_keys", &blocks.keys}};
  const std::vector<std::string> option_blocks = OptionNames("", false);
  std::vector<std::string> known = option_blocks;
  for (const auto& [name, node] : fixed) known.push_back(name);

  for (const Member* member : reader->Members(root, "")) {
    bool found = false;
    for (const auto& [name, node] : fixed) {
      if (name != member->key) continue;
      *node = member->value;
      found = true;
    }
    for (const std::string& name : option_blocks) {
      if (name != member->key) continue;
      ReadOptionBlock(reader, *member->value, name, name, false, &blocks.dotted);
      found = true;
    }
    if (!found) reader->UnknownKey(*member, "", known);
  }
  return blocks;
}

void Report(Reader* reader, const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    const OptionWrite& at = problem.at;
    const bool env = at.where == OptionWrite::Where::kEnvironment;
    if (problem.warning) {
      env ? reader->EnvWarn(at.path, problem.message)
          : reader->Warn(at.line, at.path, problem.message);
    } else {
      env ? reader->EnvError(at.path, problem.message)
          : reader->Error(at.line, at.path, problem.message);
    }
  }
}

}  // namespace

ReadResult ReadConfig(std::string_view text, std::string_view file, const EnvLookup& env,
                      const ProviderCheck& check) {
  if (text.size() > kMaxConfigBytes) return Failed(file, 0, TooLarge());
  SyntaxError error;
  const NodePtr root = ParseDocument(text, &error);
  if (root == nullptr) return Failed(file, error.line, std::move(error.message));

  ReadResult result;
  Config& config = result.config;
  Reader reader{std::string(file), &env};
  const Blocks blocks = SplitBlocks(&reader, *root);

  ReadServer(&reader, *blocks.server, &config.server);
  Layers& layers = config.layers;
  layers.file = file;
  if (blocks.profile != nullptr) {
    layers.profile = ReadProfile(&reader, *blocks.profile, "profile").value_or(0);
  }
  ReadFlatBlock(&reader, *blocks.flat, &layers.written);
  CheckWrittenTwice(&reader, layers.written, blocks.dotted);
  layers.written.insert(layers.written.end(), blocks.dotted.begin(), blocks.dotted.end());
  layers.environment = ReadEnvironment(&reader);

  ProviderSection providers;
  ReadProviders(&reader, *blocks.providers, config.server.addresses, check, &providers);
  for (auto& [name, entry] : providers.by_routing_name) {
    if (!entry.layer.empty()) layers.providers[name] = std::move(entry.layer);
  }
  config.settings = Merge(layers);
  Report(&reader, CheckLayers(layers, config.settings));
  config.groups = ReadGroups(&reader, *blocks.groups, providers);
  config.virtual_models = ReadVirtualModels(&reader, *blocks.virtual_models, providers);
  config.virtual_keys = ReadVirtualKeys(&reader, *blocks.keys);
  config.providers = std::move(providers.specs);
  reader.Finish(&result);
  return result;
}

ReadResult ReadConfigFile(const std::string& path, const EnvLookup& env,
                          const ProviderCheck& check) {
  const auto failed = [&path](int code) {
    return Failed(path, 0,
                  fmt::format("cannot be read: {}", std::generic_category().message(code)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  if (file == nullptr) return failed(errno);
  std::string text;
  char buffer[16384];
  // Read by pieces rather than by size: a pipe has none, and a file may grow.
  while (text.size() <= kMaxConfigBytes) {
    const std::size_t got = std::fread(buffer, 1, sizeof(buffer), file.get());
    if (got == 0) break;
    text.append(buffer, got);
  }
  if (std::ferror(file.get()) != 0) return failed(errno);
  return ReadConfig(text, path, env, check);
}

EnvLookup ProcessEnv() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

}  // namespace hotel::settings
