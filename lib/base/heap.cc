#include "base/heap.h"

#include <malloc.h>

namespace prefetch::base {

void ReturnFreeMemory() {
  ::malloc_trim(0);
}

}  // namespace prefetch::base
