#include "agent/cluster/touch_pods.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/refusing_api.h"
#include "rows.h"

namespace prefetch::agent::touch_pods_test {
namespace {

using kube::ApiError;
using plan::TouchObstacle;
using enum plan::TouchObstacle;

struct FailureCase {
  std::string name;
  kube::Failure failure;
  TouchObstacle expect;
};
kube::Failure Failure(ApiError kind, int status, const std::string& message) {
  return {.kind = kind, .status = status, .message = message};
}
FailureCase Forbidden(const std::string& name, const std::string& message, TouchObstacle expect) {
  return {name, Failure(ApiError::kForbidden, 403, message), expect};
}

// TouchScenario has the others.
TEST_TABLE(ResultOfTest, Tells, FailureCase) {
  plan::TouchResult result = ResultOf(row.failure);
  EXPECT_EQ(result.obstacle, row.expect);
  EXPECT_EQ(result.why, row.failure.message);
}

TEST_ROWS(
    Rows, ResultOfTest,
    Forbidden("Rbac",
              "pods is forbidden: User \"system:serviceaccount:a:b\" cannot create resource \"pods\" in API "
              "group \"\" in the namespace \"prefetchd-touch\"",
              kForbidden),
    Forbidden("QuotaWantsMore", "pods \"x\" is forbidden: failed quota: q: must specify limits.cpu", kQuota),
    Forbidden("Webhook", "admission webhook \"w.example\" denied the request: no", kAdmission),
    Forbidden("Scc", "pods \"x\" is forbidden: unable to validate against any security context constraint",
              kAdmission),
    Forbidden("LimitRange",
              "pods \"x\" is forbidden: minimum memory usage per Container is 8Mi, but request is 1Mi",
              kAdmission),
    Forbidden("NoServiceAccount",
              "pods \"x\" is forbidden: error looking up service account prefetchd-touch/prefetchd-touch",
              kAdmission),
    {"NotTaken", Failure(ApiError::kInvalid, 422, "spec: Invalid value"), kAdmission},
    {"Slow", Failure(ApiError::kTooManyRequests, 429, "later"), kApiServer},
    {"TokenThatIsNotKnown", Failure(ApiError::kUnauthorized, 401, "Unauthorized"), kApiServer},
    {"TooOld", Failure(ApiError::kGone, 410, "too old"), kApiServer},
    {"InTrouble", Failure(ApiError::kServerError, 500, "etcd"), kApiServer},
    {"OtherAuthority", Failure(ApiError::kTlsError, 0, "certificate"), kApiServer},
    {"NoAnswerInTime", Failure(ApiError::kTimeout, 0, "in time"), kApiServer},
    {"NotAnApiServer", Failure(ApiError::kMalformed, 0, "no JSON"), kApiServer},
    {"NoToken", Failure(ApiError::kNoCredential, 0, "no such file"), kApiServer},
    {"Stopped", Failure(ApiError::kCancelled, 0, "stop"), kApiServer},
    {"NameTaken", Failure(ApiError::kConflict, 409, "already exists"), kApiServer});

// An API server with the pods of one namespace, by name.
class OneNamespace : public tests::RefusingApi {
 public:
  kube::Answer<kube::Pod> GetPod(const base::Call&, const std::string& name_space,
                                 const std::string& name) override {
    if (away) return kube::Failure{.kind = ApiError::kUnreachable, .message = "refused"};
    if (name_space != "touch" || pods.count(name) == 0) return kube::Failure{.kind = ApiError::kNotFound};
    return pods.at(name);
  }
  kube::Answer<kube::Done> DeletePod(const base::Call&, const std::string& name_space,
                                     const std::string& name, const std::string& uid) override {
    if (name_space != "touch" || pods.count(name) == 0 || pods.at(name).uid != uid) {
      return kube::Failure{.kind = ApiError::kConflict};
    }
    pods.erase(name);
    return kube::Done{};
  }

  bool away = false;
  std::map<std::string, kube::Pod> pods;
};

class TouchPodsTest : public testing::Test {
 protected:
  TouchPodsTest() {
    for (int slot = 0; slot < kube::kTouchPodNames; slot++) {
      std::string name = kube::TouchPodName("node-1", "", slot);
      api_.pods[name] = {.name = name, .uid = "uid-" + std::to_string(slot), .phase = "Pending"};
    }
  }
  TouchPods Pods(bool image_volumes = false) {
    return {{.node = "node-1", .instance = "", .name_space = "touch", .image_volumes = image_volumes},
            api_,
            keyring_};
  }

  OneNamespace api_;
  tests::FakeClock clock_;
  credentials::Keyring keyring_{{.docker_configs = {"/absent"}}, clock_};
  const std::string first_ = kube::TouchPodName("node-1", "", 0);
};

TEST_F(TouchPodsTest, SweepDeletesThePodsOfAllItsNames) {
  EXPECT_EQ(Pods().Sweep({}).obstacle, TouchObstacle::kNone);
  EXPECT_TRUE(api_.pods.empty());
  EXPECT_EQ(Pods().Sweep({}).obstacle, TouchObstacle::kNone) << "there are none";
}

TEST_F(TouchPodsTest, ASweepThatFailedIsReported) {
  api_.away = true;
  plan::TouchResult failed = Pods().Sweep({});
  EXPECT_EQ(failed.obstacle, TouchObstacle::kApiServer);
  EXPECT_EQ(failed.why, "refused");
}

TEST_F(TouchPodsTest, LooksAtThePodOfThatNameAndUid) {
  const std::vector<image::Reference> images = {*image::Reference::Parse("r.io/a"),
                                                *image::Reference::Parse("r.io/b")};
  api_.pods[first_].containers = {{.name = "a", .waiting_reason = "ErrImagePull"},
                                  {.name = "b", .terminated_reason = "Completed"}};
  TouchObserved seen = Pods().Observe({}, first_, "uid-0", images);
  EXPECT_FALSE(seen.pod.gone);
  EXPECT_EQ(seen.pod.phase, "Pending");
  ASSERT_EQ(seen.pod.containers.size(), 2U);
  EXPECT_EQ(seen.pod.containers[0].waiting_reason, "ErrImagePull");
  EXPECT_EQ(seen.pod.containers[1].terminated_reason, "Completed");
  EXPECT_TRUE(Pods().Observe({}, first_, "uid-1", images).pod.gone) << "another pod of this name";
}

// Its one container waits for all of them.
TEST_F(TouchPodsTest, WithImageVolumesOneContainerTellsOfAllImages) {
  const std::vector<image::Reference> images = {*image::Reference::Parse("r.io/a"),
                                                *image::Reference::Parse("r.io/b")};
  api_.pods[first_].containers = {{.name = "touch", .waiting_reason = "ErrImagePull"}};
  TouchObserved seen = Pods(true).Observe({}, first_, "uid-0", images);
  ASSERT_EQ(seen.pod.containers.size(), 2U);
  for (const plan::ContainerObservation& container : seen.pod.containers) {
    EXPECT_EQ(container.waiting_reason, "ErrImagePull");
  }
}

}  // namespace
}  // namespace prefetch::agent::touch_pods_test
