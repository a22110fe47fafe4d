// ReadFields: the fields of an entry or of `defaults`. Any of them may be missing.
// ReadReadyAs and ReadPullWindow: fields that are objects.
// Internal to list/.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "doc/reader.h"
#include "image/pod_coordinates.h"
#include "list/image_list.h"
#include "plan/desired.h"

namespace prefetch::list {

// Names of fields that one object has, each with a good value.
using FieldNames = std::set<std::string_view>;

// Reads all fields but `image` into `image`, which keeps its values for missing ones, and rejects those that
// need a missing capability. Returns the fields that it has set.
FieldNames ReadFields(doc::ObjectReader& object, const Capabilities& capabilities, plan::DesiredImage& image);

// The two checks below read `own`, the names of the object's own fields, and `image`, which has these over
// the defaults. A contradiction within the defaults is reported for them, and not for each entry.

// `refresh: Always` is strict: rejects fields that ask for less. Returns false if there is one.
bool CheckStrict(const doc::ObjectReader& object, const FieldNames& own, const plan::DesiredImage& image);

// Rejects fields of one object that contradict each other.
void CheckContradictions(const doc::ObjectReader& object, const FieldNames& own,
                         const plan::DesiredImage& image);

// Returns false if fields about the registry have no effect in this entry.
bool AsksRegistry(const plan::DesiredImage& image);

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
