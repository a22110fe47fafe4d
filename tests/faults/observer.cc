#include "faults/observer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace prefetch::tests::faults {
namespace {

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
constexpr base::Duration kNotShown = seconds(2);

}  // namespace

std::string In(base::Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", std::chrono::duration<double>(time).count());
  return text;
}

std::optional<base::Duration> Patience::See(bool wrong, base::TimePoint now) {
  const base::Duration so_far = since_ ? now - *since_ : base::Duration(0);
  const bool too_long = since_ && so_far > limit_ && !std::exchange(told_, true);
  if (!wrong) {
    Forget();
  } else if (!since_) {
    since_ = now;
  }
  return too_long ? std::optional(so_far) : std::nullopt;
}

void Patience::Forget() {
  since_.reset();
  told_ = false;
}

Observer::Observer(World& world, const Schedule& schedule, const std::vector<FaultKind>& kinds)
    : world_(world),
      schedule_(schedule),
      kinds_(kinds),
      falsely_ready_(IsCrio(schedule.runtime) ? kFalselyReadyOnCrio : kFalselyReady),
      runtime_unseen_(kRuntimeUnseen) {}

void Observer::Look() {
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
  for (const plan::ImageState& image : snapshot->images) {
    const std::string& name = image.desired->reference.written();
    image.ready ? void(world_.called_ready_since.try_emplace(name, now))
                : void(world_.called_ready_since.erase(name));
    LookAtImage(image, now);
  }
}

void Observer::Say(const std::string& what) {
  if (said_.insert(what).second) violations_.push_back("at " + In(world_.node.Elapsed()) + ": " + what);
}

void Observer::LookAtReadiness(const plan::Snapshot& snapshot, base::TimePoint now) {
  // While the runtime is down, nobody can ask it for the images, so the agent is not to blame.
  const bool wrong = snapshot.readiness.ready && world_.runtime_up && !world_.IsTrulyReady();
  if (auto time = falsely_ready_.See(wrong, now)) Say("ready for " + In(*time) + " though it is not");
  const bool all = std::all_of(snapshot.images.begin(), snapshot.images.end(),
                               [](const plan::ImageState& image) { return image.ready; });
  if (snapshot.readiness.ready && !all) Say("the node is ready, and one of its images is not");
}

void Observer::LookAtRuntime(const plan::Snapshot& snapshot, base::TimePoint now) {
  const bool wrong = snapshot.runtime.up != world_.runtime_up && !IsActive("is not ready");
  if (auto time = runtime_unseen_.See(wrong, now)) {
    Say(std::string("the runtime is ") + (world_.runtime_up ? "up" : "down") +
        ", and the status says otherwise for " + In(*time));
  }
  if (!snapshot.runtime.up && snapshot.runtime.error.empty() && now - agent_ > kRuntimeUnseen)
    Say("the runtime is down, and nothing is said of it");
}

void Observer::LookAtImage(const plan::ImageState& image, base::TimePoint now) {
  const std::string& name = image.desired->reference.written();
  // A new agent believes no runtime that says itself that it is not ready.
  const bool forgotten = world_.runtime_up && !IsActive("is not ready") && !image.present && world_.Has(name);
  auto unseen = unseen_.try_emplace(name, kUnseen).first;
  if (auto time = unseen->second.See(forgotten, now)) Say(name + " is here, and unseen for " + In(*time));
  LookAtTries(image);
  LookAtCause(image, now);
  auto untold = untold_.try_emplace(name, kNotShown).first;
  if (auto time = untold->second.See(HasFailedWithoutAWord(image), now))
    Say(name + " has failed, and nothing is said of it for " + In(*time));
  if (image.phase != plan::Phase::kFailing) return;
  if (!MayBeTheCause(image))
    Say(name + " fails for " + std::string(base::EnumName(image.reason)) + ", which nothing has caused");
  if (image.message.empty()) Say(name + " fails without a word");
}

