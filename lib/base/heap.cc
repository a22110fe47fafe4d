#include "base/heap.h"

#include <malloc.h>

namespace prefetch::base {

void LimitHeap() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

void ReturnFreeMemory() {
  ::malloc_trim(0);
}

}  // namespace prefetch::base
