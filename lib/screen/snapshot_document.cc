// A Snapshot as the status document shows it, for the agent's own screen (prefetchd --once).
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"
#include "image/pod_coordinates.h"
#include "image/pull_policy.h"
#include "image/registry_answer.h"
#include "screen/status_document.h"
#include "status/status_json.h"

namespace prefetch::screen {
namespace {

// Runtimes and registries bring texts, too: as harmless to a terminal as those of a stranger's document.
std::string Shown(std::string_view text) {
  return base::WithoutControls(base::ToUtf8(text));
}
std::vector<std::string> Shown(const std::vector<std::string>& texts) {
  std::vector<std::string> shown;
  for (const std::string& text : texts) shown.push_back(Shown(std::string_view(text)));
  return shown;
}
// The document has whole seconds.
std::optional<base::WallTime> Shown(const std::optional<base::WallTime>& time) {
  if (!time) return std::nullopt;
  return base::WallTime(std::chrono::floor<std::chrono::seconds>(*time));
}

StatusVerdict Shown(const status::ShownVerdict& verdict) {
  return {std::string(kubelet::VerdictResultName(verdict.result)),
          std::string(plan::CheckReasonName(verdict.reason))};
}

StatusSpelling SpellingOf(const plan::JudgedPod& pod, const kubelet::Verdicts* verdicts) {
  StatusSpelling spelling{.image = Shown(pod.reference.written()),
                          .never = {},
                          .if_not_present = {},
                          .always = {},
                          .ready_as = Shown(image::TextOf(*pod.ready_as))};
  if (verdicts == nullptr) return spelling;
  const status::ShownVerdicts shown = status::AsShown(*verdicts);
  spelling.never = Shown(shown.never);
  spelling.if_not_present = Shown(shown.if_not_present);
  spelling.always = Shown(shown.always);
  return spelling;
}

// Empty where its sources differ in it: its spellings then say it.
std::string ReadyAsOf(const plan::DesiredImage& want) {
  bool same = std::all_of(want.other_pods.begin(), want.other_pods.end(),
                          [&](const plan::JudgedPod& pod) { return pod.ready_as == want.ready_as; });
  return same ? image::TextOf(*want.ready_as) : "";
}

StatusPull PullOf(const plan::PullStatus& pull) {
  StatusPull shown{.state = std::string(plan::PullStateName(pull.state)),
                   .attempts = static_cast<std::uint64_t>(pull.attempts),
                   .started_at = Shown(pull.started_at),
                   .finished_at = Shown(pull.finished_at),
                   .next_attempt_at = Shown(pull.next_attempt_at),
                   .last_error = Shown(pull.last_error)};
  if (!pull.bytes_known) return shown;
  shown.bytes_done = pull.bytes_done;
  shown.bytes_total = pull.bytes_total;
  shown.bytes_per_second = status::WholeRate(pull.bytes_per_second);
  return shown;
}

StatusTouch TouchOf(const plan::TouchStatus& touch) {
  if (!status::IsShown(touch)) return {};
  return {.state = std::string(plan::TouchStateName(touch.state)),
          .obstacle = std::string(plan::TouchObstacleName(touch.obstacle)),
          .why = Shown(touch.why),
          .attempts = static_cast<std::uint64_t>(touch.attempts)};
}

StatusRegistry RegistryOf(const plan::RegistryView& said) {
  return {.answer = said.answer ? std::string(image::RegistryAnswerName(*said.answer)) : "",
          .detail = Shown(said.detail),
          .digest = Shown(said.digest),
          .reason = std::string(plan::ReasonName(said.reason)),
          .message = Shown(said.message),
          .fresh = said.fresh,
          .agrees = said.agrees,
          .checked_at = Shown(said.checked_at),
          .confirmed_at = Shown(said.confirmed_at),
          .next_check_at = Shown(said.next_check_at),
          .changed_from = Shown(said.changed_from),
          .changed_at = Shown(said.changed_at)};
}

StatusImage ImageOf(const plan::Snapshot& snapshot, const plan::ImageState& image) {
  const plan::DesiredImage& want = *image.want;
  StatusImage shown{.image = Shown(want.reference.written()),
                    .required = want.required,
                    .applies = image.applies,
                    .present = image.present,
                    .ready = image.ready,
                    .exposed = image.exposed,
                    .usable = image.usable,
                    .pinned = image.pinned,
                    .settled = image.settled,
                    .ready_for = std::string(image::PullPolicyName(want.ready_for)),
                    .phase = std::string(plan::PhaseName(image.phase)),
                    .reason = std::string(plan::ReasonName(image.reason)),
                    .message = Shown(image.message),
                    .image_id = Shown(image.image_id),
                    .digest = Shown(image.digest),
                    .pulled_with = std::string(plan::PulledWithName(image.pulled_with)),
                    .credential = Shown(image.credential),
                    .size_bytes = image.size_bytes,
                    .pull = PullOf(image.pull),
                    .open = std::string(plan::OpenName(want.open)),
                    .touch = TouchOf(*image.touch),
                    .from = Shown(want.from),
                    .aliases = Shown(image.aliases)};
  if (auto verdicts = status::VerdictsOf(snapshot, image)) {
    shown.never = Shown(verdicts->never);
    shown.if_not_present = Shown(verdicts->if_not_present);
    shown.always = Shown(verdicts->always);
  }
  shown.ready_as = Shown(ReadyAsOf(want));
  if (!want.other_pods.empty()) {
    for (const plan::JudgedPod& pod : plan::PodsOf(want)) {
      shown.spellings.push_back(SpellingOf(pod, plan::VerdictsOfPod(image, pod)));
    }
  }
  if (image.registry) shown.registry = RegistryOf(*image.registry);
  return shown;
}

StatusKubelet KubeletOf(const std::optional<plan::KubeletStatus>& kubelet) {
  if (!kubelet) return {.version = "none", .version_from = "declared"};
  StatusKubelet shown{.version = Shown(kubelet->version),
                      .verification = Shown(kubelet->verification),
                      .root = Shown(kubelet->root),
                      .rules = Shown(kubelet->rules),
                      .records_note = Shown(kubelet->records_note)};
  for (const auto& [fact, source] : kubelet->sources) {
    if (fact == "version") shown.version_from = Shown(source);
    if (fact == "verification") shown.verification_from = Shown(source);
  }
  return shown;
}

void AddSurroundings(const plan::Snapshot& snapshot, StatusDocument& document) {
  document.list_hash = Shown(snapshot.list.hash);
  document.warnings = Shown(snapshot.list.warnings);
  for (const plan::ListSource& source : snapshot.list.sources) {
    document.sources.push_back({.name = Shown(source.name),
                                .hash = Shown(source.hash),
                                .error = Shown(source.error),
                                .entries = source.entries,
                                .loaded_at = Shown(source.loaded_at)});
  }
  document.runtime_name = Shown(snapshot.runtime.name);
  document.runtime_version = Shown(snapshot.runtime.version);
  document.runtime_endpoint = Shown(snapshot.runtime.endpoint);
  document.runtime_error = Shown(snapshot.runtime.error);
  document.runtime_up = snapshot.runtime.up;
  document.kubelet = KubeletOf(snapshot.kubelet);
  if (snapshot.disk.known) {
    const plan::DiskStatus& disk = snapshot.disk;
    document.disk = StatusDisk{.path = Shown(disk.path),
                               .capacity_bytes = disk.capacity_bytes,
                               .available_bytes = disk.available_bytes,
                               .needed_bytes = disk.needed_bytes,
                               .kept_free_bytes = disk.kept_free_bytes,
                               .pressure = disk.pressure};
  }
  for (const plan::RegistryStatus& registry : snapshot.registries) {
    document.registries.push_back({.name = Shown(registry.name),
                                   .trouble = Shown(registry.trouble),
                                   .message = Shown(registry.message),
                                   .entries = registry.entries,
                                   .unreachable_since = Shown(registry.unreachable_since),
                                   .held_until = Shown(registry.held_until)});
  }
}

void AddUnlisted(const plan::Unlisted& unlisted, StatusDocument& document) {
  document.unlisted_since = Shown(std::optional(unlisted.since));
  document.unlisted_left_out = unlisted.left_out;
  for (const plan::UnlistedImage& image : unlisted.images) {
    document.unlisted.push_back({.image = Shown(image.image),
                                 .image_id = Shown(image.image_id),
                                 .size_bytes = image.size_bytes,
                                 .first_seen = Shown(std::optional(image.first_seen)),
                                 .arrived_at = Shown(std::optional(image.arrived_at)),
                                 .present = image.present});
  }
}

}  // namespace

StatusDocument DocumentOf(const plan::Snapshot& snapshot) {
  StatusDocument document{.node = Shown(snapshot.node),
                          .phase = std::string(plan::PhaseName(snapshot.readiness.phase)),
                          .reason = std::string(plan::ReasonName(snapshot.readiness.reason)),
                          .message = Shown(snapshot.readiness.message),
                          .ready = snapshot.readiness.ready,
                          .required = snapshot.readiness.required,
                          .required_ready = snapshot.readiness.required_ready,
                          .time = Shown(std::optional(snapshot.time))};
  AddSurroundings(snapshot, document);
  document.problems = Shown(snapshot.problems);
  for (const plan::ImageState& image : snapshot.images) document.images.push_back(ImageOf(snapshot, image));
  if (snapshot.unlisted) AddUnlisted(*snapshot.unlisted, document);
  return document;
}

}  // namespace prefetch::screen
