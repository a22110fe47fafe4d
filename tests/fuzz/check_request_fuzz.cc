// Reads requests of neighbours to POST /v1/check. A request that is read, written and read again stays the
// same. A request that a pod sends in its own name is about that pod.
#include <cstdint>
#include <string_view>

#include "doc/write.h"
#include "status/check_document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace doc = prefetch::doc;
  namespace plan = prefetch::plan;
  namespace status = prefetch::status;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
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
  if (!request) return 0;
  if (request->questions.empty() || request->questions.size() > status::kMostQuestions) __builtin_trap();
  if (request->wait.count() < 0 || request->wait > status::kMostPullWait) __builtin_trap();
  if (request->within.count() < 0 || request->within > status::kMostRegistryTime) __builtin_trap();
  auto again = status::ParseCheckRequest(doc::WriteJson(status::ToNode(*request)));
  if (!again || !(*again == *request)) __builtin_trap();
  return 0;
}
