// The rules: about one container or image volume by itself, and about those of one pod together. Internal to
// manifest/lint. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/image_use.h"
#include "manifest/lint/finding.h"
#include "manifest/lint/listed_images.h"

namespace prefetch::manifest::lint {

using Findings = std::vector<Finding>;

void InvalidReference(const ImageUse& use, Findings& findings);
// PF101, or PF103 for a policy of Never: the same lack, and the second fails for certain.
void NotListed(const ImageUse& use, const ListedImages& listed, Findings& findings);
// PF105, where no entry of the image is for such a pod.
void NotReadyAs(const ImageUse& use, const ListedImages& listed, Findings& findings);
void OtherPlatform(const ImageUse& use, const ListedImages& listed, Findings& findings);
// PF201 and PF202.
void AlwaysOfListed(const ImageUse& use, const ListedImages& listed, Findings& findings);
void NeverOfMovingTag(const ImageUse& use, const ListedImages& listed, Findings& findings);
// PF106.
void ImageInStepAction(const StepReference& reference, Findings& findings);
// PF107.
void ObjectNotRead(const UnreadObject& object, Findings& findings);
// PF108.
void ImageNotNamed(const OpenImage& image, Findings& findings);
void ShortName(const ImageUse& use, Findings& findings);

// A tag whose name suggests that it moves: latest, main, nightly, edge … Versions, also short ones
// ("v1"), are taken at their word.
bool IsMovingTag(std::string_view tag);

// The rules about the containers of one pod together.
// `uses` are all of one pod.
void NeedlessPullSecrets(std::span<const ImageUse> uses, const ListedImages& listed, Findings& findings);
// An init container, or one that checks, with a weaker policy than another container has for the same image.
void WeakerCheckInPod(std::span<const ImageUse> uses, Findings& findings);

// PF204's message about `weak` beside a container `strong` of the same image.
std::string WeakerCheckMessage(const ImageUse& weak, const std::string& strong, image::PullPolicy policy);

}  // namespace prefetch::manifest::lint
