// Parts that the status document and the document about one image share. Internal to report/.
#pragma once

#include "report/members.h"
#include "report/status_document.h"

namespace prefetch::report {

// Mistakes go to `in`; what is missing or unknown is left out.
StatusImage ReadStatusImage(const Members& in);
StatusKubelet ReadStatusKubelet(const Members& in);

}  // namespace prefetch::report
