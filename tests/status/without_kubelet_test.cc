// Where no kubelet is, status, check and wait say the same of an image.
#include <gtest/gtest.h>

#include "plan/check.h"
#include "plan/image_readiness.h"
#include "status/status_json.h"

namespace prefetch::status::without_kubelet_test {
namespace {

using image::PullPolicy;
using kubelet::VerdictResult;

struct ImageCase {
  std::string name;
  bool present = false;
  bool usable = false;
  plan::Reason reason = plan::Reason::kPresent;
};

class WithoutKubelet : public testing::TestWithParam<ImageCase> {};

TEST_P(WithoutKubelet, StatusCheckAndWaitAgree) {
  const image::Reference reference = image::Reference::Parse("quay.io/acme/a:v1").value();
  plan::ImageState image;
  image.desired = plan::DesiredImage{.reference = reference};
  image.present = GetParam().present;
  image.usable = GetParam().usable;
  image.reason = GetParam().reason;
  plan::Snapshot snapshot;
  snapshot.images.push_back(image);
  const StatusDocument document = DocumentOf(snapshot);
  ASSERT_EQ(document.images.size(), 1U);
  const StatusVerdicts& shown = document.images[0].verdicts;
  for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent}) {
    const StatusVerdict& of = policy == PullPolicy::kNever ? shown.never : shown.if_not_present;
    plan::CheckFacts facts{.policy = policy, .reference = reference, .listed = true};
    facts.kubelet = plan::CheckKubelet::kNone;
    facts.runtime = plan::CheckRuntime{.error = std::nullopt, .image = image};
    const plan::CheckVerdict verdict = plan::DecideCheck(facts).verdict;
    EXPECT_EQ(of.result, verdict.result);
    EXPECT_EQ(of.reason, plan::CheckReasonName(verdict.reason));
    EXPECT_EQ(verdict.ok, verdict.result == VerdictResult::kStarts);
    EXPECT_EQ(verdict.ok, plan::IsReadyFor(image, policy, false));
  }
}

INSTANTIATE_TEST_SUITE_P(Images, WithoutKubelet,
                         testing::Values(ImageCase{"Usable", true, true},
                                         ImageCase{"Absent", false, false, plan::Reason::kNotFound},
                                         ImageCase{"NotUnpacked", true, false, plan::Reason::kNotUnpacked},
                                         ImageCase{"OfAnotherPlatform", true, false,
                                                   plan::Reason::kWrongPlatform},
                                         ImageCase{"NotReported", false, false, plan::Reason::kFactsUnknown}),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::status::without_kubelet_test
