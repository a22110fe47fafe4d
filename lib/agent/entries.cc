#include "agent/entries.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/check.h"

namespace prefetch::agent {
namespace {

// True if the new list changes when the registry is asked, or what its answers mean. Other fields leave
// planned checks alone.
bool HasOtherRegistryQuestion(const plan::DesiredImage& was, const plan::DesiredImage& is) {
  return was.refresh != is.refresh || was.ready_for != is.ready_for ||
         was.refresh_interval != is.refresh_interval || was.max_age != is.max_age ||
         was.on_unreachable != is.on_unreachable || was.on_access_denied != is.on_access_denied ||
         was.on_tag_missing != is.on_tag_missing || was.on_stale != is.on_stale;
}

// Does the new list say the same about the image? Its place in the file does not count, nor does `pin`, which
// concerns no pull.
bool HasSameDemand(const plan::DesiredImage& was, const plan::DesiredImage& is) {
  return !HasOtherRegistryQuestion(was, is) && plan::HaveSamePods(was, is) && was.sources == is.sources &&
         was.required == is.required && was.also_for_never == is.also_for_never &&
         was.priority == is.priority && was.open == is.open && was.pull_timeout == is.pull_timeout &&
         was.pull_windows == is.pull_windows && was.nodes == is.nodes && was.other_nodes == is.other_nodes &&
         was.for_any_pod == is.for_any_pod;
}

}  // namespace

plan::Selection Entries::SelectionOf(const plan::DesiredImage& desired) const {
  return plan::SelectionOf(desired, node_, labels_.labels ? &*labels_.labels : nullptr);
}

bool Entries::SetLabels(plan::ObservedLabels labels) {
  thread_.Check();
  labels_ = std::move(labels);
  bool changed = false;
  for (Entry& entry : listed()) {
    const plan::Selection selection = SelectionOf(*entry.desired);
    if (selection == entry.selection) continue;
    changed = true;
    entry.selection = selection;
    entry.desired_changed = true;  // its registry is asked only while the entry applies
  }
  return changed;
}

std::size_t Entries::CountUnselected() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      listed(), [](const Entry& entry) { return entry.selection == plan::Selection::kLabelsUnknown; }));
}

// The new vector has the order of the new list, since answers of the runtime are matched to entries by that
// index (Agent::ApplyPoll). Facts and running pulls move over by name, so that an edit of the list
// repeats no pull.
void Entries::Replace(const std::shared_ptr<const plan::ImageList>& list) {
  thread_.Check();
  std::vector<Entry> entries;
  entries.reserve(list->images.size());
  for (const plan::DesiredImage& desired : list->images) {
    Entry entry;
    if (Entry* known = Find(desired.reference.Normalized())) {
      entry = *known;  // which keeps its name, to be found by
      known->on_list = true;
      // The copy owns the runs now. Clearing them here keeps the loop below, which stops the runs of removed
      // entries, from cancelling a pull that goes on.
      known->runs.clear();
      // No retry is due before the list changes, for reasons such as a reference that cannot be parsed. This
      // is that change.
      const bool ends_backoff =
          entry.history.not_before == base::TimePoint::max() || !HasSameDemand(entry.desired, desired);
      if (ends_backoff)
        entry.history.not_before = std::min(entry.history.not_before, entry.history.retry_after_until);
      if (!plan::HaveSamePods(entry.desired, desired)) {
        entry.verdict = plan::AfterNewList(std::move(entry.verdict), entry.desired, desired);
        entry.touch_history = {};  // the abandoned touch may have been for a pod that is gone
      }
    }
    // An earlier change may not have been processed yet, so it must not be overwritten.
    entry.desired_changed = entry.desired_changed || HasOtherRegistryQuestion(entry.desired, desired);
    entry.desired = base::Shared(std::shared_ptr<const plan::DesiredImage>(list, &desired));
    entry.on_list = true;
    entry.selection = SelectionOf(desired);
    entries.push_back(std::move(entry));
  }
  listed_ = entries.size();
  entries_.swap(entries);
  // The entries left in the old vector are on no list: either only preflights asked for them, and they stay
  // behind the list's entries, or the new list has dropped them.
  for (Entry& gone : entries) {
    if (!gone.on_list) {
      entries_.push_back(std::move(gone));
      continue;
    }
    for (ActivePull& run : gone.runs) {
      run.Cancel(CancelReason::kRemovedFromList);
      // The runtime ends a cancelled pull later. Until then its lease is in use and must not be deleted.
      removed_runs_.push_back(std::move(run));
    }
  }
  RebuildIndex();
}

