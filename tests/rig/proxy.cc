#include "rig/proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

#include "base/fs.h"
#include "base/mutex.h"
#include "base/token_bucket.h"
#include "rig/port.h"

namespace prefetch::rig {

using Clock = std::chrono::steady_clock;

struct Chunk {
  Clock::time_point due;
  std::string bytes;
  std::size_t sent = 0;
  std::uint64_t request = 0;  // which request it belongs to, counted from 1; 0: none
};

// One direction of a connection.
struct Stream {
  base::Fd* from = nullptr;
  base::Fd* to = nullptr;
  std::deque<Chunk> chunks;
  std::size_t held = 0;
  bool ended = false;      // `from` has sent all
  bool passed_on = false;  // and `to` was told
};

struct Connection {
  base::Fd client;
  base::Fd server;
  Stream up;
  Stream down;
  Clock::time_point opened = Clock::now();
  Bucket bucket;
  Window window;
  std::uint64_t request = 0;
  bool answered = false;  // by us: it is closed when that is sent
  bool broken = false;
};

namespace {

constexpr std::size_t kChunk = 64 << 10;
// Bytes that the kernel may hold for a client. BytesToClients counts them, although the client lacks them.
constexpr int kMostUnsent = 128 * 1024;
// Held per direction when chunks are delayed: 20 MB/s at 200 ms needs 4 MB in flight.
constexpr std::size_t kMaxHeld = 4 << 20;
// When nothing is delayed, little is held, so that a cut or a freeze takes effect where it is asked for.
constexpr std::size_t kMaxHeldUndelayed = 128 << 10;
const std::string kTooManyRequests =
    "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

std::string Header(std::string_view head, std::string_view name) {
  std::size_t at = head.find(name);
  if (at == std::string_view::npos) return "";
  at += name.size();
  return std::string(head.substr(at, head.find("\r\n", at) - at));
}

// The request that begins here, if one does.
std::optional<Passed> ParseRequest(std::string_view bytes) {
  std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  std::size_t first = line.find(' ');
  std::size_t last = line.rfind(" HTTP/1.");
  if (first == std::string_view::npos || last == std::string_view::npos || first >= last) return std::nullopt;
  Passed request;
  request.method = line.substr(0, first);
  bool is_method =
      std::all_of(request.method.begin(), request.method.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (!is_method) return std::nullopt;
  request.path = line.substr(first + 1, last - first - 1);
  std::string_view head = bytes.substr(0, bytes.find("\r\n\r\n"));
  request.authorization = Header(head, "\r\nAuthorization: ");
  request.range = Header(head, "\r\nRange: ");
  return request;
}

int ParseStatus(std::string_view bytes) {
  constexpr std::string_view kPrefix = "HTTP/1.1 ";
  int status = 0;
  if (bytes.substr(0, kPrefix.size()) == kPrefix && bytes.size() > 12) {
    std::from_chars(bytes.data() + 9, bytes.data() + 12, status);
  }
  return status;
}

void Reset(base::Fd& fd) {
  linger now{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  fd.Close();
}

}  // namespace

// All state, behind one mutex that the thread gives up while it waits in poll().
class Proxy::Loop {
 public:
  explicit Loop(int upstream) : upstream_(upstream), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~Loop() {
    {
      base::Lock lock(mutex_);
      stopping_ = true;
    }
    Wake();
    if (thread_.joinable()) thread_.join();
  }

  base::Status Start() {
    auto port = FreePort();
    if (!port) return port.status();
    port_ = *port;
    if (auto open = Open(); !open) return open;
    thread_ = std::thread([this] { Work(); });
    return {};
  }

  base::Status Open() {
    auto listener = Listen(port_);
    if (!listener) return listener.status();
    base::Lock lock(mutex_);
    listener_ = std::move(*listener);
    return {};
  }

  // Changes the state under the lock, then lets the thread see it.
  template <typename Change>
  void With(Change change) {
    {
      base::Lock lock(mutex_);
      change();
    }
    Wake();
  }

  void CutEverything();

 private:
  void Wake() {
    std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof(one));
  }

  void Work();
  void Accept();
  void Read(Connection& c, Stream& s);
  void SeeRequest(Connection& c, std::string_view bytes);
  void AnswerItself(Connection& c, const std::string& response);
  void Write(Connection& c, Stream& s);
  std::size_t Allowance(const Connection& c, std::size_t wanted) const;
  void Account(Connection& c, const Chunk& chunk, std::size_t n);
  void PassOnEnd(Connection& c, Stream& s);
  void Sweep();
  Clock::time_point Prepare(std::vector<pollfd>& polled);
  bool MayRead(const Connection& c, const Stream& s) const;
  bool MayWrite(const Connection& c, const Stream& s) const;
  void Advance(Connection& c, Clock::time_point now);

 public:
  const int upstream_;
  base::Fd wake_;
  int port_ = 0;
  std::thread thread_;
  base::Mutex mutex_;
  base::Fd listener_;
  std::list<Connection> connections_;
  bool stopping_ = false;
  bool frozen_ = false;
  Link link_;
  Bucket bucket_;  // of all connections together
  base::TokenBucket request_bucket_{{}};
  std::map<std::string, std::string> answers_;
  std::uint64_t bytes_ = 0;
  std::uint64_t forgotten_ = 0;  // requests before the first of requests_
  std::vector<Passed> requests_;
};

bool Proxy::Loop::MayRead(const Connection& c, const Stream& s) const {
  if (&s == &c.down && link_.slow_start && c.window.Room() == 0) return false;
  return !frozen_ && !s.ended && s.held < (link_.one_way.count() > 0 ? kMaxHeld : kMaxHeldUndelayed);
}

bool Proxy::Loop::MayWrite(const Connection& c, const Stream& s) const {
  if (frozen_ || s.chunks.empty() || s.chunks.front().due > Clock::now()) return false;
  return &s != &c.down || (bucket_.Open() && c.bucket.Open());
}

void Proxy::Loop::Advance(Connection& c, Clock::time_point now) {
  c.bucket.SetRate(link_.connection_bytes_per_second);
  c.bucket.Refill(now);
  c.window.Advance(now);
}

// Fills `polled` with the two descriptors of each connection behind listener and wake-up; returns when time
// alone allows something to go on.
Clock::time_point Proxy::Loop::Prepare(std::vector<pollfd>& polled) {
  Clock::time_point next = Clock::time_point::max();
  polled.assign({{wake_.get(), POLLIN, 0}, {listener_.valid() ? listener_.get() : -1, POLLIN, 0}});
  auto now = Clock::now();
  bucket_.Refill(now);
  for (Connection& c : connections_) {
    Advance(c, now);
    if (link_.slow_start) next = std::min(next, c.window.NextAcknowledgement());
    pollfd client{c.client.get(), 0, 0};
    pollfd server{c.server.valid() ? c.server.get() : -1, 0, 0};
    if (MayRead(c, c.up)) client.events |= POLLIN;
    if (MayRead(c, c.down) && !c.answered) server.events |= POLLIN;
    if (MayWrite(c, c.up)) server.events |= POLLOUT;
    if (MayWrite(c, c.down)) client.events |= POLLOUT;
    for (const Stream* s : {&c.up, &c.down}) {
      if (frozen_ || s->chunks.empty() || MayWrite(c, *s)) continue;
      bool waits_for_tokens = s->chunks.front().due <= Clock::now();
      next = std::min(next,
                      waits_for_tokens ? Clock::now() + std::chrono::milliseconds(2) : s->chunks.front().due);
    }
    // A descriptor that waits for nothing is left out: its hang-up would make poll() spin.
    if (client.events == 0) client.fd = -1;
    if (server.events == 0) server.fd = -1;
    polled.push_back(client);
    polled.push_back(server);
  }
  return next;
}

void Proxy::Loop::Work() {
  std::vector<pollfd> polled;
  mutex_.lock();
  while (!stopping_) {
    Clock::time_point next = Prepare(polled);
    mutex_.unlock();
    int timeout = -1;
    if (next != Clock::time_point::max()) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
    }
    (void)::poll(polled.data(), polled.size(), timeout);
    std::uint64_t ignored;
    (void)!::read(wake_.get(), &ignored, sizeof(ignored));
    mutex_.lock();
    std::size_t i = 2;
    for (Connection& c : connections_) {
      if (i + 1 >= polled.size()) break;
      bool client = polled[i].revents != 0;
      bool server = polled[i + 1].revents != 0;
      i += 2;
      if (client && MayRead(c, c.up)) Read(c, c.up);
      if (server && MayRead(c, c.down) && !c.answered) Read(c, c.down);
      if (server && !c.broken) Write(c, c.up);
      if (client && !c.broken) Write(c, c.down);
    }
    // Turns go round, so that a narrow bandwidth is shared.
    if (connections_.size() > 1) connections_.splice(connections_.end(), connections_, connections_.begin());
    if ((polled[1].revents & POLLIN) != 0) Accept();
    Sweep();
  }
  connections_.clear();
  mutex_.unlock();
}

void Proxy::Loop::Accept() {
  while (listener_.valid()) {
    base::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client.valid()) return;
    const int held = kMostUnsent;
    ::setsockopt(client.get(), SOL_SOCKET, SO_SNDBUF, &held, sizeof held);
    Connection& c = connections_.emplace_back();
    c.client = std::move(client);
    c.server = Connect(upstream_);
    c.up.from = c.down.to = &c.client;
    c.up.to = c.down.from = &c.server;
  }
}

