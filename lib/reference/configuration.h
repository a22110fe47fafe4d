// The parts of the configuration file that have neither a flag nor a variable. Internal to reference/.
#pragma once

#include "reference/field.h"

namespace prefetch::reference {

Fields CredentialFields();
Fields LimitsFields();
Fields PreflightFields();

}  // namespace prefetch::reference
