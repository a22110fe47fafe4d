#include "http/curl_client.h"

#include <curl/curl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>

#include "base/redactor.h"
#include "http/curl_answer.h"
#include "http/curl_request.h"
#include "http/url.h"

namespace prefetch::http {
namespace {

// The number of handles that are in use at the same time at most: 16 streams that fetch content, pulls and
// lookups. A connection that is closed costs the next request three round trips and a small window.
constexpr std::size_t kMaxIdleHandles = 24;
// Handles that a client keeps while it rests. Each has two descriptors, and one for each of its connections.
constexpr std::size_t kMinIdleHandles = 2;
constexpr long kMaxIdleConnections = 4;           // of one handle
constexpr long kStalledBelow = 64;                // bytes a second (registry rule R39)
constexpr std::chrono::seconds kLongestPoll{60};  // only so that it fits libcurl's int

curl_blob Blob(std::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size(), CURL_BLOB_NOCOPY};
}

// Returns the shortest round trip that the kernel has measured on this connection. It may be asked only while
// the transfer is in its multi handle: later, the connection may be another's.
std::optional<base::Duration> RoundTripOf(CURL* easy) {
  curl_socket_t connection = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &connection) != CURLE_OK) return {};
  if (connection == CURL_SOCKET_BAD) return {};
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  constexpr std::size_t kEnd = offsetof(tcp_info, tcpi_min_rtt) + sizeof(info.tcpi_min_rtt);
  // An older kernel fills only a part of the structure.
  if (size < kEnd) return {};
  const std::uint32_t shortest = info.tcpi_min_rtt;  // microseconds; all bits set: none was measured yet
  if (shortest == 0 || shortest == std::numeric_limits<std::uint32_t>::max()) return {};
  return std::chrono::microseconds(shortest);
}

CurlOptions WithNormalizedProxies(CurlOptions options) {
  for (std::string* proxy : {&options.proxy, &options.http_proxy, &options.https_proxy}) {
    *proxy = NormalizeProxyUrl(*proxy);
  }
  return options;
}

}  // namespace

// One easy handle in a multi handle of its own, which holds its connections and can be woken from outside.
class CurlClient::Handle {
 public:
  Handle() : multi_(curl_multi_init()), easy_(curl_easy_init()) {
    if (multi_ != nullptr) curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxIdleConnections);
  }
  ~Handle() {
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool valid() const { return multi_ != nullptr && easy_ != nullptr; }
  ExchangeResult Send(const base::Call& call, const Request& request, const CurlOptions& options);

 private:
  void Prepare(const Request& request, const CurlOptions& options, curl_slist* lines, CurlAnswer& answer);
  void Trust(const Tls& tls);
  CurlEnd Transfer(const base::Call& call, const Request& request, const CurlAnswer& answer);
  CurlEnd Finish(CURLcode code, const Request& request, const CurlAnswer& answer) const;
  template <typename T>
  void Set(CURLoption option, T value) {
    curl_easy_setopt(easy_, option, value);
  }

  CURLM* multi_;
  CURL* easy_;
  char tls_text_[CURL_ERROR_SIZE] = "";
  bool own_trust_ = false;  // did the request under way bring certificates?
};

