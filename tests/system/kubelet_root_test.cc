// Tests, by strace, what the built agent opens below kubelet's root directory: records and intents, the
// node's docker config, and nothing else. The agent writes nothing and locks nothing there.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "fakes/fake_kubelet.h"
#include "rig/expect_ok.h"
#include "rows.h"
#include "system/node.h"

namespace prefetch::system::kubelet_root_test {
namespace {

// Everything that opens, makes, changes, removes or locks a file. Those with "?" are not on every machine.
constexpr const char* kTraced =
    "trace=?open,openat,openat2,?creat,?rename,renameat,renameat2,?unlink,unlinkat,?rmdir,?mkdir,mkdirat,"
    "?mknod,mknodat,?link,linkat,?symlink,symlinkat,truncate,ftruncate,?chmod,fchmod,fchmodat,?chown,fchown,"
    "fchownat,?utimes,utimensat,flock,fcntl";

bool Has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

// Returns the fault of a call, a line of `strace -f -y`; empty: it has none, or is not about `root`.
std::string Wrong(const std::string& line, const std::string& root) {
  if (!Has(line, root)) return "";
  if (Has(line, " fcntl(")) return Has(line, "LK") || Has(line, "LEASE") ? "locks: " + line : "";
  if (Has(line, " resumed>")) return "";  // told when it began
  if (!Has(line, " openat(") && !Has(line, " open(")) return "changes: " + line;
  if (!Has(line, "O_RDONLY")) return "writes: " + line;
  for (const char* flag : {"O_CREAT", "O_TRUNC", "O_APPEND"}) {
    if (Has(line, flag)) return "writes: " + line;
  }
  bool named = Has(line, "\"" + root + "/image_manager/") || Has(line, "\"" + root + "/image_manager\"") ||
               Has(line, "\"" + root + "/config.json\"");
  return named ? "" : "opens: " + line;
}

struct CallCase {
  std::string name;
  std::string call;
  std::string complaint;  // how it begins
};

TEST_TABLE(WrongTest, Row, CallCase) {
  std::string complaint = Wrong("4711  " + row.call, "/k");
  EXPECT_EQ(complaint.substr(0, complaint.find(':')), row.complaint) << complaint;
}

TEST_ROWS(All, WrongTest,
          {"Record", R"(openat(AT_FDCWD</>, "/k/image_manager/pulled/sha256-a", O_RDONLY) = 5)", ""},
          {"Folder", R"(openat(AT_FDCWD</>, "/k/image_manager", O_RDONLY|O_DIRECTORY) = 5)", ""},
          {"DockerConfig", R"(openat(AT_FDCWD</>, "/k/config.json", O_RDONLY) = 5)", ""},
          {"Elsewhere", R"(openat(AT_FDCWD</>, "/etc/passwd", O_RDWR) = 5)", ""},
          {"FlagsOfADescriptor", "fcntl(5</k/image_manager/pulled>, F_GETFL) = 0x8000", ""},
          {"End", R"(<... openat resumed>) = 5</k/image_manager/pulled/sha256-a>)", ""},
          {"Pods", R"(openat(AT_FDCWD</>, "/k/pods/x", O_RDONLY) = 5)", "opens"},
          {"AllOfIt", R"(openat(AT_FDCWD</>, "/k", O_RDONLY|O_DIRECTORY) = 5)", "opens"},
          {"BesideIt", R"(openat(AT_FDCWD</>, "/k/image_manager2/x", O_RDONLY) = 5)", "opens"},
          {"ByDescriptor", R"(openat(5</k>, "pki", O_RDONLY) = 6)", "opens"},
          {"Write", R"(openat(AT_FDCWD</>, "/k/image_manager/pulled/a", O_RDWR) = 5)", "writes"},
          {"Create", R"(openat(AT_FDCWD</>, "/k/image_manager/a", O_RDONLY|O_CREAT, 0600) = 5)", "writes"},
          {"Remove", R"(unlink("/k/image_manager/pulled/a") = 0)", "changes"},
          {"Touch", R"(utimensat(5</k/image_manager/pulled/a>, NULL, NULL, 0) = 0)", "changes"},
          {"Flock", "flock(5</k/image_manager/pulled/a>, LOCK_SH) = 0", "changes"},
          {"PosixLock", "fcntl(5</k/image_manager/pulled/a>, F_SETLK, {l_type=F_RDLCK}) = 0", "locks"},
          {"OwnLock", "fcntl(5</k/image_manager/pulled/a>, F_OFD_SETLKW, {}) = 0", "locks"},
          {"Lease", "fcntl(5</k/image_manager/pulled/a>, F_SETLEASE, F_RDLCK) = 0", "locks"});

class KubeletRoot : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* file : {"pods/1f2e/volumes/token", "plugins/csi.sock", "plugins_registry/csi.sock",
                             "pki/kubelet.key", "cpu_manager_state", "kubeadm-flags.env", "config.yaml"}) {
      node_.scratch().Write(std::string("kubelet/") + file, "kind: KubeletConfiguration\n");
    }
    // How the node logs in, where kubelet looks first.
    node_.scratch().Write("kubelet/config.json", R"({"auths":{")" + registry_->host() + R"(":{"username":")" +
                                                     user_.name + R"(","password":")" + user_.password +
                                                     R"("}}})");
    node_.HasList({image_});
    node_.HasKubelet({"--kubelet-version", "1.36", "--kubelet-verification", "NeverVerifyPreloadedImages",
                      "--kubelet-root", root_});
    node_.RunsAgentBy({"strace", "-D", "-f", "-y", "-q", "-e", kTraced, "-o", trace_, "--"});
    kubelet_.Start({.version = {1, 36}});
  }

  void Pulls(const tests::PullCredential& credential) {
    std::string id = node_.StatusOf(image_).image_id;
    ASSERT_TRUE(kubelet_.BeginPull(image_));
    kubelet_.EndPull(image_, id, credential);
  }
  bool Answers(int readyz) {
    return rig::Eventually(seconds(30), [&] { return node_.Get("/readyz").status == readyz; });
  }
  std::vector<std::string> Trace() const {
    std::ifstream file(trace_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  rig::User user_{"node", "node-Passw0rd"};
  Node node_;
  std::string root_ = node_.scratch() / "kubelet";
  std::string trace_ = node_.scratch() / "trace";
  base::SystemClock clock_;
  tests::FakeKubelet kubelet_{root_, clock_};
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", user_);
  std::string image_ = registry_->Push("app", "v1", {{1, 100'000}});
};

TEST_F(KubeletRoot, NothingElseIsOpenedAndNothingIsWrittenOrLocked) {
  node_.StartAgent();
  ASSERT_TRUE(Answers(200)) << node_.AgentLog();
  Pulls({.secret = kubelet::HashedSecret{{.uid = "u1", .namespace_name = "team", .name = "pull"},
                                         base::Secret("h1")}});
  ASSERT_TRUE(Answers(503)) << node_.AgentLog();
  Pulls({});
  ASSERT_TRUE(Answers(200)) << node_.AgentLog();
  EXPECT_EQ(node_.agent().Stop(seconds(10)), rig::Exit{}) << node_.AgentLog();
  // strace ends with the program, but is not waited for.
  ASSERT_TRUE(rig::Eventually(
      seconds(10), [&] { return !Trace().empty() && Has(Trace().back(), "+++ exited with 0 +++"); }));

  int records = 0, logins = 0;
  for (const std::string& line : Trace()) {
    EXPECT_EQ(Wrong(line, root_), "");
    records += Has(line, root_ + "/image_manager/pulled/sha256-") ? 1 : 0;
    logins += Has(line, root_ + "/config.json") ? 1 : 0;
  }
  EXPECT_GT(records, 2) << "the trace sees what the agent reads";
  EXPECT_GT(logins, 0);
}

// In its container the agent has the folder itself mounted, not kubelet's root: `rm -rf` on the host and a
// restart of kubelet leave that mount on a folder without a name.
class MountedRecords : public KubeletRoot {
 protected:
  void SetUp() override {
    KubeletRoot::SetUp();
    node_.scratch().Write("container/kubelet/config.json", *base::ReadFile(root_ + "/config.json", 10'000));
    std::filesystem::create_directories(mounted_);
    Mount();
    node_.HasKubelet({"--kubelet-version", "1.36", "--kubelet-verification", "NeverVerifyPreloadedImages",
                      "--kubelet-root", in_container_});
    node_.RunsAgentBy({});
    node_.StartAgent();
    ASSERT_TRUE(Answers(200)) << node_.AgentLog();
  }
  void Mount() { ASSERT_EQ(::mount(of_host_.c_str(), mounted_.c_str(), nullptr, MS_BIND, nullptr), 0); }
  void DeleteUntilTheAgentEnds() {
    std::filesystem::remove_all(of_host_);
    auto ended = node_.agent().Wait(seconds(30));
    ASSERT_TRUE(ended) << node_.AgentLog();
    EXPECT_NE(*ended, rig::Exit{});
    EXPECT_NE(node_.AgentLog().find("was deleted while it was mounted here"), std::string::npos);
  }
  // A container that starts again mounts the new folder.
  void StartAgain() {
    ASSERT_EQ(::umount2(mounted_.c_str(), MNT_DETACH), 0);
    std::filesystem::create_directories(of_host_ + "/pulled");
    std::filesystem::create_directories(of_host_ + "/pulling");
    Mount();
    node_.StartAgent();
    ASSERT_TRUE(Answers(200)) << node_.AgentLog();
  }

  const std::string in_container_ = node_.scratch() / "container/kubelet";
  const std::string mounted_ = in_container_ + "/image_manager";
  const std::string of_host_ = root_ + "/image_manager";
};

TEST_F(MountedRecords, ThatAreDeletedEndTheAgentAndTheNextOneReadsTheNewOnes) {
  DeleteUntilTheAgentEnds();
  StartAgain();
  Pulls({.secret = kubelet::HashedSecret{{.uid = "u1", .namespace_name = "team", .name = "pull"},
                                         base::Secret("h1")}});
  EXPECT_TRUE(Answers(503)) << node_.AgentLog();
}

}  // namespace
}  // namespace prefetch::system::kubelet_root_test
