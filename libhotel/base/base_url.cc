#include "libhotel/base/base_url.h"

#include <algorithm>
#include <cstddef>

#include "libhotel/base/strings.h"

namespace hotel::base {
namespace {

constexpr std::size_t kMostVersionBytes = 32;

// What follows the question mark.
bool IsVersionQuery(std::string_view query) noexcept {
  constexpr std::string_view kName = "api-version=";
  if (!StartsWith(query, kName)) return false;
  const std::string_view version = query.substr(kName.size());
  return !version.empty() && version.size() <= kMostVersionBytes &&
         std::all_of(version.begin(), version.end(),
                     [](char c) { return IsAsciiAlnum(c) || c == '-' || c == '.' || c == '_'; });
}

}  // namespace

const char* BaseUrlProblem(std::string_view url) noexcept {
  const std::size_t scheme = url.find("://");
  const std::size_t authority = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", authority), url.size());
  if (url.find('@', authority) < end) {
    return "the URL holds user information (name@host); give the key as api_key instead";
  }
  if (url.find('#') != std::string_view::npos) {
    return "the URL holds a fragment (#...), which never goes to a server; leave it out";
  }
  const std::size_t query = url.find('?');
  if (query == std::string_view::npos || IsVersionQuery(url.substr(query + 1))) return nullptr;
  return "the URL holds a query (?...), of which only ?api-version=<version> may stand there; give "
         "the key as api_key and leave the rest out";
}

}  // namespace hotel::base
