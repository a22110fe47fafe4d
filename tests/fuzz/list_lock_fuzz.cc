// A lock stands in somebody's repository. One that is taken is written and read back as it was.

#include "fuzz/target.h"
#include "list/lock.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  auto lock = list::ReadLock(text, "fuzz.lock");
  if (!lock) return;
  auto again = list::ReadLock(list::WriteLock(*lock, "fuzz"), "again.lock");
  if (!again || *again != *lock) std::abort();
}
