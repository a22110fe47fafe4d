// A lock stands in somebody's repository. One that is taken is written and read back as it was.
#include <cstdint>
#include <cstdlib>

#include "list/lock.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  auto lock = list::ReadLock({reinterpret_cast<const char*>(data), size}, "fuzz.lock");
  if (!lock) return 0;
  auto again = list::ReadLock(list::WriteLock(*lock, "fuzz"), "again.lock");
  if (!again || *again != *lock) std::abort();
  return 0;
}
