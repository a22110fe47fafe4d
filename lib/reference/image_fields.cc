// The members of an image in a status document (status/json_parts.cc).
#include <string>

#include "image/registry_answer.h"
#include "kubelet/verdict.h"
#include "plan/desired.h"
#include "plan/snapshot.h"
#include "plan/touch_status.h"
#include "reference/field_parts.h"

namespace prefetch::reference {
namespace {

using kubelet::VerdictResult;

Fields ShownCoordinates(const std::string& path, const std::string& whose) {
  return {{.path = path + "namespace", .help = "Namespace of " + whose, .required = true},
          {.path = path + "name", .help = "Name of " + whose, .required = true},
          {.path = path + "uid", .help = "metadata.uid of " + whose + ", if the list has it"}};
}

Fields ShownReadyAs(const std::string& path) {
  Fields fields = {{.path = path,
                    .form = Form::kObject,
                    .help = "The pod of the verdicts, as the list has it; missing for pods without "
                            "credentials"},
                   {.path = path + ".secrets", .form = Form::kObjects, .help = "Its pull secrets"}};
  Append(fields, ShownCoordinates(path + ".secrets[].", "the Secret"));
  fields.push_back({.path = path + ".serviceAccount", .form = Form::kObject, .help = "Its service account"});
  Append(fields, ShownCoordinates(path + ".serviceAccount.", "the ServiceAccount"));
  return fields;
}

Fields Verdicts(const std::string& path, const std::string& help) {
  Fields fields = {{.path = path, .form = Form::kObject, .help = help, .required = true, .nullable = true}};
  for (const std::string& policy : PolicyWords()) {
    const std::string below = path + "." + policy;
    fields.push_back({.path = below,
                      .form = Form::kObject,
                      .help = "For a pod with imagePullPolicy " + policy,
                      .required = true});
    fields.push_back({.path = below + ".result",
                      .form = Form::kWord,
                      .help = "kubelet uses the local image, contacts the registry, or refuses the pod",
                      .required = true,
                      .words = DescriptionOf(VerdictResult::kUnknown, kubelet::VerdictResultName)});
    fields.push_back({.path = below + ".reason",
                      .form = Form::kWord,
                      .help = "The rule behind the result",
                      .required = true,
                      .words = CheckReasonWords(),
                      .more_words = true});
  }
  return fields;
}

Fields NameFields() {
  return {
      {.path = "image", .help = "The name, as the list has it", .required = true},
      {.path = "normalizedName",
       .help = "The name that the runtime knows: with registry and tag",
       .required = true},
      {.path = "required", .form = Form::kBool, .help = "Whether readiness waits for it", .required = true},
      {.path = "readyFor",
       .form = Form::kWord,
       .help = "The pull policy for which it must be ready",
       .required = true,
       .words = PolicyWords()},
      {.path = "refresh",
       .form = Form::kWord,
       .help = "As the list has it",
       .required = true,
       .words = DescriptionOf(plan::Refresh::kAlways, plan::RefreshName)},
      {.path = "priority", .form = Form::kInt, .help = "As the list has it"},
      {.path = "applies",
       .form = Form::kBool,
       .help = "`false`: the entry is for other nodes (`platforms`, `nodeSelector`)",
       .required = true}};
}

Fields StateFields() {
  return {
      {.path = "present",
       .form = Form::kBool,
       .help = "Whether the runtime has it under this name, for this platform",
       .required = true},
      {.path = "usable",
       .form = Form::kBool,
       .help =
           "Whether a container could run from it: it is present, an image, unpacked, and for this platform"},
      {.path = "imageID", .help = "Its id in the runtime", .nullable = true},
      {.path = "digest", .help = "Its digest in this repository", .nullable = true},
      {.path = "sizeBytes", .form = Form::kInt, .help = "Its size, as the runtime reports it"},
      {.path = "ready",
       .form = Form::kBool,
       .help = "Whether it meets `readyFor` and the directives of its entry",
       .required = true},
      {.path = "settled",
       .form = Form::kBool,
       .help = "Whether it was ready once and does not fail now, or has failed for good",
       .required = true},
      PhaseField("phase", "As of the node"),
      ReasonField("reason", "Why it is in this phase"),
      {.path = "message", .help = "The same as a sentence"},
      {.path = "pulledWith",
       .form = Form::kWord,
       .help = "The kind of credential of the agent's pull",
       .words = DescriptionOf(plan::PulledWith::kPullSecret, plan::PulledWithName)},
      {.path = "credential", .help = "Name of that provider, file or secret", .nullable = true},
      {.path = "exposed",
       .form = Form::kBool,
       .help = "Whether the agent pulled it with a mounted pull secret, so that every pod can use it"},
      {.path = "aliases", .form = Form::kTexts, .help = "Other names of its content in the runtime"},
      {.path = "pinned",
       .form = Form::kBool,
       .help = "Whether the runtime protects it from garbage collection"},
      {.path = "evictionOrder",
       .form = Form::kInt,
       .help = "Its place in the order in which kubelet would remove images; null: not known, or never",
       .nullable = true}};
}

Fields AnswerFields() {
  auto text = [](const char* name, const char* help) {
    return Field{.path = std::string("registry.") + name, .help = help, .nullable = true};
  };
  auto time = [](const char* name, const char* help) {
    return Field{
        .path = std::string("registry.") + name, .form = Form::kTime, .help = help, .nullable = true};
  };
  Fields fields = {
      {.path = "registry",
       .form = Form::kObject,
       .help = "The registry's answers; null: it is not asked",
       .required = true,
       .nullable = true},
      {.path = "registry.answer",
       .form = Form::kWord,
       .help = "The newest answer; null: none since the start",
       .required = true,
       .nullable = true,
       .words = DescriptionOf(image::RegistryAnswerKind::kIndeterminate, image::RegistryAnswerName)},
      {.path = "registry.fresh",
       .form = Form::kBool,
       .help = "Whether it agreed within 2 x refreshInterval",
       .required = true},
      ReasonField("registry.reason", "Why the image is not fresh, or not ready"),
      {.path = "registry.agrees",
       .form = Form::kBool,
       .help = "Whether a pod with Always would get the present content",
       .required = true},
      time("confirmedAt", "When it agreed last"),
      {.path = "registryReason", .help = "Why `registry` is null", .nullable = true}};
  fields[5].required = true;
  Append(
      fields,
      {text("detail", "Class of a failure: `Tls`"),
       text("digest", "The digest that the tag names"),
       time("checkedAt", "When the agent asked last"),
       {.path = "registry.message", .help = "The answer as a sentence"},
       text("answeredBy", "The mirror that answered"),
       {.path = "registry.ageSeconds", .form = Form::kInt, .help = "Time since it agreed", .nullable = true},
       time("nextCheckAt", "When the agent asks next"),
       {.path = "registry.silentChecks", .form = Form::kInt, .help = "Checks in a row without an answer"},
       text("changedFrom", "The digest before the newest change that the agent pulled"),
       time("changedAt", "When it pulled that change")});
  return fields;
}

Fields PullFields() {
  auto number = [](const char* name, const char* help) {
    return Field{.path = std::string("pull.") + name, .form = Form::kInt, .help = help, .nullable = true};
  };
  return {
      {.path = "pull", .form = Form::kObject, .help = "The agent's newest pull", .required = true},
      {.path = "pull.state",
       .form = Form::kWord,
       .help = "Its state. `Waiting`: it failed, and the agent tries again. `Failed`: not before the list "
               "changes",
       .required = true,
       .words = DescriptionOf(plan::PullState::kFailed, plan::PullStateName)},
      {.path = "pull.attempts",
       .form = Form::kInt,
       .help = "Attempts since the image was last present, or since the start"},
      number("bytesDone", "Downloaded bytes; null: the runtime does not show them"),
      number("bytesTotal", "Bytes to download"),
      number("bytesPerSecond", "Speed over the last seconds"),
      {.path = "pull.startedAt",
       .form = Form::kTime,
       .help = "Start of the newest attempt",
       .nullable = true},
      {.path = "pull.finishedAt", .form = Form::kTime, .help = "End of the newest attempt", .nullable = true},
      {.path = "pull.lastError", .help = "Why it failed", .nullable = true},
      {.path = "pull.nextAttemptAt",
       .form = Form::kTime,
       .help = "Time of the next attempt",
       .nullable = true},
      {.path = "pull.retryRequestedAt",
       .form = Form::kTime,
       .help =
           "When someone requested a retry (`prefetchctl retry`, `check --pull`); null: no request is open",
       .nullable = true}};
}

Fields TouchFields() {
  return {{.path = "open",
           .form = Form::kWord,
           .help = "As the list has it",
           .words = DescriptionOf(plan::Open::kNever, plan::OpenName)},
          {.path = "touch",
           .form = Form::kObject,
           .help = "Touches of the image; null: none, and none is due",
           .nullable = true},
          {.path = "touch.state",
           .form = Form::kWord,
           .help = "State of the touch. `Ineffective`: no further touch would help",
           .required = true,
           .words = DescriptionOf(plan::TouchState::kIneffective, plan::TouchStateName)},
          {.path = "touch.attempts", .form = Form::kInt, .help = "Touches so far", .required = true},
          {.path = "touch.obstacle",
           .form = Form::kWord,
           .help = "The obstacle to its effect; `None`: there is none",
           .required = true,
           .words = DescriptionOf(plan::kLastTouchObstacle, plan::TouchObstacleName),
           .more_words = true},
          {.path = "touch.why", .help = "The obstacle as a sentence", .required = true, .nullable = true},
          {.path = "touch.lastAt",
           .form = Form::kTime,
           .help = "Time of the last touch",
           .required = true,
           .nullable = true},
          {.path = "touch.nextAttemptAt",
           .form = Form::kTime,
           .help = "Time of the next touch",
           .required = true,
           .nullable = true}};
}

}  // namespace

Field ReasonField(const std::string& path, const std::string& help) {
  return {.path = path,
          .form = Form::kWord,
          .help = help,
          .required = true,
          .words = ReasonWordsOfAll(),
          .more_words = true};
}

Field PhaseField(const std::string& path, const std::string& help) {
  return {.path = path,
          .form = Form::kWord,
          .help = help,
          .required = true,
          .words = DescriptionOf(plan::Phase::kFailing, plan::PhaseName)};
}

Fields ImageFields() {
  Fields fields = NameFields();
  Append(fields, ShownReadyAs("readyAs"));
  // Callers must be able to distinguish hidden credentials from a pod without any.
  fields.push_back({.path = "readyAsHidden",
                    .form = Form::kBool,
                    .help = "Whether the agent hides `readyAs` and `spellings` from this caller"});
  Append(fields, StateFields());
  Append(fields, Verdicts("verdicts", "kubelet's answer to the pod of `readyAs`; null: not known"));
  fields.push_back({.path = "verdictsReason",
                    .help = "Why `verdicts` is null, or not kubelet's",
                    .required = true,
                    .nullable = true});
  fields.push_back({.path = "spellings",
                    .form = Form::kObjects,
                    .help = "The spellings and pods of the entry, if there are several: each has verdicts"});
  fields.push_back({.path = "spellings[].image", .help = "The spelling", .required = true});
  Append(fields, ShownReadyAs("spellings[].readyAs"));
  Append(fields, Verdicts("spellings[].verdicts", "The verdicts for this spelling and pod"));
  Append(fields, AnswerFields());
  Append(fields, PullFields());
  Append(fields, TouchFields());
  fields.push_back(
      {.path = "from", .form = Form::kTexts, .help = "Its places in the list: `images.yaml:12`"});
  return fields;
}

}  // namespace prefetch::reference
