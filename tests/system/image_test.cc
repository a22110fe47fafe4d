// The container image, as the DaemonSet would run it: built by deploy/image/build from the programs that are
// tested here, and run by runc with a read-only root, no capability, no privilege to gain.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::image_test {
namespace {

const rig::User kAnn{"ann", "s3cr3t-ann-image"};
constexpr std::uint64_t kMegabyte = 1'000'000;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Builds the image once for all tests here.
class Image {
 public:
  static const Image& Get() {
    static const Image image;
    return image;
  }
  const rig::Ran& built() const { return built_; }
  std::string rootfs() const { return scratch_ / "image/rootfs"; }

 private:
  Image()
      : built_(*rig::RunProgram({{Environment("PREFETCH_SOURCE") + "/deploy/image/build", scratch_ / "image",
                                  Environment("PREFETCH_BUILD")},
                                 {}},
                                std::chrono::minutes(3))) {}

  rig::Scratch scratch_;
  rig::Ran built_;
};

std::string Quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string Bind(const std::string& path, const char* mode) {
  return R"({"destination":")" + path + R"(","type":"bind","source":")" + path + R"(","options":["rbind",")" +
         mode + R"("]})";
}

// Returns the configuration of a container like the DaemonSet's, with these mounts of the node.
std::string Bundle(const std::vector<std::string>& argv, const std::vector<std::string>& mounts) {
  std::string args, binds;
  for (const std::string& arg : argv) args += (args.empty() ? "" : ",") + Quoted(arg);
  for (const std::string& mount : mounts) binds += "," + mount;
  return R"({"ociVersion":"1.0.2","hostname":"n1","root":{"path":")" + Image::Get().rootfs() +
         R"(","readonly":true},"process":{"user":{"uid":0,"gid":0},"cwd":"/","env":["PATH=/usr/bin"],)"
         R"("capabilities":{"bounding":[],"effective":[],"inheritable":[],"permitted":[],"ambient":[]},)"
         R"("noNewPrivileges":true,"args":[)" +
         args +
         R"(]},"mounts":[{"destination":"/proc","type":"proc","source":"proc"},)"
         R"({"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755","size=64k"]})" +
         binds +
         R"(],"linux":{"namespaces":[{"type":"pid"},{"type":"mount"},{"type":"ipc"},{"type":"uts"}]}})";
}

rig::Command Contained(const rig::Scratch& scratch, const std::string& bundle, const std::string& name) {
  scratch.Write(name + "/config.json", bundle);
  return {{"runc", "--root", scratch / "runc", "run", "--bundle", scratch / name, name}, {}};
}

TEST(Image, IsBuiltAndSmall) {
  ASSERT_TRUE(Image::Get().built().exit == rig::Exit{}) << Image::Get().built().err;
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(Image::Get().rootfs())) {
    if (file.is_regular_file() && !file.is_symlink()) bytes += file.file_size();
  }
  EXPECT_LT(bytes, 60 * kMegabyte);
  EXPECT_FALSE(std::filesystem::exists(Image::Get().rootfs() + "/usr/bin/sh"));
}

// The packages of the archives that are linked into a program, as the build names them.
std::set<std::string> LinkedArchives(const std::string& program) {
  std::ifstream ninja(Environment("PREFETCH_BUILD") + "/build.ninja");
  std::string line, word;
  while (std::getline(ninja, line) && !line.starts_with("build " + program + ":")) {
  }
  while (std::getline(ninja, line) && !line.starts_with(" LINK_ARGS")) {
  }
  std::vector<std::string> argv = {"dpkg-query", "-S"};
  for (std::istringstream words(line); words >> word;) {
    // libatomic.a is the compiler's own, as libgcc is.
    if (word.starts_with("/") && word.ends_with(".a") && !word.ends_with("/libatomic.a"))
      argv.push_back(std::filesystem::weakly_canonical(word));
  }
  std::set<std::string> packages;
  const rig::Ran ran = *rig::RunProgram({argv, {}}, std::chrono::minutes(1));
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
  for (std::istringstream lines(ran.out); std::getline(lines, line);) {
    packages.insert(line.substr(0, line.find(':')));
  }
  return packages;
}

TEST(Image, HasTheLicencesOfWhatIsInIt) {
  ASSERT_TRUE(Image::Get().built().exit == rig::Exit{}) << Image::Get().built().err;
  const std::string documents = Image::Get().rootfs() + "/usr/share/doc/";
  std::set<std::string> packages = {"libc6",  "libcurl4",     "libssl3",
                                    "zlib1g", "libcli11-dev", "libtomlplusplus-dev"};
  for (const char* program : {"prefetchd", "prefetchctl"}) {
    const auto linked = LinkedArchives("cmd/" + std::string(program) + "/" + program);
    EXPECT_TRUE(linked.contains("nettle-dev")) << program;
    packages.insert(linked.begin(), linked.end());
  }
  for (const std::string& package : packages) {
    EXPECT_TRUE(std::filesystem::exists(documents + package + "/copyright")) << package;
  }
  EXPECT_TRUE(std::filesystem::exists(documents + "prefetchd/LICENSE"));
}

