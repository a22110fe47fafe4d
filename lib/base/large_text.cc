#include "base/large_text.h"

#include <mutex>

namespace prefetch::base {
namespace {

struct Door {
  std::mutex& turn;
  int& held;  // by this thread
};

Door DoorOf(OneLargeText::Writer writer) {
  static auto* turns = new std::mutex[2];  // lives as long as detached threads do
  thread_local int held[2] = {0, 0};
  const std::size_t at = writer == OneLargeText::Writer::kApiServer ? 1 : 0;
  return {turns[at], held[at]};
}

}  // namespace

OneLargeText::OneLargeText(std::size_t bytes, std::size_t large, Writer writer)
    : large_(bytes > large), writer_(writer) {
  if (!large_) return;
  const Door door = DoorOf(writer_);
  if (door.held++ == 0) door.turn.lock();
}

OneLargeText::~OneLargeText() {
  if (!large_) return;
  const Door door = DoorOf(writer_);
  if (--door.held == 0) door.turn.unlock();
}

}  // namespace prefetch::base
