#include "server/sim/sim.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include "server/sim/asked.h"

namespace hotel::sim {
namespace {

/// Names (and paths) that are remembered; beyond it all counts start again.
constexpr std::size_t kMaxModels = 10000;

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

struct PathEnd {
  std::string_view end;
  Dialect dialect;
};
constexpr std::array<PathEnd, 11> kPathEnds = {{
    {"/chat/completions", Dialect::kChat},
    {"/messages", Dialect::kMessages},
    {"/responses", Dialect::kResponses},
    {"/embeddings", Dialect::kEmbeddings},
    {"/rerank", Dialect::kRerank},
    {"/images/generations", Dialect::kImages},
    {"/images/edits", Dialect::kImages},
    {"/images/variations", Dialect::kImages},
    {"/audio/speech", Dialect::kSpeech},
    {"/audio/transcriptions", Dialect::kTranscription},
    {"/audio/translations", Dialect::kTranscription},
}};

std::optional<Dialect> DialectOf(std::string_view path) {
  for (const PathEnd& row : kPathEnds) {
    if (EndsWith(path, row.end)) return row.dialect;
  }
  return std::nullopt;
}

void Reply(int status, std::string_view type, std::string_view body, std::string* out) {
  *out += fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n", status,
                      status == 200 ? "OK" : "Refused", type, body.size());
  *out += body;
}

void Json(int status, std::string_view body, std::string* out) {
  Reply(status, "application/json", body, out);
}

void Refuse(Dialect dialect, int status, std::string_view type, const std::string& message,
            std::string* out) {
  nlohmann::json body = {{"error", {{"message", message}, {"type", type}}}};
  if (dialect == Dialect::kMessages) body["type"] = "error";
  Json(status, body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), out);
}

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

nlohmann::json Describe(const HttpRequest& request) {
  nlohmann::json headers = nlohmann::json::array();
  for (const auto& [name, value] : request.headers) headers.push_back({name, value});
  return {{"method", request.method},
          {"path", request.path},
          {"query", request.query},
          {"headers", std::move(headers)},
          {"body_bytes", request.body.size()},
          {"body_sha256", Sha256Hex(request.body)}};
}

nlohmann::json Describe(const Asked& asked) {
  nlohmann::json fields = nlohmann::json::array();
  for (const FormField& field : asked.fields) {
    fields.push_back({{"name", field.name},
                      {"file_name", field.file_name},
                      {"bytes", field.bytes.size()},
                      {"sha256", Sha256Hex(field.bytes)}});
  }
  return fields;
}

std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool HasKey(const HttpRequest& request, std::string_view key) {
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view given = request.header("authorization");
  if (given.substr(0, kBearer.size()) == kBearer) {
    given.remove_prefix(kBearer.size());
  } else {
    given = request.header("x-api-key");
  }
  return given == key;
}

}  // namespace

Sim::Sim(std::map<std::string, std::string> aliases, TimePoint now)
    : aliases_(std::move(aliases)), started_(now) {
  Plan plan;
  plan.faulty.status = 401;
  wrong_key_ = std::make_shared<const Plan>(std::move(plan));
}

std::optional<Script> Sim::Handle(HttpRequest request, TimePoint now, std::string* out) {
  if (request.method == "HEAD") {
    const std::size_t begin = out->size();
    request.method = "GET";
    Handle(std::move(request), now, out);
    out->resize(out->find("\r\n\r\n", begin) + 4);
    return std::nullopt;
  }
  if (request.method == "POST") {
    if (const std::optional<Dialect> dialect = DialectOf(request.path)) {
      return Answer(*dialect, std::move(request), now, out);
    }
    if (request.path == "/reset") {
      Reset(now);
      Json(200, "{}", out);
      return std::nullopt;
    }
  } else if (request.method == "GET") {
    if (EndsWith(request.path, "/models")) {
      Json(200, Models(), out);
      return std::nullopt;
    }
    if (request.path == "/stats") {
      Json(200, StatsJson(), out);
      return std::nullopt;
    }
    if (request.path == "/last") {
      Json(200, LastJson(), out);
      return std::nullopt;
    }
    if (request.path == "/last/body") {
      Reply(200, "application/octet-stream", last_.body, out);
      return std::nullopt;
    }
  }
  Refuse(Dialect::kChat, 404, "not_found_error",
         fmt::format("no route for {} {}", request.method, request.path), out);
  return std::nullopt;
}

