#include "libhotel/net/curl_options.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string_view>

#include "libhotel/base/strings.h"
#include "libhotel/net/http_text.h"

namespace hotel::net {
namespace {

constexpr unsigned kOldestVersion = 0x075800;  // 7.88: QUICK_EXIT, PROTOCOLS_STR, CA cache

// Below the 60 s after which the common load balancers drop an idle connection, so that we rarely
// send into one that is closing (F131).
constexpr long kMaxIdleSeconds = 50;

// Fields the dispatcher writes itself, or that would change the framing it relies on.
constexpr std::string_view kOwnFields[] = {
    "host", "content-length", "transfer-encoding", "connection", "keep-alive",
    "te",   "trailer",        "upgrade",           "expect",     "proxy-connection",
};

absl::Status Initialise() {
  if (::curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return absl::FailedPreconditionError("libcurl cannot be initialised");
  }
  const curl_version_info_data* info = ::curl_version_info(CURLVERSION_NOW);
  if (info->version_num < kOldestVersion) {
    return absl::FailedPreconditionError(std::string("libcurl 7.88 or newer is needed, found ") +
                                         info->version);
  }
  if ((info->features & CURL_VERSION_SSL) == 0) {
    return absl::FailedPreconditionError("this libcurl has no TLS");
  }
  if ((info->features & CURL_VERSION_ASYNCHDNS) == 0) {
    return absl::FailedPreconditionError(
        "this libcurl looks names up on the calling thread, which would stop the loop");
  }
  return absl::OkStatus();
}

// Collects the outcome of many setopt calls: one refusal spoils the handle.
class EasySetter {
 public:
  explicit EasySetter(CURL* easy) : easy_(easy) {}
  template <typename Value>
  void Set(CURLoption option, Value value) {
    if (::curl_easy_setopt(easy_, option, value) != CURLE_OK) ok_ = false;
  }
  bool ok() const { return ok_; }

 private:
  CURL* easy_;
  bool ok_ = true;
};

void SetMethodAndBody(EasySetter& set, const UpstreamRequest& request,
                      const EasyCallbacks& callbacks) {
  const std::string& method = request.method;
  const bool has_body =
      request.body.size() > 0 || method == "POST" || method == "PUT" || method == "PATCH";
  if (has_body) {
    set.Set(CURLOPT_POST, 1L);
    // The body comes through the read callback, so we know when its first byte left, and the seek
    // callback always fails: libcurl resends a POST by itself when a reused connection dies early,
    // and a completion that may have been billed is not its to repeat.
    set.Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set.Set(CURLOPT_READFUNCTION, callbacks.read);
    set.Set(CURLOPT_READDATA, callbacks.context);
    set.Set(CURLOPT_SEEKFUNCTION, callbacks.seek);
    set.Set(CURLOPT_SEEKDATA, callbacks.context);
    if (method != "POST") set.Set(CURLOPT_CUSTOMREQUEST, method.c_str());
  } else if (method == "HEAD") {
    set.Set(CURLOPT_NOBODY, 1L);
  } else {
    set.Set(CURLOPT_HTTPGET, 1L);
    if (method != "GET") set.Set(CURLOPT_CUSTOMREQUEST, method.c_str());
  }
}

bool HasField(const HeaderList& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(), [&](const Header& header) {
    return base::EqualsIgnoreCase(header.name, name);
  });
}

long Millis(Duration duration) {
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  // libcurl reads 0 as its own default of five minutes.
  return static_cast<long>(
      std::clamp<std::chrono::milliseconds::rep>(millis, 1, std::numeric_limits<int>::max()));
}

}  // namespace

absl::Status InitCurl() {
  static const absl::Status* const status = new absl::Status(Initialise());
  return *status;
}

