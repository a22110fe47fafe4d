#include "agent/cluster/touch_pods.h"

#include <gtest/gtest.h>

namespace prefetch::agent::touch_pods_test {
namespace {

using kube::ApiError;
using plan::TouchObstacle;

struct FailureCase {
  std::string name;
  kube::Failure failure;
  TouchObstacle expect;
};
class ResultOfTest : public testing::TestWithParam<FailureCase> {};
TEST_P(ResultOfTest, Tells) {
  plan::TouchResult result = ResultOf(GetParam().failure);
  EXPECT_EQ(result.obstacle, GetParam().expect);
  EXPECT_EQ(result.why, GetParam().failure.message);
}

FailureCase Forbidden(std::string name, std::string message, TouchObstacle expect) {
  return {
      std::move(name), {.kind = ApiError::kForbidden, .status = 403, .message = std::move(message)}, expect};
}

INSTANTIATE_TEST_SUITE_P(
    TouchPods, ResultOfTest,
    testing::Values(
        Forbidden(
            "Rbac",
            "pods is forbidden: User \"system:serviceaccount:a:b\" cannot create resource \"pods\" in API "
            "group \"\" in the namespace \"prefetchd-touch\"",
            TouchObstacle::kForbidden),
        Forbidden("Quota", "pods \"x\" is forbidden: exceeded quota: prefetchd-touch, requested: pods=1",
                  TouchObstacle::kQuota),
        Forbidden("QuotaWantsMore", "pods \"x\" is forbidden: failed quota: q: must specify limits.cpu",
                  TouchObstacle::kQuota),
        Forbidden("PodSecurity", "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"",
                  TouchObstacle::kAdmission),
        Forbidden("Webhook", "admission webhook \"w.example\" denied the request: no",
                  TouchObstacle::kAdmission),
        Forbidden("Scc",
                  "pods \"x\" is forbidden: unable to validate against any security context constraint",
                  TouchObstacle::kAdmission),
        Forbidden("LimitRange",
                  "pods \"x\" is forbidden: minimum memory usage per Container is 8Mi, but request is 1Mi",
                  TouchObstacle::kAdmission),
        Forbidden("NoServiceAccount",
                  "pods \"x\" is forbidden: error looking up service account prefetchd-touch/prefetchd-touch",
                  TouchObstacle::kAdmission),
        FailureCase{"NoNamespace",
                    {.kind = ApiError::kNotFound, .status = 404, .message = "namespaces \"x\" not found"},
                    TouchObstacle::kNamespaceMissing},
        FailureCase{"NotTaken",
                    {.kind = ApiError::kInvalid, .status = 422, .message = "spec: Invalid value"},
                    TouchObstacle::kAdmission},
        FailureCase{
            "Away", {.kind = ApiError::kUnreachable, .message = "refused"}, TouchObstacle::kApiServer},
        FailureCase{"Slow",
                    {.kind = ApiError::kTooManyRequests, .status = 429, .message = "later"},
                    TouchObstacle::kApiServer},
        FailureCase{"TokenThatIsNotKnown",
                    {.kind = ApiError::kUnauthorized, .status = 401, .message = "Unauthorized"},
                    TouchObstacle::kApiServer},
        FailureCase{"TooOld",
                    {.kind = ApiError::kGone, .status = 410, .message = "too old"},
                    TouchObstacle::kApiServer},
        FailureCase{"InTrouble",
                    {.kind = ApiError::kServerError, .status = 500, .message = "etcd"},
                    TouchObstacle::kApiServer},
        FailureCase{"OtherAuthority",
                    {.kind = ApiError::kTlsError, .message = "certificate"},
                    TouchObstacle::kApiServer},
        FailureCase{
            "NoAnswerInTime", {.kind = ApiError::kTimeout, .message = "in time"}, TouchObstacle::kApiServer},
        FailureCase{"NotAnApiServer",
                    {.kind = ApiError::kMalformed, .message = "no JSON"},
                    TouchObstacle::kApiServer},
        FailureCase{"NoToken",
                    {.kind = ApiError::kNoCredential, .message = "no such file"},
                    TouchObstacle::kApiServer},
        FailureCase{"Stopped", {.kind = ApiError::kCancelled, .message = "stop"}, TouchObstacle::kApiServer},
        FailureCase{"NameTaken",
                    {.kind = ApiError::kConflict, .status = 409, .message = "already exists"},
                    TouchObstacle::kApiServer}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::agent::touch_pods_test