std::optional<Script> Sim::Answer(Dialect dialect, HttpRequest request, TimePoint now,
                                  std::string* out) {
  ++stats_.requests;
  last_ = std::move(request);
  const std::optional<Asked> asked = ReadAsked(&last_);
  if (!asked) {
    ++stats_.answered;
    Refuse(dialect, 400, "invalid_request_error",
           "the body is no JSON object (no form) with a string \"model\"", out);
    return std::nullopt;
  }
  Model& model = Find(last_.path, asked->model);
  ++model.requests;
  if (model.plan == nullptr) {
    ++stats_.answered;
    Refuse(dialect, 404, "not_found_error",
           fmt::format("no behaviour named {:?}; see hotel-sim --help", asked->model), out);
    return std::nullopt;
  }

  std::shared_ptr<const Plan> plan = model.plan;
  const std::shared_ptr<Load> load = LoadOf(last_.path);
  const Behaviour* behaviour =
      &plan->For(model.requests, std::chrono::duration_cast<Millis>(now - started_), load->running);
  const bool over = plan->schedule && plan->schedule->ceiling && behaviour == &plan->faulty;
  if (!behaviour->want_key.empty() && !HasKey(last_, behaviour->want_key)) {
    plan = wrong_key_;
    behaviour = &plan->faulty;
  }
  AnswerContext context;
  context.dialect = dialect;
  context.model_json = model.model_json;
  context.id = stats_.requests;
  context.input_tokens = static_cast<int>(last_.body.size() / 4);
  context.include_usage = asked->include_usage;
  context.crlf = behaviour->crlf;
  context.tool_call = behaviour->tool_call;
  context.inputs = asked->inputs;
  context.base64 = asked->base64;
  std::string echo;
  if (behaviour->echo) {
    nlohmann::json description = Describe(last_);
    description["model"] = asked->model;
    if (!asked->fields.empty()) description["fields"] = Describe(*asked);
    echo = Dump(description);
    if (dialect != Dialect::kSpeech) echo = JsonString(echo);
  }
  ++stats_.statuses[behaviour->status];
  Script script(std::move(plan), *behaviour, std::move(context), asked->stream, std::move(echo),
                now);
  if (!over) {
    load->most = std::max(load->most, ++load->running);
    script.Hold(std::shared_ptr<const void>(nullptr, [load](const void*) { --load->running; }));
  }
  return script;
}

std::shared_ptr<Sim::Load> Sim::LoadOf(const std::string& path) {
  if (loads_.size() >= kMaxModels && loads_.count(path) == 0) loads_.clear();
  std::shared_ptr<Load>& load = loads_[path];
  if (load == nullptr) load = std::make_shared<Load>();
  return load;
}

Sim::Model& Sim::Find(const std::string& path, const std::string& model) {
  std::string key = path + '\n' + model;
  const auto found = models_.find(key);
  if (found != models_.end()) return found->second;
  if (models_.size() >= kMaxModels) models_.clear();
  Model fresh;
  const auto alias = aliases_.find(model);
  if (std::optional<Plan> plan = ParseModel(alias == aliases_.end() ? model : alias->second)) {
    fresh.plan = std::make_shared<const Plan>(*std::move(plan));
  }
  fresh.model_json = JsonString(model);
  return models_.emplace(std::move(key), std::move(fresh)).first->second;
}

std::string Sim::Models() const {
  nlohmann::json data = nlohmann::json::array();
  const auto add = [&data](const std::string& id) {
    data.push_back(
        {{"id", id}, {"object", "model"}, {"created", 1700000000}, {"owned_by", "hotel-sim"}});
  };
  for (const auto& alias : aliases_) add(alias.first);
  for (const std::string& id : ExampleModels()) add(id);
  return Dump({{"object", "list"}, {"data", std::move(data)}});
}

std::string Sim::StatsJson() const {
  nlohmann::json models = nlohmann::json::object();
  for (const auto& [key, model] : models_) {
    const std::string name = key.substr(key.find('\n') + 1);
    models[name] = models.value(name, std::uint64_t{0}) + model.requests;
  }
  nlohmann::json statuses = nlohmann::json::object();
  for (const auto& [status, count] : stats_.statuses) statuses[std::to_string(status)] = count;
  nlohmann::json most = nlohmann::json::object();
  for (const auto& [path, load] : loads_) most[path] = load->most;
  const Stats& s = stats_;
  return Dump({{"connections", s.connections},
               {"open_connections", s.open_connections},
               {"max_open_connections", s.max_open_connections},
               {"requests", s.requests},
               {"running", s.running},
               {"answered", s.answered},
               {"broken", s.broken},
               {"cut_by_client", s.cut_by_client},
               {"streams_cut_by_client", s.streams_cut_by_client},
               {"bytes_in", s.bytes_in},
               {"statuses", std::move(statuses)},
               {"most_at_once", std::move(most)},
               {"models", std::move(models)}});
}

std::string Sim::LastJson() const { return Dump(Describe(last_)); }

void Sim::Reset(TimePoint now) {
  Stats fresh;
  fresh.open_connections = stats_.open_connections;
  fresh.max_open_connections = stats_.open_connections;
  fresh.running = stats_.running;
  stats_ = fresh;
  models_.clear();
  for (const auto& [path, load] : loads_) load->most = load->running;
  last_ = HttpRequest();
  started_ = now;
}

}  // namespace hotel::sim
