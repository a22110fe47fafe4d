// The contract suite's world made of the real parts, with containerd.
#include "contract/real_world.h"
#include "rig/containerd.h"

namespace prefetch::tests {
namespace {

class ContainerdWorld final : public RealWorld<rig::Containerd> {
 public:
  ContainerdWorld() {
    Begin([this](Site& site) { EXPECT_OK(runtime_.Route(site.host, site.proxy->port())); });
  }

  bool HasContentApi() const override { return true; }
  std::string runtime_name() const override { return "containerd"; }

  void Remove(const std::string& name) override {
    // All its names, as CRI's RemoveImage would.
    const image::LocalImage image = Listed(name);
    std::vector<std::string> arguments = {"images", "remove", image.id};
    arguments.insert(arguments.end(), image.repo_tags.begin(), image.repo_tags.end());
    arguments.insert(arguments.end(), image.repo_digests.begin(), image.repo_digests.end());
    EXPECT_OK(runtime_.Ctr(arguments));
  }
  bool StoreIsEmpty() override {
    auto content = runtime_.Ctr({"content", "ls", "--quiet"});
    auto ingests = runtime_.Ctr({"content", "active"});
    EXPECT_OK(content);
    EXPECT_OK(ingests);
    // The second has a line of titles.
    return content && ingests && content->empty() && ingests->find("sha256:") == std::string::npos;
  }
  bool Until(const std::function<bool()>& done) override { return rig::Eventually(kPatience, done); }
};

}  // namespace

std::vector<WorldKind> Worlds() {
  return {{"Containerd", [] { return std::make_unique<ContainerdWorld>(); }}};
}

}  // namespace prefetch::tests
