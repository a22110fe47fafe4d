// Verdict debounce: readiness must not flap while kubelet writes an intent (its note of a pull under way),
// pulls, and writes a record. If kubelet's files have changed the result of a known verdict, the new one is
// shown after 3 s. Without an intent, it is shown as soon as the files have not changed for 500 ms. All other
// verdicts are shown at once. Pure.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "kubelet/verdict.h"
#include "plan/spellings.h"

namespace prefetch::plan {

constexpr std::chrono::seconds kVerdictDebounce{3};
// Files that have not changed for this long are stable, unless kubelet has an intent.
constexpr std::chrono::milliseconds kFilesStableAfter{500};

// One reading of kubelet's files for one image.
struct VerdictReadout {
  EntryVerdicts verdicts;  // known
  std::string image_id;
  bool pull_under_way = false;  // kubelet has an intent for it
  bool files_changed = false;   // since the reading before
};

// The shown verdict of one image, and the last one read. A value.
struct DebouncedVerdict {
  EntryVerdicts shown, newest;
  std::string image_id;  // that `shown` is about
  bool pull_under_way = false;
  base::TimePoint changed_at;                    // when the files changed last
  std::optional<base::TimePoint> differs_since;  // `newest` says otherwise than `shown` since then
};

// kubelet's files were read. Another result for the same image is debounced if the files have changed, or if
// kubelet is pulling the image. All else is shown at once: a first verdict, one about another image or after
// a change of settings, and another reason for the same result.
DebouncedVerdict AfterReading(DebouncedVerdict past, const VerdictReadout& seen, base::TimePoint now);
// The list has the entry for other pods, or spells it otherwise. The state of pods that stay is kept;
// where there is a new one, nothing is known.
DebouncedVerdict AfterNewList(DebouncedVerdict past, const DesiredImage& was, const DesiredImage& is);
// Time has passed: lets `newest` be shown if it is due.
DebouncedVerdict AfterTime(DebouncedVerdict past, base::TimePoint now);
// When AfterTime has something to do; TimePoint::max(): never.
base::TimePoint NextShowTime(const DebouncedVerdict& verdict);

}  // namespace prefetch::plan
