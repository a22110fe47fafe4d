// Reasons, progress and advice in words. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/snapshot.h"

namespace prefetch::status {

// Maximum width of ReasonDescription::state.
inline constexpr std::size_t kStateColumns = 11;

// Text for a reason: a short state for a table column, and advice.
struct ReasonDescription {
  std::string state;   // "denied"
  std::string advice;  // empty: nothing needs to be done, or the message says it already
};

// `reason` is the name as the status document has it. One of a newer agent is taken apart: "NewThing" is
// "new thing".
ReasonDescription WordsFor(std::string_view reason);

// The party that must act so that an image with this reason becomes ready.
enum class Actor {
  kOperator,  // nothing changes by itself: credentials, the list, the image, or the node
  kRegistry,  // the registry or the network, and it may pass
  kNone,      // it is under way, or fine
};
// Returns kNone for an unknown reason.
Actor ActorOf(std::string_view reason);

// Returns the progress of a download: "412 of 680 MB, 38 MB/s, about 7 s left". `total` and `per_second` may
// be 0: not known. All are bytes.
std::string TransferWords(std::uint64_t done, std::uint64_t total, std::uint64_t per_second);

// Advice about an image that pods may not use. Pure. One sentence each, the best first; empty for an image
// that is ready or on its way.
std::vector<std::string> RemediationFor(const plan::ImageState& image, const plan::RuntimeStatus& runtime);

// The other names of an image's content that are worth showing.
// `aliases` as a runtime gives them has each name twice: by tag, and by digest. A digest is left out where
// its repository has a tag here already, `image`'s own included. The order stays. Pure.
std::vector<std::string> OtherNames(const std::string& image, const std::vector<std::string>& aliases);

// The functions below make advice about a signature policy of the runtime: the file and the rule that
// rejected an image. Internal to status/. Pure.

// The keys below transports.docker of policy.json that may hold the image's rule, the first that is there
// counts: "quay.io/acme/app:v1", "quay.io/acme/app", "quay.io/acme", "quay.io", "*.io", "". Without one of
// them it is `default`.
std::vector<std::string> PolicyScopes(const image::Reference& reference);

// Returns whether a pull failed because the policy itself cannot be read, so that no image is judged by it.
bool IsBrokenPolicy(const std::string& error);

// A sentence each, for an image whose pull the runtime rejected for its signature.
std::vector<std::string> SignatureRemediation(const plan::ImageState& image,
                                              const plan::RuntimeStatus& runtime);

}  // namespace prefetch::status
