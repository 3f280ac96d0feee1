// The `providers:` block.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hotel/failover_group.h"

#include "libhotel/base/base_url.h"
#include "libhotel/base/provider_types.h"
#include "libhotel/base/strings.h"
#include "libhotel/settings/sections.h"

namespace hotel::settings {
namespace {

constexpr std::size_t kMaxName = 100;
constexpr std::size_t kMaxModelBytes = 256;
constexpr int kMaxInFlight = 10000;

// What is wrong with a provider name, "" if nothing.
std::string NameProblem(std::string_view name) {
  if (name.empty() || base::CountCharacters(name) > kMaxName)
    return "a provider name has 1 to 100 characters";
  if (name.find('/') != std::string_view::npos) {
    return "a provider name holds no '/': it ends at the first one in <provider>/<model>";
  }
  if (!IsCleanText(name)) return "a provider name holds no control characters or outer spaces";
  if (name == "hotel" || name == "p") return "this name is taken by the gateway; choose another";
  return {};
}

bool HasHost(std::string_view url, std::string_view scheme) noexcept {
  const std::string_view rest = url.substr(scheme.size());
  return !rest.empty() && rest.front() != '/' && rest.front() != '?' && rest.front() != '#';
}

// Its form only; the address policy judges where it leads. The URL is not quoted: it may hold
// credentials, which is one of the things refused.
void ReadBaseUrl(Reader* reader, const Node& node, const std::string& path, bool allow_http,
                 ProviderSpec* spec) {
  std::optional<std::string> url = reader->NonEmpty(node, path, "the https:// URL of its API");
  if (!url) return;
  const std::string lower = base::Lower(*url);
  const bool https = base::StartsWith(lower, "https://");
  const bool http = base::StartsWith(lower, "http://");
  if (http && !allow_http) {
    reader->Error(node.line, path,
                  "begins with http://; use https://, or set server.allow_http_providers: true");
    return;
  }
  if (!(https || http) || !HasHost(lower, https ? "https://" : "http://") || !IsCleanText(*url)) {
    reader->Error(
        node.line, path,
        "is no http(s) URL; write the address of its API, such as https://api.example.com/v1");
    return;
  }
  if (const char* problem = base::BaseUrlProblem(*url)) {
    reader->Error(node.line, path, problem);
    return;
  }
  while (url->back() == '/') url->pop_back();
  spec->base_url = *std::move(url);
}

// Where the API of a type is when nothing else is said; "" for types that are at home anywhere.
std::string_view UsualUrl(std::string_view type) noexcept {
  if (type == "openai") return "https://api.openai.com/v1";
  if (type == "anthropic") return "https://api.anthropic.com/v1";
  return {};
}

void ReadType(Reader* reader, const Node& node, const std::string& path, ProviderSpec* spec) {
  const auto text = reader->Scalar(node, path, "a provider type");
  if (!text) return;
  const auto& types = base::kProviderTypeNames;
  if (std::find(types.begin(), types.end(), text->value) == types.end()) {
    reader->Error(node.line, path,
                  fmt::format("{} is not a provider type; write one of: {}", Quoted(text->source),
                              fmt::join(types, ", ")));
    return;
  }
  spec->type = text->value;
}

void ReadApiKey(Reader* reader, const Node& node, const std::string& path, ProviderSpec* spec) {
  const auto text = reader->Scalar(node, path, "a key such as ${ACME_KEY}");
  if (!text) return;
  if (!IsCleanText(text->value) && !text->value.empty()) {
    reader->Error(node.line, path,
                  "holds a line break, a control character or spaces around the key; remove them");
    return;
  }
  spec->api_key = Secret(text->value);
}

void ReadProxy(Reader* reader, const Node& node, const std::string& path, ProviderSpec* spec) {
  // Not quoted in any message: it may hold a password.
  const auto text = reader->Scalar(node, path, "a proxy such as http://proxy.internal:3128");
  if (!text) return;
  if (!IsCleanText(text->value)) {
    reader->Error(node.line, path,
                  "holds a line break, a control character or spaces around the URL; remove them");
    return;
  }
  spec->transport.proxy = Secret(text->value);
}

void ReadPath(Reader* reader, const Node& node, const std::string& path, std::string_view what,
              std::string* out) {
  auto text = reader->NonEmpty(node, path, what);
  if (!text) return;
  if (!IsCleanText(*text)) {
    reader->Error(node.line, path, "holds a control character or outer spaces; remove them");
    return;
  }
  *out = *std::move(text);
}

// True when the key was one of those that say how a provider is connected to.
bool ReadTransport(Reader* reader, const Member& member, const std::string& path,
                   ProviderSpec* spec) {
  TransportOptions& transport = spec->transport;
  if (member.key == "ca_file") {
    ReadPath(reader, *member.value, path, "a PEM file", &transport.ca_file);
  } else if (member.key == "proxy") {
    ReadProxy(reader, *member.value, path, spec);
  } else if (member.key == "unix_socket") {
    ReadPath(reader, *member.value, path, "the path of a socket", &transport.unix_socket);
  } else if (member.key == "http2") {
    transport.http2 = reader->Bool(*member.value, path).value_or(false);
  } else {
    return false;
  }
  return true;
}

void ReportProblems(Reader* reader, const Member& entry, const std::string& path,
                    const std::map<std::string, int>& lines,
                    const std::vector<ProviderProblem>& problems) {
  for (const ProviderProblem& problem : problems) {
    const auto line = lines.find(problem.field);
    const int at = line == lines.end() ? entry.line : line->second;
    const std::string field = Join(path, problem.field);
    if (problem.warning) {
      reader->Warn(at, field, problem.message);
    } else {
      reader->Error(at, field, problem.message);
    }
  }
}

void ReadModels(Reader* reader, const Node& node, const std::string& path, ProviderSpec* spec) {
  const auto items = reader->Items(node, path, "[gpt-4o, z-ai/glm-4.6]");
  if (!items) return;
  if (items->empty()) {
    reader->Error(node.line, path,
                  "is empty, so nothing could be asked of this provider; name its models, or leave "
                  "the key out to allow any");
    return;
  }
  std::vector<std::string> models;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Node& item = *(*items)[i];
    const std::string item_path = Join(path, i);
    auto model = reader->NonEmpty(item, item_path, "the id of a model");
    if (!model) continue;
    if (model->size() > kMaxModelBytes || !IsCleanText(*model)) {
      reader->Error(item.line, item_path,
                    "is not a model id; write up to 256 bytes without control characters");
    } else if (!seen.insert(*model).second) {
      reader->Error(item.line, item_path, fmt::format("{} is listed twice", Quoted(item.text)));
    } else {
      models.push_back(*std::move(model));
    }
  }
  spec->models = std::move(models);
}

void ReadMaxInFlight(Reader* reader, const Node& node, const std::string& path,
                     ProviderSpec* spec) {
  const auto text = reader->Scalar(node, path, "a number of requests");
  if (!text) return;
  int value = 0;
  const char* const end = text->value.data() + text->value.size();
  const auto parsed = std::from_chars(text->value.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 1 || value > kMaxInFlight) {
    reader->Error(node.line, path,
                  fmt::format("{} is not a whole number from 1 to {}; leave it out for no ceiling",
                              Quoted(text->source), kMaxInFlight));
    return;
  }
  spec->max_in_flight = value;
}

void ReadProvider(Reader* reader, const Member& entry, const AddressPolicy& addresses,
                  const ProviderCheck& check, ProviderSpec* spec, ProviderSection::Entry* section) {
  std::vector<std::string> known = {"type",    "base_url",      "api_key", "models",
                                    "enabled", "max_in_flight", "profile", "ca_file",
                                    "proxy",   "unix_socket",   "http2",   "autodiscovery_enabled"};
  const std::vector<std::string> blocks = OptionNames("", true);
  known.insert(known.end(), blocks.begin(), blocks.end());

  const std::string path = Join("providers", entry.key);
  bool has_type = false;
  bool has_url = false;
  const std::vector<const Member*> members = reader->Members(*entry.value, path);
  std::map<std::string, int> lines;
  for (const Member* member : members) lines.emplace(member->key, member->value->line);
  // What goes through a socket is not sent in the clear.
  const bool allow_http = addresses.allow_http || lines.count("unix_socket") != 0;
  for (const Member* member : members) {
    const Node& value = *member->value;
    const std::string member_path = Join(path, member->key);
    if (member->key == "type") {
      has_type = true;
      ReadType(reader, value, member_path, spec);
    } else if (member->key == "base_url") {
      has_url = true;
      ReadBaseUrl(reader, value, member_path, allow_http, spec);
    } else if (member->key == "api_key") {
      ReadApiKey(reader, value, member_path, spec);
    } else if (member->key == "models") {
      ReadModels(reader, value, member_path, spec);
    } else if (member->key == "enabled") {
      spec->enabled = reader->Bool(value, member_path).value_or(true);
    } else if (member->key == "autodiscovery_enabled") {
      spec->autodiscovery_enabled = reader->Bool(value, member_path).value_or(true);
    } else if (member->key == "max_in_flight") {
      ReadMaxInFlight(reader, value, member_path, spec);
    } else if (member->key == "profile") {
      section->layer.profile = ReadProfile(reader, value, member_path);
      section->layer.profile_line = value.line;
      section->layer.profile_path = member_path;
    } else if (ReadTransport(reader, *member, member_path, spec)) {
      continue;
    } else if (std::find(blocks.begin(), blocks.end(), member->key) != blocks.end()) {
      ReadOptionBlock(reader, value, member->key, member_path, true, &section->layer.writes);
    } else {
      reader->UnknownKey(*member, path, known);
    }
  }
  if (entry.value->kind == Node::Kind::kScalar || entry.value->kind == Node::Kind::kSequence) {
    return;  // no mapping at all: said already
  }
  if (!has_type) {
    reader->Error(entry.line, path, "has no type; write type: openai, or the type it speaks");
  }
  if (!has_url) spec->base_url = UsualUrl(spec->type);
  if (!has_url && spec->base_url.empty()) {
    reader->Error(entry.line, path, "has no base_url; write the https:// URL of its API");
  }
  // A URL that could not be read is reported already.
  if (check != nullptr && !spec->base_url.empty()) {
    ReportProblems(reader, entry, path, lines, check(*spec, addresses));
  }
}

}  // namespace

bool IsCleanText(std::string_view text) noexcept {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) return false;
  }
  return base::Trim(text).size() == text.size();
}

void ReadProviders(Reader* reader, const Node& node, const AddressPolicy& addresses,
                   const ProviderCheck& check, ProviderSection* section) {
  for (const Member* member : reader->Members(node, "providers")) {
    const std::string path = Join("providers", member->key);
    const std::string problem = NameProblem(member->key);
    if (!problem.empty()) {
      reader->Error(member->line, path, problem);
      continue;
    }
    const auto [it, added] = section->by_routing_name.try_emplace(RoutingName(member->key));
    if (!added) {
      reader->Error(member->line, path,
                    fmt::format("is routed as \"{}\" like the provider in line {}; choose another "
                                "name",
                                it->first, it->second.line));
      continue;
    }
    ProviderSpec spec;
    spec.name = member->key;
    it->second.line = member->line;
    ReadProvider(reader, *member, addresses, check, &spec, &it->second);
    it->second.models = spec.models;
    section->specs.push_back(std::move(spec));
  }
}

}  // namespace hotel::settings
