#include "fakes/front.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <array>

#include "loopback.h"

namespace prefetch::tests {

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

namespace {

// An answer of several records is not held back for the acknowledgement of the first, which a client delays
// by up to 40 ms. Servers written in Go set this, too.
void SendAtOnce(int fd) {
  const int on = 1;
  EXPECT_EQ(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
}

base::Fd Connect(std::uint16_t port) {
  base::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  SendAtOnce(fd.get());
  return fd;
}

}  // namespace

struct Front::TlsContext {
  TlsContext(const std::string& certificate_file, const std::string& key_file,
             const std::string& client_ca_file)
      : context(SSL_CTX_new(TLS_server_method())) {
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()), 1) << certificate_file;
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM), 1) << key_file;
    // An old session would be taken up again without a look at a client's new certificate.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    if (client_ca_file.empty()) return;
    EXPECT_EQ(SSL_CTX_load_verify_locations(context, client_ca_file.c_str(), nullptr), 1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  ~TlsContext() { SSL_CTX_free(context); }
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  SSL_CTX* context;
};

// The client's side of one connection, TLS or not.
class Front::Pipe {
 public:
  Pipe(int fd, const TlsContext* tls) : fd_(fd) {
    if (tls == nullptr) return;
    ssl_.reset(SSL_new(tls->context));
    SSL_set_fd(ssl_.get(), fd);
  }

  bool Begin() { return !ssl_ || SSL_accept(ssl_.get()) == 1; }
  bool HasMore() const { return ssl_ && SSL_pending(ssl_.get()) > 0; }
  long Read(char* data, std::size_t size) {
    if (ssl_) return SSL_read(ssl_.get(), data, static_cast<int>(size));
    return ::recv(fd_, data, size, 0);
  }
  bool Write(const char* data, std::size_t size) {
    if (ssl_) return size == 0 || SSL_write(ssl_.get(), data, static_cast<int>(size)) > 0;
    return SendAll(fd_, {data, size});
  }

 private:
  int fd_;
  std::unique_ptr<SSL, SslFree> ssl_;
};

Front::Front(FrontOptions options)
    : client_ca_file_(options.client_ca_file), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::signal(SIGPIPE, SIG_IGN);  // as our programs have it: OpenSSL writes without MSG_NOSIGNAL
  port_ = ListenOnLoopback(listener_, 64);
  if (!options.certificate_file.empty()) SetCertificate(options.certificate_file, options.key_file);
  accepting_ = std::thread([this] { Accept(); });
}

Front::~Front() {
  {
    base::Lock lock(mutex_);
    ending_ = true;
  }
  ::shutdown(listener_.get(), SHUT_RDWR);
  CutAll();
  accepting_.join();
  for (std::thread& thread : serving_) thread.join();
}

void Front::SetCertificate(const std::string& certificate_file, const std::string& key_file) {
  auto tls = std::make_shared<const TlsContext>(certificate_file, key_file, client_ca_file_);
  base::Lock lock(mutex_);
  tls_ = std::move(tls);
}

void Front::CutAll() {
  base::Lock lock(mutex_);
  for (int fd : open_) ::shutdown(fd, SHUT_RDWR);
}

bool Front::Register(int fd) {
  base::Lock lock(mutex_);
  if (ending_) return false;
  open_.insert(fd);
  return true;
}

void Front::Unregister(int fd) {
  base::Lock lock(mutex_);
  open_.erase(fd);
}

void Front::Accept() {
  while (true) {
    base::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.valid()) return;
    SendAtOnce(client.get());
    accepted_++;
    if (!Register(client.get())) return;
    serving_.emplace_back([this, fd = client.Release()] { Serve(base::Fd(fd)); });
  }
}

void Front::Serve(base::Fd client) {
  std::shared_ptr<const TlsContext> tls;
  {
    base::Lock lock(mutex_);
    tls = tls_;
  }
  Pipe pipe(client.get(), tls.get());
  base::Fd upstream = upstream_ == 0 ? base::Fd() : Connect(upstream_);
  bool open = upstream.valid() && Register(upstream.get()) && pipe.Begin();
  std::array<char, 16 * 1024> buffer;
  while (open) {
    std::array<pollfd, 2> ready = {pollfd{client.get(), POLLIN, 0}, pollfd{upstream.get(), POLLIN, 0}};
    if (!pipe.HasMore() && ::poll(ready.data(), ready.size(), -1) < 0) break;
    if (pipe.HasMore() || ready[0].revents != 0) {
      long n = pipe.Read(buffer.data(), buffer.size());
      if (n <= 0 || ::send(upstream.get(), buffer.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL) != n)
        break;
    }
    if (ready[1].revents == 0) continue;
    ssize_t n = ::recv(upstream.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    bool cuts = cut_next_.exchange(false);
    open = pipe.Write(buffer.data(), static_cast<std::size_t>(cuts ? n / 2 : n)) && !cuts;
  }
  if (upstream.valid()) Unregister(upstream.get());
  Unregister(client.get());
}

}  // namespace prefetch::tests
