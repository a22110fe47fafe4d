// The answers of an agent, made of its Snapshot: the status documents, and the text of /readyz. Pure; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "plan/readiness.h"
#include "plan/snapshot.h"
#include "status/documents.h"

namespace prefetch::status {

// `time` is when a document is made: its member "time", and what ages count from. Without it, that is when
// the Snapshot was made.
using DocumentTime = std::optional<base::WallTime>;

// A fact that this version does not gather is null and has a neighbour that says why: "registry": null,
// "registryReason": "…". So a reader can distinguish "no" from "not known".
StatusDocument DocumentOf(const plan::Snapshot& snapshot, DocumentTime time = {});

// Returns one image in full. `image` need not be on the list. `found` has what the request itself has looked
// up: kubelet's files, credentials, servers, and whether the list has the image. All else is filled in.
ImageDocument DocumentOf(const plan::Snapshot& snapshot, const plan::ImageState& image, ImageDocument found,
                         DocumentTime time = {});
// Returns the verdicts with the steps of kubelet's procedure behind them.
ImageReasoning ReasoningOf(const kubelet::Verdicts& verdicts);

// The next functions return these documents as JSON.
std::string StatusJson(const plan::Snapshot& snapshot, DocumentTime time = {});
// The document for callers that the agent does not know: without HiddenMembers(), words of registries or of
// the list, and the pods for which an entry is judged.
std::string PublicStatusJson(const plan::Snapshot& snapshot, DocumentTime time = {});
inline std::string ImageJson(const plan::Snapshot& snapshot, const plan::ImageState& image,
                             ImageDocument found, DocumentTime time = {}) {
  return ToJson(DocumentOf(snapshot, image, std::move(found), time));
}

// The body of GET /readyz: a few lines of text; the status code is ReadyAnswer::ready. The answer comes with
// the hashes of list and sources, which identify the judged list. `verbose` adds a line for each entry in
// question: "[+]" ready, "[-]" not, with its reason. Ends with a newline.
std::string ReadyzText(const plan::Snapshot& snapshot, const plan::ReadyAnswer& answer, bool verbose,
                       View view);

}  // namespace prefetch::status
