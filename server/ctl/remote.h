// The admin API of a running sidecar, as the tool asks it.
#ifndef SERVER_CTL_REMOTE_H_
#define SERVER_CTL_REMOTE_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hotel/types.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotel::ctl {

using Json = nlohmann::ordered_json;

class Remote {
 public:
  /// `url`: "http://127.0.0.1:8081".
  Remote(std::string url, Secret token);

  /// Sends one request and reads its JSON answer; null for 204. The error says why there is none:
  /// InvalidArgument = the URL is none; Unavailable = it could not be reached, or not now (5xx);
  /// FailedPrecondition = refused, with the sidecar's own sentence.
  absl::StatusOr<Json> Call(const std::string& method, const std::string& path,
                            const Json* body = nullptr) const;

  /// Reads an answer that does not end, piece by piece, until it does or the piece returns false.
  /// Begins behind the event `last_id`, "" = now. Errors as above; also Unavailable when nothing
  /// was heard for much longer than the sidecar is ever silent.
  absl::Status Follow(const std::string& path, const std::string& last_id,
                      const std::function<bool(std::string_view)>& piece) const;

 private:
  struct Question {
    std::string method;
    std::string path;
    std::string body{};
    bool has_body = false;
    bool lasts = false;     ///< the answer does not end by itself
    std::string last_id{};  ///< for Last-Event-ID
  };
  absl::Status Run(const Question& question,
                   const std::function<bool(std::string_view)>& piece) const;

  const std::string url_;
  const Secret token_;
};

/// `?a=1&b=two%20words` of those that hold something; "" when none does.
std::string QueryText(const std::vector<std::pair<std::string, std::string>>& items);
/// A segment of a path.
std::string Escaped(std::string_view text);

}  // namespace hotel::ctl

#endif  // SERVER_CTL_REMOTE_H_
