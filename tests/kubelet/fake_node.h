// FakeNode: a node with a model of kubelet, real files, and the product's verdict on them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_kubelet.h"
#include "image/reference.h"
#include "kubelet/verdict.h"
#include "kubelet/verdict_reader.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::tests {

struct FakeNode {
  TempDir root;
  FakeClock clock;
  FakeKubelet kubelet;
  kubelet::KubeletSettings settings;
  std::map<std::string, std::string> here;  // what the runtime has: a name as kubelet sends it -> image id

  explicit FakeNode(const kubelet::KubeletSettings& first = {}) : kubelet(root.path(), clock) {
    Become(first);
  }

  // kubelet starts with these settings; it is stopped before if it runs.
  void Become(const kubelet::KubeletSettings& next) {
    settings = next;
    kubelet.Stop();
    kubelet.Start(settings, Images());
  }
  void Restart() { Become(settings); }

  // A pull over CRI, by somebody who is not kubelet.
  void Prefetch(const std::string& image, const std::string& id) { here[SpecImage(image)] = id; }
  // A pull by kubelet that ends well, a second after the last thing that happened.
  void KubeletPulls(const std::string& image, const std::string& id, const PullCredential& credential = {}) {
    clock.Advance(std::chrono::seconds(1));
    if (!kubelet.BeginPull(image)) return;
    Prefetch(image, id);
    kubelet.EndPull(image, id, credential);
  }
  void Remove(const std::string& image) { here.erase(SpecImage(image)); }
  // A collection for space, a second later.
  void Collect(const std::set<std::string>& remaining = {}) {
    clock.Advance(std::chrono::seconds(1));
    kubelet.GarbageCollect(remaining);
  }

  std::string IdOf(const std::string& image) const {
    auto found = here.find(SpecImage(image));
    return found == here.end() ? "" : found->second;
  }
  kubelet::VerdictQuestion Question(const std::string& image, const kubelet::PodIdentity& pod = {}) const {
    kubelet::VerdictQuestion question = kubelet::ReadKubeletFiles(root.path(), image, IdOf(image));
    question.pod = pod;
    return question;
  }
  kubelet::Verdicts Ask(const std::string& image, const kubelet::PodIdentity& pod = {}) const {
    return kubelet::VerdictsFor(Question(image, pod), {settings});
  }

  // Kubelet's own files.
  std::string RecordPath(const std::string& id) const {
    return "image_manager/pulled/" + kubelet::FileNameFor(id);
  }
  std::string IntentPath(const std::string& image) const {
    return "image_manager/pulling/" + kubelet::FileNameFor(image);
  }
  std::string Content(const std::string& path) const { return TextSoFar(root / path); }

 private:
  static std::string SpecImage(const std::string& image) {
    auto reference = image::Reference::Parse(image);
    return reference ? reference->SpecImage() : image;
  }
  // As ListImages has them: by normalised names.
  std::vector<image::LocalImage> Images() const {
    std::vector<image::LocalImage> images;
    for (const auto& [name, id] : here) {
      auto reference = image::Reference::Parse(name);
      image::LocalImage image{.id = id};
      (reference->has_digest() ? image.repo_digests : image.repo_tags).push_back(reference->Normalized());
      images.push_back(std::move(image));
    }
    return images;
  }
};

}  // namespace prefetch::tests
