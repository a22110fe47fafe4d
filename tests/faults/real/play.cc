#include "faults/real/play.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "base/fs.h"
#include "faults/real/readiness_watch.h"
#include "status/documents.h"

namespace prefetch::tests::real_faults {
namespace {

using std::chrono::steady_clock;

// containerd's events tell at once; a verdict is held for 3 s (lib/README.md).
constexpr milliseconds kFalselyReady{3500};
// Time within which a pull may fail for one that another list has cancelled, and is tried again.
constexpr seconds kCancelledPullsShow{10};
// Looks at the status are 300 ms apart, at what the runtime has two seconds, or a tenth while an image is
// away.
constexpr milliseconds kBetweenLooks{300}, kBetweenCounts{2000}, kBetweenLists{100};
// Time limit, once the node is ready, for leases, children and descriptors to go.
constexpr seconds kTidyUp{30};
// Time limit after that for the Node's label: ten seconds lie between two writes, and more after failed
// calls.
constexpr seconds kNodeSays{30};
// Maximum for an agent at rest: its sockets, the runtime's, the watches of its files, and idle connections.
// Its private memory in kB excludes that of a download, which it gives back.
constexpr std::size_t kDescriptors = 48, kThreads = 40, kPrivateKilobytes = 16 * 1024;

std::size_t CountIn(const std::string& folder) {
  std::error_code error;
  std::size_t count = 0;
  for (auto at = std::filesystem::directory_iterator(folder, error); !error && at != std::filesystem::end(at);
       at.increment(error))
    count++;
  return count;
}

// Memory that no other process shares, in kB.
std::size_t PrivateOf(const std::string& process) {
  std::ifstream status(process + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoul(line.substr(8));
  }
  return 0;
}

// Process ids, of plugins for example.
std::string ChildrenOf(const std::string& process) {
  std::string all;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(process + "/task", error)) {
    if (auto pids = base::ReadFile(task.path() / "children", 1 << 16)) all += *pids;
  }
  return all;
}

class Observer {
 public:
  Observer(RealWorld& world, const Schedule& schedule, const std::vector<FaultKind>& kinds)
      : world_(world), schedule_(schedule), kinds_(kinds) {}

  milliseconds Elapsed() const {
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start_);
  }

  // Returns whether each fault leaves the node ready.
  bool StaysReady() const {
    return std::all_of(schedule_.faults.begin(), schedule_.faults.end(),
                       [&](const PlannedFault& fault) { return kinds_[fault.kind].leaves_ready; });
  }

  // True: it is ready, and that is the truth.
  bool Look() {
    const auto now = steady_clock::now();
    for (const std::string& image : world_.TakeRemoved()) absent_.insert_or_assign(image, now);
    if (!world_.has_memory() || world_.agent_is_frozen()) {  // it may have ended, or be about to
      ForgiveUntil(now);
      return false;
    }
    world_.RestartAfterLackOfMemory();
    const bool ready = LookAtReadiness(now);
    if (now >= next_poll_) {
      next_poll_ = now + kBetweenLooks;
      LookAtStatus();
    }
    if (now >= next_count_ && world_.runtime_answers()) {
      next_count_ = now + kBetweenCounts;
      LookAtWhatIsThere();
    }
    return ready;
  }

  void Say(const std::string& what) {
    if (!said_.insert(what).second) return;
    char at[32];
    std::snprintf(at, sizeof at, "at %.1f s: ", std::chrono::duration<double>(Elapsed()).count());
    violations_.push_back(at + what);
  }
  std::vector<std::string> Violations() { return std::move(violations_); }
  bool HasSaid(std::string_view awaited) const {
    return !awaited.empty() && std::any_of(violations_.begin(), violations_.end(), [&](const auto& said) {
      return said.find(awaited) != std::string::npos;
    });
  }

 private:
  void ForgiveUntil(steady_clock::time_point now) {
    for (auto& [image, since] : absent_) since = now;
    for (auto& [image, since] : refused_) since = now;
  }

