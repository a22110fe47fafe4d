#include "base/secret.h"

#include <cstring>

namespace prefetch::base {

void WipeString(std::string& text) {
  // The capacity may still hold the end of an earlier, longer text.
  text.resize(text.capacity());
  // The compiler may not leave this call out, as it may with memset before a clear.
  explicit_bzero(text.data(), text.size());
  text.clear();
}

void Secret::Wipe() {
  WipeString(text_);
}

Secret::Secret(Secret&& other) noexcept : text_(other.text_) {
  // A short string lives inside its object: moving it would leave a copy behind.
  other.Wipe();
}

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    Wipe();
    text_ = other.text_;
  }
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    Wipe();
    text_ = other.text_;
    other.Wipe();
  }
  return *this;
}

bool Secret::SameAs(const Secret& other) const {
  // The length may be learnt. The loop has no early end, so that its time does not show how many bytes agree.
  if (text_.size() != other.text_.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < text_.size(); i++) {
    difference |= static_cast<unsigned char>(text_[i] ^ other.text_[i]);
  }
  return difference == 0;
}

}  // namespace prefetch::base
