// FakePodRunner: what kubelet does with the pods of its node that touch images: takes them up, gets their
// images by policy (Always or IfNotPresent), records and the node's credentials, and says in their status how
// it went (kubelet's rules K4 to K6 and K36 to K40). Records are FakeKubelet's, pods FakeApiServer's; no
// process ever runs: a container whose image is there ends with StartError, as one with an absent command
// does. Those of a pod that restarts them come again, later each time and every five minutes at last.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "fakes/fake_api_server.h"
#include "fakes/fake_kubelet.h"
#include "image/registry_question.h"

namespace prefetch::tests {

// The node's runtime and the registries behind it, as kubelet sees them.
struct PodRuntime {
  // The id of the image under this name; empty: there is none.
  std::function<std::string(const std::string& image)> id_of;
  // Pulls with this credential, or anonymously (nullptr): the id, or the runtime's words.
  std::function<base::Result<std::string>(const std::string& image, const image::AuthConfig* auth)> pull;
};

// One thread. Everything that it is given outlives it.
class FakePodRunner {
 public:
  FakePodRunner(FakeApiServer& api, FakeKubelet& kubelet, const base::Clock& clock, std::string node,
                PodRuntime runtime);

  // Node credentials (a plugin's or a docker config's); none: images are pulled anonymously.
  void SetNodeCredential(std::optional<image::AuthConfig> credential) { node_ = std::move(credential); }
  // How long a pod takes to start, and each image of it.
  void SetSpeed(base::Duration start, base::Duration image) { start_ = start, image_ = image; }
  // False: what kubelet pulls leaves no record, as when its folder cannot be written.
  void SetRecords(bool records) { records_ = records; }
  // False: pods are not even looked at.
  void SetRuns(bool runs) { runs_ = runs; }
  // Every pod fails at once, as when the node has no room for it; an empty reason: no more.
  void Refuse(std::string reason, std::string message);

  // Performs all that is due now. Returns false if nothing was.
  bool Step();
  // When something is due if nobody interferes.
  base::TimePoint NextEvent() const;
  int pods_taken_up() const { return taken_up_; }

 private:
  enum class Fate { kNotYet, kPulled, kFailed };
  struct Container {
    std::string name;
    std::vector<std::pair<std::string, std::string>> images;  // and the policy: its volumes', then its own
    Fate fate = Fate::kNotYet;
    std::string reason, message;
  };
  struct Running {
    std::string uid;
    std::vector<Container> containers;
    std::size_t next = 0;
    base::TimePoint due;
    int rounds = 0;
    bool restarts = true;
  };

  bool TakeUp();
  Running Read(const doc::Node& pod) const;
  void Advance(const std::string& path, Running& pod);
  void Work(Container& container);
  // False: `container` has failed with it.
  bool Get(const std::string& image, const std::string& policy, Container& container);
  doc::Node StatusOf(const Running& pod) const;

  FakeApiServer& api_;
  FakeKubelet& kubelet_;
  const base::Clock& clock_;
  const std::string node_name_;
  const PodRuntime runtime_;
  std::optional<image::AuthConfig> node_;
  base::Duration start_ = std::chrono::milliseconds(400), image_ = std::chrono::milliseconds(60);
  bool runs_ = true, records_ = true;
  std::string refusal_reason_, refusal_message_;
  std::map<std::string, Running> pods_;  // by path
  int taken_up_ = 0;
};

}  // namespace prefetch::tests