  bool LookAtReadiness(steady_clock::time_point now) {
    if (watch_.TakeLoss() && StaysReady()) Say("ready no more, though all that is listed is there");
    // Readiness for another list says nothing about this one.
    const std::set<std::string> before = std::exchange(list_, world_.listed());
    const bool other_list = before != list_;
    if (other_list && !before.empty()) list_changed_at_ = now;
    if (!world_.runtime_answers() || other_list) {
      ForgiveUntil(now);
      return false;
    }
    // Before the runtime is asked: an image may come while it answers, or until it is asked again.
    const auto said = watch_.SaidReady();
    if (!absent_.empty()) {
      if (now < next_list_) return false;
      next_list_ = now + kBetweenLists;
      const std::set<std::string> there = world_.node().containerd().Names();
      std::erase_if(absent_, [&](const auto& image) { return there.contains(image.first); });
    }
    std::erase_if(refused_, [&](const auto& image) { return world_.refused().count(image.first) == 0; });
    for (const std::string& image : world_.refused()) refused_.try_emplace(image, now);
    const auto is_wrong = [&](const auto& image) { return world_.listed().count(image.first) != 0; };
    const auto too_long = [&](const auto& image) {
      return is_wrong(image) && said && *said > image.second + kFalselyReady;
    };
    for (const auto& image : absent_) {
      if (too_long(image)) Say("ready, and " + image.first + " is not there");
    }
    for (const auto& image : refused_) {
      if (too_long(image)) Say("ready, and kubelet refuses " + image.first);
    }
    if (std::any_of(absent_.begin(), absent_.end(), is_wrong)) return false;
    if (std::any_of(refused_.begin(), refused_.end(), is_wrong)) return false;
    return watch_.IsReady();
  }

  void LookAtStatus() {
    const auto answer = world_.node().Get("/v1/status");
    auto document = status::ParseStatusDocument(answer.body);
    // It may be about to exit; the next look starts another.
    const auto exits = [&] { return world_.exited_after_lack_of_memory(); };
    if (!document && rig::Eventually(seconds(2), exits)) return;
    if (!document) {
      Say("its status cannot be read: " + answer.body.substr(0, 200));
      return;
    }
    for (const status::StatusImage& image : document->images) {
      LookAtCause(image);
      if (image.phase != plan::Phase::kFailing) continue;
      if (image.message.empty()) Say(image.image + " fails without a word");
      if (!MayBeTheCause(image))
        Say(image.image + " fails for " + image.reason.text() +
            ", which nothing has caused: " + image.message);
    }
  }

  // With one fault alone, the images that it keeps from coming give it as their reason.
  void LookAtCause(const status::StatusImage& image) {
    if (schedule_.faults.size() != 1) return;
    const PlannedFault& fault = schedule_.faults[0];
    const FaultKind& kind = kinds_[fault.kind];
    const milliseconds elapsed = Elapsed();
    const bool under_way =
        image.pull.state == plan::PullState::kPulling || image.pull.state == plan::PullState::kUnpacking;
    const bool hit = kind.shows && Reaches(fault, image.image) && !image.present && !under_way &&
                     elapsed >= fault.from && elapsed < fault.to &&
                     kind.reasons.count(image.reason.text()) == 0;
    if (!hit) {
      unsaid_since_.erase(image.image);
      return;
    }
    const milliseconds since = unsaid_since_.try_emplace(image.image, elapsed).first->second;
    if (elapsed - since > *kind.shows)
      Say(image.image + " does not come, and its reason is " + image.reason.text() + ": " + image.message);
  }

  // An image that was there stays, unless the test removes it.
  void LookAtWhatIsThere() {
    const std::set<std::string> there = world_.node().containerd().Names();
    for (const std::string& image : world_.images()) {
      const bool has = there.contains(image);
      if (seen_.count(image) != 0 && !has && absent_.count(image) == 0 && world_.runtime_answers())
        Say(image + " was there, and has gone");
      has ? (void)seen_.insert(image) : (void)seen_.erase(image);
    }
  }

  bool Reaches(const PlannedFault& fault, const std::string& image) const {
    switch (kinds_[fault.kind].reach) {
      case Reach::kNode:
        return true;
      case Reach::kRegistry:
        return world_.IsClosed(image) == world_.IsClosed(world_.images()[fault.image]);
      case Reach::kLogins:
        return world_.IsClosed(image);
      case Reach::kImage:
        return image == world_.images()[fault.image];
    }
    std::abort();
  }

