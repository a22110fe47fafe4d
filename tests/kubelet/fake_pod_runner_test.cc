// The model of kubelet with its pods, held against what kubelet 1.36.2 did (K4, K28 to K31, K36 to K40).
#include "fakes/fake_pod_runner.h"

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "temp_dir.h"

namespace prefetch::tests::fake_pod_runner_test {
namespace {

using kubelet::VerificationPolicy;
using std::chrono::seconds;

const std::string kImage = "reg.io/team/app:v1";
const std::string kOther = "reg.io/team/tool:v1";

image::AuthConfig Auth(const std::string& user) {
  return {.username = user, .password = base::Secret("pw")};
}

class PodRunner : public testing::Test {
 protected:
  PodRunner()
      : server_(clock_),
        kubelet_(dir_.path(), clock_),
        runner_(
            server_, kubelet_, clock_, "n1",
            {.id_of = [this](const std::string& image) { return here_.contains(image) ? here_[image] : ""; },
             .pull = [this](const std::string& image,
                            const image::AuthConfig* auth) { return Pull(image, auth); }}) {}

  void Start(VerificationPolicy policy) { kubelet_.Start({.version = {1, 36}, .policy = policy}); }
  // Somebody who is not kubelet pulls it.
  void Prefetch(const std::string& image) { here_[image] = "sha256:of-" + image; }

  // A pod to its end, or to where it would wait; gives each container's reason.
  std::vector<std::string> Run(const std::string& name_space, const std::string& policy,
                               const std::vector<std::string>& images, const std::string& secret = "",
                               bool volumes = false) {
    std::string containers, mounts, more;
    if (volumes) {
      for (std::size_t i = 0; i < images.size(); i++) {
        std::string name = "v" + std::to_string(i);
        more += (i == 0 ? R"(,"volumes":[)" : ",") + (R"({"name":")" + name + R"(","image":{"reference":")") +
                images[i] + R"(","pullPolicy":")" + policy + R"("}})";
        mounts += (i == 0 ? "" : ",") + (R"({"name":")" + name + R"("})");
      }
      more += "]";
      containers =
          R"({"name":"c","image":"pause:1","imagePullPolicy":"Never","volumeMounts":[)" + mounts + "]}";
      here_["pause:1"] = "sha256:pause";
    }
    for (std::size_t i = 0; !volumes && i < images.size(); i++) {
      containers += (i == 0 ? "" : ",") + (R"({"name":"c)" + std::to_string(i)) + R"(","image":")" +
                    images[i] + R"(","imagePullPolicy":")" + policy + R"("})";
    }
    if (!secret.empty()) more += R"(,"imagePullSecrets":[{"name":")" + secret + R"("}])";
    std::string path = "pods/" + name_space + "/p" + std::to_string(++pods_);
    server_.Put(path, R"({"spec":{"nodeName":"n1","restartPolicy":"Never","containers":[)" + containers +
                          "]" + more + "}}");
    base::TimePoint end = clock_.Now() + seconds(5);
    while (clock_.Now() < end) {
      runner_.Step();
      clock_.AdvanceTo(std::min(end, runner_.NextEvent()));
    }
    std::vector<std::string> reasons;
    auto pod = server_.Get(path);
    for (const doc::Node& status : pod->Find("status")->Find("containerStatuses")->items) {
      reasons.push_back(status.Find("state")->members.front().value.Find("reason")->text);
    }
    server_.Delete(path);
    return reasons;
  }
  std::string Runs(const std::string& name_space, const std::string& policy, const std::string& secret = "") {
    return Run(name_space, policy, {kImage}, secret).front();
  }

  base::Result<std::string> Pull(const std::string& image, const image::AuthConfig* auth) {
    pulls_++;
    std::string user = auth == nullptr ? "" : auth->username;
    if (registry_down_) return base::Unavailable("connection refused");
    if (!allowed_.empty() && !allowed_.contains(user)) return base::PermissionDenied("401 Unauthorized");
    Prefetch(image);
    return here_[image];
  }

  TempDir dir_;
  FakeClock clock_;
  FakeApiServer server_;
  FakeKubelet kubelet_;
  FakePodRunner runner_;
  std::map<std::string, std::string> here_;
  std::set<std::string> allowed_;  // users; empty: everybody
  bool registry_down_ = false;
  int pulls_ = 0, pods_ = 0;
};

constexpr const char* kStarted = "StartError";  // its image was there, and nothing can be run here
constexpr const char* kRefused = "ErrImageNeverPull";

TEST_F(PodRunner, Row1And2AUseMakesNoRecordAndAlwaysAsksTheRegistry) {
  Start(VerificationPolicy::kNeverVerifyPreloadedImages);
  Prefetch(kImage);
  allowed_ = {"ann"};
  EXPECT_EQ(Runs("a", "Never"), kStarted);
  EXPECT_EQ(Runs("a", "IfNotPresent"), kStarted);
  EXPECT_EQ(pulls_, 0);
  EXPECT_EQ(Runs("a", "Always"), "ErrImagePull");
  EXPECT_EQ(Runs("a", "Never"), kStarted) << "a failed pull leaves no record";
}

