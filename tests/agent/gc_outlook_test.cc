#include "agent/kubelet_view.h"

#include <gtest/gtest.h>

namespace prefetch::agent::gc_outlook_test {
namespace {

using std::chrono::hours;

plan::ImageState Here(const std::string& name, const std::string& id) {
  plan::ImageState state;
  state.desired = plan::DesiredImage{.reference = *image::Reference::Parse(name)};
  state.present = true;
  state.image_id = id;
  state.size_bytes = 1'000'000;
  return state;
}

plan::Snapshot Node() {
  plan::Snapshot snapshot;
  snapshot.time = base::WallTime(hours(1000));
  snapshot.kubelet.emplace();
  snapshot.kubelet->gc.emplace();
  snapshot.disk_known = true;
  snapshot.disk = {.capacity_bytes = 100'000'000'000, .available_bytes = 50'000'000'000};
  snapshot.images = {Here("r.io/new:1", "sha256:new"), Here("r.io/old:1", "sha256:old"),
                     Here("r.io/pinned:1", "sha256:pinned"), Here("r.io/alias:1", "sha256:old"),
                     plan::ImageState{}};
  snapshot.images[0].origin.pulled_at = snapshot.time - hours(1);
  snapshot.images[1].origin.pulled_at = snapshot.time - hours(2);
  snapshot.images[2].pinned = true;
  return snapshot;
}

TEST(GcOutlook, TheOldestGoesFirstAndThePinnedStays) {
  plan::Snapshot snapshot = Node();
  AddGcOutlook(snapshot);
  EXPECT_EQ(snapshot.images[0].gc_order, 2U);
  EXPECT_EQ(snapshot.images[1].gc_order, 1U);
  EXPECT_EQ(snapshot.images[2].gc_order, std::nullopt);
  EXPECT_EQ(snapshot.images[3].gc_order, 1U) << "another name of the same image";
  EXPECT_EQ(snapshot.images[4].gc_order, std::nullopt) << "it is not here";
  EXPECT_TRUE(snapshot.kubelet->gc_warnings.empty()) << snapshot.kubelet->gc_warnings[0];
}

TEST(GcOutlook, AMaximumAgeIsWarnedOf) {
  plan::Snapshot snapshot = Node();
  snapshot.kubelet->gc->maximum_age = hours(24);
  AddGcOutlook(snapshot);
  ASSERT_FALSE(snapshot.kubelet->gc_warnings.empty());
  EXPECT_NE(snapshot.kubelet->gc_warnings[0].find("imageMaximumGCAge"), std::string::npos);
}

TEST(GcOutlook, ADiskNearTheThresholdIsWarnedOf) {
  plan::Snapshot snapshot = Node();
  snapshot.disk.available_bytes = 17'000'000'000;
  AddGcOutlook(snapshot);
  EXPECT_FALSE(snapshot.kubelet->gc_warnings.empty());
}

TEST(GcOutlook, NothingIsSaidOfSettingsThatAreNotKnown) {
  plan::Snapshot snapshot = Node();
  snapshot.kubelet->gc.reset();
  AddGcOutlook(snapshot);
  EXPECT_EQ(snapshot.images[0].gc_order, std::nullopt);
  snapshot.kubelet.reset();
  AddGcOutlook(snapshot);
}

}  // namespace
}  // namespace prefetch::agent::gc_outlook_test
