// Requests and answers between a Server and its Handler. Plain values: tests call endpoints without a socket.
// BodyBudget: bounds the memory of bodies under way, over all clients.
// IsTrustedHostName and MayComeFromBrowserPage: protection against DNS rebinding.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/call.h"
#include "base/mutex.h"
#include "http/headers.h"

namespace prefetch::http {

// A body that many answers can share.
using SharedBody = std::shared_ptr<const std::string>;

struct BodyLimits {
  std::size_t bytes = std::size_t{28} << 20;
  // The part of these that clients over TCP can take. The rest is for the unix socket, which only root may
  // open.
  std::size_t network = std::size_t{18} << 20;
};

// Bounds the memory of bodies under way, over all clients: answers that clients have not read yet, and long
// requests. Several servers of one process can share a budget. Any thread may call. Make it by make_shared:
// reservations keep it alive.
class BodyBudget : public std::enable_shared_from_this<BodyBudget> {
 public:
  explicit BodyBudget(BodyLimits limits = {}) : limits_(limits) {}

  // The last copy releases its bytes.
  using Reservation = std::shared_ptr<const void>;

  // Reserves memory for a body while it is being sent. Several answers with one body count once. Returns
  // nullptr if the budget is exhausted. A body that is alone is always admitted, or a long list could never
  // be shown.
  Reservation ReserveBody(const SharedBody& body, bool local) PREFETCH_EXCLUDES(mutex_);
  // Reserves other memory likewise: a request's body, the kernel's buffer of a connection.
  Reservation Reserve(std::size_t bytes, bool local) PREFETCH_EXCLUDES(mutex_);
  // Returns true if more than three quarters of the TCP clients' share are in use: slow readers are then
  // disconnected.
  bool IsUnderPressure() const PREFETCH_EXCLUDES(mutex_);
  std::size_t used() const PREFETCH_EXCLUDES(mutex_);

 private:
  std::size_t LimitFor(bool local) const { return local ? limits_.bytes : limits_.network; }
  Reservation MakeReservation(std::function<void()> give_back);
  void ReleaseBody(const SharedBody& body) PREFETCH_EXCLUDES(mutex_);

  const BodyLimits limits_;
  mutable base::Mutex mutex_;
  std::size_t used_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::map<const std::string*, std::size_t> body_users_ PREFETCH_GUARDED_BY(mutex_);  // of each body
};

struct ServerRequest {
  std::string method = "GET";  // GET for a HEAD request, too, whose answer goes out without the body
  std::string path;            // percent-decoded, valid UTF-8, begins with "/"
  std::vector<std::pair<std::string, std::string>> query;
  Headers headers;
  std::string body;    // whole; never longer than the server's limit
  bool local = false;  // came over a unix socket: who may connect was decided by file permissions
  std::string peer;    // the address that it came from, without the port; empty: over a unix socket

  // The first parameter of that name, or nullopt.
  std::optional<std::string_view> Query(std::string_view name) const;
};

struct ServerResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  Headers headers;  // others than Content-Type and Content-Length; unfit ones are left out
  // Takes the place of `body`: many answers send the same bytes.
  SharedBody shared = nullptr;
};

class HandlerResult;

// An answer that takes a while: it asks a runtime, a registry, a credential plugin. The server runs it on an
// extra thread while it serves other clients, and gives its result to the client. Once `call` is stopped (the
// server stops; the client is gone) or past its deadline, the result is void: the job must end soon. An
// exception becomes a 500. The job owns its copies of the request, which no longer exists when it runs. Its
// result may be another job, for a step of another kind.
using Deferred = std::function<HandlerResult(const base::Call& call)>;

// The party that a job waits for. A few jobs of each kind run at once, on threads that no other kind gets.
enum class JobKind {
  kRemote,          // servers elsewhere, and plugins
  kAuthentication,  // the API server, which authenticates the client
  kLocal,           // programs and files of this node
  kCompute,         // nothing: it computes for milliseconds. One runs after the other, and none is refused
};
inline constexpr std::size_t kJobKinds = 4;

// A handler's result: the response, or the job that makes it.
class HandlerResult {
 public:
  HandlerResult(ServerResponse response) : answer_(std::move(response)) {}  // NOLINT: as Result has it
  // Jobs of one `group` share the threads of one client, from whatever addresses they come; empty: none.
  HandlerResult(Deferred job, JobKind kind = JobKind::kRemote, std::string group = "")  // NOLINT: likewise
      : answer_(std::move(job)), kind_(kind), group_(std::move(group)) {}

  bool deferred() const { return answer_.index() == 1; }
  JobKind kind() const { return kind_; }  // of the job
  const std::string& group() const { return group_; }
  // The job. Asking a response for it aborts: that is a bug.
  Deferred TakeJob() &&;
  // The response. Asking a job for it aborts.
  ServerResponse TakeResponse() &&;
  operator ServerResponse() && { return std::move(*this).TakeResponse(); }  // NOLINT
  // The response; a job is run for it, here. For tests of endpoints.
  ServerResponse Wait(const base::Call& call) &&;

 private:
  std::variant<ServerResponse, Deferred> answer_;
  JobKind kind_ = JobKind::kRemote;
  std::string group_;
};

// Runs on the server's one thread: it must not block, since all other clients wait meanwhile; work that may
// block is returned as a Deferred. An exception becomes a 500.
using Handler = std::function<HandlerResult(const ServerRequest&)>;

ServerResponse JsonResponse(int status, std::string json);
ServerResponse SharedJsonResponse(int status, SharedBody json);
// {"error":"…"} with a newline.
ServerResponse ErrorResponse(int status, std::string_view message);
ServerResponse NotFoundResponse(std::string_view path);  // 404
// 405 with Allow: "GET, HEAD".
ServerResponse MethodNotAllowedResponse(const std::string& allowed);

// Protection against DNS rebinding: a page in a browser makes its own name resolve to this server's address,
// and then reads the answers as its own.

// Returns true if no third party can own this name. `host` is a Host header's value: an address, a name
// without a dot, a name that no public registry gives out (localhost, .svc, .local, .internal), or one of
// `own`; each with or without a port. True for an empty one: browsers always send it.
bool IsTrustedHostName(std::string_view host, const std::vector<std::string_view>& own);

// Returns true if the request may come from a page under a third party's name. Pages cannot set Sec- headers,
// nor Accept-Encoding, for which browsers send more than Go programs (kubectl, through the API server's
// proxy) do.
bool MayComeFromBrowserPage(const ServerRequest& request, const std::vector<std::string_view>& own);

// Sent by prefetchctl, since the API server's proxy passes on the name by which the API server was asked.
inline constexpr std::string_view kNotBrowserHeader = "Sec-Prefetchd";

}  // namespace prefetch::http
