// OneLargeText: of the texts that strangers may make large, one is looked into at a time.
#pragma once

#include <cstddef>

namespace prefetch::base {

// Hold one while the tree of untrusted text exists, or its decodings: they take many times the memory of
// the text, and those of many threads together would fill that of the process. Shorter texts go on at once.
// Any thread; it may hold several. Nothing that waits for the network or for another thread belongs into its
// scope.
class OneLargeText {
 public:
  static constexpr std::size_t kLarge = 16 * 1024;
  // The API server's answers do not wait for untrusted texts.
  enum class Writer { kUntrusted, kApiServer };

  explicit OneLargeText(std::size_t bytes, std::size_t large = kLarge, Writer writer = Writer::kUntrusted);
  ~OneLargeText();
  OneLargeText(const OneLargeText&) = delete;
  OneLargeText& operator=(const OneLargeText&) = delete;

 private:
  const bool large_;
  const Writer writer_;
};

}  // namespace prefetch::base
