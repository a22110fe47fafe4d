// Rows of the refresh table (registry rules R44 and R45): a story of answers and pulls, and what is said of
// the image at some time after it.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "plan/freshness.h"
#include "plan/registry_story.h"

namespace prefetch::plan {

using namespace std::chrono_literals;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline RegistryStory Want(Refresh refresh, const std::string& name = "r.io/a:v1") {
  DesiredImage desired;
  desired.reference = *image::Reference::Parse(name);
  desired.refresh = refresh;
  return RegistryStory(desired);
}
inline RegistryStory IfNotPresent() {
  return Want(Refresh::kIfNotPresent);
}
// The story with other directives of its entry.
template <typename Change>
RegistryStory With(const RegistryStory& story, Change change) {
  DesiredImage desired = story.want;
  change(desired);
  return RegistryStory(desired);
}
// IfDigestChanged with every directive at Keep, or at NotReady.
inline RegistryStory Keeps() {
  return With(Want(Refresh::kIfDigestChanged), [](auto& d) { d.on_access_denied = OnFailure::kKeep; });
}
inline RegistryStory Fails() {
  return With(Want(Refresh::kIfDigestChanged), [](auto& d) {
    d.on_unreachable = d.on_access_denied = d.on_tag_missing = d.on_stale = OnFailure::kNotReady;
  });
}
inline RegistryStory Always() {
  return Want(Refresh::kAlways);
}
inline RegistryStory WithMaxAge(const RegistryStory& story, seconds age) {
  return With(story, [&](auto& desired) { desired.max_age = age; });
}
inline RegistryStory ForAlways(const RegistryStory& story) {
  return With(story, [](auto& desired) { desired.ready_for = image::PullPolicy::kAlways; });
}

inline const std::string kByDigest =
    "r.io/a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

struct Said {
  bool ready;
  bool fresh;
  bool pull;
  Reason reason;
  friend bool operator==(const Said&, const Said&) = default;
};
inline void PrintTo(const Said& said, std::ostream* out) {
  *out << (said.ready ? "ready" : "not ready") << (said.fresh ? ", fresh" : ", not fresh")
       << (said.pull ? ", pull, " : ", ") << base::EnumName(said.reason);
}
inline Said Ready(Reason reason) {
  return {true, true, false, reason};
}
inline constexpr bool kPulls = true;
inline Said Stale(Reason reason, bool pull = false) {
  return {true, false, pull, reason};
}
inline Said NotReady(Reason reason, bool pull = false) {
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
inline RegistryStory SilentTwice(RegistryStory story) {
  return story.Same().Unreachable(1h).Unreachable(62min);
}

}  // namespace prefetch::plan
