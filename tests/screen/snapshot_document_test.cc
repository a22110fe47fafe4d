// What `prefetchd --once` shows of its own Snapshot is what its status document would tell.
#include <gtest/gtest.h>

#include "plan/touch_status.h"
#include "screen/status_document.h"
#include "screen/status_table.h"
#include "status/kubelet_sample.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::snapshot_document_test {
namespace {

const std::string kHostile = "\x1b[2J\xff\xc2\x9b\x07\r\ttwo\nlines\x7f";

// Each member has a value of its own, and each text would harm a terminal.
plan::Snapshot HostileNode() {
  plan::ImageState image = sample::Failing("quay.io/acme/a:v1", plan::Reason::kAccessDenied, kHostile, 3);
  image.image_id = image.digest = image.credential = image.message = kHostile;
  image.exposed = image.pinned = true;
  image.aliases = {kHostile, "b"};
  image.pull.started_at = sample::At(-40) + std::chrono::milliseconds(700);
  image.pull.bytes_known = true;
  image.pull.bytes_done = 7;
  image.pull.bytes_per_second = 1.9;
  image.touch = plan::TouchStatus{.state = plan::TouchState::kWaiting, .attempts = 2, .why = kHostile};
  image.want.Change([](plan::DesiredImage& want) {
    want.from = {kHostile};
    want.ready_as = image::PodCoordinates{.secrets = {{kHostile, kHostile, kHostile}}, .service_account = {}};
  });
  image.registry = std::make_shared<const plan::RegistryView>(
      plan::RegistryView{.answer = image::RegistryAnswerKind::kServerError,
                         .detail = kHostile,
                         .message = kHostile,
                         .digest = kHostile,
                         .checked_at = sample::At(-3) + std::chrono::nanoseconds(1),
                         .changed_from = kHostile});
  plan::ImageState endless = sample::Pulling("quay.io/acme/b:v1", 1, 2, 1e300);
  plan::ImageState untold = sample::Queued("quay.io/acme/c:v1");
  untold.reason = plan::Reason::kFactsUnknown;
  plan::ImageState elsewhere = sample::Ready("quay.io/acme/d:v1", 1);
  elsewhere.applies = false;
  plan::Snapshot snapshot = sample::Node({image, endless, untold, elsewhere, sample::SpelledTwice(),
                                          sample::ForPodsWithASecret(), sample::ForTwoPods()});
  snapshot.node = snapshot.readiness.message = snapshot.list.hash = kHostile;
  snapshot.time += std::chrono::milliseconds(999);
  snapshot.list.warnings = snapshot.problems = {kHostile};
  snapshot.list.sources[0].name = snapshot.list.sources[0].error = kHostile;
  snapshot.runtime.name = snapshot.runtime.version = snapshot.runtime.error = kHostile;
  snapshot.disk.path = kHostile;
  snapshot.disk.pressure = true;
  snapshot.registries = {{.name = kHostile, .trouble = kHostile, .message = kHostile}};
  snapshot.unlisted = std::make_shared<const plan::Unlisted>(
      plan::Unlisted{.since = sample::At(-9),
                     .images = {{.image = kHostile, .image_id = kHostile, .size_bytes = 3, .present = false}},
                     .left_out = 4});
  return snapshot;
}

plan::Snapshot HostileKubelet() {
  plan::Snapshot snapshot = HostileNode();
  snapshot.kubelet.emplace();
  snapshot.kubelet->version = snapshot.kubelet->verification = snapshot.kubelet->root = kHostile;
  snapshot.kubelet->records_note = kHostile;
  snapshot.kubelet->sources = {{"version", kHostile}, {"root", "flag"}, {"verification", "declared"}};
  return snapshot;
}

plan::Snapshot UnknownDisk() {
  plan::Snapshot snapshot = sample::PeacefulNode();
  snapshot.disk.known = false;
  return snapshot;
}

struct NodeCase {
  std::string name;
  plan::Snapshot (*snapshot)();
};
class DocumentOfTest : public testing::TestWithParam<NodeCase> {};

TEST_P(DocumentOfTest, IsTheStatusDocument) {
  const plan::Snapshot snapshot = GetParam().snapshot();
  auto read = ParseStatusDocument(status::StatusJson(snapshot));
  ASSERT_TRUE(read) << read.error().message();
  const StatusDocument document = DocumentOf(snapshot);
  EXPECT_EQ(StatusTable(document, {.wide = true}), StatusTable(*read, {.wide = true}));
  ASSERT_EQ(document.images.size(), read->images.size());
  for (std::size_t i = 0; i < read->images.size(); i++) {
    EXPECT_TRUE(document.images[i] == read->images[i]) << read->images[i].image;
  }
  EXPECT_TRUE(document == *read);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, DocumentOfTest,
    testing::Values(NodeCase{"Troubled", &sample::TroubledNode}, NodeCase{"Peaceful", &sample::PeacefulNode},
                    NodeCase{"Starting", &sample::StartingNode}, NodeCase{"Stale", &sample::StaleNode},
                    NodeCase{"Kubelet", &sample::KubeletNode}, NodeCase{"Newer", &sample::NewerNode},
                    NodeCase{"BrokenList", &sample::BrokenListNode}, NodeCase{"UnknownDisk", &UnknownDisk},
                    NodeCase{"Hostile", &HostileNode}, NodeCase{"HostileKubelet", &HostileKubelet}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::screen::snapshot_document_test
