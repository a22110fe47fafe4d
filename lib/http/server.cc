#include "http/server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/go_url.h"
#include "base/scrub.h"
#include "base/text.h"
#include "http/addresses.h"
#include "http/server_loop.h"
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

}  // namespace

base::Status Server::Loop::Start() {
  wake_ = base::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // libmicrohttpd closes the socket that it is given, so it gets a duplicate.
  int listening = ::fcntl(listener_.fd(), F_DUPFD_CLOEXEC, 3);
  if (!wake_.valid() || listening < 0) return base::FromErrno(errno, "serve " + listener_.address());
  jobs_ = std::make_unique<ServerJobs>(ServerJobs::Limits{.threads = limits_.deferred_threads,
                                                          .per_client = limits_.deferred_per_client,
                                                          .queue = limits_.deferred_queue},
                                       wake_.get());
  // The loop's own thread drives it (no internal one), so that the sweep needs neither a second thread nor a
  // lock.
  daemon_ = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &OnRequest, this,
                             MHD_OPTION_LISTEN_SOCKET, listening,                           //
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

Server::Loop::~Loop() {
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

// Returns the time in milliseconds for which the loop may sleep; -1 for no limit.
int Server::Loop::PollTimeout() {
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

// One thread serves all connections of the listener, so their state needs no lock.
void Server::Loop::Run(const std::stop_token& stop) {
  int epoll = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  // A closed unix socket always shows as a hang-up. TCP cannot tell a client that is gone from one that only
  // sends no more: a client of a deferred answer that closes its side counts as gone.
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

// A long answer gets a larger send buffer, if the budget allows it. Short answers go through the small one.
bool Server::Loop::GrowSendBuffer(Connection& connection) {
  if (connection.buffer_reservation != nullptr) return true;
  int size = limits_.budget->IsUnderPressure() ? kPressureBuffer : kRoomyBuffer;
  connection.buffer_reservation =
      limits_.budget->Reserve(static_cast<std::size_t>(size) * 2, listener_.local());
  if (connection.buffer_reservation == nullptr) return false;
  if (!listener_.local()) ::setsockopt(connection.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  return true;
}

MHD_Result Server::Loop::Queue(MHD_Connection* mhd, Connection& connection, ServerResponse response) {
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

void Server::Loop::Opened(MHD_Connection* mhd, void** context) {
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

void Server::Loop::Closed(Connection& connection) {
  if (!connection.disconnected) Forget(connection);
  connections_.erase(connection.self);
}

void Server::Loop::Renew(Connection& connection) {
  connection.since = std::chrono::steady_clock::now();
  connections_.splice(connections_.end(), connections_, connection.self);  // keeps the list in order of time
}

void Server::Loop::OnConnection(void* self, MHD_Connection* mhd, void** context,
                                MHD_ConnectionNotificationCode code) {
  Loop& loop = *static_cast<Loop*>(self);
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    loop.Opened(mhd, context);
  } else if (*context != nullptr) {
    loop.Closed(*static_cast<Connection*>(*context));
    *context = nullptr;
  }
}

void* Server::Loop::OnTarget(void*, const char* target, MHD_Connection* mhd) {
  auto* connection = static_cast<Connection*>(
      MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  connection->target = target;
  // The connection may have had a request before (keep-alive).
  connection->headers_seen = connection->too_long = connection->no_room = false;
  connection->body.clear();
  return connection;
}

void Server::Loop::OnCompleted(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode code) {
  if (*context == nullptr) return;
  Connection& connection = *static_cast<Connection*>(*context);
  connection.target.clear();
  connection.body = std::string();  // gives its memory back while the connection idles
  connection.body_reservation.reset();
  if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) static_cast<Loop*>(self)->Renew(connection);
}

MHD_Result Server::Loop::OnRequest(void* self, MHD_Connection* mhd, const char*, const char* method,
                                   const char*, const char* upload, std::size_t* upload_size,
                                   void** context) {
  try {
    return static_cast<Loop*>(self)->Receive(mhd, *static_cast<Connection*>(*context), method, upload,
                                             *upload_size);
  } catch (...) {  // out of memory: give up this connection, not the process
    return MHD_NO;
  }
}

// libmicrohttpd calls this several times for one request: after the headers, for each part of the body, at
// its end, and again after a deferred answer.
MHD_Result Server::Loop::Receive(MHD_Connection* mhd, Connection& connection, const char* method,
                                 const char* upload, std::size_t& upload_size) {
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
void Server::Loop::ReadBody(Connection& connection, std::string_view part) {
  std::size_t size = connection.body.size() + part.size();
  connection.too_long |= size > limits_.body_bytes;
  if (size > kSmallBody && connection.body_reservation == nullptr && !connection.no_room) {
    // The largest body is reserved at once: its length may not be known, and a later refusal would waste what
    // was read.
    connection.body_reservation = limits_.budget->Reserve(limits_.body_bytes, listener_.local());
    connection.no_room = connection.body_reservation == nullptr;
  }
  if (!connection.too_long && !connection.no_room) connection.body.append(part);
}

HandlerResult Server::Loop::Answer(MHD_Connection* mhd, Connection& connection, const char* method) const {
  auto known = ParseMethod(method);
  if (!known) return ErrorResponse(501, "unknown method");
  auto target = ParseTarget(connection.target);
  if (!target) return ErrorResponse(400, target.error().message());
  ServerRequest request{.method = *known,
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

Server::Server(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Server::~Server() = default;

base::Result<std::unique_ptr<Server>> Server::Start(Listener listener, const ServerLimits& limits,
                                                    Handler handler) {
  auto loop = std::make_unique<Loop>(std::move(listener), limits, std::move(handler));
  if (base::Status started = loop->Start(); !started) return std::move(started).error();
  return std::unique_ptr<Server>(new Server(std::move(loop)));
}

std::uint16_t Server::port() const {
  return loop_->listener().port();
}
const std::string& Server::address() const {
  return loop_->listener().address();
}

namespace {

// Clients that connect at once wait here until the server's thread accepts them. If there is no room, the
// kernel drops the connection request, and the client sends it again after 1 s, 3 s and 7 s.
constexpr int kBacklog = 1024;

// The bytes that a client may send before they are read.
constexpr int kReceiveBuffer = 32 * 1024;

// An IPv6 address stands in brackets, and nothing else does.
base::Result<base::HostAndPort> SplitAddress(const std::string& address) {
  if (address.find(':') == std::string::npos)
    return base::InvalidArgument("listen address " + address + " has no port");
  const base::HostAndPort parts = base::SplitHostPort(address);
  // Without brackets, "::1:9477" could be an address without a port.
  if (address.starts_with('[') == (parts.host.find(':') == std::string_view::npos)) {
    return base::InvalidArgument("listen address " + address +
                                 ": an IPv6 address stands in brackets, like [::1]:9477");
  }
  const std::optional<std::uint64_t> port = base::ParseUint(parts.port);
  if (!port || *port > 65535) {
    return base::InvalidArgument("listen address " + address + ": the port is no number up to 65535");
  }
  return parts;
}

using AddressInfo = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

base::Result<AddressInfo> LookUp(const base::HostAndPort& parts, int family, const std::string& address) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  // Names are not looked up: a start must not depend on DNS.
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string host(parts.host), port(parts.port);
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0) {
    return base::InvalidArgument("listen address " + address + ": the host is no IP address");
  }
  return AddressInfo(found, &freeaddrinfo);
}

// Names the likely cause and the remedy, as the address is an operator's setting.
base::Error ListenFailed(int error_number, const std::string& address) {
  if (error_number == EADDRINUSE) {
    return base::Unavailable(
        "cannot listen on " + address +
        ": the address is in use; is another prefetchd running here? Choose another one");
  }
  if (error_number == EADDRNOTAVAIL) {
    return base::InvalidArgument("cannot listen on " + address + ": this machine does not have that address");
  }
  return base::FromErrno(error_number, "listen on " + address);
}

base::Result<base::Fd> ListenOn(const addrinfo& info, const std::string& address) {
  base::Fd fd(::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return base::FromErrno(errno, "listen on " + address);
  int on = 1, off = 0;
  // Otherwise a restart would have to wait for old connections in TIME_WAIT.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Connections inherit this size. The kernel's own buffers grow to megabytes for each of them, and count as
  // the node's memory.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  if (info.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(fd.get(), info.ai_addr, info.ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return ListenFailed(errno, address);
  }
  return fd;
}

std::uint16_t BoundPort(int fd) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return 0;
  if (bound.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

base::Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    return base::InvalidArgument("socket path \"" + path + "\" is not absolute");
  }
  if (path.size() >= sizeof address.sun_path) {
    return base::InvalidArgument("socket path " + path + " is longer than " +
                                 std::to_string(sizeof address.sun_path - 1) + " bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

base::Status MakeParent(const std::string& path) {
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::exists(parent, error)) return {};
  std::filesystem::create_directories(parent, error);
  if (error) return base::FromErrno(error.value(), "create " + parent.string());
  // The umask does not decide here: the socket's own mode protects, and clients have to get to it.
  std::filesystem::permissions(parent, static_cast<std::filesystem::perms>(0755), error);
  return {};
}

// Removes a socket at `path` on which nobody listens. A killed process leaves its socket file behind, and
// bind(2) would fail for it. Nothing but such a file is removed.
base::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? base::Status() : base::FromErrno(errno, "look at " + path);
  }
  // A regular file at this path is most likely a mistake in the configuration, and may be an operator's data.
  if (!S_ISSOCK(info.st_mode)) {
    return base::InvalidArgument("cannot listen on " + path + ": a file that is no socket is in the way");
  }
  base::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return base::FromErrno(errno, "look at " + path);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN) {  // EAGAIN: its queue is full, so a server listens
    return base::Unavailable("cannot listen on " + path +
                             ": another process listens there; is another prefetchd running here? Choose "
                             "another path");
  }
  if (errno != ECONNREFUSED) return base::FromErrno(errno, "look at " + path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return base::FromErrno(errno, "remove " + path);
  return {};
}

}  // namespace

base::Result<Listener> Listener::Tcp(const std::string& address) {
  auto parts = SplitAddress(address);
  if (!parts) return std::move(parts).error();
  // Every address is one IPv6 socket that takes IPv4 too; where the kernel has no IPv6, an IPv4 one.
  int family = parts->host.empty() ? AF_INET6 : AF_UNSPEC;
  auto info = LookUp(*parts, family, address);
  if (!info) return std::move(info).error();
  auto fd = ListenOn(**info, address);
  // A taken port (Unavailable) is a final answer: an IPv4 socket would only hide it.
  if (!fd && parts->host.empty() && fd.error().code() != base::Code::kUnavailable) {
    info = LookUp(*parts, AF_INET, address);
    if (!info) return std::move(info).error();
    fd = ListenOn(**info, address);
  }
  if (!fd) return std::move(fd).error();
  Listener listener;
  listener.fd_ = std::move(*fd);
  listener.port_ = BoundPort(listener.fd());
  listener.address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(listener.port_);
  return listener;
}

base::Result<Listener> Listener::Unix(const std::string& path, unsigned mode) {
  auto address = UnixAddress(path);
  if (!address) return std::move(address).error();
  if (base::Status made = MakeParent(path); !made) return std::move(made).error();
  if (base::Status removed = RemoveStale(path, *address); !removed) return std::move(removed).error();

  Listener listener;
  listener.fd_ = base::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.fd_.valid()) return base::FromErrno(errno, "listen on " + path);
  // The file gets the socket's mode less the umask, so it is never wider than requested. chmod then adds what
  // the umask took away, and clients can connect only after listen.
  if (::fchmod(listener.fd(), mode) != 0 ||
      ::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return ListenFailed(errno, path);
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return base::FromErrno(errno, "look at " + path);
  listener.path_ = path;
  // Device and inode name the file that this process has made, for the destructor.
  listener.device_ = info.st_dev;
  listener.inode_ = info.st_ino;
  listener.address_ = "unix://" + path;
  if (::chmod(path.c_str(), mode) != 0 || ::listen(listener.fd(), kBacklog) != 0) {
    return ListenFailed(errno, path);
  }
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::move(other.fd_)),
      address_(std::move(other.address_)),
      port_(other.port_),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

Listener::~Listener() {
  if (path_.empty()) return;
  struct stat info {};
  // Another process may have replaced the file, and then it is that process' to remove.
  if (::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
}

}  // namespace prefetch::http
