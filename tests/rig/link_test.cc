// Does the proxy's link take as long as arithmetic says?

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "loopback.h"
#include "rig/expect_ok.h"
#include "rig/link.h"
#include "rig/port.h"
#include "rig/proxy.h"
#include "rows.h"

namespace prefetch::rig::link_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Sends `bytes` bytes to each client that asks, and closes the connection.
class Source {
 public:
  explicit Source(std::size_t bytes) : bytes_(bytes) {
    port_ = FreePort().value();
    listener_ = std::move(*Listen(port_));
    thread_ = std::thread([this] { Serve(); });
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    stop_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  int port() const { return port_; }

 private:
  void Serve() {
    std::vector<std::thread> answers;
    while (!stop_) {
      pollfd wait{listener_.get(), POLLIN, 0};
      (void)::poll(&wait, 1, -1);
      base::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) continue;
      answers.emplace_back([this, client = std::move(client)] {
        char word = 0;
        if (::recv(client.get(), &word, 1, 0) != 1) return;
        tests::SendAll(client.get(), std::string(bytes_, 'x'));
      });
    }
    for (std::thread& answer : answers) answer.join();
  }

  const std::size_t bytes_;
  int port_ = 0;
  base::Fd listener_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Asks once and reads until all has come.
std::size_t Fetch(int port, std::size_t bytes) {
  base::Fd fd = Connect(port);
  pollfd wait{fd.get(), POLLOUT, 0};
  (void)::poll(&wait, 1, -1);
  if (::send(fd.get(), "?", 1, MSG_NOSIGNAL) != 1) return 0;
  std::vector<char> buffer(1 << 16);
  std::size_t all = 0;
  wait.events = POLLIN;
  while (all < bytes && ::poll(&wait, 1, -1) == 1) {
    ssize_t n = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    all += static_cast<std::size_t>(n);
  }
  return all;
}

// Seconds until `clients` at once have `bytes` each. The least of five tries, as other work on the machine
// only ever adds; no more tries than are needed to come below `enough`.
double Seconds(const Link& link, std::size_t bytes, int clients, double enough) {
  double least = 1e9;
  for (int i = 0; i < 5 && least > enough; i++) {
    Source source(bytes);
    Proxy proxy(source.port());
    EXPECT_OK(proxy.Start());
    proxy.Shape(link);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> all{0};
    auto start = steady_clock::now();
    for (int c = 0; c < clients; c++) threads.emplace_back([&] { all += Fetch(proxy.port(), bytes); });
    for (std::thread& thread : threads) thread.join();
    least = std::min(least, std::chrono::duration<double>(steady_clock::now() - start).count());
    EXPECT_EQ(all, bytes * static_cast<std::size_t>(clients));
  }
  return least;
}

struct Row {
  const char* name;
  Link link;
  std::size_t bytes;
  int clients;
  double seconds;
};

TEST_TABLE(LinkTest, TakesAsLongAsItShould, Row) {
  const double took = Seconds(row.link, row.bytes, row.clients, 1.1 * row.seconds);
  EXPECT_GE(took, 0.9 * row.seconds);
  EXPECT_LE(took, 1.1 * row.seconds);
}

TEST_ROWS(Links, LinkTest, {"OneRateForAll", {.bytes_per_second = 4'000'000}, 1'000'000, 3, 0.75},
          {"ARateForEach", {.connection_bytes_per_second = 2'000'000}, 1'000'000, 3, 0.5},
          {"TheLowerRateCounts",
           {.bytes_per_second = 3'000'000, .connection_bytes_per_second = 2'000'000},
           1'000'000,
           2,
           0.667},
          {"ARoundTrip", {.one_way = milliseconds(100)}, 1, 1, 0.2},
          {"ARoundTripMoreToConnect", {.one_way = milliseconds(100), .slow_start = true}, 1, 1, 0.4},
          // Windows of 10, 20, 40, 80 and 160 segments.
          {"AWindowThatDoubles", {.one_way = milliseconds(50), .slow_start = true}, 310 * 1460, 1, 0.6},
          {"WithoutSlowStartOneRoundTripForAll", {.one_way = milliseconds(100)}, 310 * 1460, 1, 0.2});

}  // namespace
}  // namespace prefetch::rig::link_test