  // Returns whether the cause may be a fault that lasts, or whose next try is not due (another may delay it).
  bool MayBeTheCause(const status::StatusImage& image) const {
    // Another list cancels pulls. containerd skips a layer that such a pull has unpacked, but adds it to no
    // lease (unpacker.go of 1.6), so its garbage collection may take it before the layer above comes.
    if (image.reason == plan::Reason::kUnpackFailed &&
        image.message.find("parent snapshot") != std::string::npos &&
        steady_clock::now() - list_changed_at_ < kCancelledPullsShow)
      return true;
    const milliseconds elapsed = Elapsed();
    return std::any_of(schedule_.faults.begin(), schedule_.faults.end(), [&](const PlannedFault& fault) {
      return Reaches(fault, image.image) && kinds_[fault.kind].reasons.count(image.reason.text()) != 0 &&
             elapsed >= fault.from && elapsed <= EndOf(fault);
    });
  }

  milliseconds EndOf(const PlannedFault& fault) const {
    milliseconds end = fault.to + kinds_[fault.kind].recovers;
    for (const PlannedFault& other : schedule_.faults) {
      if (other.from <= end) end = std::max(end, other.to + kinds_[other.kind].recovers);
    }
    return end;
  }

  RealWorld& world_;
  const Schedule& schedule_;
  const std::vector<FaultKind>& kinds_;
  const steady_clock::time_point start_ = steady_clock::now();
  steady_clock::time_point next_poll_, next_count_, next_list_;
  ReadinessWatch watch_{world_.node().socket()};
  std::set<std::string> seen_;                        // images that the runtime had
  std::map<std::string, milliseconds> unsaid_since_;  // by image
  // Images, and since when the agent could have known it: of all, as far as containerd was asked, and those
  // that kubelet refuses.
  std::map<std::string, steady_clock::time_point> absent_, refused_;
  std::set<std::string> list_;  // at the last look
  steady_clock::time_point list_changed_at_;
  std::set<std::string> said_;
  std::vector<std::string> violations_;
};

struct Moment {
  milliseconds at{};
  std::function<void()> act;
};

std::vector<Moment> Moments(RealWorld& world, const Schedule& schedule, const std::vector<FaultKind>& kinds) {
  std::vector<Moment> moments;
  for (const PlannedFault& fault : schedule.faults) {
    const FaultKind& kind = kinds[fault.kind];
    const std::string& image = world.images()[fault.image];
    moments.push_back({fault.from, [&] { kind.begin(world, image); }});
    for (milliseconds at = fault.from + kind.period; kind.tick && at < fault.to; at += kind.period)
      moments.push_back({at, [&] { kind.tick(world, image); }});
    moments.push_back({fault.to, [&] { kind.end(world, image); }});
  }
  std::stable_sort(moments.begin(), moments.end(),
                   [](const Moment& a, const Moment& b) { return a.at < b.at; });
  return moments;
}

void LookAtTheEnd(RealWorld& world, Observer& observer) {
  const auto leases = [&] {
    auto listed = world.node().containerd().Ctr({"leases", "ls"});
    return listed ? *listed : std::string();
  };
  const std::string process = "/proc/" + std::to_string(world.node().agent().pid());
  std::string left;
  const bool tidy = rig::Eventually(kTidyUp, [&] {
    left.clear();
    if (const std::string all = leases(); all.find("prefetchd-") != std::string::npos) left += all;
    if (const std::size_t count = CountIn(process + "/fd"); count > kDescriptors)
      left += " " + std::to_string(count) + " descriptors";
    if (const std::size_t count = CountIn(process + "/task"); count > kThreads)
      left += " " + std::to_string(count) + " threads";
    if (const std::size_t kilobytes = PrivateOf(process); kilobytes > kPrivateKilobytes)
      left += " " + std::to_string(kilobytes) + " kB of memory";
    if (const std::string children = ChildrenOf(process); !children.empty()) left += " children: " + children;
    return left.empty();
  });
  if (!tidy) observer.Say("left behind: " + left);
  if (!rig::Eventually(kNodeSays, [&] { return world.NodeLabel() == "ready"; }))
    observer.Say("the Node does not say that it is ready, but: " + world.NodeLabel());
  const auto allowed =
      static_cast<std::uint64_t>(static_cast<double>(world.BytesOfAll()) * 1.1) + world.destroyed();
  if (world.BytesSent() > allowed)
    observer.Say(std::to_string(world.BytesSent()) + " bytes were fetched, " + std::to_string(allowed) +
                 " would do");
  for (const std::string& problem : world.node().Status().problems)
    observer.Say("still a problem: " + problem);
  if (world.node().AgentLog().find("password-of-the-real-faults") != std::string::npos)
    observer.Say("the log holds a password");
}

