// The members of a node's status document (status/status_json.cc, json_parts.cc). A test validates documents
// of the agent against the schema from this table.
#include <string>

#include "kubelet/settings.h"
#include "reference/field_parts.h"
#include "reference/schema.h"
#include "status/status_json.h"

namespace prefetch::reference {
namespace {

Fields HeadFields() {
  Fields fields = FormatFields(status::kStatusApiVersion, "NodeStatus");
  Append(fields,
         {{.path = "hidden",
           .form = Form::kTexts,
           .help = "Members that the agent does not show to this caller; missing in the full document"},
          {.path = "node", .help = "Name of the node", .required = true},
          {.path = "ready",
           .form = Form::kBool,
           .help = "Whether every required image is ready: what `/readyz` answers",
           .required = true},
          PhaseField("phase",
                     "`Progressing`: the agent is still at work. `Failing`: an operator must act, or the "
                     "cause must pass"),
          ReasonField("reason", "Why the node is in this phase"),
          {.path = "message", .help = "The same as a sentence"},
          {.path = "required",
           .form = Form::kInt,
           .help = "Required images for this node's platform",
           .required = true},
          {.path = "requiredReady", .form = Form::kInt, .help = "Ready ones among them", .required = true},
          {.path = "time", .form = Form::kTime, .help = "When the document was made", .required = true}});
  return fields;
}

Fields SourceFields() {
  return {
      {.path = "list", .form = Form::kObject, .help = "The list in force", .required = true},
      {.path = "list.hash",
       .help = "Hash over the canonical forms of all sources",
       .required = true,
       .nullable = true},
      {.path = "list.entries", .form = Form::kInt, .help = "Images of all sources", .required = true},
      {.path = "list.sources", .form = Form::kObjects, .help = "The files of the list", .required = true},
      {.path = "list.sources[].name", .help = "Name of the source: `images.yaml`", .required = true},
      {.path = "list.sources[].path", .help = "Its path in the agent's container"},
      {.path = "list.sources[].hash",
       .help = "Hash of the version in force; null: none",
       .required = true,
       .nullable = true},
      {.path = "list.sources[].entries",
       .form = Form::kInt,
       .help = "Entries of that version",
       .required = true},
      {.path = "list.sources[].loadedAt",
       .form = Form::kTime,
       .help = "When the agent loaded that version",
       .required = true,
       .nullable = true},
      {.path = "list.sources[].error",
       .help = "Why the newest version is not in force",
       .required = true,
       .nullable = true},
      {.path = "list.warnings", .form = Form::kTexts, .help = "Remarks about the list that change nothing"}};
}

Fields RuntimeFields() {
  return {{.path = "runtime", .form = Form::kObject, .help = "The container runtime", .required = true},
          {.path = "runtime.name", .help = "Its name, as CRI reports it", .required = true, .nullable = true},
          {.path = "runtime.version", .help = "Its version", .required = true, .nullable = true},
          {.path = "runtime.endpoint", .help = "Its socket", .nullable = true},
          {.path = "runtime.up", .form = Form::kBool, .help = "Whether it answered last", .required = true},
          {.path = "runtime.error", .help = "Why it does not answer", .nullable = true},
          {.path = "runtime.registries",
           .form = Form::kObject,
           .help = "How the agent asks registries; null: not known yet, or none is asked",
           .nullable = true},
          {.path = "runtime.registries.configPath",
           .help = "containerd's `config_path`",
           .required = true,
           .nullable = true},
          {.path = "runtime.registries.configPathSource",
           .help = "Where that is from",
           .required = true,
           .nullable = true},
          {.path = "runtime.registries.byPull",
           .form = Form::kTexts,
           .help = "Registries that only a new pull can ask",
           .required = true},
          {.path = "runtime.registries.byPullSource",
           .help = "Where that is from",
           .required = true,
           .nullable = true},
          {.path = "runtime.registries.notes",
           .form = Form::kTexts,
           .help = "Problems in the runtime's configuration of registries",
           .required = true}};
}

Fields KubeletFields() {
  return {
      {.path = "kubelet", .form = Form::kObject, .help = "The node's kubelet", .required = true},
      {.path = "kubelet.version",
       .help = "Its version; `none` with `--kubelet=none`",
       .required = true,
       .nullable = true},
      {.path = "kubelet.rules",
       .help = "The version whose rules the agent applies, if the operator chose one",
       .nullable = true},
      {.path = "kubelet.verification",
       .form = Form::kWord,
       .help = "Its `imagePullCredentialsVerificationPolicy`",
       .required = true,
       .nullable = true,
       .words = DescriptionOf(kubelet::VerificationPolicy::kAlwaysVerify, kubelet::VerificationPolicyName),
       .more_words = true},
      {.path = "kubelet.allowlist",
       .form = Form::kTexts,
       .help = "Its `preloadedImagesVerificationAllowlist`"},
      {.path = "kubelet.root", .help = "Its root directory", .nullable = true},
      {.path = "kubelet.sources",
       .form = Form::kMap,
       .help = "Where each fact is from: a file, or `declared`"},
      {.path = "kubelet.recordsReadable",
       .form = Form::kBool,
       .help = "Whether the agent can read its records of pulls; null: not looked yet",
       .nullable = true},
      {.path = "kubelet.recordsNote", .help = "The problem with its records", .nullable = true},
      {.path = "kubelet.runtimeNote",
       .help = "Why its records do not work with this runtime",
       .nullable = true},
      {.path = "kubelet.contradictions",
       .form = Form::kTexts,
       .help = "Declarations that the node contradicts"},
      {.path = "kubelet.imageGC",
       .form = Form::kObject,
       .help = "Its image garbage collection; null: not known",
       .nullable = true},
      {.path = "kubelet.imageGC.highThresholdPercent",
       .form = Form::kInt,
       .help = "Usage at which it starts",
       .required = true},
      {.path = "kubelet.imageGC.lowThresholdPercent",
       .form = Form::kInt,
       .help = "Usage at which it stops",
       .required = true},
      {.path = "kubelet.imageGC.minimumAgeSeconds",
       .form = Form::kInt,
       .help = "It leaves younger images alone",
       .required = true},
      {.path = "kubelet.imageGC.maximumAgeSeconds",
       .form = Form::kInt,
       .help = "It removes images that are unused for longer; 0: never",
       .required = true},
      {.path = "kubelet.imageGC.warnings",
       .form = Form::kTexts,
       .help = "Images of the list that it will remove",
       .required = true}};
}

Fields DiskFields() {
  return {{.path = "disk",
           .form = Form::kObject,
           .help = "The image filesystem; null: the agent cannot measure it",
           .nullable = true},
          {.path = "disk.path", .help = "Its path", .required = true},
          {.path = "disk.capacityBytes", .form = Form::kInt, .help = "Its size", .required = true},
          {.path = "disk.availableBytes", .form = Form::kInt, .help = "Its free bytes", .required = true},
          {.path = "disk.keptFreeBytes",
           .form = Form::kInt,
           .help = "Bytes among them that no pull may take",
           .required = true},
          {.path = "disk.neededBytes",
           .form = Form::kInt,
           .help = "Bytes that absent images will still take, as far as their sizes are known",
           .required = true},
          {.path = "disk.pressure",
           .form = Form::kBool,
           .help = "Whether a pull waits for room",
           .required = true}};
}

Fields RegistriesFields() {
  return {
      {.path = "registries", .form = Form::kObjects, .help = "The registries that the agent asks about tags"},
      {.path = "registries[].name", .help = "Name of the registry", .required = true},
      {.path = "registries[].entries",
       .form = Form::kInt,
       .help = "Images that it is asked for",
       .required = true},
      {.path = "registries[].checksPerHour",
       .form = Form::kInt,
       .help = "Planned checks for these",
       .required = true},
      {.path = "registries[].requestsPerSecond",
       .form = Form::kInt,
       .help = "Most requests a second",
       .required = true},
      {.path = "registries[].requestsLeft",
       .form = Form::kInt,
       .help = "Requests that the agent may send immediately",
       .required = true},
      {.path = "registries[].requests",
       .form = Form::kInt,
       .help = "Requests since the start",
       .required = true},
      {.path = "registries[].trouble",
       .help = "Class of its newest failure",
       .required = true,
       .nullable = true},
      {.path = "registries[].message", .help = "The same as a sentence", .required = true, .nullable = true},
      {.path = "registries[].unreachableSince",
       .form = Form::kTime,
       .help = "Since when it does not answer",
       .required = true,
       .nullable = true},
      {.path = "registries[].unreachableForSeconds",
       .form = Form::kInt,
       .help = "The same as an age",
       .required = true,
       .nullable = true},
      {.path = "registries[].heldUntil",
       .form = Form::kTime,
       .help = "The agent does not ask before",
       .required = true,
       .nullable = true},
      {.path = "registries[].pullsLeft",
       .form = Form::kInt,
       .help = "Pulls that the registry still allows this node, if it reports them",
       .required = true,
       .nullable = true},
      {.path = "registries[].pullsAllowed",
       .form = Form::kInt,
       .help = "Their total number",
       .required = true,
       .nullable = true},
      {.path = "registries[].updatesWait",
       .form = Form::kBool,
       .help = "Whether refreshes wait, since few pulls are left",
       .required = true}};
}

Fields UnlistedFields() {
  return {
      {.path = "unlisted",
       .form = Form::kObjects,
       .help = "Images on no list that came after the agent's start; null: not known yet",
       .nullable = true},
      {.path = "unlisted[].image", .help = "Name of the image", .required = true},
      {.path = "unlisted[].imageID", .help = "Its id in the runtime", .required = true},
      {.path = "unlisted[].sizeBytes",
       .form = Form::kInt,
       .help = "Its size, as the runtime reports it",
       .required = true},
      {.path = "unlisted[].firstSeen",
       .form = Form::kTime,
       .help = "When the agent first saw it",
       .required = true},
      {.path = "unlisted[].arrivedAt", .form = Form::kTime, .help = "When it came last", .required = true},
      {.path = "unlisted[].present",
       .form = Form::kBool,
       .help = "Whether it is still there",
       .required = true},
      {.path = "unlistedSince", .form = Form::kTime, .help = "Since when the agent looks for them"},
      {.path = "unlistedLeftOut", .form = Form::kInt, .help = "Further ones, beyond the limit of this list"},
      {.path = "unlistedReason", .help = "Why `unlisted` is null", .nullable = true}};
}

}  // namespace

Fields StatusFields() {
  Fields fields = HeadFields();
  Append(fields, SourceFields());
  Append(fields, RuntimeFields());
  Append(fields, KubeletFields());
  Append(fields, DiskFields());
  Append(fields, RegistriesFields());
  fields.push_back(
      {.path = "problems", .form = Form::kTexts, .help = "Problems that concern no single image"});
  fields.push_back({.path = "images",
                    .form = Form::kObjects,
                    .help = "The images of the list, in its order",
                    .required = true});
  Append(fields, Below("images[].", ImageFields()));
  Append(fields, UnlistedFields());
  return fields;
}

}  // namespace prefetch::reference
