// World: a node with a list, its registries, a credential plugin and a kubelet, as the faults find it. It
// also knows the truth, from the models themselves and not from the agent.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scenario/node.h"

namespace prefetch::tests::faults {

// Bytes a second of the node's link; the list takes 40 s, while most faults begin.
constexpr std::uint64_t kLink = 5'000'000;

class World {
 public:
  World();

  // All images of the world, and those of them that are on the list.
  const std::vector<std::string>& images() const { return images_; }
  const std::set<std::string>& listed() const { return listed_; }
  void Unlist(const std::string& image);
  void Relist(const std::string& image);
  // Its registry has the tag no more, or again.
  void HideTag(const std::string& image) { node.runtime.DeleteTag(image); }
  void ShowTag(const std::string& image);
  // As by SIGKILL.
  void RestartAgent();

  // A pod of another team makes kubelet pull with a secret: the image is closed to others, if it was only
  // preloaded.
  void ClosedByAPod(const std::string& image);
  // As soon as image and kubelet are there, kubelet pulls it with the node's credentials: it is open.
  void OpenWhenHere(const std::string& image) { to_open_.insert(image); }
  // Once at each moment: what waits to be done.
  void Tend();
  void KubeletStops();
  void KubeletStarts();
  bool kubelet_runs() const { return kubelet_runs_; }

  // Has the runtime the image under that name? False while the runtime is down, too.
  bool Has(const std::string& image) { return !node.IdOf(image).empty(); }
  // Would a pod with Never and without a secret start with every image of the list?
  bool IsTrulyReady();
  std::uint64_t BytesOf(const std::string& image) const;
  std::uint64_t BytesOfAll() const;

  // What may be lost to a fault, and so be fetched again.
  void Destroyed(std::uint64_t bytes) { destroyed_ += bytes; }
  std::uint64_t destroyed() const { return destroyed_; }
  // Something happened that may rightly lead to a pull at once.
  void Stirred() { stirs_++; }
  int stirs() const { return stirs_; }

  bool runtime_up = true;
  base::TimePoint agent_since;
  Node node;

 private:
  void Push(const FakeImage& image);
  void SetListed(std::set<std::string> images);
  const FakeImage& Pushed(const std::string& image) const;

  std::vector<std::string> images_;
  std::set<std::string> listed_;
  std::vector<FakeImage> pushed_;
  kubelet::KubeletSettings settings_;
  bool kubelet_runs_ = false;
  std::set<std::string> to_open_;
  std::uint64_t destroyed_ = 0;
  int stirs_ = 0;
};

}  // namespace prefetch::tests::faults