// An operator takes what failed for good off the list, and puts it on again.
void Cure(RealWorld& world, const Schedule& schedule, const std::vector<FaultKind>& kinds,
          Observer& observer) {
  const bool is_needed = std::any_of(schedule.faults.begin(), schedule.faults.end(),
                                     [&](const auto& fault) { return kinds[fault.kind].is_for_good; });
  if (!is_needed) return;
  observer.Look();
  const std::set<std::string> all = world.listed();
  for (const status::StatusImage& image : world.node().Status().images) {
    if (!image.ready) world.Unlist(image.image);
  }
  const auto is_taken_off = [&] { return world.node().Status().images.size() == world.listed().size(); };
  EXPECT_TRUE(rig::Eventually(seconds(10), is_taken_off)) << world.node().AgentLog();
  observer.Look();  // it may be ready now, and rightly
  for (const std::string& image : all) world.Relist(image);
}

void Play(RealWorld& world, const Schedule& schedule, const std::vector<FaultKind>& kinds,
          std::string_view awaited, Observer& observer) {
  for (const Moment& moment : Moments(world, schedule, kinds)) {
    while (observer.Elapsed() < moment.at) {
      observer.Look();
      if (observer.HasSaid(awaited)) return;
      rig::Pause();
    }
    moment.act();
    observer.Look();
  }
  Cure(world, schedule, kinds, observer);
  seconds recovers{0};
  for (const PlannedFault& fault : schedule.faults) recovers = std::max(recovers, kinds[fault.kind].recovers);
  const bool recovered =
      rig::Eventually(recovers, [&] { return observer.Look() || observer.HasSaid(awaited); });
  if (observer.HasSaid(awaited)) return;
  if (recovered) {
    LookAtTheEnd(world, observer);
  } else {
    observer.Say("not ready " + std::to_string(recovers.count()) +
                 " s after the last fault: " + world.node().Ctl({"status"}).out);
  }
}

}  // namespace

Schedule MakeSchedule(std::uint64_t seed, std::size_t images) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Schedule schedule{.seed = seed, .distance = seed % 2 == 0 ? Distance::kNear : Distance::kFar, .faults = {}};
  const std::size_t count = 1 + below(3);
  while (schedule.faults.size() < count) {
    PlannedFault fault;
    // Every kind comes as often as another one, whatever the seeds are.
    fault.kind = schedule.faults.empty() ? seed % FaultKinds().size() : below(FaultKinds().size());
    fault.image = below(images);
    fault.from = milliseconds(below(4) != 0 ? below(3000) : 4000 + below(6000));
    fault.to = fault.from + milliseconds(50 + below(below(2) == 0 ? 1500 : 7000));
    const bool is_new = std::none_of(schedule.faults.begin(), schedule.faults.end(),
                                     [&](const PlannedFault& other) { return other.kind == fault.kind; });
    if (is_new) schedule.faults.push_back(fault);
  }
  return schedule;
}

std::string Describe(const Schedule& schedule) {
  std::string text = "seed " + std::to_string(schedule.seed) +
                     (schedule.distance == Distance::kFar ? ", far registries:\n" : ":\n");
  for (const PlannedFault& fault : schedule.faults) {
    const FaultKind& kind = FaultKinds()[fault.kind];
    char times[64];
    std::snprintf(times, sizeof times, " from %.3f s to %.3f s\n",
                  std::chrono::duration<double>(fault.from).count(),
                  std::chrono::duration<double>(fault.to).count());
    text += std::string("  ") + kind.part + " " + kind.manner + " (image " + std::to_string(fault.image) +
            ")" + times;
  }
  return text;
}

Outcome Violations(const Schedule& schedule, const std::vector<FaultKind>& kinds, std::string_view awaited) {
  RealWorld world(schedule.distance);
  Observer observer(world, schedule, kinds);
  Play(world, schedule, kinds, awaited, observer);
  return {observer.Violations(), world.node().AgentLog()};
}

}  // namespace prefetch::tests::real_faults
