#include "image/pull_error.h"

namespace prefetch::image {

bool IsCredentialRefusal(ErrorClass error_class) {
  // A credential that the runtime cannot even read says nothing about the next one (A20).
  return error_class == ErrorClass::kAccessDenied || error_class == ErrorClass::kBadCredentialFormat;
}

}  // namespace prefetch::image
