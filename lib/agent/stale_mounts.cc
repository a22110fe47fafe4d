#include "agent/stale_mounts.h"

#include <chrono>

#include "base/mounts.h"
#include "plan/problem_words.h"

namespace prefetch::agent {
namespace {

constexpr std::chrono::seconds kMountsInterval{30};

}  // namespace

const std::vector<std::string>& StaleMounts::Look(base::TimePoint now) {
  if (mountinfo_.empty() || now < next_) return problems_;
  next_ = now + kMountsInterval;
  problems_.clear();
  for (const std::string& file : base::ReplacedFiles(mountinfo_)) {
    problems_.push_back(plan::StaleMountWords(file));
  }
  return problems_;
}

}  // namespace prefetch::agent
