// Clients that read nothing: the built agent has to stay far below the memory that its manifest gives it, the
// kernel's buffers for its sockets included, and answer each probe meanwhile. How soon it does is printed:
// p99 is below 10 ms on a quiet machine.
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "loopback.h"
#include "rig/expect_ok.h"
#include "rig/port.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::system::slow_readers_test {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kEntries = 5000;
constexpr int kReaders = 300;

// A client from one of the addresses of loopback: the agent limits connections by address.
class Client {
 public:
  Client(int port, unsigned last_octet) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // The kernel's memory for this side is not the agent's.
    int few = 4096;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &few, sizeof few);
    sockaddr_in from = Address(last_octet, 0), to = Address(1, port);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  bool Ask(const std::string& path) {
    std::string text = "GET " + path + " HTTP/1.1\r\nHost: node\r\n\r\n";
    return connected_ && ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0;
  }
  // The first bytes of an answer; empty if there is none in time.
  std::string Begin(milliseconds limit) {
    pollfd ready{fd_.get(), POLLIN, 0};
    char text[1024];
    if (::poll(&ready, 1, static_cast<int>(limit.count())) != 1) return "";
    ssize_t n = ::recv(fd_.get(), text, sizeof text, 0);
    return n <= 0 ? "" : std::string(text, static_cast<std::size_t>(n));
  }

 private:
  static sockaddr_in Address(unsigned last_octet, int port) {
    sockaddr_in address = tests::Loopback(port);
    address.sin_addr.s_addr = htonl(0x7F000000 | last_octet);
    return address;
  }
  base::Fd fd_;
  bool connected_ = false;
};

// Returns the kernel's memory for one socket, by sock_diag(7): bytes that wait to be read or sent, and memory
// set aside for more.
std::uint64_t KernelBytesOf(inet_diag_msg& socket, std::size_t length) {
  auto* attribute = reinterpret_cast<rtattr*>(&socket + 1);
  for (auto left = static_cast<int>(length - sizeof socket); RTA_OK(attribute, left);
       attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type != INET_DIAG_SKMEMINFO) continue;
    std::array<std::uint32_t, SK_MEMINFO_VARS> figures{};
    std::memcpy(figures.data(), RTA_DATA(attribute), std::min(sizeof figures, RTA_PAYLOAD(attribute)));
    return std::uint64_t{figures[SK_MEMINFO_RMEM_ALLOC]} + figures[SK_MEMINFO_WMEM_QUEUED] +
           figures[SK_MEMINFO_FWD_ALLOC];
  }
  return 0;
}

// Sums up all connections whose end here is this port; nullopt: the kernel does not tell.
std::optional<std::uint64_t> KernelBytes(int port) {
  base::Fd diag(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header{};
    inet_diag_req_v2 request{};
  } question;
  question.header = {.nlmsg_len = sizeof question,
                     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
  question.request.idiag_states = ~0U;
  if (::send(diag.get(), &question, sizeof question, 0) < 0) return std::nullopt;
  std::uint64_t sum = 0;
  alignas(nlmsghdr) std::array<char, 1 << 16> answer;
  while (true) {
    const ssize_t n = ::recv(diag.get(), answer.data(), answer.size(), 0);
    if (n <= 0) return std::nullopt;
    auto left = static_cast<unsigned>(n);
    for (auto* part = reinterpret_cast<nlmsghdr*>(answer.data()); NLMSG_OK(part, left);
         part = NLMSG_NEXT(part, left)) {
      if (part->nlmsg_type == NLMSG_DONE) return sum;
      if (part->nlmsg_type == NLMSG_ERROR) return std::nullopt;
      auto* socket = static_cast<inet_diag_msg*>(NLMSG_DATA(part));
      if (ntohs(socket->id.idiag_sport) == port) sum += KernelBytesOf(*socket, NLMSG_PAYLOAD(part, 0));
    }
  }
}

// An agent with a long list, and many clients that ask it for everything and read nothing, as any pod can.
// Used by one thread.
class SlowReaders {
 public:
  // Returns when the agent answers; a failure is one of the test.
  void StartAgent();
  // Does it answer this path within five seconds, with these first bytes?
  bool Answers(const std::string& path, const std::string& begin) const;

  struct Probes {
    std::vector<double> seconds;  // of those that were answered
    int unanswered = 0;           // within five seconds
  };
  // Asks for /readyz again and again, while three hundred clients of two addresses ask for one of `paths`
  // each; those that are cut come back.
  Probes Attack(const std::vector<std::string>& paths, std::chrono::seconds time);

  bool AgentRuns() { return agent_.Running(); }
  std::uint64_t AgentPeakBytes() const { return agent_.PeakBytes(); }
  // The most memory that the kernel held for the agent's connections during attacks.
  std::uint64_t kernel_bytes() const { return kernel_; }

 private:
  void WriteList(const std::string& tag);

  rig::Scratch scratch_;
  rig::Process agent_;
  int port_ = 0;
  std::uint64_t kernel_ = 0;
};

void SlowReaders::StartAgent() {
  WriteList("v1");
  auto port = rig::FreePort();
  ASSERT_OK(port);
  port_ = *port;
  const char* program = std::getenv("PREFETCHD");
  ASSERT_NE(program, nullptr) << "run the tests by tests/run or meson test";
  ASSERT_OK(agent_.Start({{program, "--list", scratch_ / "images.txt", "--kubelet=none", "--runtime-endpoint",
                           "unix://" + (scratch_ / "none.sock"), "--local", scratch_ / "agent.sock",
                           "--listen", "127.0.0.1:" + std::to_string(port_)},
                          {rig::kNoMallocPerturb}},
                         scratch_ / "agent.log"));
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return Answers("/readyz?verbose", "HTTP/1.1 503"); }));
}

