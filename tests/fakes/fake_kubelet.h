// FakeKubelet: how kubelet keeps its records of pulls, and how it decides by them (K14 to
// K35). It pulls nothing: tests say what was pulled, with which credential, and how that
// ended.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fakes/fake_kubelet_folder.h"
#include "fakes/fake_kubelet_records.h"
#include "image/local_image.h"
#include "kubelet/settings.h"
#include "kubelet/verdict.h"

namespace prefetch::tests {

// The credential with which a pull of kubelet succeeded.
struct PullCredential {
  std::optional<kubelet::HashedSecret> secret;
  std::optional<kubelet::Coordinates> service_account;
  // Neither: node credentials, or none at all.
};

// Records lie in real files below `<root>/image_manager`, so that the product's readers can be shown them.
// The number of running pulls of a name, which kubelet keeps in memory, is kept here and gone with Stop. One
// thread. The clock outlives it.
//
// The decision is written a second time here, from the rules, so that the product's verdict has something to
// be compared with. They share the decoders, the file names and the trimming of names.
class FakeKubelet {
 public:
  FakeKubelet(std::string root, const base::Clock& clock);

  // A kubelet of these settings starts, as a first one, an upgrade or a downgrade. Without the gate it
  // touches nothing. With it: folders, migration to v1beta1 (from 1.35 on), and an intent that is left over
  // becomes a record if one of `images`, those of the runtime, has its name to the letter.
  void Start(const kubelet::KubeletSettings& settings, const std::vector<image::LocalImage>& images = {});
  // As SIGKILL: pulls that are under way leave their intents behind.
  void Stop();

  // One attempt to pull what a pod names. False, and nothing is written, if kubelet refuses the name. Each
  // BeginPull that was not refused is followed by one EndPull or FailPull, or by Stop.
  bool BeginPull(const std::string& image);
  // `image_ref` is PullImageResponse's.
  void EndPull(const std::string& image, const std::string& image_ref, const PullCredential& credential);
  void FailPull(const std::string& image);

  // Whether a pod would start with the image that is here; `image_id` is empty if none is. Changes nothing.
  bool Admits(const std::string& image, const std::string& image_id, const kubelet::PodIdentity& pod) const;

  // After a collection for space that began now: records of other images than `remaining` go if they are
  // older. As kubelet is built, `remaining` are only the candidates that it looked at and kept, which leaves
  // out images that are in use.
  void GarbageCollect(const std::set<std::string>& remaining);

 private:
  bool Active() const { return running_ && settings_.gate; }
  void Migrate();
  void AdoptLeftovers(const std::vector<image::LocalImage>& images);
  kubelet::RecordReading ReadRecord(const std::string& image_ref) const;
  kubelet::Reading ReadIntent(const std::string& image) const;
  // K30. An entry that says nothing makes sure that there is a record.
  void Record(const std::string& image, const std::string& image_ref, const kubelet::CredentialEntry& news);
  kubelet::CredentialEntry EntryFor(const PullCredential& credential) const;
  void EndAttempt(const std::string& image);
  bool Exempt(const std::string& image, bool tracked) const;
  bool AdmitsByEntry(const kubelet::CredentialEntry& entry, const kubelet::PodIdentity& pod) const;

  std::string root_;
  const base::Clock& clock_;
  bool running_ = false;
  kubelet::KubeletSettings settings_;
  FakeKubeletFolder pulled_, pulling_;
  std::map<std::string, int> attempts_;  // under way, by the pod's literal text
};

}  // namespace prefetch::tests
