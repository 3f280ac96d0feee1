#include "libhotel/net/response_head.h"

#include <algorithm>
#include <string>
#include <utility>

#include "libhotel/base/strings.h"
#include "libhotel/net/http_text.h"

namespace hotel::net {
namespace {

// What fits a signed 64-bit number; libcurl drops longer ones and reads to the connection's end.
constexpr std::size_t kMaxLengthDigits = 18;

// The three digits of "HTTP/1.x SSS" and whatever reason follows, or of the "HTTP/2 SSS " (nothing
// behind it) that libcurl makes for an answer in that version. Empty when it is something else.
std::string_view StatusDigits(std::string_view line) {
  if (line.size() == 11 && line.substr(0, 7) == "HTTP/2 " && line[10] == ' ') {
    return line.substr(7, 3);
  }
  const bool http1 = line.size() >= 12 && line.substr(0, 7) == "HTTP/1." &&
                     base::IsAsciiDigit(line[7]) && line[8] == ' ' &&
                     (line.size() == 12 || line[12] == ' ');
  return http1 ? line.substr(9, 3) : std::string_view();
}

// 0 when it is no status line.
int ParseStatusLine(std::string_view line) {
  int status = 0;
  for (const char c : StatusDigits(line)) {
    if (!base::IsAsciiDigit(c)) return 0;
    status = status * 10 + (c - '0');
  }
  return status;
}

bool IsFoldedLine(std::string_view line) {
  return !line.empty() && (line.front() == ' ' || line.front() == '\t');
}

}  // namespace

ResponseHead::Progress ResponseHead::Feed(std::string_view line) {
  bytes_ += line.size();
  if (bytes_ > limits_.max_bytes) return Progress::kTooLarge;
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (status_ == 0) return StatusLine(line);
  return line.empty() ? End() : Field(line);
}

ResponseHead::Progress ResponseHead::StatusLine(std::string_view line) {
  status_ = ParseStatusLine(line);
  headers_.clear();
  return status_ >= 100 && status_ <= 599 ? Progress::kMore : Progress::kProtocol;
}

ResponseHead::Progress ResponseHead::Field(std::string_view line) {
  if (!IsFieldValue(line)) return Progress::kProtocol;  // the name is judged more strictly below
  if (IsFoldedLine(line)) {
    if (headers_.empty()) return Progress::kProtocol;
    std::string& value = headers_.back().value;
    if (!value.empty()) value += ' ';
    value += base::Trim(line);
    return Progress::kMore;
  }
  if (headers_.size() >= limits_.max_fields) return Progress::kTooLarge;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return Progress::kProtocol;
  // White space before the colon is an old server's slip; RFC 9112 has a gateway remove it.
  const std::string_view name = base::Trim(line.substr(0, colon));
  if (!IsToken(name)) return Progress::kProtocol;
  headers_.push_back({std::string(name), std::string(base::Trim(line.substr(colon + 1)))});
  return Progress::kMore;
}

ResponseHead::Progress ResponseHead::End() {
  // Nothing asked for another protocol, so 101 announces bytes that cannot be read.
  if (status_ == 101) return Progress::kProtocol;
  if (status_ < 200) {
    status_ = 0;
    return Progress::kMore;
  }
  // Two lengths, or a length that is no number, leave open where this answer ends and the next one
  // on the connection begins. So does a transfer coding other than chunked.
  const std::string* length = nullptr;
  for (const Header& header : headers_) {
    if (base::EqualsIgnoreCase(header.name, "content-length")) {
      if (header.value.empty() || header.value.size() > kMaxLengthDigits ||
          !std::all_of(header.value.begin(), header.value.end(), base::IsAsciiDigit) ||
          (length != nullptr && *length != header.value)) {
        return Progress::kProtocol;
      }
      length = &header.value;
    } else if (base::EqualsIgnoreCase(header.name, "transfer-encoding") &&
               !base::EqualsIgnoreCase(header.value, "chunked") &&
               !base::EqualsIgnoreCase(header.value, "identity")) {
      return Progress::kProtocol;
    }
  }
  return Progress::kFinal;
}

}  // namespace hotel::net
