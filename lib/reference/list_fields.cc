// The fields of a list.
#include <string>
#include <utility>

#include "doc/duration.h"
#include "list/image_list.h"
#include "plan/desired.h"
#include "reference/field_parts.h"
#include "reference/schema.h"

namespace prefetch::reference {
namespace {

// Names of Secrets and ServiceAccounts, and of namespaces (list/ready_as.cc).
constexpr const char* kLabelValue = "^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$";
constexpr const char* kObjectName = "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$";
constexpr const char* kNamespaceName = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";
constexpr const char* kUid = "^[A-Za-z0-9-]{1,128}$";
constexpr const char* kPlatform = "^[a-z0-9._-]+/[a-z0-9._-]+(/[a-z0-9._-]+)?$";
// The grammar of image::Reference: [domain/]path[:tag][@digest]. A first part with a dot, a colon or a
// capital letter is a domain. A domain may contain an underscore if it is a valid component of a path.
std::string ReferencePattern() {
  const std::string label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const std::string port =
      "0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
  const std::string domain = "(" + label + "(\\." + label + ")*|\\[[0-9A-Fa-f:]{2,45}\\])(:" + port + ")?";
  const std::string plain = "[a-z0-9]+((__?|-+)[a-z0-9]+)*", part = "[a-z0-9]+((\\.|__?|-+)[a-z0-9]+)*";
  const std::string more = "(/" + part + ")";
  // 64 hexadecimal digits are an image ID, which is no name.
  return "^(?=.{1,1024}$)(?![0-9a-f]{64}$)(" + domain + more + "+|" + plain + more + "+|(?=[^/]*_)" + part +
         more + "+|" + part + ")" +
         "(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@(sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{"
         "128}))?$";
}

Fields Coordinates(const std::string& path, const std::string& whose) {
  return {{.path = path + "namespace",
           .help = "Namespace of " + whose,
           .required = true,
           .pattern = kNamespaceName},
          {.path = path + "name", .help = "Name of " + whose, .required = true, .pattern = kObjectName},
          {.path = path + "uid",
           .help = "metadata.uid of " + whose + ". Without it, a recorded object of that name counts",
           .pattern = kUid}};
}

Fields ReadyAs() {
  Fields fields = {{.path = "readyAs",
                    .form = Form::kObject,
                    .help = "The credentials of the pods that use the image, in one namespace",
                    .fallback = "a pod without credentials"},
                   {.path = "readyAs.secrets",
                    .form = Form::kObjects,
                    .help = "Pull secrets of the pods",
                    .most_items = list::kMostReadyAsSecrets}};
  Append(fields, Coordinates("readyAs.secrets[].", "the Secret"));
  fields.push_back({.path = "readyAs.serviceAccount",
                    .form = Form::kObject,
                    .help = "The service account of the pods, for credential providers that use its token"});
  Append(fields, Coordinates("readyAs.serviceAccount.", "the ServiceAccount"));
  return fields;
}

Fields PullWindow() {
  return {{.path = "pullWindow",
           .form = Form::kObject,
           .help = "Hours in which pulls start. Requested retries, `check --pull` and `--once` do not wait",
           .fallback = "at any time"},
          {.path = "pullWindow.start",
           .help = "Time of the day",
           .required = true,
           .pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$"},
          {.path = "pullWindow.end",
           .help = "Time of the day, up to `24:00`, or of the next day",
           .required = true,
           .pattern = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"},
          {.path = "pullWindow.days",
           .form = Form::kTexts,
           .help = "Days on which it opens",
           .words = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"},
           .fallback = "every day",
           .least_items = 1,
           .most_items = 7},
          {.path = "pullWindow.timeZone",
           .help = "Name in the tz database, which is built in. Newer and other names are errors",
           .fallback = "UTC"}};
}

Field Directive(const char* path, const char* when, plan::OnFailure fallback) {
  return {.path = path,
          .form = Form::kWord,
          .help = std::string("Readiness of a present image ") + when,
          .words = WordsOf(plan::OnFailure::kNotReady, plan::OnFailureName),
          .fallback = std::string(plan::OnFailureName(fallback))};
}

Fields RegistryFields(const plan::DesiredImage& standard) {
  return {{.path = "refresh",
           .form = Form::kWord,
           .help = "When the agent pulls a present tag again. `IfDigestChanged`: when the registry names "
                   "another digest. `Always`: the same, and ready only while the registry agrees",
           .words = WordsOf(plan::Refresh::kAlways, plan::RefreshName),
           .fallback = std::string(plan::RefreshName(standard.refresh))},
          {.path = "refreshInterval",
           .form = Form::kDuration,
           .help = "Time between two questions to the registry, from " +
                   doc::FormatDuration(list::kLeastInterval) + " to " +
                   doc::FormatDuration(list::kLongestInterval),
           .fallback = doc::FormatDuration(standard.refresh_interval),
           .pattern = doc::kDurationFromAMinutePattern},
          {.path = "maxAge",
           .form = Form::kDuration,
           .help = "Time without an agreeing answer of the registry after which an image is stale. It must "
                   "not be shorter than `refreshInterval`",
           .fallback = "none",
           .pattern = doc::kDurationFromAMinutePattern},
          Directive("onUnreachable", "if its registry does not answer", standard.on_unreachable),
          Directive("onAccessDenied", "if its registry denies access", standard.on_access_denied),
          Directive("onTagMissing", "if its tag is gone from the registry", standard.on_tag_missing),
          Directive("onStale", "if it is older than `maxAge`", standard.on_stale)};
}

// Returns the fields that `defaults` and an entry have in common: all except `image`.
Fields EntryFieldsOf() {
  // The defaults are those of the agent's own type.
  const plan::DesiredImage standard;
  Fields fields = {{.path = "required",
                    .form = Form::kBool,
                    .help = "`false`: the agent pulls and reports the image, and never waits for it",
                    .fallback = standard.required ? "true" : "false"},
                   {.path = "readyFor",
                    .form = Form::kWord,
                    .help = "The pull policy of the pods for which the image must be ready",
                    .words = PolicyWords(),
                    .fallback = std::string(image::PullPolicyName(standard.ready_for))}};
  Append(fields, ReadyAs());
  Append(fields, RegistryFields(standard));
  Append(fields,
         {{.path = "priority",
           .form = Form::kInt,
           .help = "The agent pulls higher numbers first",
           .fallback = std::to_string(standard.priority),
           .least = -list::kHighestPriority,
           .most = list::kHighestPriority},
          {.path = "open",
           .form = Form::kWord,
           .help = "When the agent touches the image, if it runs with `--touch`. `Auto`: closed images. "
                   "`Always`: also preloaded ones",
           .words = WordsOf(plan::Open::kNever, plan::OpenName),
           .fallback = std::string(plan::OpenName(standard.open))},
          {.path = "pullTimeout",
           .form = Form::kDuration,
           .help = "Deadline of a pull whose progress the runtime does not show, from " +
                   doc::FormatDuration(list::kLeastPullTimeout) + " to " +
                   doc::FormatDuration(list::kLongestPullTimeout),
           .fallback = doc::FormatDuration(standard.pull_timeout),
           .pattern = doc::kDurationFromAMinutePattern},
          {.path = "platforms",
           .form = Form::kTexts,
           .help = "Platforms of the nodes that need the image, such as `linux/amd64`. Other nodes skip it",
           .fallback = "every platform",
           .pattern = kPlatform,
           .most_items = list::kMostPlatforms},
          {.path = "nodeSelector",
           .form = Form::kMap,
           .help = "Labels of the Nodes that need the image. Other nodes skip it",
           .fallback = "every node",
           .pattern = kLabelValue}});
  fields.push_back({.path = "pin",
                    .form = Form::kBool,
                    .help = "On containerd, kubelet's garbage collection spares the image",
                    .fallback = "false"});
  Append(fields, PullWindow());
  return fields;
}

}  // namespace

Fields ListFields() {
  Fields fields = FormatFields(list::kListApiVersion, list::kListKind);
  fields.push_back(
      {.path = "defaults", .form = Form::kObject, .help = "Values for entries that do not have the field"});
  Append(fields, Below("defaults.", EntryFieldsOf()));
  fields.push_back({.path = "images",
                    .form = Form::kObjects,
                    .help = "The entries, each spelling of an image once",
                    .required = true,
                    // `images:` without a value is a list of no images.
                    .nullable = true,
                    .most_items = list::kMaxEntries});
  fields.push_back({.path = "images[].image",
                    .help = "The reference, as pods write it: `ghcr.io/acme/runner:v3`",
                    .required = true,
                    .pattern = ReferencePattern()});
  Append(fields, Below("images[].", EntryFieldsOf()));
  return fields;
}

}  // namespace prefetch::reference
