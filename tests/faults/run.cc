#include "faults/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "faults/retries.h"

namespace prefetch::tests::faults {
namespace {

using plan::Reason;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// How long the agent may say ready when it is not: containerd's events tell of images at once, and a verdict
// is held for 3 s while kubelet works (lib/README.md).
constexpr base::Duration kFalselyReady = milliseconds(3500);
// CRI-O tells nothing: the next look sees it.
constexpr base::Duration kFalselyReadyOnCrio = seconds(9);
// An image that is here is known to be here by the next look.
constexpr base::Duration kUnseen = seconds(10);
// A runtime that is away, or back, is noticed by the next look.
constexpr base::Duration kRuntimeUnseen = seconds(10);
// A try that has failed is told within this.
constexpr base::Duration kUntold = seconds(2);
// Leases and everything else of a pull are gone so long after it.
constexpr base::Duration kTidyUp = minutes(2);
// A touch pod that the API server did not delete is gone so long after it: touches pause for ten minutes,
// and a quarter of that more, where the server has refused them again and again.
constexpr base::Duration kSwept = minutes(13);
// Each entry is touched so long after the node is ready: one that was given up waits an hour and a quarter.
constexpr base::Duration kTouched = minutes(80);

std::string In(base::Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(time).count());
  return text;
}

// Something that may be wrong for a while, and no longer.
class Patience {
 public:
  explicit Patience(base::Duration limit) : limit_(limit) {}

  // How long it was wrong, if that was too long; told once each time.
  std::optional<base::Duration> See(bool wrong, base::TimePoint now) {
    const base::Duration so_far = since_ ? now - *since_ : base::Duration(0);
    const bool too_long = since_ && so_far > limit_ && !std::exchange(told_, true);
    if (!wrong) {
      since_.reset();
      told_ = false;
    } else if (!since_) {
      since_ = now;
    }
    return too_long ? std::optional(so_far) : std::nullopt;
  }
  void Forget() {
    since_.reset();
    told_ = false;
  }

 private:
  const base::Duration limit_;
  std::optional<base::TimePoint> since_;
  bool told_ = false;
};

class Observer {
 public:
  Observer(World& world, const Schedule& schedule, const std::vector<FaultKind>& kinds)
      : world_(world), schedule_(schedule), kinds_(kinds) {}

  void Look() {
    world_.Tend();
    const base::TimePoint now = world_.node.clock.Now();
    if (world_.agent_since != agent_) {
      agent_ = world_.agent_since;
      for (Patience* patience : {&falsely_ready_, &runtime_unseen_}) patience->Forget();
      unseen_.clear();
      unsaid_.clear();
      untold_.clear();
      retries_.Forget();
    }
    const plan::SnapshotPtr snapshot = world_.node.Snapshot();
    if (!snapshot) return;
    LookAtReadiness(*snapshot, now);
    LookAtRuntime(*snapshot, now);
    std::erase_if(unseen_, [&](const auto& one) { return world_.listed().count(one.first) == 0; });
    for (const std::string& image : world_.images()) {
      if (world_.listed().count(image) == 0) retries_.Forget(image);
    }
    for (const plan::ImageState& image : snapshot->images) LookAtImage(image, now);
  }

  // A fault begins or ends: what is tried again now has a reason.
  void Forgive() { retries_.Forgive(); }

  void Say(const std::string& what) {
    if (said_.insert(what).second) violations_.push_back("at " + In(world_.node.Elapsed()) + ": " + what);
  }
  std::vector<std::string> Violations() { return std::move(violations_); }

 private:
  void LookAtReadiness(const plan::Snapshot& snapshot, base::TimePoint now) {
    // What nobody can ask the runtime for cannot be held against the agent.
    const bool wrong = snapshot.readiness.ready && world_.runtime_up && !world_.IsTrulyReady();
    if (auto time = falsely_ready_.See(wrong, now)) Say("ready for " + In(*time) + " though it is not");
    const bool all = std::all_of(snapshot.images.begin(), snapshot.images.end(),
                                 [](const plan::ImageState& image) { return image.ready; });
    if (snapshot.readiness.ready && !all) Say("the node is ready, and one of its images is not");
  }

