#include "plan/image_readiness.h"

#include <cstdlib>

namespace prefetch::plan {
namespace {

constexpr std::size_t kShortDigest = 19;  // "sha256:" and twelve digits

std::string Short(const std::string& digest) {
  return digest.empty() ? "an unknown digest" : digest.substr(0, kShortDigest);
}

// The words of the registry, or of the pull, as the second half of a sentence.
std::string Said(const Freshness& past) {
  return past.newest && !past.newest->message.empty() ? ": " + past.newest->message : std::string();
}

std::string Moved(const DesiredImage& want, const Local* local, const Freshness& past) {
  std::string change = "the tag has changed: " + Short(local == nullptr ? "" : local->digest) + " here, " +
                       Short(past.remote) + " in the registry";
  if (want.refresh == Refresh::kIfNotPresent) {
    return change + "; it is not pulled again, since refresh is IfNotPresent";
  }
  return change + "; the node's image stays in use until then";
}

// `reason` stands against calling the image current.
std::string Sentence(Reason reason, const DesiredImage& want, const Local* local, const Freshness& past) {
  switch (reason) {
    case Reason::kUpToDate:
      return "the registry agreed";
    case Reason::kPinnedByDigest:
      return "a digest always names the same content";
    case Reason::kNotChecked:
      if (past.doubted_at) return "not asked since the node's credentials or image changed";
      return "the registry has not been asked since the agent started";
    case Reason::kCheckOverdue:
      return "the registry has not agreed for longer than two refresh intervals" + Said(past);
    case Reason::kTagMoved:
      return Moved(want, local, past);
    case Reason::kLocalDigestUnknown:
      return "the runtime does not report its image's digest, so the agent pulls it again";
    case Reason::kMirrorLag:
      return "the runtime was given " + Short(local == nullptr ? "" : local->digest) +
             " where the registry names " + Short(past.remote) + ": a mirror lags behind";
    case Reason::kTagMissing:
      return "the tag is gone from the registry" + Said(past);
    case Reason::kTagMissingUnconfirmed:
      return "the registry said once that the tag is missing: it is asked again in a minute";
    case Reason::kIndeterminate:
      return "the registry's answer cannot be compared with the node's image" + Said(past);
    case Reason::kCheckedByPull:
      return "the registry can only be asked by pulling" + Said(past);
    case Reason::kStale:
      return "the registry has not agreed within maxAge" + Said(past);
    case Reason::kAccessDenied:
      return "the registry denies access" + Said(past);
    case Reason::kRateLimited:
      return "the registry limits the rate of requests" + Said(past);
    case Reason::kUnreachable:
      return "the registry does not answer" + Said(past);
    case Reason::kServerError:
      return "the registry answers with errors" + Said(past);
    case Reason::kSignatureRejected:
      return "the tag has changed, and the runtime rejects the new image: " + past.update_error;
    default:  // a failed pull's reasons, which are the runtime's words
      if (past.update_failure) return "the tag has changed, and could not be pulled: " + past.update_error;
      return std::string(ReasonName(reason));
  }
}

}  // namespace

RegistryView ViewOf(const DesiredImage& want, const Local* local, const Freshness& past,
                    const RefreshDecision& decision, base::TimePoint now, base::WallTime wall) {
  RegistryView view;
  if (past.newest) {
    view.answer = past.newest->kind;
    view.detail = past.newest->detail.name();
    view.answered_by = past.newest->answered_by;
    view.checked_at = past.answered_wall;
  }
  view.digest = past.remote;
  view.lent = past.lent;
  view.confirmed_at = past.confirmed_wall;
  if (past.next_check != base::TimePoint()) {
    view.next_check_at = wall + std::chrono::duration_cast<base::WallTime::duration>(past.next_check - now);
  }
  view.fresh = decision.fresh;
  view.in_order = decision.ready;
  view.agrees = decision.agrees;
  view.reason = decision.reason;
  view.message = Sentence(decision.reason, want, local, past);
  view.always_reason = decision.always_reason;
  if (!decision.agrees) view.always_message = Sentence(decision.always_reason, want, local, past);
  view.silent = past.silent;
  view.changed_from = past.changed_from;
  view.changed_at = past.changed_wall;
  return view;
}

}  // namespace prefetch::plan
