#include "kube/touch_pod.h"

#include <gtest/gtest.h>

#include <functional>

#include "doc/write.h"
#include "golden.h"
#include "kube/decode.h"
#include "must.h"
#include "rows.h"

namespace prefetch::kube::touch_pod_test {
namespace {

TouchPodSpec Spec(bool image_volumes = false) {
  return {.name = TouchPodName("ci-7", "prefetchd", 0),
          .node = "ci-7",
          .node_uid = "0f1e",
          .instance = "prefetchd",
          .images = {{"quay.io/acme/runner:v3"}, {"busybox", true}},
          .image_volumes = image_volumes};
}

// K37 was seen with this pod.
TEST(TouchPod, HasItsShape) {
  tests::ExpectGolden("kube/touch-pod.yaml", doc::WriteYaml(TouchPod(Spec())));
}

TEST(TouchPod, HasItsShapeWithImageVolumes) {
  tests::ExpectGolden("kube/touch-pod-volumes.yaml", doc::WriteYaml(TouchPod(Spec(true))));
}

TEST(TouchPodName, IsFixedAndFitsAPod) {
  EXPECT_EQ(TouchPodName("n1", "prefetchd", 0), TouchPodName("n1", "prefetchd", 0));
  EXPECT_NE(TouchPodName("n1", "prefetchd", 0), TouchPodName("n1", "prefetchd", 1));
  EXPECT_NE(TouchPodName("n1", "prefetchd", 0), TouchPodName("n2", "prefetchd", 0));
  EXPECT_NE(TouchPodName("n1", "prefetchd", 0), TouchPodName("n1", "prefetchd-b", 0));
  EXPECT_LE(TouchPodName(std::string(253, 'n'), std::string(63, 'i'), 1).size(), 63U);
}

TEST(WhatAdmissionChanged, NothingIsFineAndAlwaysDoesNoHarm) {
  for (bool volumes : {false, true}) {
    TouchPodSpec spec = Spec(volumes);
    auto got = tests::Must(DecodePod(TouchPod(spec)));
    EXPECT_EQ(FindAdmissionChange(spec, *got), std::nullopt);
    got->containers.front().pull_policy = "Always";
    EXPECT_EQ(FindAdmissionChange(spec, *got), std::nullopt);
  }
}

struct ChangeCase {
  std::string name;
  std::function<void(Pod&)> change;
  std::string expect;  // a part of what is said
};
TEST_TABLE(ChangeTest, IsSeen, ChangeCase) {
  TouchPodSpec spec = Spec();
  auto got = tests::Must(DecodePod(TouchPod(spec)));
  row.change(*got);
  auto changed = tests::Must(FindAdmissionChange(spec, *got));
  EXPECT_NE(changed->find(row.expect), std::string::npos) << *changed;
}
TEST_ROWS(TouchPod, ChangeTest,
          {"PullSecret", [](Pod& pod) { pod.image_pull_secrets = {"corp-pull"}; },
           "pull secret \"corp-pull\""},
          {"Sidecar", [](Pod& pod) { pod.containers.push_back({.name = "istio", .image = "x"}); },
           "added the container \"istio\""},
          {"SidecarInFront",
           [](Pod& pod) { pod.containers.insert(pod.containers.begin(), {.name = "istio", .image = "x"}); },
           "added the container \"istio\""},
          {"InitContainer",
           [](Pod& pod) { pod.containers.insert(pod.containers.begin(), {.name = "setup", .init = true}); },
           "init container \"setup\""},
          {"OtherImage", [](Pod& pod) { pod.containers[1].image = "mirror.corp/busybox"; },
           "changed the image \"busybox\" to \"mirror.corp/busybox\""},
          {"ContainerGone", [](Pod& pod) { pod.containers.pop_back(); }, "took away a container"},
          {"AlwaysNoMore", [](Pod& pod) { pod.containers[1].pull_policy = "IfNotPresent"; },
           "imagePullPolicy to \"IfNotPresent\""},
          {"NeverPulls", [](Pod& pod) { pod.containers[0].pull_policy = "Never"; }, "Never"},
          {"OtherNode", [](Pod& pod) { pod.node = "ci-8"; }, "node \"ci-8\""},
          {"OtherAccount", [](Pod& pod) { pod.service_account = "builder"; }, "\"builder\""},
          {"Volume", [](Pod& pod) { pod.image_volumes = {"r.io/x"}; }, "image volumes"});

}  // namespace
}  // namespace prefetch::kube::touch_pod_test
