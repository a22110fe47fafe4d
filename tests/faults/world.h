// World: a node with a list, its registries, a credential plugin and a kubelet, as the faults find it. It
// also knows the truth, from the models themselves and not from the agent.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "scenario/node.h"

namespace prefetch::tests::faults {

// Bytes a second of the node's link; the list takes 40 s, while most faults begin.
constexpr std::uint64_t kLink = 5'000'000;

// Time to unpack an image, and time of each look at one.
constexpr std::chrono::milliseconds kUnpacking{800};
constexpr std::chrono::milliseconds kLook{50};

// Password of the user ci of docked.test and plugged.test.
constexpr const char* kTruePassword = "password-of-the-faults";

class World {
 public:
  // `touches`: with an API server, and each entry wants to be touched.
  explicit World(Persona runtime = Persona::kContainerd23, bool touches = false);

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

  // As soon as image and kubelet are there: a pod of another team makes kubelet pull it with a secret, and it
  // is closed to others, if it was only preloaded.
  void CloseWhenHere(const std::string& image) { due_[image] = Due::kClose; }
  // …kubelet starts again over a record of it that nobody can read.
  void BreakRecordWhenHere(const std::string& image) { due_[image] = Due::kBreak; }
  // …kubelet pulls it with the node's credentials: it is open.
  void OpenWhenHere(const std::string& image) { due_[image] = Due::kOpen; }
  // Once at each moment: what waits to be done.
  void Tend();
  // All registries are down, or up again, by turns.
  void FlapRegistry();
  // Sets the password that the plugin of plugged.test knows, and how long it takes.
  void CachingProvider(const std::string& password, base::Duration takes = std::chrono::milliseconds(200));
  // The node's docker config: what nobody can read, or this password for docked.test.
  void BreakDockerConfig() { node.WriteDockerConfig("{"); }
  void MendDockerConfig(const std::string& password = kTruePassword);
  // The API server goes, or comes back, by turns.
  void FlapApiServer();
  void RuntimeIs(bool up);
  void KubeletStops();
  void KubeletStarts();
  bool kubelet_runs() const { return kubelet_runs_; }
  bool touches() const { return touches_; }

  // Has the runtime the image under that name? False while the runtime is down, too.
  bool Has(const std::string& image) { return !node.IdOf(image).empty(); }
  // Is it here, and would such a pod start with it?
  bool IsUsable(const std::string& image) { return Has(image) && (!kubelet_runs_ || node.Admits(image)); }
  // Would a pod with Never and without a secret start with every image of the list?
  bool IsTrulyReady();
  std::uint64_t BytesOf(const std::string& image) const;
  // That all images take: CRI-O fetches a layer once for each pull that runs at that time.
  std::uint64_t BytesToFetch() const;
  // That the runtime has of images that are not here.
  std::uint64_t BytesUnfinished();
  // Bytes of all images that are not here.
  std::uint64_t BytesAbsent();

  // Counts bytes that a fault may destroy, and that may be fetched again.
  void Destroyed(std::uint64_t bytes) { destroyed_ += bytes; }
  // Counts the image's bytes as destroyed, unless all of it is here: nothing holds them any more.
  void LosesLease(const std::string& image) { Destroyed(Has(image) ? 0 : BytesOf(image)); }
  std::uint64_t destroyed() const { return destroyed_; }
  // Something happened that may rightly lead to a pull at once.
  void Stirred() { stirs_++; }
  int stirs() const { return stirs_; }
  // Restarts of the agent.
  int restarts() const { return restarts_; }
  // The image goes behind the agent's back, perhaps before the agent has looked at what its pull brought.
  void Evict(const std::string& image);
  bool WentUnseen(const std::string& image) const { return went_unseen_.count(image) != 0; }

  bool runtime_up = true;
  std::string also_needs;  // an image that is not on the list, and that readiness is held to all the same
  base::TimePoint agent_since;
  // Since when the agent calls an image ready, of those that it does; kept by the observer.
  std::map<std::string, base::TimePoint> called_ready_since;
  Node node;

 private:
  enum class Due { kClose, kBreak, kOpen };

  void Do(Due what, const std::string& image);
  void BreakRecord(const std::string& image);
  void Push(FakeImage image);
  void SetListed(std::set<std::string> images);
  const FakeImage& Pushed(const std::string& image) const;
  void PodsRunIfTheyCan();

  const Persona runtime_;
  const bool touches_;
  std::vector<std::string> images_;
  std::set<std::string> listed_;
  std::vector<FakeImage> pushed_;
  kubelet::KubeletSettings settings_;
  bool kubelet_runs_ = false;
  bool flapped_down_ = false;
  bool api_server_is_away_ = true;  // when it begins to come and go
  std::map<std::string, Due> due_;  // by image
  std::uint64_t destroyed_ = 0;
  int stirs_ = 0, restarts_ = 0;
  std::set<std::string> went_unseen_;
};

}  // namespace prefetch::tests::faults
