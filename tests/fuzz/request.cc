// Request bodies: what is accepted is JSON, and the splice changes the model and nothing else.
#include "libhotel/wire/request.h"

#include <memory>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "libhotel/wire/json.h"
#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
using hotel::wire::JsonCursor;

// simdjson's DOM is as strict but for what is valid JSON and beyond its value types.
void CompareWithSimdjson(std::string_view text) {
  JsonCursor cursor(text);
  const bool ours = cursor.Skip() && cursor.AtEnd();
  static simdjson::dom::parser parser;
  const simdjson::padded_string padded(text);
  const simdjson::error_code theirs = parser.parse(padded).error();
  if (theirs == simdjson::SUCCESS) Require(ours || cursor.too_deep(), "valid JSON is accepted");
  // These mean that the form is wrong; its other faults are values that it has no type for.
  const bool form_wrong = theirs == simdjson::TAPE_ERROR || theirs == simdjson::T_ATOM_ERROR ||
                          theirs == simdjson::F_ATOM_ERROR || theirs == simdjson::N_ATOM_ERROR ||
                          theirs == simdjson::EMPTY || theirs == simdjson::UNESCAPED_CHARS ||
                          theirs == simdjson::UNCLOSED_STRING ||
                          theirs == simdjson::INCOMPLETE_ARRAY_OR_OBJECT;
  if (form_wrong) Require(!ours, "only valid JSON is accepted");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hotel::fuzz::AsText(data, size);
  CompareWithSimdjson(text);
  const absl::StatusOr<hotel::wire::RequestPeek> peek = hotel::wire::PeekRequest(text);
  if (!peek.ok()) {
    Require(peek.status().code() == absl::StatusCode::kInvalidArgument,
            "a refusal is the client's");
    Require(!peek.status().message().empty(), "a refusal says why");
    return 0;
  }
  Require(peek->model_offset + peek->model_length <= size && peek->model_length > 2,
          "the token lies inside the body");
  Require(
      text[peek->model_offset] == '"' && text[peek->model_offset + peek->model_length - 1] == '"',
      "the token is a string");
  Require(!peek->model.empty() && peek->model.size() <= 1024, "the model is a name");
  Require(simdjson::validate_utf8(peek->model), "the model is text");

  const std::string model = "other/\"model\"\n\xC3\xA9";
  const auto body = std::make_shared<const std::string>(text);
  const std::string sent = hotel::wire::WithModel(body, *peek, model).ToString();
  Require(sent == std::string(text.substr(0, peek->model_offset)) + hotel::wire::JsonString(model) +
                      std::string(text.substr(peek->model_offset + peek->model_length)),
          "only the model's bytes change");
  const absl::StatusOr<hotel::wire::RequestPeek> again = hotel::wire::PeekRequest(sent);
  Require(again.ok() && again->model == model && again->stream == peek->stream,
          "the new body means the new model");

  const std::string asked = hotel::wire::WithModel(body, *peek, model, true).ToString();
  const absl::StatusOr<hotel::wire::RequestPeek> third = hotel::wire::PeekRequest(asked);
  Require(third.ok() && third->model == model && third->stream == peek->stream,
          "asking for usage changes no routing member");
  const bool nowhere = peek->usage_place == hotel::wire::RequestPeek::UsagePlace::kNowhere;
  Require(third->wants_usage == !nowhere, "usage is asked for wherever there is a place");
  if (peek->wants_usage || nowhere) Require(asked == sent, "nothing is asked for twice");
  return 0;
}
