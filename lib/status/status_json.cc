#include "status/status_json.h"

#include <algorithm>

#include "base/text.h"
#include "plan/check.h"
#include "plan/freshness.h"
#include "plan/image_readiness.h"
#include "status/words.h"

namespace prefetch::status {

namespace {

// Returns how long ago a time was, in whole seconds. If the clock was set back in between, it is 0.
std::optional<std::uint64_t> SecondsSince(const std::optional<base::WallTime>& since, base::WallTime time) {
  if (!since) return std::nullopt;
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time - *since).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0));
}

// A conversion of a value beyond the type's range would be undefined.
std::uint64_t WholeRate(double per_second) {
  return per_second > 0 && per_second < 1e15 ? static_cast<std::uint64_t>(per_second) : 0;
}

StatusKubelet KubeletOf(const std::optional<plan::KubeletStatus>& kubelet) {
  // A Snapshot lacks a kubelet only if the operator declared that there is none.
  if (!kubelet) return {{.version = "none", .sources = {{"version", "declared"}}}, {}};
  StatusKubelet shown{*kubelet, {}};
  if (const auto& gc = kubelet->gc) {
    auto seconds = [](std::chrono::nanoseconds age) {
      return std::chrono::duration_cast<std::chrono::seconds>(age).count();
    };
    shown.image_gc = {.high_threshold_percent = gc->high_percent,
                      .low_threshold_percent = gc->low_percent,
                      .minimum_age_seconds = seconds(gc->minimum_age),
                      .maximum_age_seconds = seconds(gc->maximum_age),
                      .warnings = kubelet->gc_warnings};
  }
  return shown;
}

// The verdicts of a pod with each policy.
StatusVerdicts VerdictsOf(const kubelet::Verdicts& verdicts) {
  return verdicts.Map([](const kubelet::Verdict& verdict) {
    return StatusVerdict{verdict.result,
                         std::string(plan::CheckReasonName(plan::CheckReasonFor(verdict.reason)))};
  });
}

StatusVerdicts ByPresence(const plan::ImageState& image) {
  auto shown = [&](image::PullPolicy policy) {
    const plan::PresenceVerdict says = plan::VerdictWithoutKubelet(image, policy);
    return StatusVerdict{says.result, std::string(base::EnumName(says.reason))};
  };
  return {shown(image::PullPolicy::kNever), shown(image::PullPolicy::kIfNotPresent),
          shown(image::PullPolicy::kAlways)};
}

void AddVerdicts(const plan::Snapshot& snapshot, const plan::ImageState& image, StatusImage& shown) {
  if (!image.applies) {
    shown.verdicts_reason = image.reason == plan::Reason::kNotSelected
                                ? "not computed: the entry's nodeSelector leaves this node out"
                                : "not computed: the entry is for other platforms";
  } else if (image.verdicts) {
    shown.verdicts = VerdictsOf(*image.verdicts);
  } else if (snapshot.kubelet) {
    // Presence alone would be a wrong verdict.
    shown.verdicts_reason = "not known yet";
  } else {
    shown.verdicts = ByPresence(image);
    shown.verdicts_reason = "no kubelet here (--kubelet=none): presence is the verdict";
  }
}

// Adds for which pods the list has the image. Where its sources spell it in several ways, or list it for
// several pods, each has its own verdicts, and those of the entry are the worst.
void AddPods(const plan::ImageState& image, StatusImage& shown) {
  const plan::DesiredImage& desired = *image.desired;
  // readyAs of the whole entry, if all its sources agree; otherwise the spellings show it.
  const bool same =
      std::all_of(desired.other_pods.begin(), desired.other_pods.end(),
                  [&](const plan::PodProfile& pod) { return pod.ready_as == desired.ready_as; });
  if (same) shown.ready_as = *desired.ready_as;
  // A single pod is described by the entry's own members.
  if (desired.other_pods.empty()) return;
  for (const plan::PodProfile& pod : plan::PodsOf(image.desired)) {
    const kubelet::Verdicts* verdicts = plan::VerdictsOfPod(image, pod);
    shown.spellings.push_back({.image = pod.reference.written(),
                               .ready_as = *pod.ready_as,
                               .verdicts = verdicts != nullptr ? VerdictsOf(*verdicts) : StatusVerdicts{}});
  }
}

std::string_view NotAskedReason(const plan::ImageState& image) {
  if (!image.applies) {
    return image.reason == plan::Reason::kNotSelected
               ? "not asked: the entry's nodeSelector leaves this node out"
               : "not asked: the entry is for other platforms";
  }
  // The entry's own wish is checked before the reasons why it has none.
  if (plan::NeedsRegistryCheck(image.desired))
    return "not asked: this agent asks no registry (--registry none)";
  if (image.desired->reference.has_digest()) return "not asked: a digest always names the same content";
  return "not asked: refresh is IfNotPresent and readyFor is not Always";
}