void SlowReaders::WriteList(const std::string& tag) {
  std::string list;
  for (int i = 0; i < kEntries; i++) {
    list += "registry.example.test/team-" + std::to_string(i % 40) + "/a-service-with-a-long-name-" +
            std::to_string(i) + ":" + tag + "\n";
  }
  scratch_.Write("images.txt", list);
}

bool SlowReaders::Answers(const std::string& path, const std::string& begin) const {
  Client client(port_, 1);
  return client.Ask(path) && client.Begin(seconds(5)).starts_with(begin);
}

SlowReaders::Probes SlowReaders::Attack(const std::vector<std::string>& paths, seconds time) {
  Probes probes;
  std::atomic<bool> over = false;
  std::thread probe([&] {
    while (!over) {
      auto start = steady_clock::now();
      if (Answers("/readyz", "HTTP/1.1 503")) {
        probes.seconds.push_back(duration<double>(steady_clock::now() - start).count());
      } else {
        probes.unanswered++;
      }
      rig::Pause();
    }
  });
  const auto end = steady_clock::now() + time;
  for (int wave = 0; steady_clock::now() < end; wave++) {
    std::vector<Client> readers;
    readers.reserve(kReaders);
    for (unsigned i = 0; i < kReaders; i++) {
      readers.emplace_back(port_, 2 + i % 2);
      readers.back().Ask(paths[i % paths.size()]);
      // Each tenth finds another Snapshot.
      if (i % 30 == 0) WriteList("v" + std::to_string(wave) + "." + std::to_string(i));
    }
    const auto wave_end = std::min(end, steady_clock::now() + seconds(4));
    while (steady_clock::now() < wave_end) {
      const auto now = KernelBytes(port_);
      EXPECT_TRUE(now.has_value()) << "no sockets are told: is inet_diag there?";
      kernel_ = std::max(kernel_, now.value_or(0));
      rig::Pause();
    }
  }
  over = true;
  probe.join();
  return probes;
}

constexpr std::uint64_t kLimit = std::uint64_t{128} << 20;  // deploy/base: resources.limits.memory

class SlowReadersTest : public testing::Test {
 protected:
  void SetUp() override { readers_.StartAgent(); }

  void ExpectHarmless(const std::vector<std::string>& paths, seconds time) {
    SlowReaders::Probes probes = readers_.Attack(paths, time);
    const std::uint64_t peak = readers_.AgentPeakBytes();
    std::sort(probes.seconds.begin(), probes.seconds.end());
    const auto percentile = [&](std::size_t percent) {
      return probes.seconds.empty() ? 0 : 1000 * probes.seconds[probes.seconds.size() * percent / 100];
    };
    std::cout << "peak " << (peak >> 20) << " MiB, kernel " << (readers_.kernel_bytes() >> 20) << " MiB, "
              << probes.seconds.size() << " probes: p50 " << percentile(50) << " ms, p99 " << percentile(99)
              << " ms\n";
    EXPECT_TRUE(readers_.AgentRuns());
    EXPECT_GT(peak, 0U);
    EXPECT_GT(readers_.kernel_bytes(), 0U);
    EXPECT_LT(peak + readers_.kernel_bytes(), kLimit);
    EXPECT_GT(probes.seconds.size(), 100U);
    EXPECT_EQ(probes.unanswered, 0);
  }

  SlowReaders readers_;
};

TEST_F(SlowReadersTest, OfTheStatusTakeLittleMemoryAndKeepNoProbeWaiting) {
  ExpectHarmless({"/v1/status"}, seconds(12));
  // Clients that read get answers again.
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] { return readers_.Answers("/v1/status", "HTTP/1.1 200"); }));
}

TEST_F(SlowReadersTest, OfEverythingElseDoNotEither) {
  ExpectHarmless({"/readyz?verbose", "/metrics", "/v1/status"}, seconds(8));
}

}  // namespace
}  // namespace prefetch::system::slow_readers_test
