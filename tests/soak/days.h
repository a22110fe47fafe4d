// Days in the life of a node, in virtual time: each brings what a long-lived node meets. Nothing of a day is
// left in the evening, so that the agent has no reason to keep anything of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "scenario/node.h"
#include "soak/metric_lines.h"

namespace prefetch::tests::soak {

// The process in the evening, when nothing is under way. It has the node alone:
// the heap has the fakes, too.
struct Evening {
  int day = 0;
  bool ready = false;
  std::size_t heap_bytes = 0;
  std::size_t descriptors = 0, threads = 0;
  std::size_t leases = 0;
  std::size_t log_lines = 0, log_bytes = 0;  // of this day
  MetricLines metric_lines;
  std::size_t status_bytes = 0;
};

class Days {
 public:
  // Without `nights` the machine sleeps from the last happening to midnight: a look each two seconds is most
  // of what a day costs.
  explicit Days(bool nights);

  // The next day, to its end.
  Evening Live();
  Node& node() { return node_; }

 private:
  struct Happening {
    int a_day = 0;
    void (Days::*happens)() = nullptr;
  };
  static const std::vector<Happening>& Happenings();

  void Morning();
  void EveningComes();
  void KubeletCollects();
  Evening Measure();

  void Evict();
  void MoveTag();
  void LoseTag();
  void ExpireToken();
  void PluginHangs();
  void RuntimeRestarts();
  void RuntimeIsUpgraded();
  void RuntimeStops();
  void RegistryIsDown();
  void RegistryLimits();
  void ConnectionsAreCut();
  void KubeletRestarts();
  void PodsPull();
  void UnlistedImagesCome();
  void PreflightAsks();
  void ClockIsSet();
  void DiskFills();
  void ListIsEdited();

  void PushPrivate(FakeImage image);
  void SetList();
  const std::string& Any(const std::vector<std::string>& images);
  std::vector<std::string> Comers(const std::string& kind, int count);

  const bool nights_;
  Node node_;
  std::mt19937_64 random_{7};
  std::vector<std::string> lasting_, today_, unlisted_;
  std::string password_ = "first";
  int day_ = 0, tokens_ = 0, versions_ = 0, comers_ = 0;
};

}  // namespace prefetch::tests::soak