void CurlClient::Handle::Prepare(const Request& request, const CurlOptions& options, curl_slist* lines,
                                 CurlAnswer& answer) {
  curl_easy_reset(easy_);  // keeps connections, sessions and names
  tls_text_[0] = '\0';
  Set(CURLOPT_URL, request.url.c_str());
  // libcurl's other protocols (file, ftp, …) must never be reached by a URL from outside.
  Set(CURLOPT_PROTOCOLS_STR, "http,https");
  // Redirects are followed by the callers, which know where a credential may go (R40).
  Set(CURLOPT_FOLLOWLOCATION, 0L);
  Set(CURLOPT_HTTP_VERSION,
      static_cast<long>(request.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  Set(CURLOPT_HTTP09_ALLOWED, 0L);
  // The path goes out as it was checked. By itself, libcurl would resolve its dots.
  Set(CURLOPT_PATH_AS_IS, 1L);
  if (request.gzip) Set(CURLOPT_ACCEPT_ENCODING, "gzip");
  Set(CURLOPT_NOSIGNAL, 1L);
  Set(CURLOPT_QUICK_EXIT, 1L);  // a name lookup that hangs must not hold up a stop
  Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  Set(CURLOPT_SSL_VERIFYPEER, 1L);
  Set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (request.url.starts_with("https://") && (request.tls == nullptr || request.tls->verify)) {
    RequireSubjectAltName(easy_);
  }
  if (!options.ca_file.empty()) {
    Set(CURLOPT_CAINFO, options.ca_file.c_str());
    Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  const char* proxy = ProxyFor(options, request.url);
  Set(CURLOPT_PROXY, proxy);
  // An empty text keeps libcurl from reading no_proxy from the environment.
  Set(CURLOPT_NOPROXY, "");
  // With a proxy, the address of the connection is the proxy's, which an operator has chosen.
  if (*proxy == '\0' && request.unix_socket.empty() && request.address_policy != AddressPolicy::kAny) {
    CheckAddresses(easy_, answer);
  }
  Set(CURLOPT_USERAGENT, options.user_agent.c_str());
  Set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
  if (request.stall_timeout.count() > 0) {
    Set(CURLOPT_LOW_SPEED_LIMIT, kStalledBelow);
    Set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_timeout.count()));
  }
  Set(CURLOPT_ERRORBUFFER, tls_text_);
  Set(CURLOPT_HTTPHEADER, lines);
  if (!request.unix_socket.empty()) Set(CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
  if (request.method == "HEAD") {
    Set(CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET" || !request.body.empty()) {
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    Set(CURLOPT_POSTFIELDS, request.body.data());
    Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  Receive(easy_, answer);
}

// Certificates are handed over as bytes, not as files. libcurl keeps the authorities of a file for 24 hours,
// whatever becomes of the file. It takes bytes anew for each connection, and shares none between requests
// whose bytes differ.
void CurlClient::Handle::Trust(const Tls& tls) {
  if (!tls.verify) {
    Set(CURLOPT_SSL_VERIFYPEER, 0L);
    Set(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!tls.ca_pem.empty()) {
    curl_blob authorities = Blob(tls.ca_pem);
    Set(CURLOPT_CAINFO_BLOB, &authorities);
    Set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  if (tls.certificate_pem.empty()) return;
  curl_blob certificate = Blob(tls.certificate_pem), key = Blob(tls.key_pem.Reveal());
  Set(CURLOPT_SSLCERT_BLOB, &certificate);
  Set(CURLOPT_SSLKEY_BLOB, &key);
}

ExchangeResult CurlClient::Handle::Send(const base::Call& call, const Request& request,
                                        const CurlOptions& options) {
  ServerNameOverride override_name = OverrideServerName(request);
  HeaderLines lines, connect_to;
  AddHeaders(request, override_name, lines);
  CurlAnswer answer{.request = request, .easy = easy_};
  own_trust_ = request.tls != nullptr;
  Prepare(request, options, lines.get(), answer);
  if (request.tls) Trust(*request.tls);
  if (!override_name.url.empty()) {
    connect_to.AddLine(override_name.connect_to);
    Set(CURLOPT_URL, override_name.url.c_str());
    Set(CURLOPT_CONNECT_TO, connect_to.get());
  }
  if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) {
    return {base::Internal("libcurl took no request"), Fault::kRequest};
  }
  CurlEnd end = Transfer(call, request, answer);
  // Through a proxy, the round trip is that to the proxy, and says nothing about the registry.
  const bool direct = request.unix_socket.empty() && *ProxyFor(options, request.url) == '\0';
  const std::optional<base::Duration> round_trip =
      direct && end.status ? RoundTripOf(easy_) : std::optional<base::Duration>();
  curl_multi_remove_handle(multi_, easy_);  // closes the connection of a transfer that did not end
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_reset(easy_);  // no pointer into this frame stays behind
  if (!end.status) {
    return {.response = std::move(end.status).error(),
            .fault = end.fault,
            .broken_status = answer.request_sent && answer.headers_complete ? answer.status : 0};
  }
  answer.response.status = static_cast<int>(status);
  return {.response = std::move(answer.response), .round_trip = round_trip};
}

// Drives the transfer until it ends, the deadline passes or the call is stopped. Each wait has the deadline
// as its limit, and a stop wakes it.
CurlEnd CurlClient::Handle::Transfer(const base::Call& call, const Request& request,
                                     const CurlAnswer& answer) {
  // A stop ends the wait at once; without it, the poll below would last up to a minute.
  std::stop_callback wake(call.stop, [this] { curl_multi_wakeup(multi_); });
  while (true) {
    if (call.Stopped())
      return {base::Cancelled("stopped while waiting for " + PeerOf(request)), Fault::kStopped};
    auto now = std::chrono::steady_clock::now();
    if (now >= call.deadline) {
      return {base::DeadlineExceeded(PeerOf(request) + " did not answer in time"), Fault::kTimeout};
    }
    int running = 0;
    if (curl_multi_perform(multi_, &running) != CURLM_OK) {
      return {base::Internal("libcurl could not go on"), Fault::kRequest};
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE) return Finish(message->data.result, request, answer);
    }
    auto wait = std::min<base::Duration>(call.deadline - now, kLongestPoll);
    // Rounded up, so that the last wait ends behind the deadline and not a moment before.
    auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(milliseconds), nullptr);
  }
}

// Finds out how the exchange ended. The order goes from the client's own verdicts to libcurl's code: when a
// callback ends a transfer, libcurl reports the same code for every reason.
CurlEnd CurlClient::Handle::Finish(CURLcode code, const Request& request, const CurlAnswer& answer) const {
  // Only for a failure: all secrets are searched for in it.
  const auto peer = [&request] { return PeerOf(request); };
  // libcurl reports a field beyond its own limit (100 kB) as a lack of memory; from 8.6 on as
  // CURLE_TOO_LARGE, which the headers of older ones do not have.
  constexpr int kTooLarge = 100;
  const bool long_field =
      (code == CURLE_OUT_OF_MEMORY || static_cast<int>(code) == kTooLarge) && !answer.headers_complete;
  const Fault too_long = long_field ? Fault::kLongHeaders : answer.too_long;
  if (too_long != Fault::kNone) {
    const char* part = too_long == Fault::kLongHeaders ? "longer headers" : "a longer body";
    return {base::ResourceExhausted(peer() + " answered with " + part + " than allowed"), too_long};
  }
  if (answer.malformed && answer.request_sent) {
    return {base::Unavailable(peer() + " answered with headers that are not HTTP"), Fault::kMalformed};
  }
  if (answer.malformed) {
    return {base::Unavailable("the proxy answered for " + peer() + " with headers that are not HTTP"),
            Fault::kProxy};
  }
  // The answer's own verdicts come before libcurl's code, which only reports that a callback has ended the
  // transfer.
  if (answer.aborted_by_sink) return {base::Cancelled(peer() + " was interrupted"), Fault::kStopped};
  // If a connection ends amid the headers of an answer to HEAD, libcurl takes that for the answer's end.
  if (code == CURLE_OK && !answer.headers_complete) code = CURLE_PARTIAL_FILE;
  if (code == CURLE_OK || answer.error_body_cut) return {};
  if (answer.no_subject_alt_name) {
    std::string message = "TLS with " + peer() + " failed: the certificate has no subject alternative name";
    return {own_trust_ ? base::PermissionDenied(message) : base::Unavailable(message),
            Fault::kUntrustedCertificate};
  }
  const bool refused = code == CURLE_ABORTED_BY_CALLBACK && answer.address_refused;
  const std::string name = peer();
  CurlFailure failure{.code = refused ? CURLE_COULDNT_CONNECT : code,
                      .tls_text = tls_text_,
                      .peer = name,
                      .own_trust = own_trust_};
  if (answer.address_refused) failure.refused_by = request.address_policy;
  curl_off_t connect_time = 0;
  curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &failure.os_error);
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &connect_time);
  curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &failure.proxy_status);
  failure.connected = connect_time > 0;
  return EndOf(failure);
}

