// Observer: compares the agent's words with the models at every moment, and holds it to what must be true
// whatever goes wrong. It knows no script.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "faults/retries.h"
#include "faults/schedule.h"

namespace prefetch::tests::faults {

// "3.200 s"
std::string In(base::Duration time);

// Something that may be wrong for a while, and no longer.
class Patience {
 public:
  explicit Patience(base::Duration limit) : limit_(limit) {}

  // How long it was wrong, if that was too long; told once each time.
  std::optional<base::Duration> See(bool wrong, base::TimePoint now);
  void Forget();

 private:
  const base::Duration limit_;
  std::optional<base::TimePoint> since_;
  bool told_ = false;
};

class Observer {
 public:
  // All of them outlive it. When the schedule's faults begin and end may change meanwhile.
  Observer(World& world, const Schedule& schedule, const std::vector<FaultKind>& kinds);

  // At every moment.
  void Look();
  // A fault begins or ends: what is tried again now has a reason.
  void Forgive() { retries_.Forgive(); }
  // A rule is broken, so: kept with the time, once.
  void Say(const std::string& what);
  std::vector<std::string> Violations() { return std::move(violations_); }

 private:
  void LookAtReadiness(const plan::Snapshot& snapshot, base::TimePoint now);
  void LookAtRuntime(const plan::Snapshot& snapshot, base::TimePoint now);
  void LookAtImage(const plan::ImageState& image, base::TimePoint now);
  void LookAtCause(const plan::ImageState& image, base::TimePoint now);
  void LookAtTries(const plan::ImageState& image);
  bool Has(std::string_view part) const;
  bool IsActive(const std::string& manner) const;
  bool Reaches(const PlannedFault& fault, const std::string& name) const;
  bool HasFailedWithoutAWord(const plan::ImageState& image) const;
  bool MayBeTheCause(const plan::ImageState& image) const;
  base::Duration EndOf(const PlannedFault& fault) const;

  World& world_;
  const Schedule& schedule_;
  const std::vector<FaultKind>& kinds_;
  base::TimePoint agent_;
  Patience falsely_ready_, runtime_unseen_;
  std::map<std::string, Patience> unseen_, unsaid_, untold_;
  Retries retries_;
  std::set<std::string> said_;
  std::vector<std::string> violations_;
};

}  // namespace prefetch::tests::faults