void Proxy::Loop::Read(Connection& c, Stream& s) {
  const bool down = &s == &c.down;
  const std::size_t room = down && link_.slow_start ? c.window.Room() : kChunk;
  std::string bytes(std::min(kChunk, room), '\0');
  ssize_t n = ::recv(s.from->get(), bytes.data(), bytes.size(), 0);
  if (n < 0) {
    c.broken = c.broken || (errno != EAGAIN && errno != EINTR && errno != ENOTCONN);
    return;
  }
  if (n == 0) {
    s.ended = true;
    return;
  }
  bytes.resize(static_cast<std::size_t>(n));
  if (!down) {
    SeeRequest(c, bytes);
    if (c.answered) return;
  } else if (c.request > forgotten_) {
    Passed& request = requests_[c.request - forgotten_ - 1];
    if (request.status == 0) request.status = ParseStatus(bytes);
  }
  auto sent = Clock::now();
  if (down) c.window.Sent(bytes.size());
  // The first request follows the handshake.
  if (!down && link_.slow_start) sent = std::max(sent, c.opened + 2 * link_.one_way);
  s.held += bytes.size();
  s.chunks.push_back({sent + link_.one_way, std::move(bytes), 0, c.request});
}

// Counts the request that begins in `bytes`, and answers it if a test wants that.
void Proxy::Loop::SeeRequest(Connection& c, std::string_view bytes) {
  auto request = ParseRequest(bytes);
  if (!request || c.answered) return;
  std::string path = request->path;
  requests_.push_back(std::move(*request));
  c.request = forgotten_ + requests_.size();
  if (!request_bucket_.TryTake(Clock::now())) return AnswerItself(c, kTooManyRequests);
  for (const auto& [part, response] : answers_) {
    const bool is_end = part.ends_with('$');
    const std::string_view wanted = std::string_view(part).substr(0, part.size() - (is_end ? 1 : 0));
    if (is_end ? !path.ends_with(wanted) : path.find(wanted) == std::string::npos) continue;
    return AnswerItself(c, response);
  }
}