bool SetMultiOptions(CURLM* multi, const MultiCallbacks& callbacks, std::size_t max_connections) {
  const long connections = static_cast<long>(
      std::clamp<std::size_t>(max_connections, 1, std::numeric_limits<int>::max()));
  bool ok = true;
  const auto set = [&](CURLMoption option, auto value) {
    if (::curl_multi_setopt(multi, option, value) != CURLM_OK) ok = false;
  };
  set(CURLMOPT_SOCKETFUNCTION, callbacks.socket);
  set(CURLMOPT_SOCKETDATA, callbacks.context);
  set(CURLMOPT_TIMERFUNCTION, callbacks.timer);
  set(CURLMOPT_TIMERDATA, callbacks.context);
  // The expected peak: the default keeps four per running handle and closes the rest.
  set(CURLMOPT_MAXCONNECTS, connections);
  // One answer at a time on a connection.
  set(CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  // No limit inside libcurl: it queues silently, and our deadlines would run against a queue.
  set(CURLMOPT_MAX_HOST_CONNECTIONS, 0L);
  set(CURLMOPT_MAX_TOTAL_CONNECTIONS, 0L);
  return ok;
}

bool SetEasyOptions(CURL* easy, const EasyOptions& options, const EasyCallbacks& callbacks) {
  EasySetter set(easy);
  set.Set(CURLOPT_PRIVATE, callbacks.context);
  set.Set(CURLOPT_ERRORBUFFER, options.error_text);
  set.Set(CURLOPT_URL, options.url->c_str());
  // The path reaches the provider as it was configured.
  set.Set(CURLOPT_PATH_AS_IS, 1L);
  SetMethodAndBody(set, *options.request, callbacks);
  set.Set(CURLOPT_HTTPHEADER, options.headers);

  // Reading the answer.
  set.Set(CURLOPT_HEADERFUNCTION, callbacks.header);
  set.Set(CURLOPT_HEADERDATA, callbacks.context);
  set.Set(CURLOPT_WRITEFUNCTION, callbacks.write);
  set.Set(CURLOPT_WRITEDATA, callbacks.context);
  // Content coding stays as sent: undoing it inside libcurl defeats pausing and flushing.
  set.Set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  set.Set(CURLOPT_HTTP09_ALLOWED, 0L);

  // Protocol. Version 1.1 is explicit because https means HTTP/2 by default, which up to 8.4 has
  // errors in cancelling, pausing and flow control that we would meet.
  set.Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  // A redirect would carry the key to wherever it points (F179).
  set.Set(CURLOPT_FOLLOWLOCATION, 0L);
  // An empty string: the environment's proxies are the program's affair, not an embedded library's.
  set.Set(CURLOPT_PROXY, "");
  set.Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));

  // Time. Name lookup, connect and TLS together; every other deadline belongs to the caller, so
  // there is no total timeout here.
  set.Set(CURLOPT_CONNECTTIMEOUT_MS, Millis(options.request->connect_timeout));
  // No alarm signals, and no signal handler swapped in and out around each run of a handle.
  set.Set(CURLOPT_NOSIGNAL, 1L);
  // Removing a handle must not wait for the resolver thread that works for it.
  set.Set(CURLOPT_QUICK_EXIT, 1L);

  // Memory of one exchange: the smallest buffer for sending (64 KiB otherwise, for every stream),
  // and a receive buffer that still takes a full TLS record.
  set.Set(CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
  set.Set(CURLOPT_BUFFERSIZE, 16384L);

  // Connections.
  set.Set(CURLOPT_OPENSOCKETFUNCTION, callbacks.open_socket);
  set.Set(CURLOPT_OPENSOCKETDATA, callbacks.context);
  set.Set(CURLOPT_CLOSESOCKETFUNCTION, callbacks.close_socket);
  set.Set(CURLOPT_CLOSESOCKETDATA, callbacks.close_context);
  set.Set(CURLOPT_PREREQFUNCTION, callbacks.before_request);
  set.Set(CURLOPT_PREREQDATA, callbacks.context);
  set.Set(CURLOPT_MAXAGE_CONN, kMaxIdleSeconds);
  set.Set(CURLOPT_TCP_NODELAY, 1L);
  // A thinking provider may be silent for minutes; NAT boxes forget silent connections.
  set.Set(CURLOPT_TCP_KEEPALIVE, 1L);
  set.Set(CURLOPT_TCP_KEEPIDLE, 30L);
  set.Set(CURLOPT_TCP_KEEPINTVL, 15L);

  // TLS.
  set.Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set.Set(CURLOPT_SSL_VERIFYPEER, 1L);
  set.Set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!options.ca_file->empty()) {
    set.Set(CURLOPT_CAINFO, options.ca_file->c_str());
    // Otherwise the system's directory of roots would be trusted beside the file.
    set.Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  // Reading the roots takes milliseconds of the loop's time; keep them for a day.
  set.Set(CURLOPT_CA_CACHE_TIMEOUT, 86400L);
  return set.ok();
}

Slist BuildHeaders(const HeaderList& headers) {
  Slist list;
  const auto append = [&list](const std::string& line) {
    curl_slist* head = ::curl_slist_append(list.get(), line.c_str());
    if (head == nullptr) return false;
    (void)list.release();
    list.reset(head);
    return true;
  };
  // "Name:" keeps libcurl from sending its own. Expect would hold back bodies over 1 MiB by up to a
  // second; the others would be news to the caller.
  bool ok = append("Expect:");
  if (!HasField(headers, "accept")) ok = ok && append("Accept:");
  if (!HasField(headers, "content-type")) ok = ok && append("Content-Type:");
  for (const Header& header : headers) {
    if (!ok || !IsToken(header.name) || !IsFieldValue(header.value)) return nullptr;
    const bool own = std::any_of(std::begin(kOwnFields), std::end(kOwnFields), [&](auto name) {
      return base::EqualsIgnoreCase(header.name, name);
    });
    if (own) continue;
    // libcurl's way to send a field without a value ends in a semicolon.
    ok = append(header.value.empty() ? header.name + ";" : header.name + ": " + header.value);
  }
  return ok ? std::move(list) : nullptr;
}

}  // namespace hotel::net
