// Retries: holds the agent to its retry rules (lib/README.md), by the tries of each image that its status
// tells, and by their ends. It knows the rules' least pauses only, so that chance and whatever else puts a
// try off are no matter.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "plan/snapshot.h"

namespace prefetch::tests::faults {

class Retries {
 public:
  // Returns what is wrong with the image's newest try, as a sentence without its subject; nullopt: nothing,
  // or no new try. Call it with each state of the image in a Snapshot.
  std::optional<std::string> See(const plan::ImageState& image);

  // Something has happened after which tries at once are right.
  void Forgive() { bursts_.clear(); }
  // The agent has begun anew, and knows no failure.
  void Forget() { *this = {}; }
  // It is on the list no more.
  void Forget(const std::string& image);

 private:
  struct Failure {
    base::WallTime at;
    plan::Reason reason;
    int in_a_row = 0;  // of failures with a pause of minutes
  };
  struct Hold {
    base::WallTime since, until;
    base::WallTime free_from;  // the end of the one before
    int in_a_row = 0;
  };

  void NoteEnd(const plan::ImageState& image, const std::string& name);
  void NoteLimit(const std::string& registry, base::WallTime at);
  void NoteOtherAnswer(const std::string& registry, base::WallTime at);
  std::optional<std::string> TooSoon(const std::string& name, base::WallTime start) const;
  std::optional<std::string> TooOften(const std::string& name, base::WallTime start);

  std::map<std::string, base::WallTime> started_, ended_;     // by image
  std::map<std::string, Failure> failed_;                     // by image: the newest end, if it was one
  std::map<std::string, Hold> holds_;                         // by registry
  std::map<std::string, std::deque<base::WallTime>> bursts_;  // by image: starts, the newest last
};

}  // namespace prefetch::tests::faults
