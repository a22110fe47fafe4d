#include "image/pull_error.h"

#include "base/enum_name.h"

namespace prefetch::image {

std::string_view ErrorClassName(ErrorClass error_class) {
  return base::EnumName(error_class);
}

bool IsCredentialRefusal(ErrorClass error_class) {
  // A credential that the runtime cannot even read says nothing about the next one (A20).
  return error_class == ErrorClass::kAccessDenied || error_class == ErrorClass::kBadCredentialFormat;
}

}  // namespace prefetch::image
