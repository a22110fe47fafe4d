#include "registry/fault_class.h"

#include <string>

namespace prefetch::registry {
namespace {

using Kind = image::RegistryAnswerKind;

struct Class {
  Kind kind;
  const char* detail;
};

Class ClassOfFault(http::Fault fault) {
  switch (fault) {
    case http::Fault::kNone:
    case http::Fault::kRequest:
      return {Kind::kIndeterminate, "Internal"};
    case http::Fault::kStopped:
      return {Kind::kUnreachable, "Stopped"};
    case http::Fault::kName:
      return {Kind::kUnreachable, "Dns"};
    case http::Fault::kConnect:
      return {Kind::kUnreachable, "Connect"};
    case http::Fault::kAddress:
      return {Kind::kUnreachable, "Address"};
    case http::Fault::kTls:
    case http::Fault::kMistrust:
      return {Kind::kUnreachable, "Tls"};
    case http::Fault::kProxy:
      return {Kind::kUnreachable, "Proxy"};
    case http::Fault::kProxyAuth:
      return {Kind::kUnreachable, "ProxyAuth"};
    case http::Fault::kTimeout:
      return {Kind::kUnreachable, "Timeout"};
    case http::Fault::kReset:
      return {Kind::kUnreachable, "Reset"};
    case http::Fault::kGarbage:
      return {Kind::kServerError, "NotARegistry"};
    case http::Fault::kTooLong:
      return {Kind::kServerError, "TooLong"};
  }
  return {Kind::kIndeterminate, ""};
}

}  // namespace

image::RegistryAnswer AnswerToFault(http::Fault fault, const base::Error& error) {
  Class found = ClassOfFault(fault);
  return {.kind = found.kind, .detail = found.detail, .message = error.message()};
}

}  // namespace prefetch::registry