CurlClient::CurlClient(CurlOptions options) : options_(WithNormalizedProxies(std::move(options))) {
  RememberProxyPasswords(options_);
  // Never undone: other parts of the process may use libcurl as well, and the process ends soon after.
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) std::abort();  // out of memory at the very start
}

CurlClient::~CurlClient() {
  std::thread reaper;
  {
    base::Lock lock(mutex_);
    ending_ = true;
    reaper.swap(reaper_);
    changed_.notify_all();
  }
  if (reaper.joinable()) reaper.join();
}

// A handle belongs to one request at a time, since libcurl's easy handles are not thread-safe.
std::unique_ptr<CurlClient::Handle> CurlClient::AcquireHandle() {
  {
    base::Lock lock(mutex_);
    if (!idle_.empty()) {
      // The handle that was used last has the connections that are most likely still open.
      auto handle = std::move(idle_.back().handle);
      idle_.pop_back();
      return handle;
    }
  }
  return std::make_unique<Handle>();
}

void CurlClient::ReleaseHandle(std::unique_ptr<Handle> handle) {
  const base::TimePoint now = std::chrono::steady_clock::now();
  std::vector<Idle> unused;  // their connections are closed without the lock
  base::Lock lock(mutex_);
  idle_.push_back({std::move(handle), now});
  // Without a reaper, idle connections would stay until the next request.
  unused = TakeExpired(now, StartReaper() ? kMaxIdleHandles : kMinIdleHandles);
}

