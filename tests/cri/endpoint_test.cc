// C8 and C9.
#include "cri/endpoint.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "base/fs.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::cri::endpoint_test {
namespace {

struct Row {
  std::string name;
  std::string text;
  std::string path;  // empty: refused
};

TEST_TABLE(ParseEndpointTest, Parses, Row) {
  auto endpoint = ParseEndpoint(row.text);
  if (row.path.empty()) {
    ASSERT_FALSE(endpoint);
    EXPECT_EQ(endpoint.error().code(), base::Code::kInvalidArgument);
  } else {
    ASSERT_TRUE(endpoint) << endpoint.error().message();
    EXPECT_EQ(endpoint->socket_path, row.path);
  }
}

TEST_ROWS(Shapes, ParseEndpointTest,
          {"ThreeSlashes", "unix:///run/containerd/containerd.sock", "/run/containerd/containerd.sock"},
          {"OneSlash", "unix:/run/a.sock", "/run/a.sock"}, {"BarePath", "/run/a.sock", "/run/a.sock"},
          {"BarePathWithASchemeInIt", "/run/a://b.sock", "/run/a://b.sock"}, {"Relative", "run/a.sock", ""},
          {"RelativeUnix", "unix:run/a.sock", ""}, {"Host", "unix://run/a.sock", ""},
          {"Tcp", "tcp://127.0.0.1:1", ""}, {"Npipe", "npipe:////./pipe/containerd", ""}, {"Empty", "", ""},
          {"OnlyScheme", "unix://", ""}, {"Folder", "/run/containerd/", ""},
          {"Longest", "/" + std::string(106, 'a'), "/" + std::string(106, 'a')},
          {"TooLong", "/" + std::string(107, 'a'), ""});

// A socket that is bound, and listened on if `listening`.
base::Fd Bind(const std::string& path, bool listening) {
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  if (listening) {
    EXPECT_EQ(::listen(fd.get(), 4), 0);
  }
  return fd;
}

TEST(WhyUnreachableTest, TellsWhatIsWrong) {
  tests::TempDir dir;
  base::Fd stale = Bind(dir / "stale.sock", false);
  base::Fd good = Bind(dir / "good.sock", true);
  dir.Write("file", "");
  EXPECT_EQ(UnreachableReason({dir / "none.sock"}), "absent");
  EXPECT_EQ(UnreachableReason({dir / "file/none.sock"}), "absent");
  EXPECT_EQ(UnreachableReason({dir / "stale.sock"}), "nobody listens");
  EXPECT_EQ(UnreachableReason({dir / "file"}), "nobody listens");
  EXPECT_EQ(UnreachableReason({dir / "good.sock"}), std::nullopt);
}

// Root may open everything, so this asks as somebody else, in a child.
TEST(WhyUnreachableTest, TellsOfAPermissionThatIsMissing) {
  tests::TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  base::Fd good = Bind(dir / "good.sock", true);
  ASSERT_EQ(::chmod((dir / "good.sock").c_str(), 0600), 0);
  pid_t child = ::fork();
  if (child == 0) {
    bool gone = ::geteuid() != 0 || ::setresuid(65534, 65534, 65534) == 0;
    ::_exit(gone && (UnreachableReason({dir / "good.sock"}) == "permission denied") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(DiscoverEndpointTest, TakesTheFirstThatAnswers) {
  tests::TempDir dir;
  base::Fd stale = Bind(dir / "stale.sock", false);
  base::Fd one = Bind(dir / "one.sock", true);
  base::Fd two = Bind(dir / "two.sock", true);
  auto found =
      DiscoverEndpoint({{dir / "none.sock"}, {dir / "stale.sock"}, {dir / "one.sock"}, {dir / "two.sock"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->socket_path, dir / "one.sock");
}

TEST(DiscoverEndpointTest, NamesAllThatItTried) {
  tests::TempDir dir;
  base::Fd stale = Bind(dir / "stale.sock", false);
  auto found = DiscoverEndpoint({{dir / "none.sock"}, {dir / "stale.sock"}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message(), "cannot reach a container runtime: tried " + (dir / "none.sock") +
                                         " (absent), " + (dir / "stale.sock") +
                                         " (nobody listens). Name the socket with --runtime-endpoint.");
}

}  // namespace
}  // namespace prefetch::cri::endpoint_test
