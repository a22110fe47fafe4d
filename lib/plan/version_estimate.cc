#include "plan/version_estimate.h"

#include <algorithm>
#include <utility>

namespace prefetch::plan {
namespace {

std::string WhatCounts(const VersionEstimate& belief) {
  return belief.last ? "the last known version of kubelet, " + belief.last_text + ", counts"
                     : "kubelet's version is not known";
}

std::string RefusedWords(const VersionEstimate& belief, const NodeReport& word) {
  return "the API server refuses to show this agent its Node (" + word.trouble + "): " + WhatCounts(belief) +
         "; grant get on nodes, or set --kubelet-version";
}

std::string UnreachableWords(const VersionEstimate& belief, const NodeReport& word) {
  return std::string(belief.unconfirmed ? "kubelet was started again, and the" : "the") +
         " API server does not show this Node (" + word.trouble + "): " + WhatCounts(belief);
}

std::string SilentWords(const VersionEstimate& belief, const NodeReport& word) {
  return word.refused ? RefusedWords(belief, word) : UnreachableWords(belief, word);
}

std::string UnconfirmedWords(const VersionEstimate& belief) {
  return "kubelet was started again and has not reported to its Node within a minute: " + WhatCounts(belief);
}

// No kubelet has been started since the Node was read, so the last version holds. A refusal is reported at
// once: it does not pass by itself. A short outage is not reported.
VersionInForce Settled(const VersionEstimate& belief, const NodeReport& word, base::TimePoint now) {
  VersionInForce in_force{.version = belief.last};
  if (!word.silent_since) return in_force;
  const base::TimePoint told_at = *word.silent_since + kSilenceReportedAfter;
  if (word.refused) {
    in_force.problem = RefusedWords(belief, word);
  } else if (now >= told_at) {
    in_force.problem = UnreachableWords(belief, word);
  } else {
    in_force.until = told_at;
  }
  return in_force;
}

VersionInForce Awaited(base::TimePoint seen_at) {
  return {.version = std::nullopt, .awaited = true, .problem = "", .until = seen_at + kUnconfirmedLimit};
}

// The first kubelet that was seen may be a new one. There is no version to hold, and the Node may still show
// the version of the kubelet before, also while the API server is away.
VersionInForce FirstSeen(const VersionEstimate& belief, const NodeReport& word, base::TimePoint now) {
  if (!word.version) return Settled(belief, word, now);
  if (now < belief.unconfirmed->seen_at + kUnconfirmedLimit) return Awaited(belief.unconfirmed->seen_at);
  VersionEstimate told = belief;
  told.last = word.version;
  told.last_text = word.version_text;
  return {.version = word.version,
          .problem = word.silent_since ? SilentWords(told, word) : UnconfirmedWords(told)};
}

}  // namespace

bool Confirms(const NodeReport& word, const KubeletStart& start) {
  // Only a heartbeat after its start was written by this process.
  return word.version && word.heartbeat && *word.heartbeat > start.began_at;
}

VersionEstimate AfterStart(VersionEstimate past, const KubeletStart& start) {
  KubeletStart newest = start;
  // A kubelet that crashes at its start is started every few seconds: what is not known since the first of
  // these starts is not known again for each of them.
  if (past.unconfirmed && start.seen_at < past.unconfirmed->seen_at + kUnconfirmedLimit)
    newest.seen_at = past.unconfirmed->seen_at;
  past.unconfirmed = newest;
  return past;
}

VersionEstimate AfterNodeReport(VersionEstimate past, const NodeReport& word) {
  if (!word.version) return past;
  // Another version than before can only be the new kubelet's.
  const bool another = past.last && word.version_text != past.last_text;
  const bool confirmed = !past.unconfirmed || Confirms(word, *past.unconfirmed) || another;
  if (!confirmed) return past;
  past.last = word.version;
  past.last_text = word.version_text;
  past.unconfirmed.reset();
  return past;
}

VersionInForce VersionAt(const VersionEstimate& belief, const NodeReport& word, base::TimePoint now) {
  if (!belief.unconfirmed) return Settled(belief, word, now);
  if (!belief.last) return FirstSeen(belief, word, now);
  VersionInForce in_force{.version = belief.last};
  // While the API server is silent, no new version can be learnt, and the last one is the best guess. The
  // problem tells operators that it is one.
  if (word.silent_since) {
    in_force.problem = SilentWords(belief, word);
    return in_force;
  }
  const base::TimePoint seen_at = belief.unconfirmed->seen_at;
  if (now < seen_at + kHoldVersion) {
    in_force.until = seen_at + kHoldVersion;
  } else if (now < seen_at + kUnconfirmedLimit) {
    return Awaited(seen_at);
  } else {
    in_force.problem = UnconfirmedWords(belief);
  }
  return in_force;
}

}  // namespace prefetch::plan
