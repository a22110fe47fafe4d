#include "image/registry_answer.h"

namespace prefetch::image {

std::string_view RegistryAnswerName(RegistryAnswerKind kind) {
  switch (kind) {
    case RegistryAnswerKind::kSame:
      return "Same";
    case RegistryAnswerKind::kMoved:
      return "Moved";
    case RegistryAnswerKind::kTagMissing:
      return "TagMissing";
    case RegistryAnswerKind::kAccessDenied:
      return "AccessDenied";
    case RegistryAnswerKind::kRateLimited:
      return "RateLimited";
    case RegistryAnswerKind::kUnreachable:
      return "Unreachable";
    case RegistryAnswerKind::kServerError:
      return "ServerError";
    case RegistryAnswerKind::kIndeterminate:
      return "Indeterminate";
  }
  return "";
}

bool IsTransient(const RegistryAnswer& answer) {
  const RegistryDetail& detail = answer.detail;
  if (answer.kind == RegistryAnswerKind::kUnreachable) {
    return detail == RegistryDetail::kTimeout || detail == RegistryDetail::kReset;
  }
  return answer.kind == RegistryAnswerKind::kServerError && detail.status() >= 502 && detail.status() <= 504;
}

}  // namespace prefetch::image
