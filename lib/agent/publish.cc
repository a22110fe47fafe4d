// Publishes Snapshots.
#include <chrono>
#include <utility>

#include "agent/agent.h"
#include "agent/gc_outlook.h"
#include "base/log.h"
#include "kubelet/runtime_quirks.h"
#include "plan/disk.h"
#include "plan/readiness.h"

namespace prefetch::agent {
namespace {

// Nothing was published for so long, and nothing is under way: the work of before is over.
constexpr std::chrono::seconds kCalm{5};

}  // namespace

plan::ImageState Agent::Judge(const Entry& entry, base::WallTime wall) const {
  std::optional<plan::Run> run;
  if (const ActiveRun* current = entry.Current()) run = current->run;
  return plan::Judge(
      {.want = entry.want,
       .applies = entry.applies,
       .seen = entry.seen,
       .past = entry.past,
       .action = entry.action,
       .run = run,
       // An unlisted image gets its verdict when a caller asks for it.
       .has_kubelet = entry.on_list && kubelet_,
       .learning = kubelet_ && kubelet_->status().learning,
       .verdicts = entry.verdict.shown,
       .spellings = entry.verdict.shown_spellings,
       .no_room = entry.no_room,
       .waits_for_room = entry.waits_for_room,
       .room_needed = plan::ReservationOfDue(entry.past.room).least,
       .disk = pulls_->disk(),
       .limits = pulls_->limits(),
       .refresh = checks_.Asks(entry) ? &entry.refresh : nullptr,
       .freshness = &*entry.fresh,
       .held = entry.held,
       .looking_up = look_ups_.StateOf(*entry.want, loop_.now()).state == plan::LookupState::kUnderWay,
       .touch = entry.touched},
      loop_.now(), wall);
}

void Agent::ShowImages(plan::Snapshot& snapshot) const {
  snapshot.images.reserve(entries_.listed().size());
  for (const Entry& entry : entries_.listed()) {
    snapshot.images.push_back(Judge(entry, snapshot.time));
    snapshot.disk.pressure = snapshot.disk.pressure || entry.no_room;
    if (entry.applies && !entry.seen.local) snapshot.disk.needed_bytes += pulls_->StillNeeds(entry);
  }
  for (const Entry& entry : entries_.asked()) {
    snapshot.asked.push_back({Judge(entry, snapshot.time), entry.asked_at});
  }
}

void Agent::ShowProblems(plan::Snapshot& snapshot) const {
  snapshot.problems = credentials_.problems;
  snapshot.providers_not_given = credentials_.not_given;
  const std::vector<std::string>& stale = runtime_.stale_mounts();
  snapshot.problems.insert(snapshot.problems.end(), stale.begin(), stale.end());
  if (kubelet_) {
    snapshot.problems.insert(snapshot.problems.end(), kubelet_->problems().begin(),
                             kubelet_->problems().end());
  }
  for (const auto& [of, problem] : troubles_) snapshot.problems.push_back(problem);
  if (options_.touch && !touching_) {
    snapshot.problems.emplace_back(
        "--touch needs an API server, and none is reachable from here: the agent touches nothing");
  }
}

void Agent::Publish() {
  auto snapshot = std::make_shared<plan::Snapshot>();
  const plan::RuntimeStatus& runtime = runtime_.status();
  const plan::DiskSpace& disk = pulls_->disk();
  snapshot->node = options_.node;
  snapshot->time = loop_.Wall();
  snapshot->turned_at = loop_.now();
  snapshot->list.hash = list_->hash;
  snapshot->list.sources = list_->sources;
  snapshot->list.warnings = list_->warnings;
  snapshot->runtime = runtime;
  if (!runtime.up) snapshot->runtime.error = plan::WithPullsUnderWay(runtime.error, entries_.Pulls());
  snapshot->disk = {.known = disk.known,
                    .path = pulls_->disk_path(),
                    .capacity_bytes = disk.capacity_bytes,
                    .available_bytes = disk.available_bytes,
                    .kept_free_bytes = plan::KeptFree(disk, pulls_->limits())};
  ShowImages(*snapshot);
  if (kubelet_) {
    snapshot->kubelet = kubelet_->status();
    snapshot->kubelet->runtime_note = kubelet::WhyRecordsNeverMatch(runtime.name, runtime.version);
    snapshot->possible_kubelets = kubelet_->possible();
  }
  snapshot->registries = checks_.InUse();
  snapshot->unlisted = runtime_.unlisted();
  ShowProblems(*snapshot);
  AddGcOutlook(*snapshot);
  snapshot->readiness = plan::Summarize({.list = *list_,
                                         .list_loaded = list_epoch_ > 0,
                                         .runtime_up = runtime.up,
                                         .runtime_ever_up = runtime_.ever_up(),
                                         .runtime_down_for = runtime_.DownFor(),
                                         .runtime_error = snapshot->runtime.error,
                                         .has_kubelet = kubelet_ != nullptr,
                                         .credentials_error = credentials_.unusable_provider_config},
                                        snapshot->images);
  if (snapshot->readiness.ready != was_ready_) {
    was_ready_ = snapshot->readiness.ready;
    if (was_ready_) metrics_.ReadyAfter(loop_.now() - started_at_);
    base::Info(was_ready_ ? "node ready" : "node not ready",
               {{"reason", plan::ReasonName(snapshot->readiness.reason)},
                {"message", snapshot->readiness.message},
                {"hash", list_->hash}});
  }
  board_.Publish(std::move(snapshot));
  published_at_ = loop_.now();
  tidy_at_ = loop_.now() + kCalm;
  loop_.Published();
}

}  // namespace prefetch::agent
