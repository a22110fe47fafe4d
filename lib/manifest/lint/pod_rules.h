// The rules about the containers of one pod together. Internal to manifest/lint. Pure.
#pragma once

#include <span>
#include <vector>

#include "manifest/image_use.h"
#include "manifest/lint/listed_images.h"
#include "manifest/lint/use_rules.h"

namespace prefetch::manifest::lint {

// `uses` are all of one pod.
void NeedlessPullSecrets(std::span<const ImageUse> uses, const ListedImages& listed, Findings& findings);
// An init container, or one that checks, with a weaker policy than another container has for the same image.
void WeakerCheckInPod(std::span<const ImageUse> uses, Findings& findings);

// What PF204 says of `weak` beside a container `strong` of the same image.
std::string WeakerCheckMessage(const ImageUse& weak, const std::string& strong, image::PullPolicy policy);

}  // namespace prefetch::manifest::lint
