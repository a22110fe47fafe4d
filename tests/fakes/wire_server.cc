#include "fakes/wire_server.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <optional>

#include "base/text.h"

namespace prefetch::tests {
namespace {

constexpr char kTlsHello = 0x16;

// One request, with what is left over in `buffer`; nullopt: the client is gone.
std::optional<WireRequest> ReadRequest(int fd, std::string& buffer) {
  auto more = [&] {
    char bytes[16384];
    ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
    if (n > 0) buffer.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  };
  std::size_t end;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return std::nullopt;
    if (buffer[0] == kTlsHello) {  // as Go's servers, and so most registries, answer it
      WireServer::Write(fd, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
      return std::nullopt;
    }
  }
  WireRequest request;
  std::vector<std::string_view> lines = base::Split(std::string_view(buffer).substr(0, end), '\n');
  std::vector<std::string_view> words = base::Split(base::TrimSpace(lines[0]), ' ');
  if (words.size() != 3) return std::nullopt;
  request.method = words[0];
  request.target = words[1];
  for (std::size_t i = 1; i < lines.size(); i++) {
    std::size_t colon = lines[i].find(':');
    if (colon == std::string_view::npos) continue;
    request.headers.Add(std::string(lines[i].substr(0, colon)),
                        std::string(base::TrimSpace(lines[i].substr(colon + 1))));
  }
  buffer.erase(0, end + 4);
  std::size_t length = base::ParseUint(request.headers.Get("Content-Length").value_or("0")).value_or(0);
  while (buffer.size() < length) {
    if (!more()) return std::nullopt;
  }
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return request;
}

}  // namespace

WireServer::WireServer(Handler handler)
    : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  port_ = ListenOnLoopback(listener_, 64);
  accepting_ = std::thread([this] { Accept(); });
}

WireServer::~WireServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
  {
    base::Lock lock(mutex_);
    ending_ = true;
    for (int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : serving_) thread.join();
}

void WireServer::Accept() {
  while (true) {
    base::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) return;
    int on = 1;
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    accepted_++;
    serving_.emplace_back([this, fd = client.Release()] { Serve(base::Fd(fd)); });
  }
}

void WireServer::Serve(base::Fd client) {
  {
    base::Lock lock(mutex_);
    if (ending_) return;
    open_.insert(client.get());
  }
  std::string buffer;
  while (auto request = ReadRequest(client.get(), buffer)) {
    if (!handler_(*request, client.get())) break;
  }
  base::Lock lock(mutex_);
  open_.erase(client.get());
  client.Close();
}

}  // namespace prefetch::tests
