// The Agent's facts: folds each event into the loop's state.
#include <algorithm>
#include <utility>

#include "agent/agent.h"
#include "base/log.h"
#include "plan/requested.h"

namespace prefetch::agent {
void Agent::On(ListChanged event) {
  bool same_hash = list_epoch_ > 0 && event.list->hash == list_->hash;
  std::vector<std::string> known = list_->warnings;
  list_ = std::move(event.list);
  list_epoch_++;
  entries_.Replace(list_);
  look_ups_.Keep([this](const std::string& name) { return entries_.Find(name) != nullptr; });
  checks_.NewDemands();
  pulls_->ListChanged(!same_hash);
  runtime_.PollInFull();
  runtime_.PollNow();
  if (kubelet_) kubelet_->ListChanged();
  loop_.Overstated();  // at once
  for (const std::string& warning : list_->warnings) {
    if (std::count(known.begin(), known.end(), warning) == 0) base::Warn("list", {{"warning", warning}});
  }
  if (!same_hash) {
    base::Info(
        "list in force",
        {{"hash", list_->hash}, {"entries", list_->images.size()}, {"sources", list_->sources.size()}});
  }
}

bool Agent::On(RuntimePolled event) {
  loop_.JobEnded();
  ApplyCredentials(std::move(event.credentials));
  const RuntimeView::News news = runtime_.Absorb(event, list_epoch_, entries_.Pulls());
  if (news.reconnected) pulls_->RuntimeReconnected();
  if (news.answered) pulls_->ApplyPoll(event.sequence, event.look);
  // An unchanged look still measures the room, which matters to waiting pulls.
  const bool same = news.answered && !news.reconnected && event.look.unchanged;
  if (same && event.list_epoch == list_epoch_ && entries_.Quiet()) return false;
  if (!news.tells_entries) return true;
  std::span<Entry> all = entries_.listed();
  for (std::size_t i = 0; i < all.size(); i++) {
    if (event.sequence > all[i].trust_looks_after) {
      ApplyLocal(all[i], std::move(event.look.locals[i]));
    } else {
      runtime_.PollInFull();  // that the next answer is as this one would tell nothing of this entry
    }
  }
  return true;
}

void Agent::ApplyCredentials(credentials::KeyringHealth health) {
  if (health == credentials_) return;
  if (health.changes != credentials_.changes) {
    look_ups_.DropAll();
    for (Entry& entry : entries_.all()) {
      entry.past = plan::AfterNewCredentials(std::move(entry.past), loop_.now());
      if (checks_.Asks(entry)) entry.fresh = plan::AfterNewCredentials(entry.fresh, loop_.now());
    }
    if (touching_) touching_->News(entries_, loop_.now());
  }
  if (health.problems != credentials_.problems) {
    for (const std::string& problem : health.problems) base::Err("credentials", {{"problem", problem}});
    if (health.problems.empty()) base::Info("credentials mended");
  }
  credentials_ = std::move(health);
  loop_.Changed();
}

void Agent::On(ProblemReported event) {
  if (event.problem.empty()) {
    troubles_.erase(event.of);
  } else {
    troubles_.insert_or_assign(std::move(event.of), std::move(event.problem));
  }
  loop_.Changed();
}

void Agent::ApplyLocal(Entry& entry, std::optional<plan::Local> local) {
  bool had = entry.seen.local.has_value();
  if (entry.seen.known && entry.seen.local == local) return;
  loop_.Changed();
  if (had && !local) {
    loop_.Overstated();  // an answer that was given is not true any more
    entry.past = plan::AfterVanished(std::move(entry.past), loop_.now());
    base::Warn("image vanished", {{"image", entry.want->reference.written()},
                                  {"imageRef", entry.seen.local->id},
                                  {"evictedAgainAndAgain", plan::IsEvictedAgainAndAgain(entry.past)}});
  }
  if (local && !had && entry.seen.known) {
    base::Info("image present", {{"image", entry.want->reference.written()}, {"imageRef", local->id}});
  }
  bool replaced = had && local && entry.seen.local->digest != local->digest;
  entry.seen.known = true;
  entry.seen.local = std::move(local);
  if (replaced && checks_.Asks(entry)) {
    entry.fresh = plan::AfterReplacedByOthers(entry.fresh, *entry.seen.local, loop_.now());
  }
  if (kubelet_) kubelet_->ImageChanged(entry);
}

void Agent::On(RecordsTouched event) {
  if (kubelet_) kubelet_->Absorb(std::move(event));  // who tells does not know whether there is one
}

bool Agent::On(KubeletPolled event) {
  loop_.JobEnded();
  const KubeletView::News news = kubelet_->Absorb(std::move(event), list_epoch_);
  if (!news.any) return false;
  const plan::KubeletStatus& status = kubelet_->status();
  pulls_->UseThreshold(status.gc ? status.gc->low_percent : 0);
  if (!touching_) return true;
  if (news.restarted) touching_->KubeletRestarted(entries_, loop_.now());
  if (news.settings) touching_->News(entries_, loop_.now());
  return true;
}

void Agent::On(PullDone event) {
  loop_.JobEnded();
  pulls_->Absorb(std::move(event));
}

void Agent::On(const ProgressSeen& event) {
  loop_.JobEnded();
  pulls_->Absorb(event);
}

void Agent::On(const SizeReceived& event) {
  loop_.JobEnded();
  pulls_->Absorb(event);
}

void Agent::On(const LeasesUpdated& event) {
  loop_.JobEnded();
  pulls_->Absorb(event);
}

void Agent::On(const CheckDone& event) {
  loop_.JobEnded();
  if (std::optional<RegistryHold> hold = checks_.Absorb(event)) pulls_->Hold(*hold);
}

void Agent::On(TouchAdvanced event) {
  loop_.JobEnded();
  touching_->Absorb(std::move(event.report), entries_, loop_.now(), loop_.Wall());
}

void Agent::On(const LookupFinished& event) {
  loop_.Changed();
  if (look_ups_.Absorb(event, loop_.now())) metrics_.CredentialsFound(*event.lookup);
}

void Agent::On(const PullRequested& event) {
  Entry* entry = entries_.Find(event.reference.Normalized());
  if (entry == nullptr) {
    entry = entries_.Ask(event.reference, loop_.now());
    if (entry == nullptr) return;  // who waits asks again
    base::Info("pull asked for", {{"image", event.reference.written()}});
  }
  entry->asked_at = std::max(entry->asked_at, event.looked_at);
  entry->asked_until = loop_.now() + plan::kAskedFor;
  loop_.Changed();
  // It came, and was gone again when it was looked at; for entries of the list looks tell that.
  if (entry->on_list || !entry->seen.local || entry->past.pulled_at >= event.looked_at) return;
  entry->seen.local.reset();
  entry->past = plan::AfterVanished(std::move(entry->past), loop_.now());
}

}  // namespace prefetch::agent