Entry* Entries::Request(const image::Reference& reference, base::TimePoint now) {
  thread_.Check();
  if (entries_.size() - listed_ >= plan::kMaxRequestedImages) {
    // Takes the place of a request that no client waits for; its result is forgotten.
    auto over =
        std::find_if(entries_.begin() + static_cast<std::ptrdiff_t>(listed_), entries_.end(),
                     [now](const Entry& one) { return one.runs.empty() && one.requested_until <= now; });
    if (over == entries_.end()) return nullptr;
    entries_.erase(over);
  }
  Entry entry;
  entry.desired = plan::DesiredImage{.reference = reference, .required = false, .for_any_pod = true};
  entry.on_list = false;
  // The preflight has just found the image absent, so the pull need not wait for a poll. Polls cover the
  // list's entries only.
  entry.observed.known = true;
  entries_.push_back(std::move(entry));
  RebuildIndex();
  return &entries_.back();
}

bool Entries::ForgetRequested(base::TimePoint now) {
  thread_.Check();
  auto first = entries_.begin() + static_cast<std::ptrdiff_t>(listed_);
  auto forgotten = std::remove_if(first, entries_.end(), [now](const Entry& entry) {
    return entry.runs.empty() && plan::ForgetRequestedAt(entry.history, entry.requested_until) <= now;
  });
  if (forgotten == entries_.end()) return false;
  entries_.erase(forgotten, entries_.end());
  RebuildIndex();
  return true;
}

// The index sorts positions instead of holding copies of names or pointers: entries move when vectors grow,
// and thousands of names would be held twice.
void Entries::RebuildIndex() {
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::ranges::sort(by_name_, {}, [this](std::size_t at) -> const std::string& { return all()[at].name(); });
}

Entry* Entries::Find(const std::string& name) {
  thread_.Check();
  auto found = std::ranges::lower_bound(
      by_name_, name, {}, [this](std::size_t at) -> const std::string& { return all()[at].name(); });
  return found == by_name_.end() || entries_[*found].name() != name ? nullptr : &entries_[*found];
}

std::optional<ActivePull> Entries::TakeRun(const std::string& name, std::uint64_t run) {
  thread_.Check();
  auto take = [run](std::vector<ActivePull>& from) -> std::optional<ActivePull> {
    auto found = std::ranges::find(from, run, &ActivePull::id);
    if (found == from.end()) return std::nullopt;
    std::optional<ActivePull> taken(std::move(*found));
    from.erase(found);
    return taken;
  };
  if (Entry* entry = Find(name)) {
    if (auto taken = take(entry->runs)) return taken;
  }
  // The entry may be gone, or may have come back with a later list: its earlier run is then among those that
  // are leaving.
  return take(removed_runs_);
}

std::set<std::string> Entries::Registries() const {
  std::set<std::string> registries;
  for (const Entry& entry : all()) registries.insert(entry.desired->reference.domain());
  return registries;
}

// Includes cancelled runs whose call has not returned: the runtime may still write under their leases.
std::set<std::string> Entries::LeasesInUse() const {
  thread_.Check();
  std::set<std::string> leases;
  auto add = [&leases](const std::vector<ActivePull>& runs) {
    for (const ActivePull& run : runs) {
      if (!run.lease.empty()) leases.insert(run.lease);
    }
  };
  for (const Entry& entry : entries_) add(entry.runs);
  add(removed_runs_);
  return leases;
}

bool Entries::HasRuns() const {
  return std::ranges::any_of(all(), [](const Entry& entry) { return !entry.runs.empty(); });
}

std::size_t Entries::Pulls() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(all(), [](const Entry& entry) { return entry.Current() != nullptr; }));
}

// A quiet loop may ignore a poll without news (Agent::ApplyPoll). An entry that waits for room or for
// its registry is not quiet, since the poll's figures may let it start.
bool Entries::IsIdle() const {
  return std::ranges::all_of(all(), [](const Entry& entry) {
    return entry.runs.empty() && entry.action.kind == plan::ActionKind::kKeep && !entry.no_disk_space &&
           !entry.hold;
  });
}

bool Entries::Settled() const {
  return std::ranges::all_of(listed(), [this](const Entry& entry) {
    if (entry.selection == plan::Selection::kLabelsUnknown) return !labels().pending;
    return !entry.applies() || entry.history.settled;
  });
}

}  // namespace prefetch::agent
