#include "http/server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/scrub.h"
#include "base/text.h"
#include "http/addresses.h"
#include "http/server_jobs.h"
#include "http/url.h"

namespace prefetch::http {

namespace {

// An answer of at most this size always has room: kubelet's probes, errors, the whole status of a small node.
constexpr std::size_t kSmallBody = std::size_t{16} << 10;
// The kernel's buffer of a connection counts as the process's memory, and grows to megabytes for a client
// that does not read. The kernel takes twice these sizes, for its own bookkeeping (socket(7), SO_SNDBUF).
constexpr int kFirstBuffer = 16 << 10;
constexpr int kPressureBuffer = 32 << 10;
constexpr int kRoomyBuffer = 256 << 10;  // so that a distant client is served quickly

constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

MHD_Result CollectHeader(void* headers, MHD_ValueKind, const char* name, const char* value) {
  static_cast<Headers*>(headers)->Add(name, value == nullptr ? "" : value);
  return MHD_YES;
}

// libmicrohttpd would decode the path in place before the handler is called. ParseTarget is stricter and
// needs the raw target, so this decoder does nothing.
std::size_t NoUnescape(void*, MHD_Connection*, char* text) {
  return std::char_traits<char>::length(text);
}

ServerResponse TooLong(std::size_t limit) {
  return ErrorResponse(413, "the body is longer than " + std::to_string(limit) + " bytes");
}

std::string PeerOf(MHD_Connection* mhd) {
  const auto* info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == nullptr || info->client_addr == nullptr ? "" : TextOf(*info->client_addr);
}

struct Sent {
  SharedBody body;
  BodyBudget::Reservation held;
};

void DeleteSent(void* sent) {
  delete static_cast<Sent*>(sent);
}

// Hands one answer to libmicrohttpd. `body` is sent, whatever `response` has; `held` is released once it has
// been sent or the client is gone. Returns false if there is no memory for it.
bool SendAnswer(MHD_Connection* connection, const ServerResponse& response, SharedBody body,
                BodyBudget::Reservation held) {
  auto* sent = new Sent{std::move(body), std::move(held)};
  // libmicrohttpd only reads the body; its signature is older than const.
  MHD_Response* message = MHD_create_response_from_buffer_with_free_callback_cls(
      sent->body->size(), const_cast<char*>(sent->body->data()), &DeleteSent, sent);
  if (message == nullptr) {
    delete sent;
    return false;
  }
  MHD_add_response_header(message, "Content-Type", response.content_type.c_str());
  MHD_add_response_header(message, "Cache-Control", "no-store");
  MHD_add_response_header(message, "X-Content-Type-Options", "nosniff");
  for (const auto& field : response.headers.fields()) {
    // A value may come from a request. A line break in it would begin a header of the client's choice.
    if (!IsFieldName(field.first) || !IsFieldValue(field.second)) continue;
    MHD_add_response_header(message, field.first.c_str(), field.second.c_str());
  }
  MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(response.status), message);
  // This gives up the reference of this function only. DeleteSent runs when the answer has been sent.
  MHD_destroy_response(message);
  return queued == MHD_YES;
}

// One connection, and the request on it that is being read. Owned by one of the loop's lists.
struct Connection {
  int fd = -1;
  base::TimePoint since;      // of the accept, of the end of the last request, or of a deferred answer's step
  bool disconnected = false;  // cut by us; libmicrohttpd will notice and close it
  std::string peer;           // the client's address; empty: over a unix socket
  std::list<Connection>::iterator self;
  std::string target;         // as it came, from the request line
  bool headers_seen = false;  // the headers have been looked at
  bool too_long = false;
  bool no_room = false;                      // for its body
  BodyBudget::Reservation body_reservation;  // the memory of a long body
  std::string body;
  // A deferred answer. While its job is awaited libmicrohttpd has suspended the connection; once there is an
  // answer it is resumed, and libmicrohttpd asks for that answer as it asked for it the first time.
  MHD_Connection* suspended = nullptr;
  std::uint64_t job = 0;
  std::stop_source stop{std::nostopstate};
  bool client_gone = false;  // the client, as far as one can see
  std::optional<ServerResponse> answer;
  JobKind kind = JobKind::kRemote;  // of the job's first step
  // Memory of the kernel's buffer, from a long answer until the connection is closed.
  BodyBudget::Reservation buffer_reservation;
};

// The event loop of a Server, with all state that its thread owns.
class Loop final : public Server {
 public:
  Loop(Listener listener, const ServerLimits& limits, Handler handler)
      : listener_(std::move(listener)), limits_(limits), handler_(std::move(handler)) {}