  void LookAtRuntime(const plan::Snapshot& snapshot, base::TimePoint now) {
    const bool wrong = snapshot.runtime.up != world_.runtime_up && !IsActive("is not ready");
    if (auto time = runtime_unseen_.See(wrong, now)) {
      Say(std::string("the runtime is ") + (world_.runtime_up ? "up" : "down") +
          ", and the status says otherwise for " + In(*time));
    }
    if (!snapshot.runtime.up && snapshot.runtime.error.empty() && now - agent_ > kRuntimeUnseen)
      Say("the runtime is down, and nothing is said of it");
  }

  void LookAtImage(const plan::ImageState& image, base::TimePoint now) {
    const std::string& name = image.want->reference.written();
    // A new agent believes no runtime that says itself that it is not ready.
    const bool forgotten =
        world_.runtime_up && !IsActive("is not ready") && !image.present && world_.Has(name);
    auto unseen = unseen_.try_emplace(name, kUnseen).first;
    if (auto time = unseen->second.See(forgotten, now)) Say(name + " is here, and unseen for " + In(*time));
    LookAtTries(image);
    LookAtCause(image, now);
    auto untold = untold_.try_emplace(name, kUntold).first;
    if (auto time = untold->second.See(HasFailedWithoutAWord(image), now))
      Say(name + " has failed, and nothing is said of it for " + In(*time));
    if (image.phase != plan::Phase::kFailing) return;
    if (!MayBeTheCause(image))
      Say(name + " fails for " + std::string(plan::ReasonName(image.reason)) + ", which nothing has caused");
    if (image.message.empty()) Say(name + " fails without a word");
  }

  // With one fault alone: each image that it keeps from being usable gives it as the reason.
  void LookAtCause(const plan::ImageState& image, base::TimePoint now) {
    if (schedule_.faults.size() != 1) return;
    const PlannedFault& fault = schedule_.faults[0];
    const FaultKind& kind = kinds_[fault.kind];
    const std::string& name = image.want->reference.written();
    const base::Duration elapsed = world_.node.Elapsed();
    const bool is_of_image = kind.reach != Reach::kNode;  // others of its registry have their own states
    if (!kind.shows || (is_of_image && name != world_.images()[fault.image])) return;
    const bool hit = elapsed >= fault.from && elapsed < fault.to && !world_.IsUsable(name) &&
                     (!kind.is_of_what_is_here || world_.Has(name));
    auto unsaid = unsaid_.try_emplace(name, *kind.shows).first;
    // How a pull ends that runs is not known.
    const bool runs = image.reason == Reason::kPulling || image.reason == Reason::kUnpacking;
    if (auto time = unsaid->second.See(hit && !runs && kind.causes.count(image.reason) == 0, now))
      Say(name + " is not usable, and for " + In(*time) + " its reason is " +
          std::string(plan::ReasonName(image.reason)));
  }

  void LookAtTries(const plan::ImageState& image) {
    auto wrong = retries_.See(image);
    if (!wrong || Has("clock")) return;  // which makes the status's times worthless
    // Without its credentials an image is denied, and tried again once there are others.
    const bool denied = wrong->find("AccessDenied") != std::string::npos;
    if (!denied || !(Has("plugin") || Has("docker config")))
      Say(image.want->reference.written() + " " + *wrong);
  }

  bool Has(std::string_view part) const {
    return std::any_of(schedule_.faults.begin(), schedule_.faults.end(),
                       [&](const PlannedFault& fault) { return kinds_[fault.kind].part == part; });
  }

  bool IsActive(const std::string& manner) const {
    const base::Duration elapsed = world_.node.Elapsed();
    return std::any_of(schedule_.faults.begin(), schedule_.faults.end(), [&](const PlannedFault& fault) {
      return kinds_[fault.kind].manner == manner && elapsed >= fault.from &&
             elapsed <= fault.to + kRuntimeUnseen;
    });
  }

  bool Reaches(const PlannedFault& fault, const std::string& name) const {
    const std::string& hit = world_.images()[fault.image];
    const auto registry = [](const std::string& image) { return image.substr(0, image.find('/')); };
    switch (kinds_[fault.kind].reach) {
      case Reach::kNode:
        return true;
      case Reach::kRegistry:
        return registry(hit) == registry(name);
      case Reach::kImage:
        return hit == name;
    }
    std::abort();
  }

