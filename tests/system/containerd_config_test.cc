// The built agent beside a containerd 2, which tells nothing of its registries, with containerd's
// configuration file. That containerd is a script here: what counts is what the agent makes of version and
// file.
#include <gtest/gtest.h>

#include <string>

#include "cri/scripted_runtime.h"
#include "rig/binary.h"
#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "text_of.h"

namespace prefetch::system::containerd_config_test {
namespace {

using std::chrono::seconds;

constexpr const char* kHead = "version = 3\n[plugins.'io.containerd.cri.v1.images']\n";
constexpr const char* kImage = "quay.io/acme/app:v1";

class ContainerdConfig : public testing::Test {
 protected:
  void StartAgent(const std::string& version) {
    version_.name = "containerd";
    version_.version = version;
    runtime_.emplace(scratch_ / "containerd.sock", std::vector<grpc::Service*>{&images_, &version_});
    std::string list = scratch_.Write("images.txt", std::string(kImage) + "\n");
    ASSERT_OK(agent_.Start({{rig::Binary("PREFETCHD"), "--kubelet=none", "--list", list, "--runtime-endpoint",
                             "unix://" + (scratch_ / "containerd.sock"), "--listen", "127.0.0.1:0", "--local",
                             scratch_ / "agent.sock", "--registry-host-root", scratch_ / "host",
                             "--registry-containerd-config", "/etc/containerd/config.toml"},
                            {}},
                           log_));
  }
  // One step, as a person's editor does it.
  void Configure(const std::string& text) {
    std::string file = scratch_.Write("host/etc/containerd/new.toml", kHead + text);
    ASSERT_EQ(std::rename(file.c_str(), (scratch_ / "host/etc/containerd/config.toml").c_str()), 0);
  }
  std::string Explain() {
    auto ran = rig::RunProgram({{rig::Prefetchctl(), "explain", kImage},
                                {{"PREFETCHD_AGENT", "unix://" + (scratch_ / "agent.sock")}}},
                               seconds(20));
    if (!ran) return "";
    shown_ += ran->out + ran->err;
    return rig::OneLine(ran->out);
  }
  std::string Status() {
    auto ran = rig::RunProgram({{"curl", "--silent", "--max-time", "10", "--unix-socket",
                                 scratch_ / "agent.sock", "http://localhost/v1/status"},
                                {}},
                               seconds(20));
    if (ran) shown_ += ran->out;
    return ran ? ran->out : "";
  }
  bool Says(const std::string& part) {
    bool said = rig::Eventually(seconds(30), [&] { return Explain().find(part) != std::string::npos; });
    EXPECT_TRUE(said) << part << "\n" << Explain();
    return said;
  }
  bool StatusSays(const std::string& part) {
    bool said = rig::Eventually(seconds(30), [&] { return Status().find(part) != std::string::npos; });
    EXPECT_TRUE(said) << part << "\n" << Status();
    return said;
  }

  rig::Scratch scratch_;
  tests::ScriptedImages images_;
  tests::ScriptedVersion version_;
  std::optional<tests::ScriptedRuntime> runtime_;
  std::string log_ = scratch_ / "agent.log";
  rig::Process agent_;
  std::string shown_;  // all that it said
};

TEST_F(ContainerdConfig, SaysWhereMirrorsAreAndIsReadAgainWhenItChanges) {
  scratch_.Write("host/certs/quay.io/hosts.toml", "[host.\"https://mirror.acme.io\"]\n");
  Configure("registry.config_path = \"/certs\"\n");
  StartAgent("2.1.9");
  Says(
      "1. mirror.acme.io (a mirror) 2. quay.io as /certs/quay.io says containerd's config_path is /certs "
      "(from its configuration file)");
  StatusSays(
      R"("registries":{"configPath":"/certs","configPathSource":"file","byPull":[],"byPullSource":null)");
  // Two folders: its transfer service finds neither.
  Configure("registry.config_path = \"/certs:/more\"\n");
  Says("1. quay.io containerd's config_path is /certs:/more");
  StatusSays("RegistryConfigPathIgnored");
  // discard_unpacked_layers makes pulls local, where both folders count.
  Configure("registry.config_path = \"/certs:/more\"\ndiscard_unpacked_layers = true\n");
  Says("1. mirror.acme.io (a mirror)");
  StatusSays("/more, where containerd finds its mirrors, is not visible to the agent");
}

TEST_F(ContainerdConfig, MirrorsInItsTablesAreForTheRuntimeAloneAndNoPasswordIsShown) {
  Configure(
      "registry.mirrors.\"quay.io\".endpoint = [\"https://mirror.acme.io\"]\n"
      "registry.configs.\"mirror.acme.io\".auth = {username = \"node\", password = \"topsecret\"}\n");
  StartAgent("2.2.1");
  Says("by pulling it again");
  StatusSays(
      R"("configPath":null,"configPathSource":"file","byPull":["mirror.acme.io","quay.io"],"byPullSource":"file")");
  Configure("registry.configs.\"mirror.acme.io\".auth = {username = \"node\", password = \"topsecret\"\n");
  Says("/etc/containerd/config.toml cannot be used: line 3");
  StatusSays(R"("byPull":["*"],"byPullSource":"file")");
  Configure("");
  Says("1. quay.io");
  agent_.Stop(seconds(5));
  EXPECT_LACKS(shown_ + tests::TextOf(log_), "topsecret");
}

}  // namespace
}  // namespace prefetch::system::containerd_config_test
