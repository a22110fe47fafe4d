// Secret: a password or token that cannot be printed, compared or logged by accident.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace prefetch::base {

// A value: copyable (each copy wipes its own bytes when it goes). The only way to the text is Reveal(),
// which is easy to find in a review. There is no operator<<, no operator== and no implicit conversion.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept;
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { Wipe(); }

  bool empty() const { return text_.empty(); }
  // The secret itself. Callers put it on a wire, never into a log, an error, argv or an environment.
  std::string_view Reveal() const { return text_; }
  // Constant time for equal lengths.
  bool SameAs(const Secret& other) const;

 private:
  void Wipe();
  std::string text_;
};

// Overwrites the bytes of `text` so that the compiler cannot leave it out, then clears it.
void WipeString(std::string& text);

}  // namespace prefetch::base
