#include "sim/fleet.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace prefetch::sim {
namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kRoundTrip{100};
constexpr const char* kRegistry = "r.io";

}  // namespace

Fleet::Fleet(FleetOptions options)
    : options_(std::move(options)),
      uplink_(options_.registry_rate, options_.node_rate / options_.limits.parallel_pulls),
      seeded_(static_cast<std::size_t>(options_.tags)) {
  nodes_.resize(static_cast<std::size_t>(options_.nodes));
  for (Node& node : nodes_) node.tags.resize(static_cast<std::size_t>(options_.tags));
}

void Fleet::NewTagsAt(base::Duration at, int tags) {
  happenings_.push({Time(at), Kind::kNewTags, 0, tags});
}

void Fleet::StartWarm() {
  Begin(true);
}
void Fleet::StartCold() {
  Begin(false);
}

void Fleet::Begin(bool warm) {
  seeded_.assign(seeded_.size(), warm);
  for (std::size_t i = 0; i < nodes_.size(); i++) {
    Node& node = nodes_[i];
    node.first_pulls_at = now_ + std::chrono::duration_cast<base::Duration>(
                                     std::chrono::duration<double>(options_.limits.start_jitter) * Random());
    node.missing = warm ? 0 : options_.tags;
    node.ready_at = now_;
    for (Tag& tag : node.tags) {
      tag.present = warm;
      if (!warm) tag.past = std::make_unique<plan::History>();
    }
    TurnAt(static_cast<int>(i), now_);
  }
}

bool Fleet::Down() const {
  return std::any_of(outages_.begin(), outages_.end(), [this](const auto& outage) {
    return now_ >= Time(outage.first) && now_ < Time(outage.second);
  });
}

bool Fleet::Admit() {
  auto second = static_cast<std::size_t>(std::chrono::duration_cast<seconds>(now_ - start_).count());
  if (load_.size() <= second) load_.resize(second + 1);
  Second& current = load_[second];
  current.requests++;
  bool over = options_.allowed_per_second > 0 && current.requests > options_.allowed_per_second;
  current.refused += over ? 1U : 0U;
  return !over;
}

RegistryAnswer Fleet::Answer() {
  if (Down()) return {.kind = RegistryAnswerKind::kUnreachable, .requests = 1};
  if (!Admit()) return {.kind = RegistryAnswerKind::kRateLimited, .requests = 1};
  return {.kind = RegistryAnswerKind::kSame, .digest = here_.digest, .requests = 1};
}

void Fleet::TurnAt(int node, base::TimePoint at) {
  base::TimePoint& planned = nodes_[static_cast<std::size_t>(node)].next_turn;
  if (at >= planned) return;
  planned = at;
  happenings_.push({at, Kind::kTurn, node, 0});
}

void Fleet::StartPulls(int index, base::TimePoint& next) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  plan::ScheduleInput input;
  input.registries[kRegistry] = node.health;
  bool settled = true;
  for (std::size_t i = 0; i < node.tags.size(); i++) {
    const Tag& tag = node.tags[i];
    if (tag.present) continue;
    settled = settled && tag.past->settled;
    plan::PullCandidate slot{
        .entry = i, .registry = kRegistry, .content = "", .failures = tag.past->failures};
    if (tag.busy) {
      input.running.push_back(std::move(slot));
      continue;
    }
    base::TimePoint not_before = std::max(tag.past->not_before, node.first_pulls_at);
    if (not_before > now_) {
      next = std::min(next, not_before);
    } else {
      input.due.push_back(std::move(slot));
    }
  }
  input.settled = settled;
  plan::ScheduleOutput output = plan::Schedule(input, options_.limits, now_);
  next = std::min(next, output.next_turn_at);
  for (std::size_t i : output.start) {
    node.tags[i].busy = true;
    happenings_.push({now_ + kRoundTrip, Kind::kPullEnds, index, static_cast<int>(i)});
  }
}