  ~Loop() override {
    if (thread_.joinable()) {
      thread_.request_stop();
      std::uint64_t one = 1;
      [[maybe_unused]] auto written = ::write(wake_.get(), &one, sizeof one);
      thread_.join();
    }
    // Jobs hold connections of the daemon, so they end before it.
    EndDeferred();
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  base::Status Begin() {
    wake_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    // libmicrohttpd closes the socket that it is given, so it gets a duplicate.
    int listening = ::fcntl(listener_.fd(), F_DUPFD_CLOEXEC, 3);
    if (!wake_.valid() || listening < 0) return base::FromErrno(errno, "serve " + listener_.address());
    jobs_ = std::make_unique<ServerJobs>(limits_, wake_.get());
    // The loop's own thread drives it (no internal one), so that the sweep needs neither a second thread nor
    // a lock.
    daemon_ = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &OnRequest,
                               this, MHD_OPTION_LISTEN_SOCKET, listening,                     //
                               MHD_OPTION_CONNECTION_LIMIT, limits_.connections,              //
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits_.connection_bytes,  //
                               MHD_OPTION_CONNECTION_TIMEOUT, 0U,                             //
                               MHD_OPTION_STRICT_FOR_CLIENT, 1,                               //
                               MHD_OPTION_NOTIFY_CONNECTION, &OnConnection, this,             //
                               MHD_OPTION_NOTIFY_COMPLETED, &OnCompleted, this,               //
                               MHD_OPTION_URI_LOG_CALLBACK, &OnTarget, this,                  //
                               MHD_OPTION_UNESCAPE_CALLBACK, &NoUnescape, nullptr,            //
                               MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,  // our thread blocks it
                               MHD_OPTION_END);
    if (daemon_ == nullptr) return base::Internal("cannot serve " + listener_.address());

    sigset_t all, before;
    // Signals are for the thread that waits for them (sigwait), so the server's threads take none.
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread inherits the mask
    // The token comes as an argument: thread_ itself may not be assigned yet when the thread reads it.
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
  }

  const Listener& listener() const override { return listener_; }

 private:
  // One thread serves all connections of the listener, so their state needs no lock.
  void Run(const std::stop_token& stop) {
    int epoll = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    // A closed unix socket always shows as a hang-up. TCP cannot tell a client that is gone from one that
    // only sends no more: a client of a deferred answer that closes its side counts as gone.
    short hang_up_events = listener_.local() ? short{0} : short{POLLRDHUP};
    std::vector<pollfd> ready;
    bool again = false;
    while (!stop.stop_requested()) {
      int wait = PollTimeout();
      // If it was full, libmicrohttpd accepts connections again only in the run after the one that made room.
      if (again) wait = 0;
      ready.assign({{epoll, POLLIN, 0}, {wake_.get(), POLLIN, 0}});
      // Suspended connections are in no set of libmicrohttpd's, so their departure is polled for here.
      for (const Connection& connection : deferred_) {
        if (PollsForHangUp(connection)) ready.push_back({connection.fd, hang_up_events, 0});
      }
      std::size_t before = Open();
      if (::poll(ready.data(), ready.size(), wait) > 0) StopForDisconnectedClients(ready.data() + 2);
      ResumeDone();
      SweepDeferred(std::chrono::steady_clock::now());
      MHD_run(daemon_);
      again = Open() < before;
    }
  }

