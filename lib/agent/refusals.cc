#include "agent/refusals.h"

#include <cctype>
#include <chrono>

#include "base/secret.h"
#include "base/text.h"

namespace prefetch::agent {
namespace {

// Number of different images that must have been refused before the credential itself is considered wrong.
constexpr std::size_t kRefusalsThatCount = 3;
constexpr std::chrono::minutes kHold{5};
constexpr std::size_t kMostRecords = 1024;

// Names may hold any word: r.io/unauthorized/app:401. This removes URLs and references, and the tag if it
// stands alone.
std::string WithoutNames(std::string_view message, const image::Reference& reference) {
  const std::string& tag = reference.tag();
  std::string words;
  for (std::string_view word : base::Split(message, ' ')) {
    std::string_view bare = word.substr(0, word.find_last_not_of(":,.\"") + 1);
    bool named = !tag.empty() && (bare == tag || bare.ends_with(":" + tag));
    if (named || word.find('/') != std::string_view::npos) continue;
    words.append(words.empty() ? "" : " ").append(word);
  }
  return words;
}

bool HasWord(std::string_view text, std::string_view word) {
  auto inner = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if ((at == 0 || !inner(at - 1)) && !inner(at + word.size())) return true;
  }
  return false;
}

}  // namespace

bool IsAboutTheCredential(const std::string& message, const image::Reference& reference) {
  const std::string error = WithoutNames(message, reference);
  // These words are about one repository. The same credential may be right for the next image.
  if (base::ContainsIgnoreCase(error, "insufficient_scope") || base::ContainsIgnoreCase(error, "denied")) {
    return false;
  }
  return HasWord(error, "401") || base::ContainsIgnoreCase(error, "unauthorized") ||
         base::ContainsIgnoreCase(error, "authentication required") ||
         base::ContainsIgnoreCase(error, "username or password") ||
         base::ContainsIgnoreCase(error, "username/password");
}

std::string Refusals::Key(const image::Reference& reference, const image::AuthConfig& auth) const {
  std::string text = auth.username + '\0';
  // The separator keeps two pairs apart whose texts would be the same when put together.
  text += auth.password.Reveal();
  std::string key = reference.domain() + " " + hash_.Of(text);
  base::WipeString(text);
  return key;
}

void Refusals::Refused(const image::Reference& reference, const image::AuthConfig& auth,
                       base::TimePoint now) {
  std::string key = Key(reference, auth);
  base::Lock lock(mutex_);
  // Bounds the memory: tokens that live for hours are refused once each, at their end.
  std::erase_if(records_, [now](const auto& one) { return now - one.second.newest > kHold; });
  // Forgetting all is harmless: a wrong password is refused for three more images, and held again.
  if (records_.size() >= kMostRecords && !records_.contains(key)) records_.clear();
  Record& record = records_[key];
  record.newest = now;
  if (record.images.size() < kRefusalsThatCount) record.images.insert(reference.Normalized());
}

void Refusals::Worked(const image::Reference& reference, const image::AuthConfig& auth) {
  std::string key = Key(reference, auth);
  base::Lock lock(mutex_);
  records_.erase(key);
}

bool Refusals::Held(const image::Reference& reference, const image::AuthConfig& auth,
                    base::TimePoint now) const {
  std::string key = Key(reference, auth);
  base::Lock lock(mutex_);
  auto found = records_.find(key);
  return found != records_.end() && found->second.images.size() >= kRefusalsThatCount &&
         now - found->second.newest <= kHold;
}

}  // namespace prefetch::agent