void Fleet::StartChecks(int index, base::TimePoint& next) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  std::vector<plan::CheckCandidate> slots;
  std::optional<plan::CheckCandidate> probe;
  for (std::size_t i = 0; i < node.tags.size(); i++) {
    Tag& tag = node.tags[i];
    if (!tag.present || tag.busy) continue;
    tag.fresh = plan::PlanFirstCheck(std::move(tag.fresh), options_.desired, now_, Random());
    plan::CheckCandidate slot{.entry = i,
                              .registry = kRegistry,
                              .due = tag.fresh.next_check,
                              .urgent = plan::ReadinessNeedsAnswers(options_.desired)};
    next = std::min(next, std::max(slot.due, now_ + milliseconds(1)));
    if (slot.due <= now_) {
      slots.push_back(std::move(slot));
    } else if (node.pace.probing && now_ >= node.pace.held_until && (!probe || slot.due < probe->due)) {
      probe = std::move(slot);
    }
  }
  if (node.pace.probing) next = std::min(next, std::max(node.pace.held_until, now_ + seconds(1)));
  if (probe) slots.push_back(*std::move(probe));
  if (slots.empty()) return;
  plan::ChecksToStart checks = plan::ScheduleChecks(std::move(slots), {{kRegistry, node.pace}}, now_);
  next = std::min(next, checks.next_turn_at);
  for (std::size_t i : checks.skipped) {
    Tag& tag = node.tags[i];
    tag.fresh = plan::AfterSkippedCheck(std::move(tag.fresh), options_.desired,
                                        plan::AnswerWhileHeld(node.pace), {now_, {}}, Random());
  }
  for (std::size_t i : checks.start) {
    node.tags[i].busy = true;
    node.pace = plan::AfterStart(std::move(node.pace), now_);
    happenings_.push({now_ + kRoundTrip, Kind::kCheckEnds, index, static_cast<int>(i)});
  }
}

// The part of an agent's turn that concerns registries.
void Fleet::Turn(int index) {
  base::TimePoint next = base::TimePoint::max();
  StartPulls(index, next);
  StartChecks(index, next);
  nodes_[static_cast<std::size_t>(index)].next_turn = base::TimePoint::max();
  if (next != base::TimePoint::max()) TurnAt(index, std::max(next, now_ + milliseconds(50)));
}

void Fleet::EndCheck(int index, int tag_index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  Tag& tag = node.tags[static_cast<std::size_t>(tag_index)];
  tag.busy = false;
  RegistryAnswer answer = Answer();
  node.pace = plan::AfterCheck(std::move(node.pace), answer, now_, {}, Random());
  if (answer.kind == RegistryAnswerKind::kRateLimited) {
    node.health = plan::AfterRegistryFailure(node.health, plan::Reason::kRateLimited, {}, now_, Random());
  }
  if (!tag.present) return;
  tag.fresh = plan::AfterAnswer(std::move(tag.fresh), options_.desired, here_, answer, {now_, {}}, Random());
}

void Fleet::EndPull(int index, int tag_index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  Tag& tag = node.tags[static_cast<std::size_t>(tag_index)];
  tag.busy = false;
  if (tag.present) return;
  const bool from_peer = options_.peers && seeded_[static_cast<std::size_t>(tag_index)];
  if (from_peer) return Transfer(index, tag_index);
  std::optional<plan::Reason> failed;
  if (Down()) failed = plan::Reason::kUnreachable;
  for (int i = 0; i < options_.requests_per_pull && !failed; i++) {
    if (!Admit()) failed = plan::Reason::kRateLimited;
  }
  if (failed) {
    bool limited = failed == plan::Reason::kRateLimited;
    *tag.past = plan::AfterFailure(std::move(*tag.past), {.reason = *failed}, now_, Random());
    node.health = plan::AfterRegistryFailure(node.health, *failed, {}, now_, Random());
    if (limited) node.pace = plan::AfterPullThrottled(std::move(node.pace), node.health.not_before);
    return;
  }
  node.health = {};
  Transfer(index, tag_index);
}

void Fleet::Transfer(int index, int tag_index) {
  if (options_.image_bytes <= 0) return IsHere(index, tag_index);
  Tag& tag = nodes_[static_cast<std::size_t>(index)].tags[static_cast<std::size_t>(tag_index)];
  tag.busy = true;
  if (!options_.peers || !seeded_[static_cast<std::size_t>(tag_index)])
    return uplink_.Begin({index, tag_index}, options_.image_bytes, now_);
  const std::chrono::duration<double> takes(options_.image_bytes * options_.limits.parallel_pulls /
                                            options_.node_rate);
  happenings_.push(
      {now_ + std::chrono::duration_cast<base::Duration>(takes), Kind::kTransferEnds, index, tag_index});
}