  // Returns the time in milliseconds for which the loop may sleep; -1 for no limit.
  int PollTimeout() {
    auto now = std::chrono::steady_clock::now();
    // The thread sleeps until the earliest of three times: an old connection, a deferred answer,
    // libmicrohttpd's own.
    std::optional<base::TimePoint> next = Sweep(now);
    if (!deferred_.empty())
      next = std::min(next.value_or(base::TimePoint::max()), DeadlineOf(deferred_.front()));
    int wait = -1;
    if (next) {
      auto until = std::chrono::ceil<std::chrono::milliseconds>(*next - now).count();
      wait = static_cast<int>(std::max<std::int64_t>(until, 0));
    }
    MHD_UNSIGNED_LONG_LONG wanted = 0;
    if (MHD_get_timeout(daemon_, &wanted) == MHD_YES && (wait < 0 || wanted < static_cast<unsigned>(wait))) {
      wait = static_cast<int>(wanted);
    }
    return wait;
  }

  static void OnConnection(void* self, MHD_Connection* mhd, void** context,
                           MHD_ConnectionNotificationCode code) {
    Loop& loop = *static_cast<Loop*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      loop.Opened(mhd, context);
    } else if (*context != nullptr) {
      loop.Closed(*static_cast<Connection*>(*context));
      *context = nullptr;
    }
  }

  static void* OnTarget(void*, const char* target, MHD_Connection* mhd) {
    auto* connection = static_cast<Connection*>(
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
    connection->target = target;
    // The connection may have had a request before (keep-alive).
    connection->headers_seen = connection->too_long = connection->no_room = false;
    connection->body.clear();
    return connection;
  }

  static MHD_Result OnRequest(void* self, MHD_Connection* mhd, const char*, const char* method, const char*,
                              const char* upload, std::size_t* upload_size, void** context) {
    try {
      return static_cast<Loop*>(self)->Receive(mhd, *static_cast<Connection*>(*context), method, upload,
                                               *upload_size);
    } catch (...) {  // out of memory: give up this connection, not the process
      return MHD_NO;
    }
  }

  static void OnCompleted(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode code) {
    if (*context == nullptr) return;
    Connection& connection = *static_cast<Connection*>(*context);
    connection.target.clear();
    connection.body = std::string();  // gives its memory back while the connection idles
    connection.body_reservation.reset();
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) static_cast<Loop*>(self)->Renew(connection);
  }

  // libmicrohttpd calls this several times for one request: after the headers, for each part of the body, at
  // its end, and again after a deferred answer.
  MHD_Result Receive(MHD_Connection* mhd, Connection& connection, const char* method, const char* upload,
                     std::size_t& upload_size) {
    // The job of a deferred answer has ended, and libmicrohttpd asks again (Resume).
    if (connection.answer) {
      ServerResponse answer = std::move(*connection.answer);
      connection.answer.reset();
      return Queue(mhd, connection, std::move(answer));
    }
    if (!connection.headers_seen) {  // the headers are here; the body, if any, comes in later calls
      connection.headers_seen = true;
      const char* length = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Content-Length");
      auto declared = base::ParseUint(length == nullptr ? "0" : length);
      // A body that is too long by its own header is refused before it is read.
      if (!declared || *declared > limits_.body_bytes)
        return Queue(mhd, connection, TooLong(limits_.body_bytes));
      return MHD_YES;
    }
    if (upload_size > 0) {
      ReadBody(connection, {upload, upload_size});
      upload_size = 0;
      return MHD_YES;
    }
    // The body is complete here, so an answer can be given.
    if (connection.no_room) return Queue(mhd, connection, OverloadedResponse());
    if (connection.too_long) return Queue(mhd, connection, TooLong(limits_.body_bytes));
    HandlerResult answer = Answer(mhd, connection, method);
    if (answer.deferred()) return Defer(mhd, connection, std::move(answer));
    return Queue(mhd, connection, std::move(answer).TakeResponse());
  }

