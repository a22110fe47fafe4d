// Commands of a person who has the rights that an example of deploy/ grants, and no others, at an API server
// on loopback.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "fakes/fake_api_server.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::system {

// A file of deploy/examples.
inline std::string Example(const std::string& name) {
  std::string text = tests::TextOf(tests::SourceRoot() / "deploy/examples" / name);
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

class ClusterAccount : public testing::Test {
 protected:
  // `example` binds its role to `group`.
  ClusterAccount(std::string example, std::string group)
      : example_(std::move(example)), group_(std::move(group)) {}

  void SetUp() override {
    EXPECT_OK(server_.LoadRbac(Example(example_)));
    WriteKubeconfig(server_.AddToken("ci-user", {group_}));
  }

  void WriteKubeconfig(const std::string& token) { dir_.Write("kubeconfig", server_.Kubeconfig(token)); }
  std::string kubeconfig() const { return "--kubeconfig=" + (dir_ / "kubeconfig"); }

  static rig::Command Prefetchctl(std::vector<std::string> words) {
    words.insert(words.begin(), rig::Prefetchctl());
    return {std::move(words), {{"NO_COLOR", "1"}}};
  }
  // It ends with `exit`, and shows no token.
  static rig::Ran RunToEnd(int exit, const rig::Command& command, std::chrono::seconds limit) {
    auto ran = tests::Must(rig::RunProgram(command, limit));
    EXPECT_EQ(ran->exit, (rig::Exit{exit, 0})) << ran->out << ran->err;
    EXPECT_EQ((ran->out + ran->err).find("fake-"), std::string::npos) << "a token shows";
    return *std::move(ran);
  }

  tests::TempDir dir_;
  base::SystemClock clock_;
  tests::FakeApiServer server_{clock_, tests::FakeApiServer::OverTls()};

 private:
  const std::string example_, group_;
};

}  // namespace prefetch::system
