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

// Every method begins with the option that takes back what the one before may have left (a kept
// handle), so the order matters.
void SetMethodAndBody(EasySetter& set, const UpstreamRequest& request,
                      const std::string* small_body) {
  const std::string& method = request.method;
  const bool has_body =
      request.body.size() > 0 || method == "POST" || method == "PUT" || method == "PATCH";
  const char* custom = nullptr;
  if (has_body) {
    set.Set(CURLOPT_POST, 1L);
    set.Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set.Set(CURLOPT_POSTFIELDS, small_body != nullptr ? small_body->c_str() : nullptr);
    if (method != "POST") custom = method.c_str();
  } else {
    set.Set(CURLOPT_HTTPGET, 1L);
    if (method == "HEAD") {
      set.Set(CURLOPT_NOBODY, 1L);
    } else if (method != "GET") {
      custom = method.c_str();
    }
  }
  set.Set(CURLOPT_CUSTOMREQUEST, custom);
}

void SetContext(EasySetter& set, void* context) {
  set.Set(CURLOPT_PRIVATE, context);
  set.Set(CURLOPT_READDATA, context);
  set.Set(CURLOPT_SEEKDATA, context);
  set.Set(CURLOPT_HEADERDATA, context);
  set.Set(CURLOPT_WRITEDATA, context);
  set.Set(CURLOPT_OPENSOCKETDATA, context);
  set.Set(CURLOPT_PREREQDATA, context);
}

void SetTransport(EasySetter& set, const TransportOptions& transport, const ProxyUrl* proxy) {
  if (!transport.ca_file.empty()) {
    const char* const file = transport.ca_file.c_str();
    set.Set(CURLOPT_CAINFO, file);
    set.Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
    set.Set(CURLOPT_PROXY_CAINFO, file);
    set.Set(CURLOPT_PROXY_CAPATH, static_cast<char*>(nullptr));
  }
  if (!transport.unix_socket.empty()) {
    set.Set(CURLOPT_UNIX_SOCKET_PATH, transport.unix_socket.c_str());
    // A kept one could not be told from the others to the same path, so nobody could look at it
    // before its reuse; and a new one costs next to nothing.
    set.Set(CURLOPT_FRESH_CONNECT, 1L);
    set.Set(CURLOPT_FORBID_REUSE, 1L);
  }
  if (proxy != nullptr) {
    set.Set(CURLOPT_PROXY, proxy->canonical.c_str());
    // The tunnel's answer is no answer of the provider, and its request no place for the key.
    set.Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set.Set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
    if (!proxy->user.empty()) {
      // libcurl copies both.
      set.Set(CURLOPT_PROXYUSERNAME, std::string(proxy->user.Reveal()).c_str());
      set.Set(CURLOPT_PROXYPASSWORD, std::string(proxy->password.Reveal()).c_str());
    }
  }
  if (transport.http2 && Http2IsSafe(CurlVersion())) {
    set.Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
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

bool Http2IsSafe(unsigned version_num) noexcept { return version_num >= 0x080400; }

unsigned CurlVersion() noexcept {
  static const unsigned version = ::curl_version_info(CURLVERSION_NOW)->version_num;
  return version;
}

std::string CurlVersionText() { return ::curl_version_info(CURLVERSION_NOW)->version; }

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

bool SetCommonOptions(CURL* easy, const EasyCallbacks& callbacks, const std::string& ca_file) {
  EasySetter set(easy);
  // The path reaches the provider as it was configured.
  set.Set(CURLOPT_PATH_AS_IS, 1L);
  // libcurl resends a POST by itself when a reused connection dies early, and a completion that may
  // have been billed is not its to repeat. Transfer refuses it another connection; a large body,
  // which comes through the read callback, could not be sent again either, since seeking fails.
  set.Set(CURLOPT_READFUNCTION, callbacks.read);
  set.Set(CURLOPT_SEEKFUNCTION, callbacks.seek);

  // Reading the answer.
  set.Set(CURLOPT_HEADERFUNCTION, callbacks.header);
  set.Set(CURLOPT_WRITEFUNCTION, callbacks.write);
  // Content coding stays as sent: undoing it inside libcurl defeats pausing and flushing.
  set.Set(CURLOPT_HTTP_CONTENT_DECODING, 0L);
  set.Set(CURLOPT_HTTP09_ALLOWED, 0L);

  // Protocol. Version 1.1 is explicit because https means HTTP/2 by default (see Http2IsSafe).
  set.Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set.Set(CURLOPT_PROTOCOLS_STR, "http,https");
  // A redirect would carry the key to wherever it points (F179).
  set.Set(CURLOPT_FOLLOWLOCATION, 0L);
  // An empty string: the environment's proxies are the program's affair, not an embedded library's.
  set.Set(CURLOPT_PROXY, "");
  set.Set(CURLOPT_NOPROXY, "");
  set.Set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));

  // Time (the connect timeout is the request's).
  // No alarm signals, and no signal handler swapped in and out around each run of a handle.
  set.Set(CURLOPT_NOSIGNAL, 1L);
  // Removing a handle must not wait for the resolver thread that works for it.
  set.Set(CURLOPT_QUICK_EXIT, 1L);

  // Memory of one exchange: the smallest buffer for sending (64 KiB otherwise, for every stream),
  // and one for receiving that takes a few frames of a stream; a large answer only needs more
  // reads. libcurl does not take a change of it once a handle was used.
  set.Set(CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
  set.Set(CURLOPT_BUFFERSIZE, 2048L);

  // Connections.
  set.Set(CURLOPT_OPENSOCKETFUNCTION, callbacks.open_socket);
  set.Set(CURLOPT_CLOSESOCKETFUNCTION, callbacks.close_socket);
  set.Set(CURLOPT_CLOSESOCKETDATA, callbacks.close_context);
  set.Set(CURLOPT_PREREQFUNCTION, callbacks.before_request);
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
  if (!ca_file.empty()) {
    set.Set(CURLOPT_CAINFO, ca_file.c_str());
    // Otherwise the system's directory of roots would be trusted beside the file.
    set.Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
    set.Set(CURLOPT_PROXY_CAINFO, ca_file.c_str());
    set.Set(CURLOPT_PROXY_CAPATH, static_cast<char*>(nullptr));
  }
  set.Set(CURLOPT_PROXY_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  // Reading the roots takes milliseconds of the loop's time; keep them for a day.
  set.Set(CURLOPT_CA_CACHE_TIMEOUT, 86400L);
  return set.ok();
}

bool SetRequestOptions(CURL* easy, const EasyOptions& options) {
  EasySetter set(easy);
  SetContext(set, options.context);
  set.Set(CURLOPT_ERRORBUFFER, options.error_text);
  set.Set(CURLOPT_URL, options.url->c_str());
  SetMethodAndBody(set, *options.request, options.small_body);
  set.Set(CURLOPT_HTTPHEADER, options.headers);
  // Name lookup, connect and TLS together; every other deadline belongs to the caller, so there is
  // no total timeout here.
  set.Set(CURLOPT_CONNECTTIMEOUT_MS, Millis(options.request->connect_timeout));
  if (const TransportOptions* transport = options.request->transport.get()) {
    SetTransport(set, *transport, options.proxy);
  }
  return set.ok();
}

void SetFreshConnection(CURL* easy) { ::curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L); }

void ClearRequestOptions(CURL* easy) {
  EasySetter set(easy);
  SetContext(set, nullptr);
  set.Set(CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));
  set.Set(CURLOPT_URL, static_cast<char*>(nullptr));
  set.Set(CURLOPT_POSTFIELDS, static_cast<char*>(nullptr));
  set.Set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
  set.Set(CURLOPT_FRESH_CONNECT, 0L);
}

