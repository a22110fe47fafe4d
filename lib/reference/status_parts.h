// Parts of the table of status fields. Internal to reference/.
#pragma once

#include <string>

#include "reference/field.h"

namespace prefetch::reference {

Field ReasonField(const std::string& path, const std::string& help);
Field PhaseField(const std::string& path, const std::string& help);
// Of one image, without "images[].".
Fields ImageFields();

}  // namespace prefetch::reference
