#include "server/status_text.h"

#include <array>

namespace hotel::server {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};
constexpr std::array kPhrases = {
    Phrase{200, "OK"},
    Phrase{204, "No Content"},
    Phrase{205, "Reset Content"},
    Phrase{400, "Bad Request"},
    Phrase{401, "Unauthorized"},
    Phrase{402, "Payment Required"},
    Phrase{403, "Forbidden"},
    Phrase{404, "Not Found"},
    Phrase{405, "Method Not Allowed"},
    Phrase{408, "Request Timeout"},
    Phrase{409, "Conflict"},
    Phrase{411, "Length Required"},
    Phrase{413, "Content Too Large"},
    Phrase{414, "URI Too Long"},
    Phrase{417, "Expectation Failed"},
    Phrase{422, "Unprocessable Content"},
    Phrase{429, "Too Many Requests"},
    Phrase{431, "Request Header Fields Too Large"},
    Phrase{500, "Internal Server Error"},
    Phrase{501, "Not Implemented"},
    Phrase{502, "Bad Gateway"},
    Phrase{503, "Service Unavailable"},
    Phrase{504, "Gateway Timeout"},
    Phrase{505, "HTTP Version Not Supported"},
};
constexpr std::array<std::string_view, 6> kClasses = {
    "Unknown", "Informational", "Success", "Redirection", "Client Error", "Server Error"};

}  // namespace

std::string_view StatusText(int status) noexcept {
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.text;
  }
  const int hundreds = status / 100;
  return kClasses[static_cast<std::size_t>(hundreds >= 1 && hundreds <= 5 ? hundreds : 0)];
}

}  // namespace hotel::server
