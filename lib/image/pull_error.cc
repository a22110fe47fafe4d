#include "image/pull_error.h"

namespace prefetch::image {

std::string_view ErrorClassName(ErrorClass error_class) {
  switch (error_class) {
    case ErrorClass::kCancelled:
      return "Cancelled";
    case ErrorClass::kTimeout:
      return "Timeout";
    case ErrorClass::kRuntimeDown:
      return "RuntimeDown";
    case ErrorClass::kRuntimeUnsupported:
      return "RuntimeUnsupported";
    case ErrorClass::kRuntimeProgressTimeout:
      return "RuntimeProgressTimeout";
    case ErrorClass::kRuntimeError:
      return "RuntimeError";
    case ErrorClass::kSignatureRejected:
      return "SignatureRejected";
    case ErrorClass::kDiskFull:
      return "DiskFull";
    case ErrorClass::kDiskFault:
      return "DiskFault";
    case ErrorClass::kRateLimited:
      return "RateLimited";
    case ErrorClass::kTlsError:
      return "TlsError";
    case ErrorClass::kDnsFailure:
      return "DnsFailure";
    case ErrorClass::kUnreachable:
      return "Unreachable";
    case ErrorClass::kAccessDenied:
      return "AccessDenied";
    case ErrorClass::kPlatformMismatch:
      return "PlatformMismatch";
    case ErrorClass::kUnsupportedImage:
      return "UnsupportedImage";
    case ErrorClass::kContentMissing:
      return "ContentMissing";
    case ErrorClass::kNotFound:
      return "NotFound";
    case ErrorClass::kCorrupt:
      return "Corrupt";
    case ErrorClass::kServerError:
      return "ServerError";
    case ErrorClass::kInvalidReference:
      return "InvalidReference";
    case ErrorClass::kUnpackFailed:
      return "UnpackFailed";
    case ErrorClass::kBadCredentialFormat:
      return "BadCredentialFormat";
    case ErrorClass::kUnknown:
      return "Unknown";
  }
  return "";
}

bool IsCredentialRefusal(ErrorClass error_class) {
  // A credential that the runtime cannot even read says nothing about the next one (A20).
  return error_class == ErrorClass::kAccessDenied || error_class == ErrorClass::kBadCredentialFormat;
}

}  // namespace prefetch::image
