#include "base/large_text.h"

#include <mutex>

namespace prefetch::base {
namespace {

std::mutex& Turn() {
  static auto* turn = new std::mutex;  // lives as long as detached threads do
  return *turn;
}

thread_local int held = 0;

}  // namespace

OneLargeText::OneLargeText(std::size_t bytes, std::size_t large) : large_(bytes > large) {
  if (large_ && held++ == 0) Turn().lock();
}

OneLargeText::~OneLargeText() {
  if (large_ && --held == 0) Turn().unlock();
}

}  // namespace prefetch::base