StatusRegistry RegistryOf(const plan::RegistryView& view, base::WallTime time) {
  return {.answer = view.answer ? doc::EnumText(*view.answer) : doc::EnumText<image::RegistryAnswerKind>(),
          .detail = view.detail,
          .digest = view.digest,
          .checked_at = view.checked_at,
          .fresh = view.fresh,
          .acceptable = view.acceptable,
          .reason = view.reason,
          .message = view.message,
          .agrees = view.agrees,
          .answered_by = view.answered_by,
          .confirmed_at = view.confirmed_at,
          .age_seconds = SecondsSince(view.confirmed_at, time),
          .next_check_at = view.next_check_at,
          .silent_checks = static_cast<std::uint64_t>(std::max(view.silent, 0)),
          .changed_from = view.changed_from,
          .changed_at = view.changed_at};
}

StatusPull PullOf(const plan::PullStatus& pull) {
  StatusPull shown{.state = pull.state, .attempts = static_cast<std::uint64_t>(pull.attempts)};
  // Without known bytes, null distinguishes "not known" from "none yet".
  if (pull.bytes_known) {
    shown.bytes_done = pull.bytes_done;
    shown.bytes_total = pull.bytes_total;
    shown.bytes_per_second = WholeRate(pull.bytes_per_second);
  }
  shown.started_at = pull.started_at;
  shown.finished_at = pull.finished_at;
  shown.last_error = pull.last_error;
  shown.next_attempt_at = pull.next_attempt_at;
  shown.retry_requested_at = pull.retry_requested_at;
  return shown;
}

StatusTouch TouchOf(const plan::TouchStatus& touch) {
  // The image was never touched and will not be.
  if (touch.state == plan::TouchState::kNone && touch.attempts == 0) return {};
  return {.state = touch.state,
          .attempts = static_cast<std::uint64_t>(touch.attempts),
          .obstacle = touch.obstacle,
          .why = touch.why,
          .last_at = touch.last_at,
          .next_attempt_at = touch.next_attempt_at};
}

StatusImage ImageOf(const plan::Snapshot& snapshot, const plan::ImageState& image, base::WallTime time) {
  const plan::DesiredImage& desired = *image.desired;
  StatusImage shown;
  shown.image = desired.reference.written();
  shown.normalized_name = desired.reference.Normalized();
  shown.required = desired.required;
  shown.ready_for = desired.ready_for;
  shown.refresh = desired.refresh;
  shown.priority = desired.priority;
  shown.applies = image.applies;
  shown.present = image.present;
  shown.usable = image.usable;
  shown.image_id = image.image_id;
  shown.digest = image.digest;
  shown.size_bytes = image.size_bytes;
  shown.ready = image.ready;
  shown.settled = image.settled;
  shown.phase = image.phase;
  shown.reason = image.reason;
  shown.message = image.message;
  shown.pulled_with = image.origin.with;
  shown.origin = image.origin;
  shown.aliases = image.aliases;
  shown.pinned = image.pinned;
  shown.pin_problem = image.pin_problem;
  shown.eviction_order = image.gc_order;
  AddVerdicts(snapshot, image, shown);
  AddPods(image, shown);
  if (image.registry) {
    shown.registry = RegistryOf(*image.registry, time);
  } else {
    shown.registry_reason = NotAskedReason(image);
  }
  shown.pull = PullOf(image.pull);
  shown.open = desired.open;
  shown.touch = TouchOf(*image.touch);
  shown.from = desired.from;
  return shown;
}

void AddUnlisted(const plan::Unlisted* unlisted, StatusDocument& document) {
  // null with a reason: an empty list would mean that nothing came.
  if (unlisted == nullptr) {
    document.unlisted_reason = "not known yet";
    return;
  }
  document.unlisted = unlisted->images;
  document.unlisted_since = unlisted->since;
  document.unlisted_left_out = unlisted->left_out;
}

// Returns the document without its images. Those are written one by one, so that a long list never exists as
// a second copy in memory.
StatusDocument HeadOf(const plan::Snapshot& snapshot, base::WallTime time) {
  StatusDocument document;
  document.node = snapshot.node;
  document.agent_version = PREFETCH_VERSION;
  document.ready = snapshot.readiness.ready;
  document.phase = snapshot.readiness.phase;
  document.reason = snapshot.readiness.reason;
  document.message = snapshot.readiness.message;
  document.required = snapshot.readiness.required;
  document.required_ready = snapshot.readiness.required_ready;
  document.time = time;
  document.list = {.hash = snapshot.list.hash,
                   .entries = snapshot.images.size(),
                   .sources = snapshot.list.sources,
                   .warnings = snapshot.list.warnings};
  document.runtime = snapshot.runtime;
  document.kubelet = KubeletOf(snapshot.kubelet);
  if (snapshot.disk_known) document.disk = snapshot.disk;
  document.registries = snapshot.registries;
  for (plan::RegistryStatus& registry : document.registries) {
    registry.unreachable_for_seconds = SecondsSince(registry.unreachable_since, time);
  }
  document.problems = snapshot.problems;
  AddUnlisted(snapshot.unlisted.get(), document);
  return document;
}