void Fleet::IsHere(int index, int tag_index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  Tag& tag = node.tags[static_cast<std::size_t>(tag_index)];
  tag.busy = false;
  tag.present = true;
  tag.past.reset();
  seeded_[static_cast<std::size_t>(tag_index)] = true;
  if (--node.missing == 0) node.ready_at = now_;
  tag.fresh =
      plan::AfterPulled(std::move(tag.fresh), options_.desired, std::nullopt, here_, {now_, {}}, Random());
}

void Fleet::ChangeList(int tags) {
  list_since_ = now_;
  for (int t = 0; t < tags; t++) seeded_[static_cast<std::size_t>(t)] = false;
  for (std::size_t i = 0; i < nodes_.size(); i++) {
    Node& node = nodes_[i];
    node.first_pulls_at = now_ + std::chrono::duration_cast<base::Duration>(
                                     std::chrono::duration<double>(options_.limits.start_jitter) * Random());
    for (int t = 0; t < tags; t++) {
      Tag& tag = node.tags[static_cast<std::size_t>(t)];
      node.missing += tag.present ? 1 : 0;
      tag.present = false;
      tag.fresh = {};
      tag.past = std::make_unique<plan::History>();
    }
    TurnAt(static_cast<int>(i), now_);
  }
}

base::TimePoint Fleet::NextAt() const {
  const base::TimePoint happening = happenings_.empty() ? base::TimePoint::max() : happenings_.top().at;
  return std::min(happening, uplink_.NextEnd().value_or(base::TimePoint::max()));
}

Fleet::Happening Fleet::TakeNext() {
  const base::TimePoint at = NextAt();
  if (!happenings_.empty() && happenings_.top().at == at) {
    const Happening next = happenings_.top();
    happenings_.pop();
    return next;
  }
  const Uplink::Transfer ended = uplink_.End();
  return {at, Kind::kTransferEnds, ended.node, ended.tag};
}

void Fleet::RunUntil(base::Duration end) {
  while (NextAt() < Time(end)) {
    const Happening next = TakeNext();
    now_ = next.at;
    switch (next.kind) {
      case Kind::kTurn:
        if (nodes_[static_cast<std::size_t>(next.node)].next_turn == next.at) Turn(next.node);
        break;
      case Kind::kCheckEnds:
        EndCheck(next.node, next.tag);
        TurnAt(next.node, now_);
        break;
      case Kind::kPullEnds:
        EndPull(next.node, next.tag);
        TurnAt(next.node, options_.image_bytes > 0 ? now_ : now_ + options_.pull_time);
        break;
      case Kind::kTransferEnds:
        IsHere(next.node, next.tag);
        TurnAt(next.node, now_);
        break;
      case Kind::kNewTags:
        ChangeList(next.tag);
        break;
    }
  }
  now_ = Time(end);
}

std::optional<base::Duration> Fleet::ReadyAfter(double part) const {
  std::vector<base::Duration> times;
  for (const Node& node : nodes_) {
    if (node.missing == 0) times.push_back(std::max(base::Duration(0), node.ready_at - list_since_));
  }
  const auto which = static_cast<std::size_t>(part * static_cast<double>(nodes_.size() - 1));
  if (which >= times.size()) return std::nullopt;
  std::sort(times.begin(), times.end());
  return times[which];
}

double Fleet::Present() const {
  double present = 0;
  for (const Node& node : nodes_) {
    present += static_cast<double>(
        std::count_if(node.tags.begin(), node.tags.end(), [](const Tag& tag) { return tag.present; }));
  }
  return present / (options_.nodes * options_.tags);
}

double Fleet::Fresh() const {
  double fresh = 0;
  for (const Node& node : nodes_) {
    for (const Tag& tag : node.tags) {
      bool is = tag.present && plan::DecideRefresh(options_.desired, here_, tag.fresh, now_).fresh;
      fresh += is ? 1 : 0;
    }
  }
  return fresh / (options_.nodes * options_.tags);
}

int NodesFromEnvironment() {
  const char* text = std::getenv("PREFETCH_SIM_NODES");
  auto nodes = text == nullptr ? std::nullopt : base::ParseUint(text);
  return nodes ? static_cast<int>(*nodes) : 200;
}

}  // namespace prefetch::sim
