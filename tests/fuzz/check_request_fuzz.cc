// What neighbours send to POST /v1/check. What was understood is understood again as it is written.
#include <cstdint>
#include <string_view>

#include "doc/write.h"
#include "status/check_document.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  auto request = status::ParseCheckRequest({reinterpret_cast<const char*>(data), size});
  if (!request) return 0;
  if (request->questions.empty() || request->questions.size() > status::kMostQuestions) __builtin_trap();
  if (request->wait.count() < 0 || request->wait > status::kMostPullWait) __builtin_trap();
  if (request->within.count() < 0 || request->within > status::kMostRegistryTime) __builtin_trap();
  auto again = status::ParseCheckRequest(doc::WriteJson(status::ToNode(*request)));
  if (!again || !(*again == *request)) __builtin_trap();
  return 0;
}