  // With one fault alone, by which each try fails: a pull ended, none runs, and the state is that of an image
  // which never failed.
  bool HasFailedWithoutAWord(const plan::ImageState& image) const {
    if (schedule_.faults.size() != 1 || image.present || image.phase == plan::Phase::kFailing) return false;
    if (image.pull.state == plan::PullState::kPulling || !image.pull.finished_at) return false;
    const PlannedFault& fault = schedule_.faults[0];
    const base::Duration elapsed = world_.node.Elapsed();
    return kinds_[fault.kind].fails_each_try &&
           world_.images()[fault.image] == image.want->reference.written() &&
           elapsed > fault.from + kUntold && elapsed <= fault.to;
  }

  // Of a fault that lasts, or whose next try after it is not due yet; another fault may have put that off.
  bool MayBeTheCause(const plan::ImageState& image) const {
    const base::Duration elapsed = world_.node.Elapsed();
    return std::any_of(schedule_.faults.begin(), schedule_.faults.end(), [&](const PlannedFault& fault) {
      return Reaches(fault, image.want->reference.written()) &&
             kinds_[fault.kind].causes.count(image.reason) != 0 && elapsed >= fault.from &&
             elapsed <= EndOf(fault);
    });
  }

  // A 429 for one image holds all of its registry, and each keeps its own reason meanwhile.
  base::Duration EndOf(const PlannedFault& fault) const {
    base::Duration end = fault.to + kinds_[fault.kind].recovers;
    for (const PlannedFault& other : schedule_.faults) {
      if (other.from <= end) end = std::max(end, other.to + kinds_[other.kind].recovers);
    }
    return end;
  }

