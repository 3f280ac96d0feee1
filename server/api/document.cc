#include "server/api/document.h"

#include <string_view>

#include <fmt/format.h>

#include "libhotel/base/strings.h"
#include "server/api/answers.h"

namespace hotel::server::api {
namespace {

Json Schema(const Field& field) {
  Json schema;
  switch (field.type) {
    case FieldType::kString:
      schema["type"] = "string";
      break;
    case FieldType::kBool:
      schema["type"] = "boolean";
      break;
    case FieldType::kInteger:
      schema["type"] = "integer";
      break;
    case FieldType::kNumber:
      schema["type"] = "number";
      break;
    case FieldType::kStrings:
      schema["type"] = "array";
      schema["items"]["type"] = "string";
      break;
    case FieldType::kToggles:
      schema["type"] = "object";
      schema["additionalProperties"]["type"] = "boolean";
      break;
  }
  if (field.nullable) schema["nullable"] = true;
  schema["description"] = field.about;
  return schema;
}

Json BodySchema(const Route& route) {
  Json schema;
  schema["type"] = "object";
  if (route.free_body) {
    schema["additionalProperties"]["oneOf"] =
        Json::array({{{"type", "string"}}, {{"type", "number"}}, {{"type", "boolean"}}});
    return schema;
  }
  schema["additionalProperties"] = false;
  for (const Field& field : route.body) {
    schema["properties"][std::string(field.name)] = Schema(field);
    if (field.required) schema["required"].push_back(field.name);
  }
  return schema;
}

Json Parameters(const Route& route) {
  Json list = Json::array();
  for (const std::string_view segment : base::Split(route.pattern, '/')) {
    if (segment.empty() || segment.front() != '{') continue;
    list.push_back({{"name", segment.substr(1, segment.size() - 2)},
                    {"in", "path"},
                    {"required", true},
                    {"schema", {{"type", "string"}}}});
  }
  for (const Param& param : route.query) {
    list.push_back({{"name", param.name},
                    {"in", "query"},
                    {"description", param.about},
                    {"schema", {{"type", "string"}}}});
  }
  return list;
}

Json Operation(const Route& route) {
  Json operation;
  operation["summary"] = route.summary;
  if (Json parameters = Parameters(route); !parameters.empty()) {
    operation["parameters"] = std::move(parameters);
  }
  if (route.takes_body()) {
    operation["requestBody"]["required"] = true;
    operation["requestBody"]["content"]["application/json"]["schema"] = BodySchema(route);
  }
  Json& success = operation["responses"][std::to_string(route.success)];
  success["description"] = route.answer.empty() ? "done" : std::string(route.answer);
  if (route.streams) {
    success["content"]["text/event-stream"]["schema"]["type"] = "string";
  } else if (route.success != 204) {
    success["content"]["application/json"]["schema"] = Json::object();
  }
  Json& failure = operation["responses"]["default"];
  failure["description"] = "what is wrong, in plain text";
  failure["content"]["text/plain"]["schema"]["type"] = "string";
  return operation;
}

Reply ShowDocument(const Context&, const Call&) { return JsonReply(OpenApiDocument()); }

std::string FieldText(const Field& field) {
  const std::string type = field.type == FieldType::kString    ? "string"
                           : field.type == FieldType::kBool    ? "boolean"
                           : field.type == FieldType::kInteger ? "integer"
                           : field.type == FieldType::kNumber  ? "number"
                           : field.type == FieldType::kStrings ? "array of strings"
                                                               : "object of booleans";
  return fmt::format("  - `{}` ({}{}{}): {}\n", field.name, type, field.nullable ? " or null" : "",
                     field.required ? ", required" : "", field.about);
}

constexpr std::string_view kIntro =
    "# Admin API\n"
    "\n"
    "Generated from the table in `server/api/`; a test keeps the two equal. The same as an "
    "OpenAPI\n"
    "document is served at `/api/openapi.json`.\n"
    "\n"
    "Every request carries `Authorization: Bearer <admin token>`. The token is made at the first\n"
    "start and printed once, on standard error; the data directory keeps a hash of it in\n"
    "`admin-token` (delete the file to get a new one). `ADMIN_TOKEN` in the environment is used\n"
    "instead where it is set. Ten wrong tokens within a minute from one address are answered 429 "
    "for\n"
    "a minute.\n"
    "\n"
    "Bodies are JSON objects; unknown fields and unknown query parameters are refused. Answers "
    "are\n"
    "JSON, errors are plain text: 400 the request is wrong, 401 the token is, 404 there is no "
    "such\n"
    "thing, 409 it conflicts with what there is or stands in the configuration file, 503 the\n"
    "database is locked or full, or the sidecar is starting. Times are RFC 3339 in UTC.\n";

}  // namespace

Json OpenApiDocument() {
  Json document;
  document["openapi"] = "3.0.3";
  document["info"] = {{"title", "hoteld admin API"}, {"version", Hotel::Version()}};
  document["security"] = Json::array({{{"admin", Json::array()}}});
  document["components"]["securitySchemes"]["admin"] = {{"type", "http"}, {"scheme", "bearer"}};
  for (const Route& route : Routes()) {
    document["paths"][std::string(route.pattern)][base::Lower(route.method)] = Operation(route);
  }
  return document;
}

std::string ApiMarkdown() {
  std::string page(kIntro);
  for (const Route& route : Routes()) {
    page += fmt::format("\n## {} {}\n\n{}.\n", route.method, route.pattern, route.summary);
    std::string details;
    if (!route.query.empty()) details += "- Query:\n";
    for (const Param& param : route.query) {
      details += fmt::format("  - `{}`: {}\n", param.name, param.about);
    }
    if (route.takes_body()) details += "- Body:\n";
    if (route.free_body) details += "  - any names, with strings, numbers or booleans\n";
    for (const Field& field : route.body) details += FieldText(field);
    details += route.answer.empty()
                   ? fmt::format("- Answer: {}\n", route.success)
                   : fmt::format("- Answer: {}: {}\n", route.success, route.answer);
    page += "\n" + details;
  }
  return page;
}

std::vector<Route> DocumentRoutes() {
  std::vector<Route> routes;
  routes.push_back({"GET",
                    "/api/openapi.json",
                    "Show this API as an OpenAPI document",
                    ShowDocument,
                    {},
                    {},
                    false,
                    200,
                    "the document"});
  return routes;
}

}  // namespace hotel::server::api
