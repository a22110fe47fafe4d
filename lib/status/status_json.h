// The status document: what GET /v1/status answers. Fields are only ever added.
//
// A fact that this version does not gather is null and has a neighbour that says why: "registry": null,
// "registryReason": "…". So a reader can tell "no" from "not known".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/check.h"
#include "plan/ready_question.h"
#include "plan/snapshot.h"
#include "status/image_detail.h"
#include "status/public_json.h"

namespace prefetch::status {

// apiVersion of every document that an agent sends.
inline constexpr std::string_view kStatusApiVersion = "prefetchd.dev/v1";

// Returns one line with a newline at its end. `time` is when the document is made: its member "time", and
// what ages count from. Pure; any thread.
std::string StatusJson(const plan::Snapshot& snapshot, base::WallTime time);
inline std::string StatusJson(const plan::Snapshot& snapshot) {
  return StatusJson(snapshot, snapshot.time);
}

// The document's facts about an image, for other forms than JSON.
struct ShownVerdict {
  kubelet::VerdictResult result = kubelet::VerdictResult::kUnknown;
  plan::CheckReason reason = plan::Reason::kFactsUnknown;
};
struct ShownVerdicts {
  ShownVerdict never, if_not_present, always;
};
ShownVerdicts AsShown(const kubelet::Verdicts& verdicts);
// Without a kubelet, presence is the verdict. nullopt: not known yet, or the entry is for other platforms.
std::optional<ShownVerdicts> VerdictsOf(const plan::Snapshot& snapshot, const plan::ImageState& image);
// Returns false if the image was never touched and will not be.
bool IsShown(const plan::TouchStatus& touch);
// Returns PullStatus::bytes_per_second as a whole number.
std::uint64_t WholeRate(double per_second);

// One image in full, for GET /v1/images/REF (kind ImageStatus). `image` need not be on the list.
std::string ImageJson(const plan::Snapshot& snapshot, const plan::ImageState& image,
                      const ImageDetail& detail, base::WallTime time);
inline std::string ImageJson(const plan::Snapshot& snapshot, const plan::ImageState& image,
                             const ImageDetail& detail) {
  return ImageJson(snapshot, image, detail, snapshot.time);
}

// The body of GET /readyz: a few lines of text; the status code is ReadyAnswer::ready. The answer comes with
// the hashes of list and sources, which identify the judged list. `verbose` adds a line for each entry in
// question: "[+]" ready, "[-]" not, with its reason. Ends with a newline. Pure.
std::string ReadyzText(const plan::Snapshot& snapshot, const plan::ReadyAnswer& answer, bool verbose,
                       View view);

}  // namespace prefetch::status
