// Reads requests of neighbours to POST /v1/check. A request that is read, written and read again stays the
// same. A request that a pod sends in its own name is about that pod.

#include "doc/write.h"
#include "fuzz/target.h"
#include "status/check_document.h"

FUZZ_TARGET(text) {
  namespace doc = prefetch::doc;
  namespace plan = prefetch::plan;
  namespace status = prefetch::status;
  const plan::Caller caller{.name_space = "ci", .service_account = "runner", .account_uid = "u"};
  if (auto of_pod = status::ParseCheckRequest(text, true); of_pod && status::BindToCaller(caller, *of_pod)) {
    for (const status::CheckQuestion& question : of_pod->questions) {
      if (!question.identity.service_account || question.identity.service_account->name != "runner") {
        __builtin_trap();
      }
      for (const auto& secret : question.identity.secrets) {
        if (secret.namespace_name != "ci" || secret.name.empty()) __builtin_trap();
      }
    }
  }
  auto request = status::ParseCheckRequest(text);
  if (!request) return;
  if (request->questions.empty() || request->questions.size() > status::kMostQuestions) __builtin_trap();
  if (request->wait.count() < 0 || request->wait > status::kMostPullWait) __builtin_trap();
  if (request->within.count() < 0 || request->within > status::kMostRegistryTime) __builtin_trap();
  auto again = status::ParseCheckRequest(doc::WriteJson(status::ToNode(*request)));
  if (!again || !(*again == *request)) __builtin_trap();
}