  // libmicrohttpd takes an answer only after the whole body, so excess bytes are read and dropped, as long as
  // time lasts.
  void ReadBody(Connection& connection, std::string_view part) {
    std::size_t size = connection.body.size() + part.size();
    connection.too_long |= size > limits_.body_bytes;
    if (size > kSmallBody && connection.body_reservation == nullptr && !connection.no_room) {
      // The largest body is reserved at once: its length may not be known, and a later refusal would waste
      // what was read.
      connection.body_reservation = limits_.budget->Reserve(limits_.body_bytes, listener_.local());
      connection.no_room = connection.body_reservation == nullptr;
    }
    if (!connection.too_long && !connection.no_room) connection.body.append(part);
  }

  HandlerResult Answer(MHD_Connection* mhd, Connection& connection, const char* method) const {
    const std::string known = std::string_view(method) == "HEAD" ? "GET" : method;
    if (std::find(std::begin(kMethods), std::end(kMethods), known) == std::end(kMethods))
      return ErrorResponse(501, "unknown method");
    auto target = ParseTarget(connection.target);
    if (!target) return ErrorResponse(400, target.error().message());
    ServerRequest request{.method = known,
                          .path = std::move(target->path),
                          .query = std::move(target->query),
                          .body = std::move(connection.body),
                          .local = listener_.local(),
                          .peer = PeerOf(mhd)};
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, &CollectHeader, &request.headers);
    try {
      return handler_(request);
    } catch (...) {
      return ErrorResponse(500, "this request could not be answered");
    }
  }

  // Admits the answer to the budget and hands it to libmicrohttpd.
  MHD_Result Queue(MHD_Connection* mhd, Connection& connection, ServerResponse response) {
    SharedBody body = response.shared;
    // Names of files, and what a client sent, come with any characters. JSON and HTML have escapes for them.
    // A body without them is not copied: many clients may let theirs wait.
    if (response.content_type.starts_with("text/plain") && base::HasControls(response.body)) {
      response.body = base::WithoutControls(base::ToUtf8(response.body));
    }
    if (body == nullptr) body = std::make_shared<const std::string>(std::move(response.body));
    BodyBudget::Reservation held;
    if (body->size() > kSmallBody) {
      held = limits_.budget->ReserveBody(body, listener_.local());
      // A refusal is a short answer, which always has room, so this ends.
      if (held == nullptr || !GrowSendBuffer(connection)) {
        return Queue(mhd, connection, OverloadedResponse());
      }
    }
    return SendAnswer(mhd, response, std::move(body), std::move(held)) ? MHD_YES : MHD_NO;
  }

  // A long answer gets a larger send buffer, if the budget allows it. Short answers go through the small one.
  bool GrowSendBuffer(Connection& connection) {
    if (connection.buffer_reservation != nullptr) return true;
    int size = limits_.budget->IsUnderPressure() ? kPressureBuffer : kRoomyBuffer;
    connection.buffer_reservation =
        limits_.budget->Reserve(static_cast<std::size_t>(size) * 2, listener_.local());
    if (connection.buffer_reservation == nullptr) return false;
    if (!listener_.local()) ::setsockopt(connection.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return true;
  }

  void Opened(MHD_Connection* mhd, void** context) {
    connections_.emplace_back();
    Connection& connection = connections_.back();
    const int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    connection.fd = fd;
    connection.peer = PeerOf(mhd);
    connection.since = std::chrono::steady_clock::now();
    connection.self = std::prev(connections_.end());
    if (!listener_.local()) ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kFirstBuffer, sizeof kFirstBuffer);
    *context = &connection;
    connections_by_peer_[connection.peer]++;
    // The new connection is counted first, so that it is part of its address's share.
    EvictFor(connection);
  }

  void Closed(Connection& connection) {
    if (!connection.disconnected) Forget(connection);
    connections_.erase(connection.self);
  }

  void Renew(Connection& connection) {
    connection.since = std::chrono::steady_clock::now();
    connections_.splice(connections_.end(), connections_,
                        connection.self);  // keeps the list in order of time
  }

  // Makes room for `newest`: cuts the oldest connection of an address that has too many, or, near the limit
  // of all connections, of the one with most of them. Pods whose address is translated come from the node's
  // own address, as kubelet's probes do, so the newest connection gets in.
  void EvictFor(const Connection& newest) {
    // Only root may open the unix socket, so its clients need no shares.
    if (listener_.local()) return;
    if (connections_by_peer_[newest.peer] > limits_.connections_per_address)
      return DisconnectOldestOf(&newest.peer);
    if (Open() <= limits_.connections - limits_.connections / 8) return;
    // Near the limit of all connections, the address with most of them gives one up. If none has two, a
    // machine with many addresses may have opened them all.
    auto busiest = std::max_element(connections_by_peer_.begin(), connections_by_peer_.end(),
                                    [](const auto& a, const auto& b) { return a.second < b.second; });
    DisconnectOldestOf(busiest->second > 1 ? &busiest->first : nullptr);
  }

  // Cuts the oldest connection of `peer`, or of all for nullptr, that waits for no answer, if there is one.
  void DisconnectOldestOf(const std::string* peer) {
    auto oldest = std::find_if(connections_.begin(), connections_.end(), [&](const Connection& one) {
      return !one.disconnected && (peer == nullptr || one.peer == *peer);
    });
    if (oldest != connections_.end()) Disconnect(*oldest);
  }

  void Disconnect(Connection& connection) {
    // libmicrohttpd owns the descriptor. It notices the shutdown, closes the connection, and calls
    // OnConnection.
    ::shutdown(connection.fd, SHUT_RDWR);
    connection.disconnected = true;
    Forget(connection);
  }

  // The connection no longer counts as one of its address's.
  void Forget(const Connection& connection) {
    auto count = connections_by_peer_.find(connection.peer);
    if (count != connections_by_peer_.end() && --count->second == 0) connections_by_peer_.erase(count);
  }

  // Cuts connections that have had their time, so that there is room for others. The list is in order of
  // time, so the first one that may stay ends the loop. Returns when the next one will be cut.
  std::optional<base::TimePoint> Sweep(base::TimePoint now) {
    bool crowded =
        Open() > limits_.connections / 2 || (!listener_.local() && limits_.budget->IsUnderPressure());
    auto granted = crowded ? limits_.request_time / 10 : limits_.request_time;
    for (Connection& connection : connections_) {
      // It is cut already, and libmicrohttpd has not closed it yet.
      if (connection.disconnected) continue;
      if (now < connection.since + granted) return connection.since + granted;
      Disconnect(connection);
    }
    return std::nullopt;
  }

  // Gives up deferred answers whose time is over. Their connections are suspended while a job makes the
  // answer. libmicrohttpd has to run afterwards.
  void SweepDeferred(base::TimePoint now) {
    while (!deferred_.empty() && now >= DeadlineOf(deferred_.front())) {
      GiveUp(deferred_.front(), ErrorResponse(504, "this took too long"));
    }
  }

  // Suspends the connection while a thread of ServerJobs makes the answer. The loop goes on with other
  // connections meanwhile.
  MHD_Result Defer(MHD_Connection* mhd, Connection& connection, HandlerResult answer) {
    std::stop_source stop;
    auto now = std::chrono::steady_clock::now();
    // A job has a number and no pointer to its connection: the connection may be gone when the job ends.
    std::uint64_t id = ++last_job_;
    const JobKind kind = answer.kind();
    ServerJobs::Job job{.id = id,
                        .call = {now + limits_.deferred_time, stop.get_token()},
                        .kind = kind,
                        .address = connection.peer,
                        .group = answer.group()};
    job.work = std::move(answer).TakeJob();
    if (!jobs_->Submit(std::move(job))) return Queue(mhd, connection, OverloadedResponse());
    connection.suspended = mhd;
    connection.job = id;
    connection.kind = kind;
    connection.stop = std::move(stop);
    connection.client_gone = false;
    connection.since = now;
    // Splicing keeps the object at its address, to which libmicrohttpd has a pointer.
    deferred_.splice(deferred_.end(), connections_, connection.self);
    MHD_suspend_connection(mhd);
    return MHD_YES;
  }

  void Resume(Connection& connection, ServerResponse response) {
    connection.answer = std::move(response);
    connection.stop = std::stop_source(std::nostopstate);
    // The clock of the request begins anew for the sending of the answer.
    connection.since = std::chrono::steady_clock::now();
    connections_.splice(connections_.end(), deferred_, connection.self);
    MHD_resume_connection(std::exchange(connection.suspended, nullptr));
  }

  // Lets go of a client before its job has ended.
  void GiveUp(Connection& connection, ServerResponse response) {
    connection.stop.request_stop();
    // If it has begun already, only the stop reaches it. Its result is then for nobody (ResumeDone).
    jobs_->Drop(connection.job);
    Resume(connection, std::move(response));
  }

  void ResumeDone() {
    std::uint64_t count = 0;
    if (::read(wake_.get(), &count, sizeof count) < 0) return;  // no news
    for (ServerJobs::Done& done : jobs_->TakeDone()) {
      auto found = std::find_if(deferred_.begin(), deferred_.end(),
                                [&](const Connection& connection) { return connection.job == done.id; });
      if (found != deferred_.end()) Resume(*found, std::move(done.response));  // else it was given up
    }
  }

  // `seen` is what poll saw of the deferred connections whose client was there, in their order.
  void StopForDisconnectedClients(const pollfd* seen) {
    for (auto next = deferred_.begin(); next != deferred_.end();) {
      Connection& connection = *next++;  // it may move to the other list
      if (!PollsForHangUp(connection) || (seen++)->revents == 0) continue;
      connection.client_gone = true;
      connection.stop.request_stop();
      // A running job keeps its connection until it has noticed the stop. A job that waits makes room at
      // once.
      if (jobs_->Drop(connection.job)) Resume(connection, ErrorResponse(503, "the client went away"));
    }
  }

  // The order matters: new jobs are refused, running ones are stopped and awaited, and only then are their
  // connections given back to libmicrohttpd.
  void EndDeferred() {
    if (jobs_ == nullptr) return;  // it never started
    jobs_->Close();                // before any ends and makes room for the next
    for (Connection& connection : deferred_) connection.stop.request_stop();
    jobs_.reset();
    // libmicrohttpd must not be stopped with suspended connections.
    for (Connection& connection : deferred_) MHD_resume_connection(connection.suspended);
    connections_.splice(connections_.end(), deferred_);
  }

  std::size_t Open() const { return connections_.size() + deferred_.size(); }
  base::TimePoint DeadlineOf(const Connection& deferred) const {
    return deferred.since + limits_.deferred_time + limits_.deferred_grace;
  }
  // A kCompute job is not worth stopping: it ends within milliseconds, and a client that has closed its side
  // for sending may still read.
  static bool PollsForHangUp(const Connection& connection) {
    return !connection.client_gone && connection.kind != JobKind::kCompute;
  }

  const Listener listener_;
  const ServerLimits limits_;
  const Handler handler_;
  base::Fd wake_;
  MHD_Daemon* daemon_ = nullptr;
  std::list<Connection> connections_;                    // the longest waiting first
  std::list<Connection> deferred_;                       // those whose answer is being made, the oldest first
  std::map<std::string, unsigned> connections_by_peer_;  // connections that are not cut, by address
  std::uint64_t last_job_ = 0;
  std::unique_ptr<ServerJobs> jobs_;
  std::jthread thread_;
};

}  // namespace

base::Result<std::unique_ptr<Server>> Server::Start(Listener listener, const ServerLimits& limits,
                                                    Handler handler) {
  auto loop = std::make_unique<Loop>(std::move(listener), limits, std::move(handler));
  if (base::Status begun = loop->Begin(); !begun) return std::move(begun).error();
  return std::unique_ptr<Server>(std::move(loop));
}

}  // namespace prefetch::http
