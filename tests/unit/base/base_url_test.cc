// What a provider's base URL may hold (field reports F153, F175).
#include "libhotel/base/base_url.h"

#include <string>

#include "tests/support/catch.h"

namespace hotel::base {
namespace {

std::string Problem(std::string_view url) {
  const char* const problem = BaseUrlProblem(url);
  return problem == nullptr ? "" : problem;
}

TEST_CASE("base URLs of providers pass") {
  const std::string url = GENERATE(
      "https://api.example.com", "https://api.example.com/v1", "http://127.0.0.1:9000/v1/",
      "https://api.example.com/a@b", "https://[2001:db8::1]:8443/v1beta/openai",
      "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
      "https://r.services.ai.azure.com/api/projects/p?api-version=preview", "", "api.example.com");
  CAPTURE(url);
  CHECK(Problem(url).empty());
}

TEST_CASE("F175 a query that may hold a key is no part of a base URL") {
  const std::string url =
      GENERATE("https://a.example/v1?api_key=hidden", "https://a.example?key=hidden",
               "https://a.example/v1?",
               "https://a.example/v1?api-version=", "https://a.example/v1?api-version=1&key=hidden",
               "https://a.example/?x=1?y=2", "https://a.example/v1?API-VERSION=1",
               "https://a.example/v1?api-version=a%20b",
               "https://a.example/v1?api-version=abcdefghijklmnopqrstuvwxyz1234567");
  CAPTURE(url);
  const std::string problem = Problem(url);
  CHECK(problem.find("holds a query") != std::string::npos);
  CHECK(problem.find("api_key and leave") != std::string::npos);
  CHECK(problem.find("hidden") == std::string::npos);
}

TEST_CASE("a fragment is no part of a base URL") {
  CHECK(Problem("https://a.example/v1#part").find("holds a fragment") != std::string::npos);
  CHECK(Problem("https://a.example#?api-version=1").find("holds a fragment") != std::string::npos);
}

TEST_CASE("F181 user information is no part of a base URL") {
  const std::string url = GENERATE("https://user:hidden@a.example/v1", "https://hidden@a.example",
                                   "https://user:hidden@a.example?x", "user:hidden@a.example");
  CAPTURE(url);
  const std::string problem = Problem(url);
  CHECK(problem.find("user information") != std::string::npos);
  CHECK(problem.find("hidden") == std::string::npos);
}

}  // namespace
}  // namespace hotel::base
