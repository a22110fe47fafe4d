// Reads answers as prefetchctl does, from anybody in the agent's place. None may steer a terminal.

#include "fuzz/target.h"
#include "status/check_document.h"
#include "status/documents.h"

namespace {

void Harmless(const std::string& text) {
  for (char c : text) {
    if (c == '\x1b' || c == '\x7f' || c == '\r') __builtin_trap();
  }
}

}  // namespace

FUZZ_TARGET(text) {
  using namespace prefetch;
  if (auto result = status::ParseCheckResult(text)) {
    for (const status::CheckAnswer& answer : result->answers) {
      for (const std::string& word :
           {answer.image, answer.policy.text(), answer.result.text(), answer.reason, answer.message})
        Harmless(word);
    }
  }
  if (auto status = status::ParseStatusDocument(text)) {
    Harmless(status->node);
    for (const auto& image : status->images) Harmless(image.message);
  }
  if (auto image = status::ParseImageDocument(text)) Harmless(image->node);
}