std::optional<HeaderLines> HeaderLines::Build(const HeaderList& headers) {
  std::size_t size = 64;
  for (const Header& header : headers) size += header.name.size() + header.value.size() + 4;
  HeaderLines lines;
  // What is reserved is never exceeded: the nodes point into the text and at each other.
  lines.text_.reserve(size);
  lines.nodes_.reserve(headers.size() + 3);
  const auto add = [&lines](std::string_view name, std::string_view between,
                            std::string_view value) {
    std::vector<char>& text = lines.text_;
    const std::size_t at = text.size();
    for (const std::string_view piece : {name, between, value}) {
      text.insert(text.end(), piece.begin(), piece.end());
    }
    text.push_back('\0');
    if (!lines.nodes_.empty()) lines.nodes_.back().next = lines.nodes_.data() + lines.nodes_.size();
    lines.nodes_.push_back({text.data() + at, nullptr});
  };
  // "Name:" keeps libcurl from sending its own. Expect would hold back bodies over 1 MiB by up to a
  // second; the others would be news to the caller.
  add("Expect", ":", "");
  if (!HasField(headers, "accept")) add("Accept", ":", "");
  if (!HasField(headers, "content-type")) add("Content-Type", ":", "");
  for (const Header& header : headers) {
    if (!IsToken(header.name) || !IsFieldValue(header.value)) return std::nullopt;
    const bool own = std::any_of(std::begin(kOwnFields), std::end(kOwnFields), [&](auto name) {
      return base::EqualsIgnoreCase(header.name, name);
    });
    if (own) continue;
    // libcurl's way to send a field without a value ends in a semicolon.
    add(header.name, header.value.empty() ? ";" : ": ", header.value);
  }
  return lines;
}

}  // namespace hotel::net