void Proxy::Loop::AnswerItself(Connection& c, const std::string& response) {
  c.answered = true;
  c.down.ended = true;
  c.down.held += response.size();
  c.down.chunks.push_back({Clock::now() + 2 * link_.one_way, response, 0, c.request});
  requests_.back().status = ParseStatus(response);
}

// How much of `wanted` the bandwidth lets through now.
std::size_t Proxy::Loop::Allowance(const Connection& c, std::size_t wanted) const {
  return std::min({wanted, bucket_.Allowed(), c.bucket.Allowed()});
}

void Proxy::Loop::Account(Connection& c, const Chunk& chunk, std::size_t n) {
  bytes_ += n;
  bucket_.Take(n);
  c.bucket.Take(n);
  if (link_.slow_start) c.window.Delivered(n, Clock::now() + link_.one_way);
  if (chunk.request > forgotten_) requests_[chunk.request - forgotten_ - 1].bytes += n;
}

void Proxy::Loop::Write(Connection& c, Stream& s) {
  if (!MayWrite(c, s)) return;
  Chunk& chunk = s.chunks.front();
  bool down = &s == &c.down;
  std::size_t n = chunk.bytes.size() - chunk.sent;
  if (down) n = Allowance(c, n);
  if (n == 0) return;
  ssize_t sent = ::send(s.to->get(), chunk.bytes.data() + chunk.sent, n, MSG_NOSIGNAL);
  if (sent < 0) {
    c.broken = c.broken || (errno != EAGAIN && errno != EINTR && errno != ENOTCONN);
    return;
  }
  auto done = static_cast<std::size_t>(sent);
  if (down) Account(c, chunk, done);
  chunk.sent += done;
  s.held -= done;
  if (chunk.sent == chunk.bytes.size()) s.chunks.pop_front();
}