TEST(Image, PullsAPrivateImageWithANodesPluginAsTheDaemonSetWould) {
  ASSERT_TRUE(Image::Get().built().exit == rig::Exit{}) << Image::Get().built().err;
  Node node;
  auto host = node.AddRegistry("acme.example.test:5000", kAnn);
  std::string image = host->Push("team/app", "v1", {{1, kMegabyte}});
  node.HasList({image});
  node.HasPlugin("acme.example.test:5000", kAnn);
  // The node's plugins are its own programs, linked against its own libc: not a script here, for the image
  // has no shell.
  std::filesystem::copy_file(Environment("PREFETCH_PLUGIN"), node.scratch() / "plugins/login",
                             std::filesystem::copy_options::overwrite_existing);
  node.scratch().Write(
      "plugins/answer.json",
      R"({"apiVersion":"credentialprovider.kubelet.k8s.io/v1","kind":"CredentialProviderResponse",)"
      R"("cacheKeyType":"Registry","cacheDuration":"10m","auth":{"acme.example.test:5000":)"
      R"({"username":")" +
          kAnn.name + R"(","password":")" + kAnn.password + "\"}}}");
  std::filesystem::create_directory(node.scratch() / "run");

  std::vector<std::string> argv = node.Agent({"--once", "--timeout", "2m"}).argv;
  argv[0] = "/usr/bin/prefetchd";
  for (std::string& arg : argv) {
    if (arg == node.scratch() / "agent.sock") arg = node.scratch() / "run/agent.sock";
  }
  std::string sockets = std::filesystem::path(node.containerd().socket()).parent_path();
  rig::Command run =
      Contained(node.scratch(),
                Bundle(argv, {Bind(node.scratch() / "agent.yaml", "ro"), Bind(node.scratch() / "lists", "ro"),
                              Bind(node.scratch() / "plugins", "ro"),
                              Bind(node.scratch() / "provider-config.yaml", "ro"), Bind(sockets, "ro"),
                              Bind(node.scratch() / "run", "rw")}),
                "agent");
  auto ran = rig::RunProgram(run, std::chrono::minutes(3));
  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_TRUE(ran->exit == rig::Exit{}) << ran->out << ran->err;
  EXPECT_NE(ran->out.find("1 of 1 required image ready"), std::string::npos) << ran->out;
  EXPECT_TRUE(node.Has(image));
}

TEST(Image, HasTheCommandLineToolToo) {
  ASSERT_TRUE(Image::Get().built().exit == rig::Exit{}) << Image::Get().built().err;
  rig::Scratch scratch;
  scratch.Write("lists/images.txt", "quay.io/acme/app:v1\n");
  auto ran = rig::RunProgram(
      Contained(scratch,
                Bundle({"/usr/bin/prefetchctl", "list", "check", scratch / "lists/images.txt"},
                       {Bind(scratch / "lists", "ro")}),
                "ctl"),
      std::chrono::minutes(1));
  ASSERT_TRUE(ran) << ran.error().message();
  EXPECT_TRUE(ran->exit == rig::Exit{}) << ran->err;
  EXPECT_NE(ran->out.find("1 entr"), std::string::npos) << ran->out;
}

// Returns the program that the Dockerfile has for an ENTRYPOINT.
std::string EntryPoint() {
  std::ifstream file(Environment("PREFETCH_SOURCE") + "/Dockerfile");
  const std::string begin = "ENTRYPOINT [\"";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(begin))
      return line.substr(begin.size(), line.find('"', begin.size()) - begin.size());
  }
  return "";
}

// `docker run IMAGE prefetchctl …`: arguments of the image's entry point. A program that only prints its
// version would not tell the lists apart.
TEST(Image, RunsTheCommandLineToolByItsEntryPoint) {
  ASSERT_TRUE(Image::Get().built().exit == rig::Exit{}) << Image::Get().built().err;
  const std::string root = Image::Get().rootfs();
  const std::string list = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: ";
  std::ofstream(root + "/good.yaml") << list << "quay.io/acme/app:v1\n";
  std::ofstream(root + "/bad.yaml") << list << "quay.io/ACME:\n";
  const auto run = [&](const std::string& path, std::vector<std::string> words) {
    rig::Command command{{"/usr/bin/env", "-i", "PATH=" + path, "/usr/sbin/chroot", root, EntryPoint()}, {}};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    return *rig::RunProgram(command, std::chrono::minutes(1));
  };
  const rig::Ran good = run("/usr/bin", {"prefetchctl", "list", "check", "/good.yaml"});
  EXPECT_EQ(good.exit, rig::Exit{}) << good.err;
  EXPECT_NE(good.out.find("1 entr"), std::string::npos) << good.out;
  const rig::Ran bad = run("/usr/bin", {"prefetchctl", "list", "check", "/bad.yaml"});
  EXPECT_EQ(bad.exit, (rig::Exit{2, 0})) << bad.out;
  EXPECT_NE(bad.err.find("bad.yaml:4:"), std::string::npos) << bad.err;
  const rig::Ran lost = run("/nowhere", {"prefetchctl", "--version"});
  EXPECT_EQ(lost.exit, (rig::Exit{2, 0})) << lost.out;
  EXPECT_NE(lost.err.find("install it on the PATH"), std::string::npos) << lost.err;
}

}  // namespace
}  // namespace prefetch::system::image_test