// With one fault alone: each image that it keeps from being usable gives it as the reason.
void Observer::LookAtCause(const plan::ImageState& image, base::TimePoint now) {
  if (schedule_.faults.size() != 1) return;
  const PlannedFault& fault = schedule_.faults[0];
  const FaultKind& kind = kinds_[fault.kind];
  const std::string& name = image.desired->reference.written();
  const base::Duration elapsed = world_.node.Elapsed();
  const bool is_of_image = kind.reach != Reach::kNode;  // others of its registry have their own states
  const std::string hit_one = kind.only != nullptr ? kind.only : world_.images()[fault.image];
  if (!kind.shows || ((is_of_image || kind.only != nullptr) && name != hit_one)) return;
  const bool hit = elapsed >= fault.from && elapsed < fault.to && !world_.IsUsable(name) &&
                   (!kind.is_of_what_is_here || world_.Has(name));
  auto unsaid = unsaid_.try_emplace(name, *kind.shows).first;
  // How a pull ends that runs is not known.
  const bool runs = image.reason == Reason::kPulling || image.reason == Reason::kUnpacking;
  if (auto time = unsaid->second.See(hit && !runs && kind.causes.count(image.reason) == 0, now))
    Say(name + " is not usable, and for " + In(*time) + " its reason is " +
        std::string(base::EnumName(image.reason)));
}

void Observer::LookAtTries(const plan::ImageState& image) {
  auto wrong = retries_.See(image);
  if (!wrong || Has("clock")) return;  // which makes the status's times worthless
  // Without its credentials an image is denied, or hidden, and tried again once there are others.
  const bool denied =
      wrong->find("AccessDenied") != std::string::npos || wrong->find("NotFound") != std::string::npos;
  if (!denied || !(Has("plugin") || Has("docker config")))
    Say(image.desired->reference.written() + " " + *wrong);
}

bool Observer::Has(std::string_view part) const {
  return std::any_of(schedule_.faults.begin(), schedule_.faults.end(),
                     [&](const PlannedFault& fault) { return kinds_[fault.kind].part == part; });
}

bool Observer::IsActive(const std::string& manner) const {
  const base::Duration elapsed = world_.node.Elapsed();
  return std::any_of(schedule_.faults.begin(), schedule_.faults.end(), [&](const PlannedFault& fault) {
    return kinds_[fault.kind].manner == manner && elapsed >= fault.from &&
           elapsed <= fault.to + kRuntimeUnseen;
  });
}

bool Observer::Reaches(const PlannedFault& fault, const std::string& name) const {
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
bool Observer::HasFailedWithoutAWord(const plan::ImageState& image) const {
  if (schedule_.faults.size() != 1 || image.present || image.phase == plan::Phase::kFailing) return false;
  if (image.pull.state == plan::PullState::kPulling || !image.pull.finished_at) return false;
  const PlannedFault& fault = schedule_.faults[0];
  const base::Duration elapsed = world_.node.Elapsed();
  return kinds_[fault.kind].fails_each_try &&
         world_.images()[fault.image] == image.desired->reference.written() &&
         elapsed > fault.from + kNotShown && elapsed <= fault.to;
}

// Returns whether the cause may be a fault that lasts, or whose next try is not due (another may delay it).
bool Observer::MayBeTheCause(const plan::ImageState& image) const {
  const base::Duration elapsed = world_.node.Elapsed();
  return std::any_of(schedule_.faults.begin(), schedule_.faults.end(), [&](const PlannedFault& fault) {
    const std::string& name = image.desired->reference.written();
    // The runtime has said that it is here.
    const bool went_unseen = image.reason == Reason::kRuntimeError && world_.WentUnseen(name);
    return Reaches(fault, name) && (went_unseen || kinds_[fault.kind].causes.count(image.reason) != 0) &&
           elapsed >= fault.from && elapsed <= EndOf(fault);
  });
}

// A 429 for one image holds all of its registry, and each keeps its own reason meanwhile.
base::Duration Observer::EndOf(const PlannedFault& fault) const {
  base::Duration end = fault.to + kinds_[fault.kind].recovers;
  for (const PlannedFault& other : schedule_.faults) {
    if (other.from <= end) end = std::max(end, other.to + kinds_[other.kind].recovers);
  }
  return end;
}

}  // namespace prefetch::tests::faults
