#include "image/registry_answer.h"

#include <algorithm>

namespace prefetch::image {

bool IsTransient(const RegistryAnswer& answer) {
  const RegistryDetail& detail = answer.detail;
  // R25: a broken exchange. A name that does not resolve or a wrong certificate fails again.
  if (answer.kind == RegistryAnswerKind::kUnreachable) {
    return detail == RegistryDetail::kTimeout || detail == RegistryDetail::kReset;
  }
  // R25: these three come from a gateway that lacks what is behind it.
  return answer.kind == RegistryAnswerKind::kServerError && detail.status() >= 502 && detail.status() <= 504;
}

bool IsUncountedDenial(const RegistryAnswer& answer) {
  // Without a request, the credentials themselves were not found in time.
  return answer.detail == RegistryDetail::kCredentials && answer.requests > 0;
}

void MakeUncountedDenial(RegistryAnswer& answer) {
  answer.kind = RegistryAnswerKind::kUnreachable;
  answer.detail = RegistryDetail::kCredentials;
  answer.requests = std::max(answer.requests, 1);
}

std::string RegistryDetail::name() const {
  if (code_ == kNone) return "";
  std::string name(base::EnumName(code_));
  return code_ == kStatus ? name + std::to_string(status_) : name;
}

}  // namespace prefetch::image
