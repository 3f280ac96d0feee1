// Options of the registry in a document: dotted blocks and the flat block.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "libhotel/settings/registry.h"
#include "libhotel/settings/sections.h"

namespace hotel::settings {
namespace {

std::optional<OptionValue> ReadStatuses(Reader* reader, const Node& node, const std::string& path) {
  const auto items = reader->Items(node, path, "[429, 5xx]");
  if (!items) return std::nullopt;
  StatusSet set;
  bool good = true;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node& item = *(*items)[i];
    const std::string item_path = Join(path, i);
    const auto text = reader->Scalar(item, item_path, "a status such as 429 or 5xx");
    if (!text) {
      good = false;
    } else if (!AddStatus(text->value, &set)) {
      reader->Error(item.line, item_path,
                    fmt::format("{} is not a status; write a code from 100 to 599 or a class such "
                                "as 5xx",
                                Quoted(text->source)));
      good = false;
    }
  }
  if (!good) return std::nullopt;
  return OptionValue(set);
}

std::optional<OptionValue> ReadEndpoints(Reader* reader, const Node& node,
                                         const std::string& path) {
  const auto items = reader->Items(node, path, "[chat, embeddings]");
  if (!items) return std::nullopt;
  EndpointSet set;
  bool good = true;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node& item = *(*items)[i];
    const std::string item_path = Join(path, i);
    const auto text = reader->Scalar(item, item_path, "an endpoint such as chat");
    if (!text) {
      good = false;
    } else if (!AddEndpoint(text->value, &set)) {
      reader->Error(item.line, item_path,
                    fmt::format("{} is not an endpoint; write all or one of chat, messages, "
                                "responses, embeddings, rerank, image, tts and stt",
                                Quoted(text->source)));
      good = false;
    }
  }
  if (!good) return std::nullopt;
  return OptionValue(set);
}

std::optional<OptionValue> ReadValue(Reader* reader, const Option& option, const Node& node,
                                     const std::string& path, bool flat) {
  if (option.type == OptionType::kStatuses) return ReadStatuses(reader, node, path);
  // One word need not be written as a list.
  if (option.type == OptionType::kEndpoints && node.kind == Node::Kind::kSequence) {
    return ReadEndpoints(reader, node, path);
  }
  const auto text = reader->Scalar(node, path, "a single value");
  if (!text) return std::nullopt;
  absl::StatusOr<OptionValue> value = ParseOption(option, text->value, flat);
  if (!value.ok()) {
    reader->Error(node.line, path, ValueProblem(*text, value.status()));
    return std::nullopt;
  }
  return *std::move(value);
}

void ReadOne(Reader* reader, const Option& option, const Member& member, const std::string& path,
             bool flat, std::vector<OptionWrite>* writes) {
  std::optional<OptionValue> value = ReadValue(reader, option, *member.value, path, flat);
  if (value)
    writes->push_back({&option, *std::move(value), member.line, path, OptionWrite::Where::kFile});
}

}  // namespace

void ReadOptionBlock(Reader* reader, const Node& node, const std::string& block,
                     const std::string& path, bool provider, std::vector<OptionWrite>* writes) {
  for (const Member* member : reader->Members(node, path)) {
    const std::string option_path = block + "." + member->key;
    const std::string shown_path = Join(path, member->key);
    const Option* option = FindOption(option_path);
    if (option != nullptr && provider && !option->per_provider) {
      reader->Error(member->line, shown_path,
                    fmt::format("cannot differ from provider to provider; write it as {} at the "
                                "top level",
                                option_path));
    } else if (option != nullptr) {
      ReadOne(reader, *option, *member, shown_path, false, writes);
    } else if (!OptionNames(option_path, false).empty()) {
      ReadOptionBlock(reader, *member->value, option_path, shown_path, provider, writes);
    } else {
      reader->UnknownKey(*member, path, OptionNames(block, provider));
    }
  }
}

void ReadFlatBlock(Reader* reader, const Node& node, std::vector<OptionWrite>* writes) {
  for (const Member* member : reader->Members(node, "settings")) {
    const Option* option = FindFlatOption(member->key);
    if (option != nullptr) {
      ReadOne(reader, *option, *member, Join("settings", member->key), true, writes);
      continue;
    }
    std::vector<std::string> known;
    for (const Option& row : Options()) {
      if (!row.flat_key.empty()) known.emplace_back(row.flat_key);
    }
    reader->UnknownKey(*member, "settings", known);
  }
}

std::optional<std::size_t> ReadProfile(Reader* reader, const Node& node, const std::string& path) {
  const auto text = reader->Scalar(node, path, "the name of a profile");
  if (!text) return std::nullopt;
  for (std::size_t i = 0; i < kProfiles.size(); ++i) {
    if (text->value == kProfiles[i]) return i;
  }
  reader->Error(node.line, path,
                fmt::format("{} is not a profile; write one of: {}", Quoted(text->source),
                            fmt::join(kProfiles, ", ")));
  return std::nullopt;
}

// An empty variable counts as not set: that is how a container file passes on what it was not
// given.
std::vector<OptionWrite> ReadEnvironment(Reader* reader) {
  std::vector<OptionWrite> writes;
  for (const Option& option : Options()) {
    if (option.env.empty()) continue;
    const std::optional<std::string> text = reader->env()(option.env);
    if (!text || text->empty()) continue;
    absl::StatusOr<OptionValue> value = ParseOption(option, *text, false);
    if (value.ok()) {
      writes.push_back({&option, *std::move(value), 0, std::string(option.env),
                        OptionWrite::Where::kEnvironment});
    } else {
      reader->EnvError(option.env, ValueProblem({*text, *text}, value.status()));
    }
  }
  return writes;
}

void CheckWrittenTwice(Reader* reader, const std::vector<OptionWrite>& flat,
                       const std::vector<OptionWrite>& dotted) {
  for (const OptionWrite& write : flat) {
    const auto other = std::find_if(
        dotted.begin(), dotted.end(),
        [&write](const OptionWrite& each) { return SameThing(*write.option, *each.option); });
    if (other == dotted.end()) continue;
    const bool flat_is_later = write.line > other->line;
    const OptionWrite& later = flat_is_later ? write : *other;
    const OptionWrite& earlier = flat_is_later ? *other : write;
    reader->Error(later.line, later.path,
                  fmt::format("is the same option as {} in line {}; keep one of them", earlier.path,
                              earlier.line));
  }
}

}  // namespace hotel::settings
