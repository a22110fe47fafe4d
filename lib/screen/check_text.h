// CheckText: the output of `prefetchctl check`, which in an init container is also its termination message.
// CheckItem: one image of a preflight.
// CheckReportJson and CheckGithub: the same output for machines.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "manifest/image_use.h"
#include "status/check_document.h"

namespace prefetch::screen {

// One image that a preflight asks about, with its pull policy and the origin of that.
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
manifest::ImageUse StandaloneUse(const std::string& image, std::optional<image::PullPolicy> policy,
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

struct CheckTextOptions {
  bool unknown_passes = false;  // an answer Unknown is no failure
  std::size_t width = 0;        // of the terminal; 0: one line an image, however long
  std::size_t unread = 0;       // objects whose images are not among the items
};

// Returns whether a pod may be started on this answer.
bool Passes(const status::CheckAnswer& answer, bool unknown_passes);

// The answer to the image of that number; nullptr: it was not decided in time.
const status::CheckAnswer* DecidedAnswer(const status::CheckResult& result, std::size_t item);

// Returns one line about the first image that does not pass: image, node, reason and advice, with the number
// of further ones; else about the first of the `unread` objects. Empty if all pass, and there is no such
// object.
std::string CheckLine(const std::vector<CheckItem>& items, const status::CheckResult& result,
                      bool unknown_passes, const std::vector<manifest::UnseenImage>& unread = {});

// Returns one line for each image, and then a line that sums up. Images that fail come last, and each such
// line tells image, node and reason by itself. `result` has the answers to `items` by their number; those
// that are missing, or have no result, were not decided in time.
std::string CheckText(const std::vector<CheckItem>& items, const status::CheckResult& result,
                      const CheckTextOptions& options);

// The output of `prefetchctl check` for machines. Pure. The agent's CheckResult, and for each image also its
// users and the reason for the policy: `containers`, `policyFrom`, `file`, `line`, `column`, `advice`. An
// image without an answer in time has the result "Undecided". `unread` are objects whose images are not among
// the items. One line with a newline.
std::string CheckReportJson(const std::vector<CheckItem>& items, const status::CheckResult& result,
                            const std::vector<manifest::UnseenImage>& unread = {});

// GitHub's workflow commands: an error for each image that does not pass, a warning for each that was not
// decided, at its place in the manifests; then a line that sums up.
std::string CheckGithub(const std::vector<CheckItem>& items, const status::CheckResult& result,
                        bool unknown_passes, const std::vector<manifest::UnseenImage>& unread = {});

// Returns advice about an image that fails a preflight, as one sentence without its full stop. It is empty if
// the answer's own message says everything. Advice is chosen by the answer's reason, which may be one of a
// newer agent. Pure.
std::string CheckAdvice(const CheckItem& item, const status::CheckAnswer& answer);

}  // namespace prefetch::screen
