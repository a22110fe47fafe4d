#include "registry/fault_class.h"

#include <string>

namespace prefetch::registry {
namespace {

using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

struct Class {
  Kind kind;
  RegistryDetail detail;
};

Class ClassOfFault(http::Fault fault) {
  switch (fault) {
    case http::Fault::kNone:
    case http::Fault::kRequest:
      return {Kind::kIndeterminate, RegistryDetail::kInternal};
    case http::Fault::kStopped:
      return {Kind::kUnreachable, RegistryDetail::kStopped};
    case http::Fault::kName:
      return {Kind::kUnreachable, RegistryDetail::kDns};
    case http::Fault::kConnect:
      return {Kind::kUnreachable, RegistryDetail::kConnect};
    case http::Fault::kAddress:
      return {Kind::kUnreachable, RegistryDetail::kAddress};
    case http::Fault::kTls:
    case http::Fault::kMistrust:
      return {Kind::kUnreachable, RegistryDetail::kTls};
    case http::Fault::kProxy:
      return {Kind::kUnreachable, RegistryDetail::kProxy};
    case http::Fault::kProxyAuth:
      return {Kind::kUnreachable, RegistryDetail::kProxyAuth};
    case http::Fault::kTimeout:
      return {Kind::kUnreachable, RegistryDetail::kTimeout};
    case http::Fault::kReset:
      return {Kind::kUnreachable, RegistryDetail::kReset};
    case http::Fault::kGarbage:
      return {Kind::kServerError, RegistryDetail::kNotARegistry};
    case http::Fault::kTooLong:
      return {Kind::kServerError, RegistryDetail::kTooLong};
  }
  return {Kind::kIndeterminate, RegistryDetail::kNone};
}

}  // namespace

image::RegistryAnswer AnswerToFault(http::Fault fault, const base::Error& error) {
  Class found = ClassOfFault(fault);
  return {.kind = found.kind, .detail = found.detail, .message = error.message()};
}

}  // namespace prefetch::registry
