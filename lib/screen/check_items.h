// CheckItem: one image that a preflight asks about, how strongly, and why so strongly. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/effective_policy.h"
#include "manifest/image_use.h"
#include "status/check_document.h"

namespace prefetch::screen {

struct CheckItem {
  status::CheckQuestion question;
  std::string containers;  // "app, setup (init)"; "–" for an image that was named by itself
  // Where the policy is from: "stated", "default for :latest", "default", "AlwaysPullImages", "assumed
  // default", "assumed for checks"; with the container that asks most strongly if others ask less, and a
  // check that is one of those: "stated by app; precheck has IfNotPresent". Where pods and a controller's own
  // checks have different defaults both are named: "assumed default; checks have IfNotPresent".
  std::string origin;
  // Where the one that asks most strongly names the image; empty for an image that was named by itself.
  std::string file;
  doc::Position at;
};

// An image that stands in no manifest, as a use of it.
manifest::ImageUse ImageByItself(const std::string& image, std::optional<image::PullPolicy> policy,
                                 const manifest::PolicyRules& rules);

// Returns each image once, in the order of first use, with the strongest policy of its uses, including a
// controller's own check. An image that is written in two ways is asked for twice, since kubelet's records
// have the text of the reference (kubelet's rule K17). An image that pods with different pull secrets name is
// asked for once for each set of secrets. `rules` are those that the uses were read with. `identity` holds
// for all pods. The pull secrets that a pod names are added to it, in the pod's namespace or else in
// `default_namespace`.
std::vector<CheckItem> CheckItems(const std::vector<manifest::ImageUse>& uses,
                                  const manifest::PolicyRules& rules, const status::CheckIdentity& identity,
                                  const std::string& default_namespace = "default");

}  // namespace prefetch::screen
