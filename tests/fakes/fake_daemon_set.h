// FakeDaemonSet: how Kubernetes' DaemonSet controller replaces pods on a rolling update without surge
// (kubernetes pkg/controller/daemon/update.go): pods of another revision that are not available go at once,
// available ones only while fewer nodes than maxUnavailable lack an available pod.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace prefetch::tests {

// The pod of one node. Its maker models what runs in it.
struct FakePod {
  // The pod is deleted and one of this revision of the template takes its place.
  std::function<void(const std::string& revision)> replace;
  std::function<bool()> ready;
};

// One owner, one thread.
class FakeDaemonSet {
 public:
  // `max_unavailable` as manifests say it: "10%" (of the nodes, rounded up), or "2".
  FakeDaemonSet(std::vector<FakePod> pods, const std::string& max_unavailable, const std::string& revision);

  void Apply(const std::string& revision);  // kubectl apply: another template
  void Undo();                              // kubectl rollout undo: the one before
  void Turn();                              // the controller looks once

  // Returns true once `kubectl rollout status` would end.
  bool RolledOut() const { return Updated() == pods_.size() && Available() == pods_.size(); }
  std::size_t Updated() const;  // pods of the newest revision
  std::size_t Available() const;
  std::size_t max_unavailable() const { return max_unavailable_; }

 private:
  struct Place {
    FakePod pod;
    std::string revision;
  };
  void Replace(Place& place);
  const std::string& Newest() const { return history_.back(); }

  std::vector<Place> pods_;
  std::vector<std::string> history_;
  std::size_t max_unavailable_ = 1;
};

}  // namespace prefetch::tests
