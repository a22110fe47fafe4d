#include "http/server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "raw_socket.h"
#include "temp_dir.h"

namespace prefetch::http::listener_test {
namespace {

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(TcpListener, PortZeroTakesAFreeOne) {
  auto listener = Listener::Tcp("127.0.0.1:0");
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_GT(listener->port(), 0);
  EXPECT_EQ(listener->address(), "127.0.0.1:" + std::to_string(listener->port()));
  EXPECT_FALSE(listener->local());
  EXPECT_TRUE(tests::RawClient(listener->port()).connected());
}

TEST(TcpListener, EveryAddressTakesIpv4Too) {
  auto listener = Listener::Tcp(":0");
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_TRUE(tests::RawClient(listener->port()).connected());
}

TEST(TcpListener, ATakenPortIsSaidClearly) {
  auto first = Listener::Tcp("127.0.0.1:0");
  ASSERT_TRUE(first);
  auto second = Listener::Tcp(first->address());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), base::Code::kUnavailable);
  EXPECT_EQ(second.error().message(),
            "cannot listen on " + first->address() +
                ": the address is in use; is another prefetchd running here? Choose another one");
}

struct BadAddress {
  std::string name, address;
};
class BadAddressTest : public testing::TestWithParam<BadAddress> {};
TEST_P(BadAddressTest, IsRefused) {
  auto listener = Listener::Tcp(GetParam().address);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code(), base::Code::kInvalidArgument) << listener.error().message();
}
INSTANTIATE_TEST_SUITE_P(Listener, BadAddressTest,
                         testing::Values(BadAddress{"Empty", ""}, BadAddress{"NoPort", "127.0.0.1"},
                                         BadAddress{"PortTooHigh", "127.0.0.1:65536"},
                                         BadAddress{"PortIsAName", "127.0.0.1:http"},
                                         BadAddress{"HostIsAName", "localhost:80"},
                                         BadAddress{"BareIpv6", "::1:80"},
                                         BadAddress{"BracketsAroundIpv4", "[127.0.0.1]:80"},
                                         BadAddress{"NotOurs", "192.0.2.1:80"}),
                         [](const auto& row) { return row.param.name; });

TEST(UnixListener, MakesItsFolderAndGoesWithItsFile) {
  tests::TempDir dir;
  std::string path = dir / "a/b/p.sock";
  {
    auto listener = Listener::Unix(path, 0600);
    ASSERT_TRUE(listener) << listener.error().message();
    EXPECT_EQ(ModeOf(path), 0600U);
    EXPECT_EQ(ModeOf(dir / "a/b"), 0755U);
    EXPECT_EQ(listener->address(), "unix://" + path);
    EXPECT_TRUE(listener->local());
    EXPECT_TRUE(tests::RawClient(path).connected());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixListener, TheModeIsExactWhateverTheUmask) {
  tests::TempDir dir;
  mode_t before = ::umask(0777);
  auto listener = Listener::Unix(dir / "p.sock", 0660);
  ::umask(before);
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_EQ(ModeOf(dir / "p.sock"), 0660U);
}

TEST(UnixListener, ADeadProcessSocketIsReplaced) {
  tests::TempDir dir;
  std::string path = dir / "p.sock";
  {
    auto dead = Listener::Unix(path, 0600);
    ASSERT_TRUE(dead);
    // As if the process had died: the file stays behind, under another name for its destructor.
    std::filesystem::rename(path, dir / "left");
  }
  std::filesystem::rename(dir / "left", path);
  ASSERT_FALSE(tests::RawClient(path).connected());
  auto listener = Listener::Unix(path, 0600);
  ASSERT_TRUE(listener) << listener.error().message();
  EXPECT_TRUE(tests::RawClient(path).connected());
}

TEST(UnixListener, ALiveOneIsLeftAlone) {
  tests::TempDir dir;
  std::string path = dir / "p.sock";
  auto first = Listener::Unix(path, 0600);
  ASSERT_TRUE(first);
  auto second = Listener::Unix(path, 0600);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), base::Code::kUnavailable);
  EXPECT_EQ(second.error().message(),
            "cannot listen on " + path +
                ": another process listens there; is another prefetchd running here? Choose another path");
  EXPECT_TRUE(tests::RawClient(path).connected());
}

TEST(UnixListener, AFileThatIsNoSocketIsLeftAlone) {
  tests::TempDir dir;
  std::string path = dir.Write("p.sock", "precious");
  auto listener = Listener::Unix(path, 0600);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code(), base::Code::kInvalidArgument);
  EXPECT_EQ(*base::ReadFile(path, 100), "precious");
}

TEST(UnixListener, AFileThatSomebodyPutThereMeanwhileStays) {
  tests::TempDir dir;
  std::string path = dir / "p.sock";
  {
    auto listener = Listener::Unix(path, 0600);
    ASSERT_TRUE(listener);
    std::filesystem::rename(path, dir / "moved");
    dir.Write("p.sock", "somebody else's");
  }
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(UnixListener, PathsThatCannotBe) {
  EXPECT_EQ(Listener::Unix("relative.sock", 0600).error().code(), base::Code::kInvalidArgument);
  EXPECT_EQ(Listener::Unix("/" + std::string(107, 'a'), 0600).error().code(), base::Code::kInvalidArgument);
}

}  // namespace
}  // namespace prefetch::http::listener_test
