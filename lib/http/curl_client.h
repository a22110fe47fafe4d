// CurlClient: http::Client over libcurl.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "http/client.h"

namespace prefetch::http {

// Nothing comes from the environment: not http_proxy, not SSL_CERT_FILE, not ~/.netrc.
struct CurlOptions {
  std::string user_agent = "prefetchd/" PREFETCH_VERSION;
  // Proxies, such as "http://proxy:3128", are read as Go reads them. They may hold a password. Empty: none.
  std::string proxy;        // for every URL, those of loopback included; the three below then do not count
  std::string http_proxy;   // for http URLs
  std::string https_proxy;  // for https URLs
  std::string no_proxy;     // "10.0.0.0/8,.svc": hosts that are reached without a proxy; Go's rules
                            // (http/curl_request.cc)
  std::string ca_file;      // PEM, instead of the system's roots; empty: the system's
  // Connections that were not used for this long are closed: those of a few handles at the end of the next
  // request, those of more at once.
  std::chrono::milliseconds idle_timeout{20'000};
};

// TLS 1.2 or newer; HTTP/1.1 unless a request allows HTTP/2 (a handle has one request at a time). Keeps
// connections open between requests: a fresh TLS connection costs 15 times the CPU (20 ms against 1.3 with
// libcurl 7.88, which parses all authorities for it).
//
// Owned by main, outlives its users. Any thread may Send; each call takes a handle of its own from a pool.
// Construct before threads start: libcurl sets up global things then. The process ignores or blocks SIGPIPE:
// OpenSSL may write to a connection that the other side has just closed.
class CurlClient final : public Client {
 public:
  explicit CurlClient(CurlOptions options = {});
  ~CurlClient() override;
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;

  ExchangeResult Exchange(const base::Call& call, const Request& request) override PREFETCH_EXCLUDES(mutex_);

 private:
  class Handle;
  struct Idle {
    std::unique_ptr<Handle> handle;
    base::TimePoint since;
  };
  std::unique_ptr<Handle> AcquireHandle() PREFETCH_EXCLUDES(mutex_);
  void ReleaseHandle(std::unique_ptr<Handle> handle) PREFETCH_EXCLUDES(mutex_);
  std::vector<Idle> TakeExpired(base::TimePoint now, std::size_t max_kept) PREFETCH_REQUIRES(mutex_);
  // Returns false if a thread is needed, and cannot be started.
  bool StartReaper() PREFETCH_REQUIRES(mutex_);
  void ReapIdle() PREFETCH_EXCLUDES(mutex_);

  const CurlOptions options_;
  base::Mutex mutex_;
  base::Condition changed_;
  std::vector<Idle> idle_ PREFETCH_GUARDED_BY(mutex_);  // the last used last: its connections live
  bool reaping_ PREFETCH_GUARDED_BY(mutex_) = false;
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::thread reaper_ PREFETCH_GUARDED_BY(mutex_);  // while many are idle
};

}  // namespace prefetch::http
