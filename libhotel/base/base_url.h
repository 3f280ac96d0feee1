// What the base URL of a provider may consist of.
#ifndef HOTEL_BASE_BASE_URL_H_
#define HOTEL_BASE_BASE_URL_H_

#include <string_view>

namespace hotel::base {

/// The URL is shown to operators, kept and copied as it is, so nothing secret may stand in it: no
/// user information, no fragment, and no query but the one that some APIs ask for and that says
/// nothing of who asks, `?api-version=<version>`. Returns nullptr, or a sentence that says what to
/// do and repeats nothing of the URL. What is no URL at all is for others to say.
const char* BaseUrlProblem(std::string_view url) noexcept;

}  // namespace hotel::base

#endif  // HOTEL_BASE_BASE_URL_H_
