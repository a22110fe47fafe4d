// One suite for every ImageService and ContentService: the fakes, and a real containerd with a real registry.
// The fake is trustworthy because it passes what containerd passes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/platform.h"

namespace prefetch::tests {

// A layer is known by its seed and size: the same in two images is the same blob.
struct WorldLayer {
  std::uint64_t seed = 0;
  std::uint64_t bytes = 0;
};

struct WorldImage {
  std::string repository;  // "team/app"
  std::string tag;
  std::vector<WorldLayer> layers;
  bool is_private = false;                                 // on the registry that wants user() and password()
  std::optional<image::Platform> platform = std::nullopt;  // nullopt: this machine's
  bool artifact = false;                                   // no image, such as a Helm chart
};

class CrioSide;

// A runtime with two registries behind it, one open and one private. One thread sets it up and stirs it; the
// services may be called from any.
class World {
 public:
  virtual ~World() = default;

  virtual cri::ImageService& images() = 0;
  virtual cri::ContentService& content() = 0;
  virtual bool HasContentApi() const = 0;
  virtual std::string runtime_name() const = 0;

  // Puts `image` into its registry and returns its name with the manifest's digest.
  struct Pushed {
    std::string name;        // "open.example.test/team/app:v1"
    std::string repository;  // "open.example.test/team/app"
    std::string digest;
  };
  virtual Pushed Push(const WorldImage& image) = 0;
  std::string user() const { return "robot"; }
  std::string password() const { return "hunter2-of-the-contract"; }

  // Bytes a second from all registries together; 0: no limit.
  virtual void SetBandwidth(std::uint64_t per_second) = 0;
  virtual void SetRegistriesUp(bool up) = 0;
  // The registry answers every request for a manifest of `pushed` so.
  virtual void Fail(const Pushed& pushed, image::ErrorClass error_class) = 0;
  // SIGKILL, and a new start that returns when the runtime answers.
  virtual void KillRuntime() = 0;
  virtual void StartRuntime() = 0;
  virtual void Remove(const std::string& name) = 0;
  virtual std::uint64_t BytesServed() const = 0;
  // Has the garbage collector left nothing, neither whole nor in part?
  virtual bool StoreIsEmpty() = 0;

  // Differences between runtimes, seen on containerd 1.6 and 2.x and on CRI-O 1.36.
  // Two pulls side by side fetch a layer that they share once; else each for itself.
  virtual bool SharesRunningDownloads() const { return true; }
  // ImageStatus of a name without a registry, or of what is no name, fails; else there is no such image.
  virtual bool StatusRefusesOddNames() const { return false; }
  // Callers that ask for the same at the same time have one pull, which ends with the first of them.
  virtual bool SharesEqualPulls() const { return false; }
  // A pull by tag gives the digest a name of its own, which stays when the tag moves.
  virtual bool DigestsOutliveTheirTag() const { return true; }
  // How long it takes a runtime to give up: CRI-O asks a registry that answers 429 for a minute.
  virtual std::chrono::seconds PullLimit() const { return std::chrono::seconds(20); }

  // Further operations of a world of CRI-O; nullptr: it is none.
  virtual CrioSide* crio() { return nullptr; }

  // Are this many pulls at work? A test waits for them in a world whose time does not pass by itself.
  virtual bool HasArrived(int) { return true; }
  // Lets time pass until `done`. False: it did not come.
  virtual bool Until(const std::function<bool()>& done) = 0;
};

// Further operations on a CRI-O and its registries (crio_contract.cc).
class CrioSide {
 public:
  virtual ~CrioSide() = default;

  // Returns requests to registries since the last call: "GET /v2/team/app/manifests/v1", with " +login" if a
  // password or an empty one came with it. Blobs are "…/blobs/BLOB", with " +range" after a cut.
  virtual std::vector<std::string> TakeAsked() = 0;
  // The registry answers every request for a manifest of `pushed` so: "503 Service Unavailable", and
  // a body; one that begins with '{' is JSON.
  virtual void Answer(const World::Pushed& pushed, const std::string& status, const std::string& body) = 0;
  // The private registry lets everybody ping it, and asks for a password later.
  virtual void WelcomeAtPing() = 0;
  // Names of `prefix` are asked for at `location`. (registries.conf; restarts it.)
  virtual void Rewrite(const std::string& prefix, const std::string& location) = 0;
  // Cancels pulls that get nothing for this time. (crio.conf; restarts it.)
  virtual void GiveUpOnSilenceAfter(std::chrono::seconds silence) = 0;
  // Connections are reset; new ones work.
  virtual void CutConnections() = 0;
  // Connections stay, and nothing comes over them.
  virtual void Freeze(bool frozen) = 0;
  // CRI's RemoveImage of one name.
  virtual void RemoveName(const std::string& name) = 0;
  // Since the world was made.
  virtual base::Duration Elapsed() = 0;
};

struct WorldKind {
  std::string name;
  std::function<std::unique_ptr<World>()> make;
};

// Defined by each runner.
std::vector<WorldKind> Worlds();

}  // namespace prefetch::tests
