#include "faults/step.h"

#include <algorithm>
#include <cstdlib>

#include "doc/node.h"

namespace prefetch::tests::faults {
namespace {

// A moment: what is told waits for the next change of the node.
constexpr base::Duration kJustNow = std::chrono::milliseconds(500);

bool IsCalledReadyJustNow(const World& world, const std::string& image) {
  const auto since = world.called_ready_since.find(image);
  return since != world.called_ready_since.end() && world.node.clock.Now() - since->second <= kJustNow;
}

bool Runs(const doc::Node& pod, const std::string& image) {
  const doc::Node* spec = pod.Find("spec");
  const doc::Node* containers = spec == nullptr ? nullptr : spec->Find("containers");
  return containers != nullptr &&
         std::any_of(containers->items.begin(), containers->items.end(), [&](const doc::Node& container) {
           const doc::Node* of = container.Find("image");
           return of != nullptr && of->text == image;
         });
}

bool HasTouchPod(World& world, const std::string& image) {
  if (!world.touches()) return false;
  const FakeApiServer& server = world.node.Cluster().server;
  const std::vector<std::string> paths = server.Paths();
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    const auto pod = path.starts_with("pods/") ? server.Get(path) : std::nullopt;
    return pod && Runs(*pod, image);
  });
}

}  // namespace

std::string_view StepName(Step step) {
  switch (step) {
    case Step::kCredential:
      return "credential";
    case Step::kResolve:
      return "resolve";
    case Step::kDownload:
      return "download";
    case Step::kUnpack:
      return "unpack";
    case Step::kVerify:
      return "verify";
    case Step::kPublish:
      return "publish";
    case Step::kTouch:
      return "touch";
  }
  std::abort();
}

bool HasStep(const std::string& image, Step step) {
  return step != Step::kCredential || image.starts_with("plugged.test/");
}

bool IsAt(World& world, const std::string& image, Step step) {
  switch (step) {
    case Step::kCredential:
      return HasStep(image, step) && world.node.plugins.Parked() > 0;
    case Step::kResolve:
      return world.node.runtime.StageOf(image) == PullStage::kResolving;
    case Step::kDownload:
      return world.node.runtime.StageOf(image) == PullStage::kDownloading;
    case Step::kUnpack:
      return world.node.runtime.StageOf(image) == PullStage::kUnpacking;
    case Step::kVerify:
      return world.node.runtime.IsLookedAt(image);
    case Step::kPublish:
      return IsCalledReadyJustNow(world, image);
    case Step::kTouch:
      return HasTouchPod(world, image);
  }
  std::abort();
}

}  // namespace prefetch::tests::faults