  World& world_;
  const Schedule& schedule_;
  const std::vector<FaultKind>& kinds_;
  base::TimePoint agent_;
  Patience falsely_ready_{IsCrio(schedule_.runtime) ? kFalselyReadyOnCrio : kFalselyReady};
  Patience runtime_unseen_{kRuntimeUnseen};
  std::map<std::string, Patience> unseen_, unsaid_, untold_;
  Retries retries_;
  std::set<std::string> said_;
  std::vector<std::string> violations_;
};

// What happens when.
struct Moment {
  base::Duration at{};
  std::function<void()> act;
  bool is_new = true;  // a fault begins or ends
};

std::vector<Moment> Moments(World& world, const Schedule& schedule, const std::vector<FaultKind>& kinds) {
  std::vector<Moment> moments;
  for (const PlannedFault& fault : schedule.faults) {
    const FaultKind& kind = kinds[fault.kind];
    const std::string& image = world.images()[fault.image];
    moments.push_back({fault.from, [&] { kind.begin(world, image); }});
    for (base::Duration at = fault.from + kind.period; kind.tick && at < fault.to; at += kind.period)
      moments.push_back({at, [&] { kind.tick(world, image); }, false});
    moments.push_back({fault.to, [&] { kind.end(world, image); }});
  }
  std::stable_sort(moments.begin(), moments.end(),
                   [](const Moment& a, const Moment& b) { return a.at < b.at; });
  return moments;
}

// Pulls that the retry rules allow at most: each image's own first, some at each fault, one a minute on an
// average while something is wrong, and two at each stir, since the first retry is immediate.
int MostPulls(const World& world, const Schedule& schedule) {
  base::Duration wrong{};
  for (const PlannedFault& fault : schedule.faults) wrong += fault.to - fault.from;
  const auto images = static_cast<int>(world.images().size());
  const auto minutes_wrong = static_cast<int>(std::chrono::duration_cast<minutes>(wrong).count()) + 1;
  return images * (1 + 10 * static_cast<int>(schedule.faults.size()) + minutes_wrong + 2 * world.stirs());
}

std::vector<std::string> TouchPods(World& world) {
  std::vector<std::string> paths;
  if (world.touches()) paths = world.node.Cluster().server.Paths();
  std::erase_if(paths, [](const std::string& path) { return !path.starts_with("pods/"); });
  return paths;
}

void LookAtTheEnd(World& world, const Schedule& schedule, Observer& observer) {
  const FakeCounters counters = world.node.runtime.counters();
  const auto allowed =
      static_cast<std::uint64_t>(static_cast<double>(world.BytesToFetch()) * 1.1) + world.destroyed();
  if (counters.bytes_served > allowed)
    observer.Say(std::to_string(counters.bytes_served) + " bytes were fetched, " + std::to_string(allowed) +
                 " would do");
  if (counters.pull_calls > MostPulls(world, schedule))
    observer.Say(std::to_string(counters.pull_calls) + " pulls were begun");
  if (auto leases = world.node.runtime.Leases(); !leases.empty())
    observer.Say("left behind: lease " + leases[0]);
  for (const std::string& pod : TouchPods(world)) observer.Say("left behind: " + pod);
  if (world.node.runtime.Parked() != 0) observer.Say("a pull goes on though all is there");
  for (const std::string& problem : world.node.Snapshot()->problems)
    observer.Say("still a problem: " + problem);
  for (const std::string& line : world.node.log) {
    if (line.find("password-of-the-faults") != std::string::npos) observer.Say("the log holds a password");
  }
}

void Play(const Schedule& schedule, const std::vector<FaultKind>& kinds, World& world, Observer& observer) {
  const auto look = [&] {
    observer.Look();
    return false;
  };
  for (const Moment& moment : Moments(world, schedule, kinds)) {
    world.node.RunUntil(look, moment.at - world.node.Elapsed());
    // CRI-O begins anew with each pull that is broken off, but for the layers that it has stored.
    if (IsCrio(schedule.runtime)) world.Destroyed(world.BytesUnfinished());
    const int stirs = world.stirs();
    moment.act();
    if (moment.is_new || world.stirs() != stirs) observer.Forgive();
  }
  base::Duration recovers = minutes(3);
  for (const PlannedFault& fault : schedule.faults) recovers = std::max(recovers, kinds[fault.kind].recovers);
  const auto ready = [&] {
    observer.Look();
    return world.node.Ready() && world.IsTrulyReady();
  };
  if (!world.node.RunUntil(ready, recovers)) {
    const plan::SnapshotPtr snapshot = world.node.Snapshot();
    std::string why = snapshot->readiness.message;
    for (const plan::ImageState& image : snapshot->images) {
      if (!image.ready)
        why += "; " + image.want->reference.written() + ": " + std::string(plan::ReasonName(image.reason)) +
               ", " + image.message;
    }
    for (const std::string& image : world.listed())
      why += "; " + image + (world.Has(image) ? " is here" : " is absent") +
             (world.node.Admits(image) ? "" : ", and kubelet refuses it");
    observer.Say("not ready " + In(recovers) + " after the last fault: " + why);
    return;
  }
  const auto touched = [&] {
    observer.Look();
    const plan::SnapshotPtr snapshot = world.node.Snapshot();
    return std::all_of(snapshot->images.begin(), snapshot->images.end(),
                       [](const plan::ImageState& image) { return image.reason == Reason::kOpenToNode; });
  };
  if (world.touches() && !world.node.RunUntil(touched, kTouched)) {
    for (const plan::ImageState& image : world.node.Snapshot()->images) {
      if (image.reason != Reason::kOpenToNode)
        observer.Say(image.want->reference.written() + " is not touched " + In(kTouched) +
                     " later: " + std::string(plan::ReasonName(image.reason)) + ", " + image.touch->why);
    }
  }
  world.node.RunUntil(look, kTidyUp);
  world.node.RunUntil([&] { return look() || TouchPods(world).empty(); }, kSwept);
  if (!world.node.Ready()) observer.Say("ready, and then not any more");
  LookAtTheEnd(world, schedule, observer);
}

}  // namespace

std::vector<std::string> Violations(const Schedule& schedule, const std::vector<FaultKind>& kinds) {
  const bool touches = std::any_of(schedule.faults.begin(), schedule.faults.end(),
                                   [&](const PlannedFault& fault) { return kinds[fault.kind].of_cluster; });
  World world(schedule.runtime, touches);
  Observer observer(world, schedule, kinds);
  Play(schedule, kinds, world, observer);
  std::vector<std::string> violations = observer.Violations();
  if (!violations.empty() && std::getenv("PREFETCH_FAULT_LOG") != nullptr) {
    for (const std::string& line : world.node.log) std::fprintf(stderr, "%s\n", line.c_str());
  }
  return violations;
}

}  // namespace prefetch::tests::faults
