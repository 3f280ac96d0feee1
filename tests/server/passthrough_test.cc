// What of a request under /p/ goes to the provider.
#include "server/passthrough.h"

#include <string>

#include "tests/support/catch.h"

namespace hotel::server {
namespace {

RequestHead Head(std::string target, std::string method = "GET") {
  RequestHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  return head;
}

PassthroughRequest Read(const std::string& target, const HeaderList& headers = {}) {
  REQUIRE(IsPassthrough(target.substr(0, target.find('?'))));
  REQUIRE_FALSE(CheckPassthrough(Head(target)));
  return ReadPassthrough("PATCH", target, headers);
}

TEST_CASE("Passthrough: the name is the second segment, the rest goes as it is") {
  CHECK(Read("/p/acme/v1/files").provider == "acme");
  CHECK(Read("/p/acme/v1/files").target == "/v1/files");
  CHECK(Read("/p/acme/v1/files").method == "PATCH");
  CHECK(Read("/p/acme/").target == "/");
  CHECK(Read("/p/acme/a%2Fb//c?x=%2e%2e/..&y=1").target == "/a%2Fb//c?x=%2e%2e/..&y=1");
  CHECK(Read("/p/Z%C3%BCrich-AI/x").provider == "Z\xC3\xBCrich-AI");
  CHECK(Read("/p/100%/x").provider == "100%");
}

TEST_CASE("Passthrough: only /p/<provider>/ is one") {
  for (const char* path : {"/p", "/p/", "/p/acme", "/p//x", "/px/acme/x", "/v1/p/acme/x"}) {
    INFO(path);
    CHECK_FALSE(IsPassthrough(path));
  }
}

TEST_CASE("Passthrough: a target that could leave the base URL is refused, however it is spelled") {
  for (const char* rest : {"/..",
                           "/../x",
                           "/a/../../x",
                           "/a/..",
                           "/.",
                           "/a/./b",
                           "/%2e%2e/x",
                           "/%2E./x",
                           "/.%2e",
                           "/%252e%252e/x",
                           "/%25252e%25252e/x",
                           "/..%2fx",
                           "/a%2f..%2fx",
                           "/..;/x",
                           "/..;a=b/x",
                           "/%2e%2e%3b/x",
                           "/a\\..\\b",
                           "/a%5c..%5cb",
                           "/a\\b",
                           "/x#y",
                           "/x?y#z"}) {
    const auto error = CheckPassthrough(Head(std::string("/p/acme") + rest));
    INFO(rest);
    REQUIRE(error);
    CHECK(error->status == 400);
    CHECK(error->code == decide::ErrorCode::kInvalidTarget);
  }
  for (const char* rest : {"/...", "/..a", "/a..", "/.well-known/x", "/%", "/%zz", "/%2", "/a;b",
                           "/x?path=../y", "/x?%2e%2e/"}) {
    INFO(rest);
    CHECK_FALSE(CheckPassthrough(Head(std::string("/p/acme") + rest)));
  }
}

TEST_CASE("Passthrough: a HEAD with a body is refused") {
  RequestHead head = Head("/p/acme/x", "HEAD");
  CHECK_FALSE(CheckPassthrough(head));
  head.content_length = 1;
  REQUIRE(CheckPassthrough(head));
  CHECK(CheckPassthrough(head)->status == 400);
}

TEST_CASE("F141 F145 only the listed fields go, and none that the connection names") {
  const HeaderList sent = {
      {"Host", "gateway"},
      {"Authorization", "Bearer vk"},
      {"x-api-key", "junk"},
      {"api-key", "junk"},
      {"x-goog-api-key", "junk"},
      {"xi-api-key", "junk"},
      {"Cookie", "a=b"},
      {"Proxy-Authorization", "junk"},
      {"User-Agent", "client"},
      {"Content-Type", "text/csv"},
      {"Accept", "*/*"},
      {"Accept-Language", "de"},
      {"OpenAI-Beta", "one"},
      {"openai-beta", "two"},
      {"OpenAI-Organization", "org"},
      {"Anthropic-Version", "v"},
      {"anthropic-beta", "b"},
      {"Accept-Encoding", "gzip"},
      {"Idempotency-Key", "k"},
      {"Connection", "close, Anthropic-Beta"},
      {"X-Foo", "1"},
      {"TE", "trailers"},
      {"Upgrade", "websocket"},
  };
  std::string got;
  for (const Header& header : Read("/p/acme/x", sent).headers) {
    got += header.name + "=" + header.value + ";";
  }
  CHECK(got ==
        "content-type=text/csv;accept=*/*;accept-language=de;openai-beta=one;openai-beta=two;"
        "anthropic-version=v;");
}

TEST_CASE("PathOfBrokenHead finds a path or nothing") {
  CHECK(PathOfBrokenHead("POST /v1/messages?x HTTP/1.1\nHost: x") == "/v1/messages");
  CHECK(PathOfBrokenHead("POST /v1/messages") == "/v1/messages");
  for (const char* bytes : {"", " ", "POST", "POST ", "POST x", "\r\n", "POST  /v1"}) {
    INFO(bytes);
    CHECK(PathOfBrokenHead(bytes).empty());
  }
}

}  // namespace
}  // namespace hotel::server
