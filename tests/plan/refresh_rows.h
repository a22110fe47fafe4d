// Rows of the refresh table (registry rules R44 and R45): a story of answers and pulls, and what is said of
// the image at some time after it.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "plan/freshness.h"
#include "plan/registry_story.h"

namespace prefetch::plan {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr seconds kStart{0};

inline DesiredImage Want(Refresh refresh, const std::string& name = "r.io/a:v1") {
  DesiredImage desired;
  desired.reference = *image::Reference::Parse(name);
  desired.refresh = refresh;
  return desired;
}
inline DesiredImage IfNotPresent() {
  return Want(Refresh::kIfNotPresent);
}
// IfDigestChanged with every directive at Keep, or at NotReady.
inline DesiredImage Keeps() {
  DesiredImage desired = Want(Refresh::kIfDigestChanged);
  desired.on_access_denied = OnFailure::kKeep;
  return desired;
}
inline DesiredImage Fails() {
  DesiredImage desired = Want(Refresh::kIfDigestChanged);
  desired.on_unreachable = desired.on_access_denied = desired.on_tag_missing = desired.on_stale =
      OnFailure::kNotReady;
  return desired;
}
inline DesiredImage Always() {
  return Want(Refresh::kAlways);
}
inline DesiredImage WithMaxAge(DesiredImage desired, seconds age) {
  desired.max_age = age;
  return desired;
}
inline DesiredImage ForAlways(DesiredImage desired) {
  desired.ready_for = image::PullPolicy::kAlways;
  return desired;
}

inline const std::string kByDigest =
    "r.io/a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

enum class Pulls { kNegative, kYes };

struct Said {
  bool ready;
  bool fresh;
  Pulls pull;
  Reason reason;
  friend bool operator==(const Said&, const Said&) = default;
};
inline void PrintTo(const Said& said, std::ostream* out) {
  *out << (said.ready ? "ready" : "not ready") << (said.fresh ? ", fresh" : ", not fresh")
       << (said.pull == Pulls::kYes ? ", pull, " : ", ") << base::EnumName(said.reason);
}
inline Said Ready(Reason reason) {
  return {true, true, Pulls::kNegative, reason};
}
inline Said Stale(Reason reason, Pulls pull = Pulls::kNegative) {
  return {true, false, pull, reason};
}
inline Said NotReady(Reason reason, Pulls pull = Pulls::kNegative) {
  return {false, false, pull, reason};
}

struct RefreshCase {
  std::string name;
  RegistryStory story;
  base::Duration now;
  Said expect;
};

class RefreshTest : public testing::TestWithParam<RefreshCase> {};

// Twice without an answer, more than a minute apart.
inline RegistryStory SilentTwice(DesiredImage desired) {
  return RegistryStory(std::move(desired)).Same("a", kStart).Unreachable(hours(1)).Unreachable(minutes(62));
}

}  // namespace prefetch::plan
