#include "screen/document_words.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"
#include "image/pod_coordinates.h"
#include "plan/image_readiness.h"
#include "plan/spellings.h"
#include "status/words.h"

namespace prefetch::screen {

namespace {

std::string SourceSuffix(const std::string& source) {
  return source.empty() ? "" : " (" + source + ")";
}

}  // namespace

std::string KubeletText(const status::StatusKubelet& kubelet) {
  if (kubelet.None()) return "no kubelet";
  return kubelet.version.empty() ? "kubelet of unknown version" : "kubelet " + kubelet.version;
}

std::string KubeletDetail(const status::StatusKubelet& kubelet) {
  std::string words = kubelet.version.empty() ? "of unknown version"
                                              : kubelet.version + SourceSuffix(kubelet.SourceOf("version"));
  if (!kubelet.rules.empty()) words += ", by the rules of " + kubelet.rules;
  if (kubelet.verification.empty()) return words;
  return words + ", " + kubelet.verification + SourceSuffix(kubelet.SourceOf("verification"));
}

namespace {

// A pull that is younger than this has not "reported nothing": its first bytes show within a second.
constexpr std::chrono::seconds kJustBegun{3};

}  // namespace

std::string PullDurationText(const status::StatusPull& pull, const std::optional<base::WallTime>& now) {
  if (!pull.IsRunning() || pull.bytes_done || !pull.started_at || !now) return {};
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(*now - *pull.started_at);
  return took < kJustBegun ? "" : base::HumanTime(took);
}

std::string NoProgressText(const status::StatusDocument& document) {
  // containerd's content store shows the bytes of a pull; other runtimes have no such service (C24).
  if (document.runtime.name.empty() || document.runtime.name == "containerd") return {};
  const bool any = std::ranges::any_of(document.images, [](const status::StatusImage& image) {
    return image.pull.state == plan::PullState::kPulling && !image.pull.bytes_done;
  });
  return any ? document.runtime.name + " reports no progress of pulls: SIZE shows their duration" : "";
}

std::string PullProgressText(const status::StatusPull& pull, const std::optional<base::WallTime>& now) {
  if (!pull.bytes_done) {
    const std::string time = PullDurationText(pull, now);
    return time.empty() ? "" : "under way for " + time;
  }
  return status::TransferWords(*pull.bytes_done, pull.bytes_total.value_or(0),
                               pull.bytes_per_second.value_or(0));
}

std::string PercentText(const status::StatusPull& pull) {
  std::uint64_t total = pull.bytes_total.value_or(0);
  if (!pull.bytes_done || total == 0) return {};
  // More bytes than the total must not show as more than 100 %.
  double share = static_cast<double>(std::min(*pull.bytes_done, total)) / static_cast<double>(total);
  return std::to_string(static_cast<int>(share * 100)) + " %";
}

std::string ElapsedText(const std::optional<base::WallTime>& from, const std::optional<base::WallTime>& to) {
  if (!from || !to) return "";
  return base::HumanTime(std::chrono::duration_cast<std::chrono::seconds>(*to - *from));
}

std::string RetryText(const status::StatusPull& pull, const std::optional<base::WallTime>& now) {
  if (pull.attempts == 0 || pull.state == plan::PullState::kDone) return {};
  std::string words = "tried " + (pull.attempts == 1 ? "once" : std::to_string(pull.attempts) + " times");
  if (pull.next_attempt_at && now) {
    auto wait = std::chrono::duration_cast<std::chrono::seconds>(*pull.next_attempt_at - *now);
    words += wait.count() > 0 ? ", again in " + base::HumanTime(wait) : ", again now";
    // Failures that only a new list, another image or a request can end have no time.
  } else if (pull.state == plan::PullState::kFailed) {
    words += ", not again by itself";
  }
  const std::string ago = ElapsedText(pull.retry_requested_at, now);
  if (!ago.empty()) words += ", retry requested " + ago + " ago";
  return words;
}

namespace {

constexpr std::size_t kMaxUnreachableShown = 5;  // by name

// Such registries are listed by UnreachableText. One that has denied access, since a credential plugin had
// failed, is not among them.
bool IsUnreachable(const status::StatusRegistry& registry) {
  if (registry.detail == image::RegistryDetail(image::RegistryDetail::kCredentials).name()) return false;
  return registry.reason == plan::Reason::kUnreachable || registry.reason == plan::Reason::kServerError ||
         registry.reason == plan::Reason::kRateLimited;
}

// "agreed 2 h ago, asked again in 40 min".
std::string CheckTimesText(const status::StatusRegistry& registry, const status::StatusDocument& document) {
  std::string agreed = ElapsedText(registry.confirmed_at, document.time);
  std::string next = ElapsedText(document.time, registry.next_check_at);
  if (registry.answer.empty()) {
    return "not asked since the agent started" + (next.empty() ? "" : ", asked in " + next);
  }
  std::string words = agreed.empty() ? "has not agreed since the agent started" : "agreed " + agreed + " ago";
  return next.empty() ? words : words + ", asked again in " + next;
}

}  // namespace

bool IsStale(const status::StatusImage& image) {
  const auto& registry = image.registry;
  // An image that is not ready shows its own reason, which matters more.
  return image.ready && registry && !registry->fresh && !registry->answer.empty() &&
         !IsUnreachable(*registry);
}

std::vector<std::string> RegistryText(const status::StatusImage& image,
                                      const status::StatusDocument& document, bool wide) {
  std::vector<std::string> words;
  if (!image.registry) return words;
  const status::StatusRegistry& registry = *image.registry;
  bool wrong = IsStale(image) || (wide && !registry.fresh && !registry.answer.empty());
  if (wrong) words.push_back("not current: " + registry.message);
  if (wide) words.push_back("registry: " + CheckTimesText(registry, document));
  if (wide && !registry.changed_from.empty()) {
    words.push_back("changed " + ElapsedText(registry.changed_at, document.time) + " ago, from " +
                    registry.changed_from);
  }
  return words;
}

std::vector<std::string> UnreachableText(const status::StatusDocument& document) {
  std::vector<std::string> words;
  std::size_t more = 0;
  for (const plan::RegistryStatus& registry : document.registries) {
    if (registry.trouble.empty() || !registry.unreachable_since) continue;
    // An outage of the network would otherwise fill the screen with registries.
    if (words.size() == kMaxUnreachableShown && ++more > 0) continue;
    std::string text = registry.name + " has not answered for " +
                       ElapsedText(registry.unreachable_since, document.time) + " (" + registry.trouble +
                       "): ";
    if (!registry.message.empty()) text += registry.message + "; ";
    text += base::Plural(registry.entries, "image is", "images are") + " asked for there";
    words.push_back(text + ", and what is here stays in use");
  }
  if (more > 0)
    words.push_back(base::Plural(more, "more registry does not answer", "more registries do not answer"));
  return words;
}

namespace {

int SeverityOf(const status::StatusVerdict& verdict) {
  using kubelet::VerdictResult;
  constexpr std::array kResultsBySeverity = {VerdictResult::kStarts, VerdictResult::kPulls,
                                             VerdictResult::kUnknown, VerdictResult::kRefused};
  // A name that this program does not know is the worst.
  return static_cast<int>(std::ranges::find(kResultsBySeverity, verdict.result.value()) -
                          kResultsBySeverity.begin());
}

using VerdictOf = status::StatusVerdict status::StatusVerdicts::*;

PodKey KeyOf(const status::StatusSpelling& spelling) {
  return {spelling.image, image::TextOf(spelling.ready_as)};
}

status::StatusVerdict Worst(const status::StatusImage& image, const PodKeys& pods, VerdictOf policy) {
  const status::StatusVerdict* worst = nullptr;
  for (const status::StatusSpelling& spelling : image.spellings) {
    const status::StatusVerdict& verdict = spelling.verdicts.*policy;
    if (!pods.contains(KeyOf(spelling))) continue;
    if (worst == nullptr || SeverityOf(verdict) > SeverityOf(*worst)) worst = &verdict;
  }
  return worst == nullptr ? status::StatusVerdict{} : *worst;
}

// Returns the verdict that decides whether the entry is ready. For Always the registry decides instead.
const status::StatusVerdict& DecisiveVerdict(const status::StatusImage& image) {
  return image.ready_for == image::PullPolicy::kNever ? image.verdicts.never : image.verdicts.if_not_present;
}

// Returns true if kubelet's verdict lets the entry be ready for the pods that it is meant for.
bool IsOpen(const status::StatusImage& image) {
  const auto policy = image.ready_for.value();
  return policy &&
         plan::IsReadyFor(*policy,
                          {.usable = true, .result = DecisiveVerdict(image).result.value(), .agrees = false});
}

}  // namespace

PodKeys PodKeysOf(const status::StatusImage& image) {
  if (image.spellings.empty()) return {{image.image, image::TextOf(image.ready_as)}};
  PodKeys pods;
  for (const status::StatusSpelling& spelling : image.spellings) pods.insert(KeyOf(spelling));
  return pods;
}

PodKeys PodKeysOf(const plan::DesiredImage& desired) {
  PodKeys pods;
  for (const plan::PodProfile& pod : plan::PodsOf(desired)) {
    pods.insert({pod.reference.written(), image::TextOf(*pod.ready_as)});
  }
  return pods;
}

std::optional<PodKey> MatchingProfile(const PodKey& wanted, const PodKeys& judged) {
  const PodKey anybody = {wanted.first, ""};
  if (judged.contains(wanted)) return wanted;
  // An image that is open to pods without credentials is open to all (K24).
  return judged.contains(anybody) ? std::optional(anybody) : std::nullopt;
}

bool IsForOtherNodes(const plan::DesiredImage& desired, const status::StatusImage& image) {
  if (image.applies) return false;
  // The platform is the reason only if it excludes the node from each source that has the entry.
  const bool by_platform = image.reason == plan::Reason::kOtherPlatform;
  const auto differs = [&](const plan::NodeScope& scope) {
    return scope.platforms.empty() && (by_platform || scope.node_selector.empty());
  };
  return differs(desired.nodes) || std::ranges::any_of(desired.other_nodes, differs);
}

std::set<std::string> SpellingsOf(const PodKeys& pods) {
  std::set<std::string> names;
  for (const PodKey& pod : pods) names.insert(pod.first);
  return names;
}

std::set<std::string> ReadyAsTexts(const PodKeys& pods) {
  std::set<std::string> texts;
  for (const PodKey& pod : pods) texts.insert(pod.second);
  return texts;
}

std::string ReadyAsText(const status::StatusImage& image) {
  const std::set<std::string> texts = ReadyAsTexts(PodKeysOf(image));
  if (texts == std::set<std::string>{""}) return "";
  std::vector<std::string> words;
  for (const std::string& text : texts) words.push_back(image::DescribeCredentials(text));
  return "judged for pods " + base::Join(words, ", and for pods ") + " (readyAs)";
}

bool SpellingMatters(const status::StatusImage& image) {
  const std::string& reason = image.verdicts.never.reason;
  // "Present" is the verdict without a kubelet.
  return !image.verdicts.never.result.empty() && reason != "Present" && reason != "ImageAbsent";
}

status::StatusImage NarrowedTo(status::StatusImage image, const PodKeys& pods) {
  // There is one such pod, and the entry describes it.
  if (image.spellings.empty()) return image;
  const bool was_open = IsOpen(image);
  image.verdicts.never = Worst(image, pods, &status::StatusVerdicts::never);
  image.verdicts.if_not_present = Worst(image, pods, &status::StatusVerdicts::if_not_present);
  image.verdicts.always = Worst(image, pods, &status::StatusVerdicts::always);
  std::erase_if(image.spellings,
                [&](const status::StatusSpelling& one) { return !pods.contains(KeyOf(one)); });
  // Only the verdict kept the image from being ready: it is present and usable, and the registry has no
  // objection.
  // `fresh` includes it, for agents of earlier versions.
  const bool is_acceptable = !image.registry || image.registry->acceptable || image.registry->fresh;
  if (image.ready || !image.present || !image.usable || was_open || !IsOpen(image) || !is_acceptable)
    return image;
  image.ready = image.settled = true;
  image.phase = plan::Phase::kReady;
  image.reason = status::ReasonText(DecisiveVerdict(image).reason);
  image.message.clear();
  return image;
}

}  // namespace prefetch::screen
