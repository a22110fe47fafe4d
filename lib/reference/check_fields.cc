// The members of a preflight's request and answer (status/check_document.cc, screen/check_text.cc).
#include <string>

#include "doc/duration.h"
#include "kubelet/verdict.h"
#include "reference/field_parts.h"
#include "reference/schema.h"
#include "status/check_document.h"
#include "status/status_json.h"

namespace prefetch::reference {
namespace {

constexpr const char* kAccount = "^[^/]+/[^/]+/[^/]+$";
constexpr const char* kSecret = "^[^/]+(/[^/]+){0,2}$";

// Members that `prefetchctl check -o json` adds.
Fields ReportFields() {
  return {{.path = "containers", .help = "The containers with this image; from `prefetchctl check`"},
          {.path = "pullSecrets",
           .form = Form::kTexts,
           .help = "The pull secrets of the question, as `NAMESPACE/NAME`; from `prefetchctl check`"},
          {.path = "policyFrom", .help = "Where the policy is from; from `prefetchctl check`"},
          {.path = "advice",
           .help = "Advice on how to make the pod start; from `prefetchctl check`",
           .nullable = true},
          {.path = "file", .help = "The manifest; from `prefetchctl check`", .nullable = true},
          {.path = "line", .form = Form::kInt, .help = "Line in it; from `prefetchctl check`"},
          {.path = "column", .form = Form::kInt, .help = "Column in it; from `prefetchctl check`"}};
}

}  // namespace

Fields CheckRequestFields() {
  return {
      {.path = "checks",
       .form = Form::kObjects,
       .help = "The questions, one for each image and policy",
       .required = true,
       .least_items = 1,
       .most_items = status::kMostQuestions},
      {.path = "checks[].image", .help = "The image, as the pod has it", .required = true},
      {.path = "checks[].policy",
       .form = Form::kWord,
       .help = "The pull policy of the container",
       .words = PolicyWords(),
       .fallback = "the policy that Kubernetes fills in"},
      {.path = "checks[].identity",
       .form = Form::kObject,
       .help = "The credentials of the pod. A pod with a token may name only its own",
       .fallback = "a pod without credentials; with a token: the service account of the token"},
      {.path = "checks[].identity.secrets",
       .form = Form::kTexts,
       .help = "Its pull secrets, as `NAMESPACE/NAME` or `NAMESPACE/NAME/UID`; with a token also as `NAME`",
       .pattern = kSecret,
       .most_items = status::kMostSecretsOfCheck},
      {.path = "checks[].identity.serviceAccount",
       .help = "Its service account, as `NAMESPACE/NAME/UID`",
       .pattern = kAccount},
      {.path = "pull",
       .form = Form::kBool,
       .help = "Whether the agent pulls absent images first, if it may",
       .fallback = "false"},
      {.path = "wait",
       .form = Form::kDuration,
       .help = "Time that the answer waits for these pulls; longer values count as the default",
       .fallback = doc::FormatDuration(status::kMostPullWait)},
      {.path = "within",
       .form = Form::kDuration,
       .help = "Time for all questions to registries; longer values count as the default",
       .fallback = doc::FormatDuration(status::kMostRegistryTime)}};
}

Fields CheckResultFields() {
  Fields fields = status::CheckResultFields();
  Append(fields, Below("results[].", ReportFields()));
  Append(
      fields,
      {{.path = "unread",
        .form = Form::kObjects,
        .help =
            "Objects that may run pods and whose images were not seen; absent: none. Only prefetchctl check "
            "prints it"},
       {.path = "unread[].file", .help = "File of the object, or `stdin`", .required = true},
       {.path = "unread[].line", .form = Form::kInt, .help = "Its line", .required = true},
       {.path = "unread[].column", .form = Form::kInt, .help = "Its column", .required = true},
       {.path = "unread[].kind",
        .help = "Its kind and group, such as `JobSet.jobset.x-k8s.io`",
        .required = true},
       {.path = "unread[].namespace",
        .help = "Its namespace; null: not written",
        .required = true,
        .nullable = true},
       {.path = "unread[].name", .help = "Its name; null: not written", .required = true, .nullable = true},
       {.path = "unread[].message", .help = "A sentence about what was not seen", .required = true}});
  return fields;
}

}  // namespace prefetch::reference
