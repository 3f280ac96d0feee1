// Forms: the first line is the content type, the rest the body. What is accepted reads the same to
// a naive reader, and the splice changes the model and nothing else.
#include "libhotel/wire/multipart.h"

#include <memory>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "libhotel/wire/form_head.h"
#include "tests/fuzz/require.h"

namespace {

using hotel::fuzz::Require;
namespace wire = hotel::wire;

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Cuts at every boundary, as lenient readers do, and counts the parts that claim to be the model.
int Models(std::string_view body, const std::string& boundary) {
  const std::string dashes = "--" + boundary;
  int models = 0;
  for (std::size_t pos = body.find(dashes); pos != std::string_view::npos;) {
    const std::size_t next = body.find("\n" + dashes, pos);
    const std::string_view part = body.substr(pos, next - pos);
    const std::string_view head = part.substr(0, part.find("\r\n\r\n"));
    if (Has(head, "name=\"model\"") && !Has(head, "\\")) ++models;
    pos = next == std::string_view::npos ? next : next + 1;
  }
  return models;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = hotel::fuzz::AsText(data, size);
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  const std::string_view type = text.substr(0, line);
  const std::string body(text.substr(line + 1));

  const absl::StatusOr<wire::RequestPeek> peek = wire::PeekMultipart(type, body);
  if (!peek.ok()) {
    Require(peek.status().code() == absl::StatusCode::kInvalidArgument,
            "a refusal is the client's");
    Require(!peek.status().message().empty(), "a refusal says why");
    return 0;
  }
  Require(peek->multipart && peek->usage_place == wire::RequestPeek::UsagePlace::kNowhere,
          "a form is known as one");
  Require(body.substr(peek->model_offset, peek->model_length) == peek->model,
          "the token is the model");
  Require(!peek->model.empty() && peek->model.size() <= 1024, "the model is a name");
  Require(simdjson::validate_utf8(peek->model), "the model is text");
  const std::optional<std::string> boundary = wire::FormBoundary(type);
  Require(boundary.has_value(), "a form has a boundary");
  Require(Models(body, *boundary) <= 1, "nobody sees a second model");

  const std::string model = "other/\"model\" \xC3\xA9";
  const std::string sent =
      wire::WithModel(std::make_shared<const std::string>(body), *peek, model).ToString();
  Require(sent == body.substr(0, peek->model_offset) + model +
                      body.substr(peek->model_offset + peek->model_length),
          "only the model's bytes change");
  const absl::StatusOr<wire::RequestPeek> again = wire::PeekMultipart(type, sent);
  Require(again.ok() && again->model == model && again->stream == peek->stream,
          "the new form means the new model");
  return 0;
}
