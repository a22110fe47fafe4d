// The rules: about one container or image volume by itself, and about those of one pod together. Internal to
// manifest/lint. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "image/platform.h"
#include "image/pod_coordinates.h"
#include "image/reference.h"
#include "manifest/image_use.h"
#include "manifest/lint/rule.h"

namespace prefetch::manifest::lint {

// An entry of a list, as far as manifests are checked against it.
struct ListedImage {
  image::Reference reference;
  Place place;
  bool refreshed = false;                  // the list follows a tag that moves
  std::vector<image::Platform> platforms;  // empty: every node
  image::NodeLabels node_selector{};       // the same
  image::PodCredentialRefs ready_as{};     // the pod that the entry is for; empty: any
};

// Immutable once made. Any thread.
class ListedImages {
 public:
  explicit ListedImages(std::vector<ListedImage> images);

  const std::vector<ListedImage>& all() const { return images_; }
  // Those of the same normalised name: one for each source that has it. Empty: it is not listed.
  std::vector<const ListedImage*> Find(const image::Reference& reference) const;
  bool Has(const image::Reference& reference) const { return by_name_.contains(reference.Normalized()); }
  // Returns another entry of the same repository; nullptr if there is none.
  const ListedImage* SameRepository(const image::Reference& reference) const;

 private:
  using Index = std::unordered_map<std::string, std::vector<std::size_t>>;

  std::vector<ListedImage> images_;
  Index by_name_, by_repository_;  // indices in images_
};

using Findings = std::vector<Finding>;

// Adds what the rules find about one container or image volume by itself.
void CheckUse(const ImageUse& use, const ListedImages& listed, Findings& findings);
// PF107.
void ObjectNotRead(const UnseenImage& object, Findings& findings);
// PF106 and PF108.
void ImageNotNamed(RuleId rule, const UnseenImage& image, Findings& findings);

// A tag whose name suggests that it moves: latest, main, nightly, edge … Versions, also short ones
// ("v1"), are taken at their word.
bool IsMovingTag(std::string_view tag);

// The rules about the containers of one pod together.
// `uses` are all of one pod.
void NeedlessPullSecrets(std::span<const ImageUse> uses, const ListedImages& listed, Findings& findings);
// An init container, or one that checks, with a weaker policy than another container has for the same image.
void WeakerCheckInPod(std::span<const ImageUse> uses, Findings& findings);

// PF204 about `weak` beside a container `strong` of the same image, whose policy stands at `strong_place`.
Finding WeakerCheck(const ImageUse& weak, const std::string& strong, image::PullPolicy policy,
                    const Place& strong_place);

}  // namespace prefetch::manifest::lint
