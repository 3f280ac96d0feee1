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

  /// Sends one request and reads its JSON answer; null for 204. The error is the sidecar's own
  /// sentence, or says why it could not be reached.
  absl::StatusOr<Json> Call(const std::string& method, const std::string& path,
                            const Json* body = nullptr) const;

  /// Reads an answer that does not end, piece by piece, until it does or the piece returns false.
  absl::Status Follow(const std::string& path,
                      const std::function<bool(std::string_view)>& piece) const;

 private:
  absl::Status Run(const std::string& method, const std::string& path, const std::string& body,
                   bool has_body, bool lasts,
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
