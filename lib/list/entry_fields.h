// EntryFields: the fields of an entry and of `defaults`, as written: each may be missing.
// ReadReadyAs and ReadPullWindow: fields that are objects.
// Internal to list/.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/shared.h"
#include "doc/node.h"
#include "doc/reader.h"
#include "image/pod_coordinates.h"
#include "list/image_list.h"
#include "plan/desired.h"

namespace prefetch::list {

struct EntryFields {
  std::optional<bool> required;
  std::optional<image::PullPolicy> ready_for;
  std::optional<plan::Refresh> refresh;
  std::optional<std::chrono::seconds> refresh_interval;
  std::optional<std::chrono::seconds> max_age;
  std::optional<plan::OnFailure> on_unreachable, on_access_denied, on_tag_missing, on_stale;
  std::optional<int> priority;
  std::optional<plan::Open> open;
  std::optional<std::chrono::seconds> pull_timeout;
  std::optional<std::vector<image::Platform>> platforms;
  std::optional<image::NodeLabels> node_selector;
  std::optional<base::Shared<image::PodCredentialRefs>> ready_as;
  std::optional<bool> pin;
  std::optional<std::vector<plan::PullWindow>> pull_windows;  // one; none: at any time
};

// Reads all fields but `image`, and rejects those that need a missing capability.
EntryFields ReadFields(doc::ObjectReader& object, const Capabilities& capabilities);

// Overlays the written fields over those that `image` has.
void Apply(const EntryFields& fields, plan::DesiredImage& image);

// The two checks below read `own`, the fields of the object itself, and `image`, which has these over the
// defaults. A contradiction within the defaults is reported for them, and not for each entry.

// `refresh: Always` is strict: rejects fields that ask for less. Returns false if there is one.
bool CheckStrict(const doc::ObjectReader& object, const EntryFields& own, const plan::DesiredImage& image);

// Rejects fields of one object that contradict each other.
void CheckContradictions(const doc::ObjectReader& object, const EntryFields& own,
                         const plan::DesiredImage& image);

// Resets the fields that have no effect in this entry. Runs after the checks.
void DropUnusedDefaults(plan::DesiredImage& image);

// The field `readyAs` of an entry and of `defaults`: the pod that an entry is to be ready for.
//
//   readyAs:
//     secrets: [{namespace: ci, name: registry}]
//     serviceAccount: {namespace: ci, name: runner, uid: 6f1c…}
//
// nullopt: it is not written. `{}` is a pod without credentials, which is what no default means, too. It is
// one pod: a secret in another namespace than the first is a mistake, and so is a secret that is named twice.
std::optional<image::PodCredentialRefs> ReadReadyAs(doc::ObjectReader& object);

// Returns the field as a node. The pod must have credentials.
doc::Node ReadyAsNode(const image::PodCredentialRefs& pod);

// The field `pullWindow`: {start: "22:00", end: "06:00", days: [Mon, Tue], timeZone: Europe/Berlin}. The
// whole of each day is any time, which no default means, too.
std::optional<std::vector<plan::PullWindow>> ReadPullWindow(doc::ObjectReader& object);
doc::Node PullWindowNode(const plan::PullWindow& window);

}  // namespace prefetch::list
