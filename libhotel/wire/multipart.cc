#include "libhotel/wire/multipart.h"

#include <optional>
#include <string>
#include <utility>

#include <simdjson.h>

#include "absl/status/status.h"
#include "libhotel/base/strings.h"
#include "libhotel/wire/form_head.h"

namespace hotel::wire {
namespace {

constexpr std::size_t kMaxParts = 1000;
constexpr std::size_t kMaxHead = std::size_t{8} * 1024;
constexpr std::string_view kEndOfHead = "\r\n\r\n";

absl::Status Invalid(std::string_view what) {
  return absl::InvalidArgumentError("multipart form: " + std::string(what));
}

// Walks over the parts. Where parsers differ in what they take for a boundary the form is refused:
// the provider must not see other fields than were read here.
class Parts {
 public:
  Parts(std::string_view body, std::string_view boundary)
      : body_(body), delimiter_("\n--" + std::string(boundary)) {}

  // Goes to the first part.
  absl::Status Start() {
    const std::string_view dashes = std::string_view(delimiter_).substr(1);
    if (base::StartsWith(body_, dashes)) return Delimiter(dashes.size());
    const std::size_t at = body_.find(delimiter_);
    if (at == std::string_view::npos) return Invalid("the boundary does not occur in the body");
    return DelimiterAt(at);
  }

  bool done() const noexcept { return done_; }

  // Reads the part at hand and goes to the next.
  absl::Status Next(std::string_view* head, std::size_t* offset, std::size_t* length) {
    const std::string_view rest = body_.substr(pos_);
    std::size_t data = 2;
    if (base::StartsWith(rest, "\r\n")) {
      *head = {};
    } else {
      const std::size_t end = rest.substr(0, kMaxHead + kEndOfHead.size()).find(kEndOfHead);
      if (end == std::string_view::npos) {
        return Invalid(rest.size() > kMaxHead ? "the head of a part is larger than 8 KiB"
                                              : "it ends inside the head of a part");
      }
      *head = rest.substr(0, end);
      data = end + kEndOfHead.size();
    }
    *offset = pos_ + data;
    // A boundary right behind the head would need the head's last line end for itself.
    if (base::StartsWith(rest.substr(data), std::string_view(delimiter_).substr(1))) {
      return Invalid("a part has no content");
    }
    const std::size_t at = body_.find(delimiter_, *offset);
    if (at == std::string_view::npos) return Invalid("the last part has no end");
    if (absl::Status status = DelimiterAt(at); !status.ok()) return status;
    *length = at - 1 - *offset;
    return absl::OkStatus();
  }

 private:
  // `at` is the LF in front of the dashes.
  absl::Status DelimiterAt(std::size_t at) {
    if (at == 0 || body_[at - 1] != '\r') return Invalid("a boundary is not preceded by CR LF");
    return Delimiter(at + delimiter_.size());
  }

  // `pos` is behind the boundary.
  absl::Status Delimiter(std::size_t pos) {
    const bool close = body_.substr(pos, 2) == "--";
    if (close) pos += 2;
    while (pos < body_.size() && (body_[pos] == ' ' || body_[pos] == '\t')) ++pos;
    const std::string_view rest = body_.substr(pos);
    done_ = close;
    if (close && rest.empty()) return absl::OkStatus();
    if (!base::StartsWith(rest, "\r\n")) {
      return Invalid("the line of a boundary does not end with CR LF");
    }
    pos_ = pos + 2;
    if (close && rest.find(delimiter_) != std::string_view::npos) {
      return Invalid("it goes on behind its end");
    }
    return absl::OkStatus();
  }

  std::string_view body_;
  std::string delimiter_;
  std::size_t pos_ = 0;
  bool done_ = false;
};

absl::Status TakeModel(std::string_view value, std::size_t offset, RequestPeek* peek) {
  if (!peek->model.empty()) return Invalid("\"model\" is given more than once");
  if (value.empty()) return Invalid("\"model\" is empty");
  if (value.size() > kMaxModelBytes) return Invalid("\"model\" is longer than 1024 bytes");
  for (const char c : value) {
    if (base::IsAsciiControl(c)) return Invalid("\"model\" holds control characters");
  }
  if (!simdjson::validate_utf8(value)) return Invalid("\"model\" is not valid UTF-8");
  peek->model = value;
  peek->model_offset = offset;
  peek->model_length = value.size();
  return absl::OkStatus();
}

absl::Status TakeStream(std::string_view value, std::optional<bool>* stream) {
  if (stream->has_value()) return Invalid("\"stream\" is given more than once");
  *stream = base::EqualsIgnoreCase(value, "true");
  if (!**stream && !base::EqualsIgnoreCase(value, "false")) {
    return Invalid("\"stream\" must be true or false");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RequestPeek> PeekMultipart(std::string_view content_type, std::string_view body) {
  const std::optional<std::string> boundary = FormBoundary(content_type);
  if (!boundary) {
    return Invalid(
        "the content type must be multipart/form-data with a boundary of 1-70 characters");
  }
  Parts parts(body, *boundary);
  RequestPeek peek;
  peek.multipart = true;
  std::optional<bool> stream;
  std::size_t count = 0;
  absl::Status status = parts.Start();
  while (status.ok() && !parts.done()) {
    if (++count > kMaxParts) return Invalid("it has more than 1000 parts");
    std::string_view head;
    std::size_t offset = 0;
    std::size_t length = 0;
    status = parts.Next(&head, &offset, &length);
    if (!status.ok()) break;
    const std::optional<FormField> field = ReadFormHead(head);
    if (!field) return Invalid("a part names no form field, or names it in more than one way");
    const bool model = field->name == "model";
    if (!model && field->name != "stream") continue;
    if (field->file || field->encoded) {
      return Invalid("\"" + field->name + "\" must be a plain text field");
    }
    const std::string_view value = body.substr(offset, length);
    status = model ? TakeModel(value, offset, &peek) : TakeStream(value, &stream);
  }
  if (!status.ok()) return status;
  if (peek.model.empty()) return Invalid("\"model\" is missing");
  peek.stream = stream.value_or(false);
  return peek;
}

}  // namespace hotel::wire
