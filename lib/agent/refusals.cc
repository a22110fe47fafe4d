#include "agent/refusals.h"

#include <sys/random.h>

#include <array>
#include <chrono>

#include "base/sha256.h"
#include "base/text.h"

namespace prefetch::agent {
namespace {

// So many different images must have been refused before the credential itself is thought to be wrong.
constexpr std::size_t kRefusalsThatCount = 3;
constexpr std::chrono::minutes kHold{5};
constexpr std::size_t kMostRecords = 1024;

}  // namespace

bool IsAboutTheCredential(const std::string& error) {
  if (base::ContainsIgnoreCase(error, "insufficient_scope") || base::ContainsIgnoreCase(error, "denied")) {
    return false;
  }
  return base::ContainsIgnoreCase(error, "401") || base::ContainsIgnoreCase(error, "unauthorized") ||
         base::ContainsIgnoreCase(error, "username or password") ||
         base::ContainsIgnoreCase(error, "username/password");
}

Refusals::Refusals() {
  std::array<char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) {
    salt_.assign(bytes.begin(), bytes.end());
  }
}

std::string Refusals::Key(const image::Reference& reference, const image::AuthConfig& auth) const {
  std::string text = salt_ + auth.username + '\0';
  text += auth.password.Reveal();
  std::string key = reference.domain() + " " + base::Sha256Hex(text);
  base::WipeString(text);
  return key;
}

void Refusals::Refused(const image::Reference& reference, const image::AuthConfig& auth,
                       base::TimePoint now) {
  std::string key = Key(reference, auth);
  base::Lock lock(mutex_);
  if (records_.size() >= kMostRecords && !records_.contains(key)) records_.clear();
  Record& record = records_[key];
  if (now - record.newest > kHold) record.images.clear();
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
