// The reference page of the endpoints.
#include "fmt/format.h"
#include "libhotel/wire/endpoints.h"
#include "libhotel/wire/upstream.h"

namespace hotel::wire {
namespace {

std::string_view BodyWord(BodyForm form) noexcept {
  switch (form) {
    case BodyForm::kJson:
      return "JSON";
    case BodyForm::kMultipart:
      return "multipart form";
    case BodyForm::kAny:
      break;
  }
  return "anything";
}

std::string_view JudgedWord(Dialect dialect) noexcept {
  switch (dialect) {
    case Dialect::kChat:
      return "OpenAI chat: `[DONE]` or a `finish_reason` ends a stream";
    case Dialect::kMessages:
      return "Anthropic Messages: `message_stop` ends a stream";
    case Dialect::kResponses:
      return "OpenAI Responses: `response.completed` and its like end a stream";
    case Dialect::kPlain:
      break;
  }
  return "passed on; what claims to be JSON and is none, or hides an error, is refused";
}

std::string_view KeyWord(AuthStyle auth) noexcept {
  switch (auth) {
    case AuthStyle::kBearer:
      return "`Authorization: Bearer`";
    case AuthStyle::kXApiKey:
      return "`x-api-key`";
    case AuthStyle::kGoogApiKey:
      break;
  }
  return "`x-goog-api-key`";
}

const char* Mark(bool yes) noexcept { return yes ? "yes" : ""; }

}  // namespace

std::string EndpointsMarkdown() {
  std::string page =
      "# Endpoints\n\n"
      "What `POST /v1/...` answers to. A request goes to those candidates of its name whose "
      "provider "
      "speaks the\nendpoint's dialect itself; nothing is translated. When nobody does it is a 400 "
      "`endpoint_not_supported`.\n"
      "How requests and answers pass, and what `/p/<provider>/...` does, is in "
      "[The sidecar](sidecar.md#endpoints).\n\n"
      "This page is generated from the tables in `libhotel/wire`.\n\n"
      "| endpoint | body | word in logs | answers |\n|---|---|---|---|\n";
  for (const EndpointRow& row : Endpoints()) {
    if (row.endpoint == Endpoint::kPassthrough) continue;
    page += fmt::format("| `/v1{}` | {} | `{}` | {} |\n", row.path, BodyWord(row.body), row.name,
                        JudgedWord(row.dialect));
  }
  page +=
      "\n## What each type of provider speaks\n\n"
      "`usage asked`: a chat stream is asked for `stream_options.include_usage` when the client "
      "has "
      "not done it;\nthe client does not get to see the extra event.\n\n"
      "| type | key goes as | chat | messages | responses | embeddings and the rest | usage asked "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const std::string_view name : ProviderTypeNames()) {
    const ProviderType& type = *FindProviderType(name);
    page += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", name, KeyWord(type.auth),
                        Mark(Speaks(name, Endpoint::kChatCompletions)),
                        Mark(Speaks(name, Endpoint::kMessages)),
                        Mark(Speaks(name, Endpoint::kResponses)),
                        Mark(Speaks(name, Endpoint::kEmbeddings)), Mark(type.include_usage));
  }
  return page;
}

}  // namespace hotel::wire
