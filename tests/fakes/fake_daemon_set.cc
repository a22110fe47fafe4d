#include "fakes/fake_daemon_set.h"

#include <algorithm>
#include <utility>

namespace prefetch::tests {

FakeDaemonSet::FakeDaemonSet(std::vector<FakePod> pods, const std::string& max_unavailable,
                             const std::string& revision)
    : history_({revision}) {
  auto number = static_cast<std::size_t>(std::stoul(max_unavailable));
  max_unavailable_ = max_unavailable.back() == '%' ? (number * pods.size() + 99) / 100 : number;
  for (FakePod& pod : pods) {
    pods_.push_back({std::move(pod), ""});
    Replace(pods_.back());
  }
}

void FakeDaemonSet::Apply(const std::string& revision) {
  history_.push_back(revision);
}

void FakeDaemonSet::Undo() {
  std::string before = history_.at(history_.size() - 2);
  history_.push_back(before);
}

void FakeDaemonSet::Turn() {
  std::size_t unavailable = pods_.size() - Available();
  for (Place& place : pods_) {
    if (place.revision == Newest()) continue;
    if (place.pod.ready()) {
      if (unavailable >= max_unavailable_) continue;
      unavailable++;
    }
    Replace(place);
  }
}

std::size_t FakeDaemonSet::Updated() const {
  return static_cast<std::size_t>(
      std::count_if(pods_.begin(), pods_.end(), [&](const Place& one) { return one.revision == Newest(); }));
}

std::size_t FakeDaemonSet::Available() const {
  return static_cast<std::size_t>(
      std::count_if(pods_.begin(), pods_.end(), [](const Place& one) { return one.pod.ready(); }));
}

void FakeDaemonSet::Replace(Place& place) {
  place.revision = Newest();
  place.pod.replace(place.revision);
}

}  // namespace prefetch::tests
