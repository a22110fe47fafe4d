#include "base/large_text.h"

#include <mutex>

namespace prefetch::base {
namespace {

using Writer = OneLargeText::Writer;

std::mutex& Turn(Writer writer) {
  static auto* turns = new std::mutex[2];  // lives as long as detached threads do
  return turns[writer == Writer::kApiServer ? 1 : 0];
}

thread_local int held[2] = {0, 0};

int& Held(Writer writer) {
  return held[writer == Writer::kApiServer ? 1 : 0];
}

}  // namespace

OneLargeText::OneLargeText(std::size_t bytes, std::size_t large, Writer writer)
    : large_(bytes > large), writer_(writer) {
  if (large_ && Held(writer_)++ == 0) Turn(writer_).lock();
}

OneLargeText::~OneLargeText() {
  if (large_ && --Held(writer_) == 0) Turn(writer_).unlock();
}

}  // namespace prefetch::base
