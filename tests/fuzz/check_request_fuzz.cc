// What neighbours send to POST /v1/check. What was understood is understood again as it is written.
#include <cstdint>
#include <string_view>

#include "doc/write.h"
#include "report/check_document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  auto request = report::ParseCheckRequest({reinterpret_cast<const char*>(data), size});
  if (!request) return 0;
  if (request->questions.empty() || request->questions.size() > report::kMostQuestions) __builtin_trap();
  if (request->wait.count() < 0 || request->wait > report::kMostPullWait) __builtin_trap();
  if (request->within.count() < 0 || request->within > report::kMostRegistryTime) __builtin_trap();
  auto again = report::ParseCheckRequest(doc::WriteJson(report::ToNode(*request)));
  if (!again || !(*again == *request)) __builtin_trap();
  return 0;
}