// Returns the handles that were idle for too long, and those that are too many. The oldest are first in the
// list.
std::vector<CurlClient::Idle> CurlClient::TakeExpired(base::TimePoint now, std::size_t max_kept) {
  auto kept = std::find_if(idle_.begin(), idle_.end(),
                           [&](const Idle& one) { return now - one.since <= options_.idle_timeout; });
  if (const auto most = idle_.end() - std::min(idle_.size(), max_kept); kept < most) kept = most;
  std::vector<Idle> unused(std::make_move_iterator(idle_.begin()), std::make_move_iterator(kept));
  idle_.erase(idle_.begin(), kept);
  return unused;
}

bool CurlClient::StartReaper() {
  if (reaping_ || ending_ || idle_.size() <= kMinIdleHandles) return true;
  if (reaper_.joinable()) reaper_.join();  // has ended, but for its last instructions
  try {
    reaper_ = std::thread([this] { ReapIdle(); });
    reaping_ = true;
    return true;
  } catch (const std::system_error&) {
    return false;  // a container's limit of threads
  }
}

void CurlClient::ReapIdle() {
  while (true) {
    // Declared before the lock, so that connections are closed after it is released.
    std::vector<Idle> unused;
    base::Lock lock(mutex_);
    if (ending_ || idle_.size() <= kMinIdleHandles) {
      reaping_ = false;
      return;
    }
    changed_.wait_until(mutex_, idle_.front().since + options_.idle_timeout + std::chrono::milliseconds(1));
    unused = TakeExpired(std::chrono::steady_clock::now(), kMaxIdleHandles);
  }
}

ExchangeResult CurlClient::Exchange(const base::Call& call, const Request& request) {
  // Only errors need it, and to look for secrets in it takes time.
  auto what = [&] {
    return (IsFieldName(request.method) ? request.method : "?") + " " + DisplayUrl(request.url);
  };
  auto url = Check(request);
  if (!url) return {std::move(url).error().Wrap(what()), Fault::kRequest};
  // libcurl may take an unusual spelling for another server, so it gets the URL as it was understood.
  if (std::string understood = url->ToString(); understood != request.url) {
    Request same = request;
    same.url = std::move(understood);
    return Exchange(call, same);
  }
  // Before the request is sent: the server may repeat the secret in its first answer, or in an error.
  base::RememberSecret(request.authorization, base::SecretOrigin::kSent);
  if (request.secret_header) base::RememberSecret(request.secret_header->value, base::SecretOrigin::kSent);
  if (request.tls) base::RememberSecret(request.tls->key_pem);
  auto handle = AcquireHandle();
  if (!handle->valid()) return {base::ResourceExhausted(what() + ": out of memory"), Fault::kRequest};
  ExchangeResult exchanged = handle->Send(call, request, options_);
  // The handle is kept after a failure, too: Send has closed the connection of a transfer that did not end,
  // and the others are still good.
  ReleaseHandle(std::move(handle));
  if (!exchanged.response) exchanged.response = std::move(exchanged.response).error().Wrap(what());
  return exchanged;
}

}  // namespace prefetch::http
