// Fleet: nodes that keep a list fresh, in virtual time, by the agent's own decisions and back-off (lib/plan):
// what a registry meets when thousands of nodes start, when it comes back, when the list changes.
//
// The model around them: one registry that allows `allowed_per_second` requests and answers 429 above, a
// round trip, a pull as a few requests and a few seconds, or as bytes over the registry's uplink and the
// node's link. Nodes may be each other's mirrors: an image that one of them has comes from there, its
// manifest too. A node turns when something is due, as the agent's loop does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "plan/decide.h"
#include "plan/registry_pace.h"
#include "plan/schedule.h"
#include "sim/uplink.h"

namespace prefetch::sim {

struct FleetOptions {
  int nodes = 1000;
  int tags = 100;
  double allowed_per_second = 0;  // 0: no limit
  plan::DesiredImage desired;     // of each tag
  plan::Limits limits;
  int requests_per_pull = 4;  // manifests and configuration; layers come from elsewhere
  std::chrono::seconds pull_time{5};
  // 0: pulls take pull_time. Else the rates count, in bytes a second.
  double image_bytes = 0;
  double registry_rate = 0;  // of all nodes; 0: no limit
  double node_rate = 125e6;  // its pulls share it
  bool peers = false;        // P2P mirrors
};

// Requests that the registry counted in one second.
struct Second {
  std::uint32_t requests = 0;
  std::uint32_t refused = 0;  // 429
};

class Fleet {
 public:
  explicit Fleet(FleetOptions options);

  // The registry does not answer in this time.
  void OutageBetween(base::Duration from, base::Duration to) { outages_.push_back({from, to}); }
  // At this time, this number of the list's tags are replaced by others, which no node has.
  void NewTagsAt(base::Duration at, int tags);
  // Nodes that have everything already, and whose agents start now.
  void StartWarm();
  void StartCold();
  void RunUntil(base::Duration end);

  const std::vector<Second>& load() const { return load_; }
  const Uplink& uplink() const { return uplink_; }
  // When a part of the nodes (0.5: half of them) had all of the newest list, since that came; none: not yet.
  std::optional<base::Duration> ReadyAfter(double part) const;
  // Tags that are here, and whose registry agreed lately; of all.
  double Present() const;
  double Fresh() const;

 private:
  struct Tag {
    plan::Freshness fresh;
    std::unique_ptr<plan::History> past;  // while it is absent
    bool present = false;
    bool busy = false;  // asked, or pulled, now
  };
  struct Node {
    std::vector<Tag> tags;
    plan::RegistryPace pace;
    plan::RegistryHealth health;
    base::TimePoint first_pulls_at;
    base::TimePoint next_turn = base::TimePoint::max();
    int missing = 0;  // tags
    base::TimePoint ready_at;
  };
  enum class Kind { kTurn, kCheckEnds, kPullEnds, kTransferEnds, kNewTags };
  struct Happening {
    base::TimePoint at;
    Kind kind;
    int node = 0, tag = 0;
    bool operator>(const Happening& other) const { return at > other.at; }
  };

  base::TimePoint Time(base::Duration since_start) const { return start_ + since_start; }
  double Random() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  bool Down() const;
  // One request: counted, and refused or not.
  bool Admit();
  image::RegistryAnswer Answer();
  void Begin(bool warm);
  void TurnAt(int node, base::TimePoint at);
  void Turn(int node);
  void StartPulls(int node, base::TimePoint& next);
  void StartChecks(int node, base::TimePoint& next);
  void EndCheck(int node, int tag);
  void EndPull(int node, int tag);
  void Transfer(int node, int tag);
  void IsHere(int node, int tag);
  Happening TakeNext();
  base::TimePoint NextAt() const;
  void ChangeList(int tags);

  const FleetOptions options_;
  const base::TimePoint start_{std::chrono::hours(1000)};
  base::TimePoint now_ = start_;
  std::mt19937_64 random_{1};
  const plan::Local here_{.id = "i", .digest = "d"};
  std::vector<Node> nodes_;
  std::vector<std::pair<base::Duration, base::Duration>> outages_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  std::vector<Second> load_;
  Uplink uplink_;
  std::vector<bool> seeded_;  // tags that some node has
  base::TimePoint list_since_ = start_;
};

// $PREFETCH_SIM_NODES, else 200.
int NodesFromEnvironment();

// The load as a picture: requests a second over time, with what is allowed as a line.
std::string LoadCurve(const std::vector<Second>& load, double allowed, const std::string& title);

}  // namespace prefetch::sim
