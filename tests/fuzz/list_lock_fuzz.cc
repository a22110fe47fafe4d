// A lock stands in somebody's repository. One that is taken is written and read back as it was.
#include <cstdint>
#include <cstdlib>

#include "config/list_lock.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  auto lock = config::ReadLock({reinterpret_cast<const char*>(data), size}, "fuzz.lock");
  if (!lock) return 0;
  auto again = config::ReadLock(config::WriteLock(*lock, "fuzz"), "again.lock");
  if (!again || *again != *lock) std::abort();
  return 0;
}