// Removes the parts of public members that callers without a token must not see.
void Hide(plan::ListSource& source) {
  // The error itself may quote lines of the list.
  if (!source.error.empty()) source.error = "its newest version is not valid";
}
void Hide(StatusImage& image) {
  auto has_ready_as = [](const StatusSpelling& pod) { return !pod.ready_as.empty(); };
  const auto& pods = image.spellings;
  image.ready_as_hidden = !image.ready_as.empty() || std::any_of(pods.begin(), pods.end(), has_ready_as);
  // Even the spellings would show for how many kinds of pods the entry is listed.
  if (image.ready_as_hidden) image.spellings.clear();
}

}  // namespace

StatusDocument DocumentOf(const plan::Snapshot& snapshot, DocumentTime time) {
  StatusDocument document = HeadOf(snapshot, time.value_or(snapshot.time));
  for (const auto& image : snapshot.images) {
    document.images.push_back(ImageOf(snapshot, image, *document.time));
  }
  return document;
}

std::string StatusJson(const plan::Snapshot& snapshot, DocumentTime time) {
  const StatusDocument document = HeadOf(snapshot, time.value_or(snapshot.time));
  return ToJson(document, {snapshot.images.size(), [&](std::size_t index) {
                             return ImageOf(snapshot, snapshot.images[index], *document.time);
                           }});
}

std::string PublicStatusJson(const plan::Snapshot& snapshot, DocumentTime time) {
  StatusDocument document = HeadOf(snapshot, time.value_or(snapshot.time));
  document.hidden = HiddenMembers();
  for (plan::ListSource& source : document.list.sources) Hide(source);
  auto image_at = [&](std::size_t index) {
    StatusImage image = ImageOf(snapshot, snapshot.images[index], *document.time);
    Hide(image);
    return image;
  };
  return ToJson(document, {snapshot.images.size(), image_at}, View::kPublic);
}

ImageReasoning ReasoningOf(const kubelet::Verdicts& verdicts) {
  return verdicts.Map([](const kubelet::Verdict& verdict) {
    return Reasoning{verdict.result, verdict.reason, std::string(verdict.rule), verdict.message};
  });
}

ImageDocument DocumentOf(const plan::Snapshot& snapshot, const plan::ImageState& image, ImageDocument found,
                         DocumentTime time) {
  found.node = snapshot.node;
  found.time = time.value_or(snapshot.time);
  found.image = ImageOf(snapshot, image, *found.time);
  found.kubelet = KubeletOf(snapshot.kubelet);
  found.runtime = snapshot.runtime;
  found.remediation = RemediationFor(image, snapshot.runtime);
  return found;
}

namespace {

constexpr const char* kHidden =
    "hidden: messages and problems, which the agent shows over its local socket\n";

// Messages can hold line breaks (all errors of a list source, one a line).
std::string OneLine(std::string_view text) {
  return base::ReplaceAll(text, "\n", "; ");
}

std::string HashOrNone(const std::string& hash) {
  return hash.empty() ? "none" : hash;
}

std::string EntryLine(const plan::ImageState& image, View view) {
  // The marks of the API server's own /readyz?verbose.
  std::string line = image.ready ? "[+] " : "[-] ";
  line += image.desired->reference.written();
  if (!image.desired->required) line += " (optional)";
  line += " ";
  line += base::EnumName(image.reason);
  // Messages may name registries and credentials, so the public view has only the reason.
  return view == View::kPublic ? line + "\n" : line + ": " + OneLine(image.message) + "\n";
}

}  // namespace

std::string ReadyzText(const plan::Snapshot& snapshot, const plan::ReadyAnswer& answer, bool verbose,
                       View view) {
  const bool is_public = view == View::kPublic;
  std::string text = answer.ready ? "ready: " : "not ready: ";
  text += OneLine(is_public ? answer.public_message : answer.message) + "\n";
  text += "list " + HashOrNone(snapshot.list.hash) + "\n";
  for (const plan::ListSource& source : snapshot.list.sources) {
    text += "source " + source.name + " " + HashOrNone(source.hash);
    // A source that was never in force is part of the first line's message.
    if (!source.error.empty() && source.loaded_at) {
      text += " (a newer version is not in force" + (is_public ? "" : ": " + OneLine(source.error)) + ")";
    }
    text += "\n";
  }
  if (!verbose) return text;
  for (const std::string& problem : snapshot.problems) {
    // Problems may name files and registries.
    if (!is_public) text += "problem " + OneLine(problem) + "\n";
  }
  for (const plan::ImageState* image : answer.entries) text += EntryLine(*image, view);
  if (is_public) text += kHidden;
  return text;
}

}  // namespace prefetch::status
