#include "status/public_json.h"

#include <algorithm>

#include "doc/json_writer.h"
#include "status/json_parts.h"
#include "status/status_json.h"

namespace prefetch::status {
namespace {

// Estimates of the size, so that one allocation is enough.
constexpr std::size_t kPublicHeadBytes = 4096;
constexpr std::size_t kPublicImageBytes = 1024;
constexpr const char* kSourceRefused = "its newest version is not valid";
constexpr const char* kOnlyForKnown =
    "the agent shows the message over its local socket, and to pods that it admits";

void WritePublicSources(doc::JsonWriter& out, const plan::ImageList& list) {
  out.Key("sources");
  out.BeginArray();
  for (const plan::ListSource& source : list.sources) {
    out.BeginObject();
    // Paths of sources are hidden, and so are errors.
    out.Member("name", source.name);
    out.MemberOrNull("hash", source.hash);
    out.MemberNumber("entries", source.entries);
    out.MemberOrNull("loadedAt", source.loaded_at);
    // The error itself may quote lines of the list.
    out.MemberOrNull("error", source.error.empty() ? std::string_view() : kSourceRefused);
    out.EndObject();
  }
  out.EndArray();
}

void WritePublicNode(doc::JsonWriter& out, const plan::Snapshot& snapshot) {
  out.Key("list");
  out.BeginObject();
  out.MemberOrNull("hash", snapshot.list.hash);
  out.MemberNumber("entries", snapshot.images.size());
  WritePublicSources(out, snapshot.list);
  out.EndObject();
  out.Key("runtime");
  out.BeginObject();
  out.MemberOrNull("name", snapshot.runtime.name);
  out.MemberOrNull("version", snapshot.runtime.version);
  out.MemberBool("up", snapshot.runtime.up);
  out.EndObject();
  out.Key("kubelet");
  out.BeginObject();
  if (snapshot.kubelet) {
    out.MemberOrNull("version", snapshot.kubelet->version);
    out.MemberOrNull("rules", snapshot.kubelet->rules);
    out.MemberOrNull("verification", snapshot.kubelet->verification);
  } else {
    out.Member("version", "none");
    out.MemberNull("verification");
  }
  out.EndObject();
}

bool HasReadyAs(const plan::DesiredImage& want) {
  return !want.ready_as->empty() ||
         std::any_of(want.other_pods.begin(), want.other_pods.end(),
                     [](const plan::JudgedPod& pod) { return !pod.ready_as->empty(); });
}

// For an entry with readyAs, even the spellings would tell for how many kinds of pods it is listed. So they
// are hidden, too.
void WritePublicSpellings(doc::JsonWriter& out, const plan::ImageState& image) {
  const bool hidden = HasReadyAs(*image.want);
  // Told explicitly, so that readers do not take the entry for one without readyAs.
  if (hidden) out.MemberBool("readyAsHidden", true);
  if (!hidden) WriteSpellings(out, image);
}

void WritePublicRegistry(doc::JsonWriter& out, const plan::RegistryView* said) {
  if (said == nullptr) {
    out.MemberNull("registry");
    return;
  }
  out.Key("registry");
  out.BeginObject();
  out.MemberOrNull("answer", said->answer ? image::RegistryAnswerName(*said->answer) : std::string_view());
  out.MemberBool("fresh", said->fresh);
  out.Member("reason", plan::ReasonName(said->reason));
  out.MemberBool("agrees", said->agrees);
  out.MemberOrNull("confirmedAt", said->confirmed_at);
  out.EndObject();
}

void WritePublicImage(doc::JsonWriter& out, const plan::Snapshot& snapshot, const plan::ImageState& image) {
  out.BeginObject();
  out.Member("image", image.want->reference.written());
  out.Member("normalizedName", image.want->reference.Normalized());
  out.MemberBool("required", image.want->required);
  out.Member("readyFor", image::PullPolicyName(image.want->ready_for));
  out.Member("refresh", plan::RefreshName(image.want->refresh));
  out.MemberBool("applies", image.applies);
  out.MemberBool("present", image.present);
  out.MemberBool("usable", image.usable);
  out.MemberBool("ready", image.ready);
  out.MemberBool("settled", image.settled);
  out.Member("phase", plan::PhaseName(image.phase));
  out.Member("reason", plan::ReasonName(image.reason));
  WriteImageVerdicts(out, snapshot, image);
  WritePublicSpellings(out, image);
  WritePublicRegistry(out, image.registry.get());
  out.Key("pull");
  out.BeginObject();
  // Errors and times of pulls are hidden: errors may quote a registry.
  out.Member("state", plan::PullStateName(image.pull.state));
  out.EndObject();
  out.EndObject();
}

}  // namespace

const std::vector<std::string>& HiddenMembers() {
  // The document itself names what it lacks, so that a reader can tell "hidden" from "none".
  static const std::vector<std::string> kHidden = {"disk",
                                                   "images.aliases",
                                                   "images.credential",
                                                   "images.digest",
                                                   "images.evictionOrder",
                                                   "images.exposed",
                                                   "images.from",
                                                   "images.imageID",
                                                   "images.message",
                                                   "images.open",
                                                   "images.pinned",
                                                   "images.priority",
                                                   "images.pull.attempts",
                                                   "images.pull.bytesDone",
                                                   "images.pull.bytesPerSecond",
                                                   "images.pull.bytesTotal",
                                                   "images.pull.finishedAt",
                                                   "images.pull.lastError",
                                                   "images.pull.nextAttemptAt",
                                                   "images.pull.retryRequestedAt",
                                                   "images.pull.startedAt",
                                                   "images.pulledWith",
                                                   "images.readyAs",
                                                   "images.registry.ageSeconds",
                                                   "images.registry.answeredBy",
                                                   "images.registry.changedAt",
                                                   "images.registry.changedFrom",
                                                   "images.registry.checkedAt",
                                                   "images.registry.detail",
                                                   "images.registry.digest",
                                                   "images.registry.message",
                                                   "images.registry.nextCheckAt",
                                                   "images.registry.silentChecks",
                                                   "images.registryReason",
                                                   "images.sizeBytes",
                                                   "images.spellings.readyAs",
                                                   "images.touch",
                                                   "kubelet.allowlist",
                                                   "kubelet.contradictions",
                                                   "kubelet.imageGC",
                                                   "kubelet.recordsNote",
                                                   "kubelet.recordsReadable",
                                                   "kubelet.root",
                                                   "kubelet.runtimeNote",
                                                   "kubelet.sources",
                                                   "list.sources.path",
                                                   "list.warnings",
                                                   "message",
                                                   "problems",
                                                   "registries",
                                                   "runtime.endpoint",
                                                   "runtime.error",
                                                   "runtime.registries",
                                                   "unlisted",
                                                   "unlistedLeftOut",
                                                   "unlistedReason",
                                                   "unlistedSince"};
  return kHidden;
}

std::string PublicStatusJson(const plan::Snapshot& snapshot, base::WallTime time) {
  doc::JsonWriter out;
  out.Reserve(kPublicHeadBytes + snapshot.images.size() * kPublicImageBytes);
  out.BeginObject();
  out.Member("apiVersion", kStatusApiVersion);
  out.Member("kind", "NodeStatus");
  out.Key("hidden");
  out.Strings(HiddenMembers());
  out.Member("node", snapshot.node);
  out.MemberBool("ready", snapshot.readiness.ready);
  out.Member("phase", plan::PhaseName(snapshot.readiness.phase));
  out.Member("reason", plan::ReasonName(snapshot.readiness.reason));
  out.MemberNumber("required", snapshot.readiness.required);
  out.MemberNumber("requiredReady", snapshot.readiness.required_ready);
  out.Member("time", base::Rfc3339(time));
  WritePublicNode(out, snapshot);
  out.Key("images");
  out.BeginArray();
  for (const plan::ImageState& image : snapshot.images) WritePublicImage(out, snapshot, image);
  out.EndArray();
  out.EndObject();
  return out.Take() + "\n";
}

CheckResult WithoutMessages(CheckResult result) {
  for (CheckAnswer& answer : result.answers) {
    // These two messages repeat only what the question contains.
    if (answer.reason != "InvalidImageName" && answer.reason != "NotListed") answer.message = kOnlyForKnown;
  }
  return result;
}

}  // namespace prefetch::status
