#include "agent/stale_mounts.h"

#include <chrono>

#include "base/mounts.h"
#include "plan/problem_words.h"

namespace prefetch::agent {
namespace {

constexpr std::chrono::seconds kMountsInterval{30};
constexpr std::chrono::seconds kPatience{1};

}  // namespace

const std::vector<std::string>& StaleMounts::Look(base::TimePoint now) {
  if (mountinfo_.empty() || now < next_) return problems_;
  next_ = now + kMountsInterval;
  auto files = std::make_shared<std::vector<std::string>>();
  if (!files_->Run([files, mountinfo = mountinfo_] { *files = base::ReplacedFiles(mountinfo); }, kPatience)) {
    return problems_;
  }
  problems_.clear();
  for (const std::string& file : *files) problems_.push_back(plan::StaleMountWords(file));
  return problems_;
}

}  // namespace prefetch::agent