void Proxy::Loop::PassOnEnd(Connection& c, Stream& s) {
  if (!s.ended || s.passed_on || !s.chunks.empty() || frozen_ || c.broken) return;
  ::shutdown(s.to->get(), SHUT_WR);
  s.passed_on = true;
}

void Proxy::Loop::CutEverything() {
  for (Connection& c : connections_) c.broken = true;
}

void Proxy::Loop::Sweep() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    Connection& c = *it;
    PassOnEnd(c, c.up);
    PassOnEnd(c, c.down);
    bool over = (c.up.passed_on || c.answered) && c.down.passed_on;
    if (c.broken) Reset(c.client);
    it = c.broken || over ? connections_.erase(it) : std::next(it);
  }
}

Proxy::Proxy(int upstream) : loop_(std::make_unique<Loop>(upstream)) {}
Proxy::~Proxy() = default;

base::Status Proxy::Start() {
  return loop_->Start();
}

int Proxy::port() const {
  return loop_->port_;
}

void Proxy::LimitBandwidth(std::uint64_t bytes_per_second) {
  loop_->With([&] {
    loop_->link_.bytes_per_second = bytes_per_second;
    loop_->bucket_.SetRate(bytes_per_second);
  });
}

void Proxy::Delay(std::chrono::milliseconds one_way) {
  loop_->With([&] { loop_->link_.one_way = one_way; });
}

void Proxy::Shape(const Link& link) {
  loop_->With([&] {
    loop_->link_ = link;
    loop_->bucket_.SetRate(link.bytes_per_second);
    loop_->request_bucket_ = base::TokenBucket({link.requests_per_second, link.request_burst});
  });
}

void Proxy::Freeze(bool frozen) {
  loop_->With([&] { loop_->frozen_ = frozen; });
}

void Proxy::CutAll() {
  loop_->With([&] { loop_->CutEverything(); });
}

base::Status Proxy::Refuse(bool refuse) {
  if (!refuse) {
    auto open = loop_->Open();
    loop_->With([] {});
    return open;
  }
  loop_->With([&] {
    // The thread that polls it keeps it open for a moment, and nobody else could listen there meanwhile.
    ::shutdown(loop_->listener_.get(), SHUT_RDWR);
    loop_->listener_.Close();
  });
  return {};
}

void Proxy::Answer(const std::string& part, const std::string& response) {
  loop_->With([&] {
    if (response.empty()) {
      loop_->answers_.erase(part);
    } else {
      loop_->answers_[part] = response;
    }
  });
}

std::uint64_t Proxy::BytesToClients() const {
  base::Lock lock(loop_->mutex_);
  return loop_->bytes_;
}

std::vector<Passed> Proxy::Requests() const {
  base::Lock lock(loop_->mutex_);
  return loop_->requests_;
}

std::size_t Proxy::Count(const std::string& method, const std::string& part) const {
  base::Lock lock(loop_->mutex_);
  auto matches = [&](const Passed& request) {
    return (method.empty() || request.method == method) && request.path.find(part) != std::string::npos;
  };
  return static_cast<std::size_t>(std::count_if(loop_->requests_.begin(), loop_->requests_.end(), matches));
}

void Proxy::Forget() {
  base::Lock lock(loop_->mutex_);
  loop_->bytes_ = 0;
  loop_->forgotten_ += loop_->requests_.size();
  loop_->requests_.clear();
}

}  // namespace prefetch::rig