TEST_F(PodRunner, Row3APodsSecretClosesItToOthers) {
  Start(VerificationPolicy::kNeverVerifyPreloadedImages);
  Prefetch(kImage);
  allowed_ = {"ann"};
  runner_.AddSecret("a", "pull", Auth("ann"));
  EXPECT_EQ(Runs("a", "Always", "pull"), kStarted);
  EXPECT_EQ(Runs("b", "Never"), kRefused);
  EXPECT_EQ(Runs("b", "IfNotPresent"), "ErrImagePull");
  Prefetch(kImage);  // opens nothing (K29)
  EXPECT_EQ(Runs("b", "Never"), kRefused);
}

TEST_F(PodRunner, Row5AnotherSecretOfTheSameContentIsLetIn) {
  Start(VerificationPolicy::kNeverVerifyPreloadedImages);
  Prefetch(kImage);
  runner_.AddSecret("a", "pull", Auth("ann"));
  runner_.AddSecret("b", "other", Auth("ann"));
  EXPECT_EQ(Runs("a", "Always", "pull"), kStarted);
  EXPECT_EQ(Runs("b", "Never", "other"), kStarted);
}

TEST_F(PodRunner, Rows12To14ATouchOpensForEveryNamespace) {
  Start(VerificationPolicy::kAlwaysVerify);
  runner_.SetNodeCredential(Auth("node"));
  allowed_ = {"node"};
  Prefetch(kImage);
  Prefetch(kOther);
  EXPECT_EQ(Runs("b", "Never"), kRefused) << "nothing is recorded yet";
  EXPECT_EQ(Run("touch", "IfNotPresent", {kImage, kOther}), (std::vector<std::string>{kStarted, kStarted}));
  EXPECT_EQ(pulls_, 2);
  registry_down_ = true;
  EXPECT_EQ(Runs("b", "Never"), kStarted);
  EXPECT_EQ(Runs("b", "IfNotPresent"), kStarted);
  EXPECT_EQ(pulls_, 2);
}

TEST_F(PodRunner, Row15ImageVolumesDoTheSame) {
  Start(VerificationPolicy::kAlwaysVerify);
  kubelet_.BeginPull("pause:1");
  kubelet_.EndPull("pause:1", "sha256:pause", {});
  Prefetch(kImage);
  Prefetch(kOther);
  EXPECT_EQ(Run("touch", "IfNotPresent", {kImage, kOther}, "", true).front(), kStarted);
  EXPECT_EQ(Run("b", "Never", {kImage, kOther}), (std::vector<std::string>{kStarted, kStarted}));
}

TEST_F(PodRunner, Row16ATouchWithASecretOpensForThatSecretOnly) {
  Start(VerificationPolicy::kAlwaysVerify);
  Prefetch(kImage);
  runner_.AddSecret("a", "pull", Auth("ann"));
  allowed_ = {"ann"};
  EXPECT_EQ(Runs("a", "IfNotPresent", "pull"), kStarted);
  EXPECT_EQ(Runs("c", "Never"), kRefused);
}

TEST_F(PodRunner, Row29AWrongSecretIsNotTheEndOfIt) {
  Start(VerificationPolicy::kAlwaysVerify);
  runner_.AddSecret("a", "pull", Auth("mallory"));
  runner_.SetNodeCredential(Auth("node"));
  allowed_ = {"node"};
  Prefetch(kImage);
  EXPECT_EQ(Runs("a", "IfNotPresent", "pull"), kStarted);
  EXPECT_EQ(pulls_, 2);
  EXPECT_EQ(Runs("c", "Never"), kStarted) << "the record is node-wide";
}

TEST_F(PodRunner, AWrongSecretAndNoNodeCredentialsIsNeverAnonymous) {
  Start(VerificationPolicy::kAlwaysVerify);
  runner_.AddSecret("a", "pull", Auth("mallory"));
  allowed_ = {"ann", ""};
  EXPECT_EQ(Runs("a", "IfNotPresent", "pull"), "ErrImagePull");
  EXPECT_EQ(pulls_, 1) << "and no anonymous pull";
}

// Touches of merely preloaded images rely on this.
TEST_F(PodRunner, APreloadedImageIsRecordedByAlwaysAndNotByIfNotPresent) {
  Start(VerificationPolicy::kNeverVerifyPreloadedImages);
  Prefetch(kImage);
  runner_.AddSecret("a", "pull", Auth("ann"));
  EXPECT_EQ(Runs("touch", "IfNotPresent"), kStarted);
  EXPECT_EQ(Runs("touch", "Always"), kStarted);
  EXPECT_EQ(Runs("a", "Always", "pull"), kStarted);
  EXPECT_EQ(Runs("b", "Never"), kStarted) << "open for good";
}

TEST_F(PodRunner, AWrongNameAndARefusedPod) {
  Start(VerificationPolicy::kAlwaysVerify);
  EXPECT_EQ(Run("a", "IfNotPresent", {"ROOT"}).front(), "InvalidImageName");
  runner_.Refuse("OutOfpods", "no room");
  server_.Put("pods/a/refused", R"({"spec":{"nodeName":"n1","containers":[{"name":"c","image":"x"}]}})");
  runner_.Step();
  clock_.AdvanceTo(runner_.NextEvent());
  runner_.Step();
  EXPECT_EQ(server_.Get("pods/a/refused")->Find("status")->Find("reason")->text, "OutOfpods");
}

}  // namespace
}  // namespace prefetch::tests::fake_pod_runner_test
