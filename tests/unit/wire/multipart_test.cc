#include "libhotel/wire/multipart.h"

#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "libhotel/wire/form_head.h"
#include "tests/support/catch.h"

namespace hotel::wire {
namespace {

constexpr std::string_view kType = "multipart/form-data; boundary=b";

std::string Part(std::string_view name, std::string_view value) {
  return "--b\r\nContent-Disposition: form-data; name=\"" + std::string(name) + "\"\r\n\r\n" +
         std::string(value) + "\r\n";
}
std::string File(std::string_view bytes) {
  return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n"
         "Content-Type: audio/wav\r\n\r\n" +
         std::string(bytes) + "\r\n";
}
std::string Form(std::string_view parts) { return std::string(parts) + "--b--\r\n"; }

std::string Refusal(std::string_view body, std::string_view type = kType) {
  const absl::StatusOr<RequestPeek> peek = PeekMultipart(type, body);
  if (peek.ok()) return "";
  CHECK(peek.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(peek.status().message());
}
std::string Model(std::string_view body, std::string_view type = kType) {
  const absl::StatusOr<RequestPeek> peek = PeekMultipart(type, body);
  if (!peek.ok()) return "refused: " + std::string(peek.status().message());
  CHECK(peek->multipart);
  CHECK(peek->usage_place == RequestPeek::UsagePlace::kNowhere);
  CHECK(body.substr(peek->model_offset, peek->model_length) == peek->model);
  return peek->model;
}

TEST_CASE("Multipart: the model is found, wherever it stands, and spliced as it is") {
  const std::string audio("RIFF\0\r\n\xff--\r\n--\r\nb", 17);
  for (const bool first : {true, false}) {
    const auto form = [&](const std::string& model) {
      const std::string field = Part("model", model);
      return Form(first ? field + File(audio) : File(audio) + field);
    };
    const std::string body = form("hotel/whisper \"x\" \xC3\xA9");
    CHECK(Model(body) == "hotel/whisper \"x\" \xC3\xA9");
    const absl::StatusOr<RequestPeek> peek = PeekMultipart(kType, body);
    REQUIRE(peek.ok());
    const auto shared = std::make_shared<const std::string>(body);
    CHECK(WithModel(shared, *peek, "a\\b").ToString() == form("a\\b"));
    CHECK(WithModel(shared, *peek, "a\\b", true).ToString() == form("a\\b"));
    // A line end in a model would end its field.
    CHECK(WithModel(shared, *peek, "a\r\n--b\r\nb").ToString() == form("a--bb"));
  }
}

TEST_CASE("Multipart: stream is read and optional") {
  CHECK_FALSE(PeekMultipart(kType, Form(Part("model", "m")))->stream);
  CHECK(PeekMultipart(kType, Form(Part("stream", "true") + Part("model", "m")))->stream);
  CHECK(PeekMultipart(kType, Form(Part("stream", "True") + Part("model", "m")))->stream);
  CHECK_FALSE(PeekMultipart(kType, Form(Part("model", "m") + Part("stream", "false")))->stream);
  for (const char* value : {"", "1", "yes", "true ", "truefalse"}) {
    CHECK(Refusal(Form(Part("model", "m") + Part("stream", value))) ==
          "multipart form: \"stream\" must be true or false");
  }
}

TEST_CASE("Multipart: the content type in its many spellings") {
  const std::string body = Form(Part("model", "m"));
  for (const std::string_view type :
       {"multipart/form-data; boundary=b", "Multipart/Form-Data;BOUNDARY=b",
        "multipart/form-data; charset=utf-8; boundary=\"b\"", "multipart/form-data;boundary=b;",
        "multipart/form-data ; x=\"a;boundary=c\\\"\" ; boundary = b",
        "multipart/form-data; boundary=\"\\b\""}) {
    INFO(type);
    CHECK(Model(body, type) == "m");
  }
  for (const std::string& type :
       {std::string(), std::string("application/json"), std::string("multipart/form-data"),
        std::string("multipart/mixed; boundary=b"), std::string("multipart/form-data; boundary="),
        std::string("multipart/form-data; boundary=\"\""),
        std::string("multipart/form-data; boundary=b; boundary=b"),
        std::string("multipart/form-data; boundary=\"b"),
        std::string("multipart/form-data; boundary=\"b \""),
        std::string("multipart/form-data; boundary=b\xC3\xA9"),
        std::string("multipart/form-data boundary=b"),
        "multipart/form-data; boundary=" + std::string(71, 'b')}) {
    INFO(type);
    CHECK(Refusal(body, type) ==
          "multipart form: the content type must be multipart/form-data with a boundary of 1-70 "
          "characters");
  }
  const std::string longest(70, 'b');
  CHECK(Model("--" + longest + "\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n--" +
                  longest + "--",
              "multipart/form-data; boundary=" + longest) == "m");
  CHECK(FormBoundary("multipart/form-data; boundary=\"a 'b()+_,-./:=?\"") == "a 'b()+_,-./:=?");
}

TEST_CASE("RFC 2046 preamble, epilogue and padding are no parts") {
  CHECK(Model("This is a form.\r\n" + Form(Part("model", "m"))) == "m");
  CHECK(Model("\r\n" + Form(Part("model", "m"))) == "m");
  CHECK(Model(Form(Part("model", "m")) + "the end\r\n") == "m");
  CHECK(Model(Part("model", "m") + "--b--") == "m");
  CHECK(Model("--b \t\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n--b-- \r\n") ==
        "m");
}

TEST_CASE("RFC 7578 heads of parts: any case, any order, other fields") {
  for (const std::string_view head :
       {"content-disposition:form-data;name=model",
        "CONTENT-DISPOSITION: Form-Data; NAME=\"model\"",
        "Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=\"model\"",
        "Content-Disposition: form-data; x=y; name=\"mo\\del\"\r\nX-Y: z",
        "Content-Transfer-Encoding: 8bit\r\nContent-Disposition: form-data; name=\"model\""}) {
    INFO(head);
    CHECK(Model("--b\r\n" + std::string(head) + "\r\n\r\nm\r\n--b--\r\n") == "m");
  }
}

TEST_CASE("F155 a routing field given twice is refused") {
  CHECK(Refusal(Form(Part("model", "allowed") + Part("model", "blocked"))) ==
        "multipart form: \"model\" is given more than once");
  CHECK(Refusal(Form(Part("model", "a") + File("x") + Part("model", "a"))) ==
        "multipart form: \"model\" is given more than once");
  CHECK(Refusal(Form(Part("model", "a") + Part("stream", "true") + Part("stream", "true"))) ==
        "multipart form: \"stream\" is given more than once");
  CHECK(Model(Form(Part("model", "a") + Part("x", "1") + Part("x", "2") + Part("Model", "b"))) ==
        "a");
}

TEST_CASE("F155 a name that readers could read in two ways is refused") {
  for (const std::string_view head :
       {"Content-Disposition: form-data; name=a; name=model",
        "Content-Disposition: form-data; name=a; name*=utf-8''model",
        "Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=model",
        "Content-Disposition: form-data;\r\n name=model", "Content-Disposition: form-data",
        "Content-Disposition: attachment; name=model", "Content-Type: text/plain",
        "Content-Disposition : form-data; name=model", "Content-Disposition: form-data; name=\"a",
        "Content-Disposition: form-data; name=", "Content-Disposition: form-data; =a",
        "Content-Disposition: form-data; name=a b", "no colon",
        "Content-Disposition: form-data; name=a\rb", "X: a\nContent-Disposition: form-data; name=a",
        ""}) {
    INFO(head);
    const std::string line_end = head.empty() ? "" : "\r\n";
    const std::string body =
        "--b\r\n" + std::string(head) + line_end + "\r\nm\r\n" + Form(Part("model", "m"));
    CHECK(Refusal(body) ==
          "multipart form: a part names no form field, or names it in more than one way");
  }
}

TEST_CASE("F155 bytes that only some readers take for a boundary are refused") {
  CHECK(Refusal(Part("x", "a\n--b\r\nContent-Disposition: form-data; name=model") +
                Form(Part("model", "m"))) == "multipart form: a boundary is not preceded by CR LF");
  CHECK(Refusal(Form(Part("x", "a\r\n--bb") + Part("model", "m"))) ==
        "multipart form: the line of a boundary does not end with CR LF");
  CHECK(Refusal("--b\r\nContent-Disposition: form-data; name=x\r\n\r\n" +
                Form(Part("model", "m"))) == "multipart form: a part has no content");
  CHECK(Refusal(Form(Part("model", "m")) + Form("\r\n" + Part("model", "other"))) ==
        "multipart form: it goes on behind its end");
  CHECK(Refusal("--b\nContent-Disposition: form-data; name=model\n\nm\n--b--\n") ==
        "multipart form: the line of a boundary does not end with CR LF");
}

TEST_CASE("F151 a form that is cut is refused") {
  const std::string whole = Form(File("bytes") + Part("model", "m"));
  // The last line end belongs to nobody.
  for (std::size_t size = 0; size < whole.size() - 2; ++size) {
    INFO(size);
    CHECK_FALSE(Refusal(std::string_view(whole).substr(0, size)).empty());
  }
  CHECK(Refusal("") == "multipart form: the boundary does not occur in the body");
  CHECK(Refusal("--b\r\nContent-Disp") == "multipart form: it ends inside the head of a part");
  CHECK(Refusal(Part("model", "m")) == "multipart form: the last part has no end");
}

TEST_CASE("Multipart: the model is a plain name") {
  CHECK(Refusal(Form(File("x"))) == "multipart form: \"model\" is missing");
  CHECK(Refusal("--b--\r\n") == "multipart form: \"model\" is missing");
  CHECK(Refusal(Form(Part("model", ""))) == "multipart form: \"model\" is empty");
  CHECK(Refusal(Form(Part("model", "a\tb"))) ==
        "multipart form: \"model\" holds control characters");
  CHECK(Refusal(Form(Part("model", std::string_view("a\0", 2)))) ==
        "multipart form: \"model\" holds control characters");
  CHECK(Refusal(Form(Part("model", "m\r\n"))) ==
        "multipart form: \"model\" holds control characters");
  CHECK(Refusal(Form(Part("model", "\xff"))) == "multipart form: \"model\" is not valid UTF-8");
  CHECK(Model(Form(Part("model", std::string(1024, 'm')))) == std::string(1024, 'm'));
  CHECK(Refusal(Form(Part("model", std::string(1025, 'm')))) ==
        "multipart form: \"model\" is longer than 1024 bytes");
  const auto with_head = [](std::string_view rest) {
    return "--b\r\nContent-Disposition: form-data; name=model" + std::string(rest) +
           "\r\n\r\nbQ==\r\n--b--\r\n";
  };
  CHECK(Refusal(with_head("; filename=m")) ==
        "multipart form: \"model\" must be a plain text field");
  CHECK(Refusal(with_head("\r\nContent-Transfer-Encoding: base64")) ==
        "multipart form: \"model\" must be a plain text field");
}

TEST_CASE("Multipart: parts and heads are bounded") {
  std::string parts;
  for (int i = 0; i < 999; ++i) parts += Part("x", "");
  CHECK(Model(Form(parts + Part("model", "m"))) == "m");
  CHECK(Refusal(Form(parts + Part("x", "") + Part("model", "m"))) ==
        "multipart form: it has more than 1000 parts");
  const auto with_head = [](std::size_t size) {
    const std::string head = "Content-Disposition: form-data; name=model\r\nX: ";
    return "--b\r\n" + head + std::string(size - head.size(), 'x') + "\r\n\r\nm\r\n--b--\r\n";
  };
  CHECK(Model(with_head(8192)) == "m");
  CHECK(Refusal(with_head(8193) + std::string(100, ' ')) ==
        "multipart form: the head of a part is larger than 8 KiB");
}

TEST_CASE("F023 a 24 MiB upload full of near boundaries is read in linear time") {
  std::string audio;
  while (audio.size() < (std::size_t{24} << 20)) audio += "\r\n--\n\n--\r\r\n-\r\n--a\r\n--";
  const std::string body = Form(File(audio) + Part("model", "m"));
  const std::clock_t start = std::clock();  // of this process: others may be busy
  CHECK(Model(body) == "m");
  // Tens of milliseconds; the bound leaves room for sanitizers.
  CHECK(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC < 5.0);
}

}  // namespace
}  // namespace hotel::wire
