// Limits of the `server:` block that depend on each other.
#include <optional>
#include <string>
#include <string_view>

#include "libhotel/settings/config.h"
#include "tests/support/catch.h"

namespace hotel::settings {
namespace {

ReadResult ReadServerBlock(const std::string& lines) {
  return ReadConfig("server:\n" + lines, "h.yaml",
                    [](std::string_view) -> std::optional<std::string> { return std::nullopt; });
}

TEST_CASE("all request bodies together may take 1 GiB unless the file says otherwise") {
  CHECK(ReadServerBlock("  max_headers: 50\n").config.server.max_buffered_bytes == 1u << 30);
  const ReadResult read = ReadServerBlock("  max_buffered_bytes: 256MiB\n");
  CHECK(read.errors.empty());
  CHECK(read.config.server.max_buffered_bytes == 256u << 20);
}

TEST_CASE("a budget that the largest request would never fit into is an error") {
  const ReadResult read =
      ReadServerBlock("  max_request_size: 64MiB\n  max_buffered_bytes: 63MiB\n");
  REQUIRE(read.errors.size() == 1);
  CHECK(read.errors[0].ToString() ==
        "h.yaml:3: server.max_buffered_bytes: is less than server.max_request_size: the largest "
        "requests would always be refused");
  CHECK(ReadServerBlock("  max_request_size: 64MiB\n  max_buffered_bytes: 64MiB\n").errors.empty());
}

}  // namespace
}  // namespace hotel::settings
