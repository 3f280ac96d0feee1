// `hotelctl classify`: how refusals would be read, line by line.
#ifndef SERVER_CTL_CLASSIFY_H_
#define SERVER_CTL_CLASSIFY_H_

#include <istream>
#include <ostream>
#include <string>
#include <string_view>

#include "hotel/rate_limit.h"
#include "hotel/types.h"

namespace hotel::ctl {

/// Reads one line of input and gives one line of output, both without line ends. False: the line
/// could not be understood; `output` is an object with `error` and nothing else.
bool ClassifyLine(const RateLimitClassifier& classifier, Duration max_wait, WallTime now,
                  std::string_view line, std::string* output);

/// Reads `in` to its end: one line to `out` for each, flushed. Complaints about lines that could
/// not be read go to `log` with the line's number. Returns the exit status: 0, or 1 when there was
/// one.
int Classify(Duration max_wait, std::istream& in, std::ostream& out, std::ostream& log);

}  // namespace hotel::ctl

#endif  // SERVER_CTL_CLASSIFY_H_
