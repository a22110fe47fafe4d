#include "fakes/fake_pod_runner.h"

#include <algorithm>

#include "doc/node.h"
#include "image/reference.h"

namespace prefetch::tests {
namespace {

constexpr std::chrono::seconds kBackOff{10}, kMaxBackOff{300};  // MaxContainerBackOff of kubelet

doc::Node Text(std::string text) {
  return doc::Node::String(std::move(text));
}

doc::Node State(const char* which, const std::string& reason, const std::string& message) {
  doc::Node inner = doc::Node::Mapping({{"reason", Text(reason)}});
  if (!message.empty()) inner.Set("message", Text(message));
  return doc::Node::Mapping({{which, std::move(inner)}});
}

// K1: the spec image has a tag.
std::string SpecImage(const std::string& image) {
  auto reference = image::Reference::Parse(image);
  return reference ? reference->SpecImage() : image;
}

}  // namespace

FakePodRunner::FakePodRunner(FakeApiServer& api, FakeKubelet& kubelet, const base::Clock& clock,
                             std::string node, PodRuntime runtime)
    : api_(api),
      kubelet_(kubelet),
      clock_(clock),
      node_name_(std::move(node)),
      runtime_(std::move(runtime)) {}

void FakePodRunner::Refuse(std::string reason, std::string message) {
  refusal_reason_ = std::move(reason);
  refusal_message_ = std::move(message);
}

FakePodRunner::Running FakePodRunner::Read(const doc::Node& pod) const {
  Running running{.uid = TextAt(pod, {"metadata", "uid"})};
  std::map<std::string, std::pair<std::string, std::string>> volumes;
  for (const doc::Node& volume : ItemsAt(pod, {"spec", "volumes"})) {
    volumes[TextAt(volume, {"name"})] = {TextAt(volume, {"image", "reference"}),
                                         TextAt(volume, {"image", "pullPolicy"})};
  }
  for (const doc::Node& spec : ItemsAt(pod, {"spec", "containers"})) {
    Container container{.name = TextAt(spec, {"name"})};
    for (const doc::Node& mount : ItemsAt(spec, {"volumeMounts"})) {
      auto volume = volumes.find(TextAt(mount, {"name"}));
      if (volume != volumes.end() && !volume->second.first.empty())
        container.images.push_back(volume->second);
    }
    container.images.emplace_back(TextAt(spec, {"image"}), TextAt(spec, {"imagePullPolicy"}));
    running.containers.push_back(std::move(container));
  }
  running.restarts = TextAt(pod, {"spec", "restartPolicy"}) != "Never";
  running.due = clock_.Now() + start_;
  return running;
}

bool FakePodRunner::TakeUp() {
  bool any = false;
  for (const std::string& path : api_.Paths()) {
    if (!path.starts_with("pods/")) continue;
    std::optional<doc::Node> pod = api_.Get(path);
    if (!pod || TextAt(*pod, {"spec", "nodeName"}) != node_name_) continue;
    auto known = pods_.find(path);
    if (known != pods_.end() && known->second.uid == TextAt(*pod, {"metadata", "uid"})) continue;
    pods_[path] = Read(*pod);
    taken_up_++;
    any = true;
  }
  return any;
}

bool FakePodRunner::Step() {
  if (!runs_) return false;
  bool any = TakeUp();
  for (auto pod = pods_.begin(); pod != pods_.end();) {
    if (!api_.Get(pod->first)) {
      pod = pods_.erase(pod);
      continue;
    }
    if (pod->second.due <= clock_.Now()) {
      Advance(pod->first, pod->second);
      any = true;
    }
    ++pod;
  }
  return any;
}

base::TimePoint FakePodRunner::NextEvent() const {
  base::TimePoint next = base::TimePoint::max();
  if (!runs_) return next;
  for (const auto& [path, pod] : pods_) next = std::min(next, pod.due);
  return next;
}

void FakePodRunner::Advance(const std::string& path, Running& pod) {
  if (!refusal_reason_.empty()) {
    api_.SetStatus(path, pod.uid,
                   doc::Node::Mapping({{"phase", Text("Failed")},
                                       {"reason", Text(refusal_reason_)},
                                       {"message", Text(refusal_message_)}}));
    pod.due = base::TimePoint::max();
    return;
  }
  // Containers that have failed come again in the next round, and with them those that are restarted.
  auto is_over = [&pod](const Container& one) { return one.fate == Fate::kPulled && !pod.restarts; };
  while (pod.next < pod.containers.size() && is_over(pod.containers[pod.next])) pod.next++;
  if (pod.next < pod.containers.size()) Work(pod.containers[pod.next++]);
  pod.due = clock_.Now() + image_;
  if (pod.next >= pod.containers.size()) {
    bool all_over = std::all_of(pod.containers.begin(), pod.containers.end(), is_over);
    pod.next = 0;
    base::Duration back_off =
        std::min<base::Duration>(kBackOff * (1 << std::min(pod.rounds++, 5)), kMaxBackOff);
    pod.due = all_over ? base::TimePoint::max() : clock_.Now() + back_off;
  }
  api_.SetStatus(path, pod.uid, StatusOf(pod));
}

void FakePodRunner::Work(Container& container) {
  container.fate = Fate::kPulled;
  for (const auto& [image, policy] : container.images) {
    if (Get(image, policy, container)) continue;
    container.fate = Fate::kFailed;
    return;
  }
}

bool FakePodRunner::Get(const std::string& image, const std::string& policy, Container& container) {
  if (policy != "Always" && kubelet_.Admits(image, runtime_.id_of(SpecImage(image)), {})) return true;
  kubelet_.BeginPull(image);
  auto id = runtime_.pull(SpecImage(image), node_ ? &*node_ : nullptr);
  if (id && records_) {
    kubelet_.EndPull(image, *id, {});
  } else {
    kubelet_.FailPull(image);
  }
  if (id) return true;
  container.reason = "ErrImagePull";
  container.message = id.error().message();
  return false;
}

doc::Node FakePodRunner::StatusOf(const Running& pod) const {
  std::vector<doc::Node> statuses;
  bool all_pulled = true;
  for (const Container& container : pod.containers) {
    doc::Node status = doc::Node::Mapping({{"name", Text(container.name)}});
    switch (container.fate) {
      case Fate::kNotYet:
        status.Set("state", State("waiting", "ContainerCreating", ""));
        break;
      case Fate::kPulled:
        status.Set("state", pod.restarts
                                ? State("waiting", "CrashLoopBackOff", "back-off restarting failed container")
                                : State("terminated", "StartError", "no such file or directory"));
        break;
      case Fate::kFailed:
        status.Set("state", State("waiting", container.reason, container.message));
        break;
    }
    all_pulled = all_pulled && container.fate == Fate::kPulled;
    statuses.push_back(std::move(status));
  }
  const char* phase = !all_pulled ? "Pending" : pod.restarts ? "Running" : "Failed";
  return doc::Node::Mapping(
      {{"phase", Text(phase)}, {"containerStatuses", doc::Node::Sequence(std::move(statuses))}});
}

}  // namespace prefetch::tests
