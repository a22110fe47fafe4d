#include "screen/status_document.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"
#include "doc/json.h"
#include "image/pod_coordinates.h"
#include "image/pull_policy.h"
#include "image/registry_answer.h"
#include "status/members.h"
#include "status/status_json.h"

namespace prefetch::screen {

namespace {

// 5,000 images are 5 MB and 300,000 nodes.
constexpr doc::Limits kLimits{.bytes = 32 << 20, .depth = 16, .nodes = 4'000'000};

void ReadList(const status::Members& in, StatusDocument& document) {
  in.Read("hash", document.list_hash);
  in.Read("warnings", document.warnings);
  in.Objects("sources", [&](const status::Members& members) {
    StatusSource source;
    members.Read("name", source.name);
    members.Read("hash", source.hash);
    members.Read("error", source.error);
    members.Read("entries", source.entries);
    members.Read("loadedAt", source.loaded_at);
    document.sources.push_back(std::move(source));
  });
}

void ReadSurroundings(const status::Members& in, StatusDocument& document) {
  in.Object("runtime", [&](const status::Members& runtime) {
    runtime.Read("name", document.runtime_name);
    runtime.Read("version", document.runtime_version);
    runtime.Read("endpoint", document.runtime_endpoint);
    runtime.Read("error", document.runtime_error);
    runtime.Read("up", document.runtime_up);
  });
  in.Object("kubelet",
            [&](const status::Members& kubelet) { document.kubelet = ReadStatusKubelet(kubelet); });
  in.Object("disk", [&](const status::Members& members) {
    StatusDisk disk;
    members.Read("path", disk.path);
    members.Read("capacityBytes", disk.capacity_bytes);
    members.Read("availableBytes", disk.available_bytes);
    members.Read("keptFreeBytes", disk.kept_free_bytes);
    members.Read("neededBytes", disk.needed_bytes);
    members.Read("pressure", disk.pressure);
    document.disk = disk;
  });
  in.Objects("registries", [&](const status::Members& members) {
    StatusRegistryServer registry;
    members.Read("name", registry.name);
    members.Read("trouble", registry.trouble);
    members.Read("message", registry.message);
    members.Read("entries", registry.entries);
    members.Read("unreachableSince", registry.unreachable_since);
    members.Read("heldUntil", registry.held_until);
    document.registries.push_back(std::move(registry));
  });
}

}  // namespace

base::Result<StatusDocument> ParseStatusDocument(std::string_view json) {
  doc::Problems problems("status document");
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kLimits);
  if (!root) return base::Error(problems.ToStatus().error());
  std::string error, api_version, kind;
  StatusDocument document;
  status::Members in(*root, "", error);
  in.Read("apiVersion", api_version);
  in.Read("kind", kind);
  // Checked before anything else: members of another document would give confusing errors.
  if (error.empty() && (api_version != "prefetchd.dev/v1" || kind != "NodeStatus")) {
    error = "it is no NodeStatus of prefetchd.dev/v1";
  }
  if (!error.empty()) return base::InvalidArgument("status document: " + error);
  in.Read("hidden", document.hidden);
  in.Read("node", document.node);
  in.Read("ready", document.ready);
  in.Read("phase", document.phase);
  in.Read("reason", document.reason);
  in.Read("message", document.message);
  in.Read("required", document.required);
  in.Read("requiredReady", document.required_ready);
  in.Read("time", document.time);
  in.Object("list", [&](const status::Members& list) { ReadList(list, document); });
  ReadSurroundings(in, document);
  in.Read("problems", document.problems);
  in.Objects("images",
             [&](const status::Members& members) { document.images.push_back(ReadStatusImage(members)); });
  in.Read("unlistedSince", document.unlisted_since);
  in.Read("unlistedLeftOut", document.unlisted_left_out);
  in.Objects("unlisted", [&](const status::Members& members) {
    StatusUnlisted image;
    members.Read("image", image.image);
    members.Read("imageID", image.image_id);
    members.Read("sizeBytes", image.size_bytes);
    members.Read("firstSeen", image.first_seen);
    members.Read("arrivedAt", image.arrived_at);
    members.Read("present", image.present);
    document.unlisted.push_back(std::move(image));
  });
  // Members keeps the first error, so reading goes on without a check after each member.
  if (!error.empty()) return base::InvalidArgument("status document: " + error);
  return document;
}

namespace {

void ReadVerdict(const status::Members& verdicts, const char* policy, StatusVerdict& verdict) {
  verdicts.Object(policy, [&](const status::Members& in) {
    in.Read("result", verdict.result);
    in.Read("reason", verdict.reason);
  });
}

image::Coordinates ReadCoordinates(const status::Members& in) {
  image::Coordinates of;
  in.Read("namespace", of.namespace_name);
  in.Read("name", of.name);
  in.Read("uid", of.uid);
  return of;
}

std::string ReadReadyAs(const status::Members& in) {
  image::PodCoordinates pod;
  in.Object("readyAs", [&](const status::Members& members) {
    members.Objects("secrets",
                    [&](const status::Members& one) { pod.secrets.push_back(ReadCoordinates(one)); });
    members.Object("serviceAccount",
                   [&](const status::Members& one) { pod.service_account = ReadCoordinates(one); });
  });
  return image::TextOf(pod);
}

void ReadPull(const status::Members& in, StatusPull& pull) {
  in.Read("state", pull.state);
  in.Read("attempts", pull.attempts);
  in.Read("bytesDone", pull.bytes_done);
  in.Read("bytesTotal", pull.bytes_total);
  in.Read("bytesPerSecond", pull.bytes_per_second);
  in.Read("startedAt", pull.started_at);
  in.Read("finishedAt", pull.finished_at);
  in.Read("nextAttemptAt", pull.next_attempt_at);
  in.Read("retryRequestedAt", pull.retry_requested_at);
  in.Read("lastError", pull.last_error);
}

StatusRegistry ReadRegistry(const status::Members& in) {
  StatusRegistry registry;
  in.Read("answer", registry.answer);
  in.Read("detail", registry.detail);
  in.Read("digest", registry.digest);
  in.Read("reason", registry.reason);
  in.Read("message", registry.message);
  in.Read("fresh", registry.fresh);
  in.Read("agrees", registry.agrees);
  in.Read("checkedAt", registry.checked_at);
  in.Read("confirmedAt", registry.confirmed_at);
  in.Read("nextCheckAt", registry.next_check_at);
  in.Read("changedFrom", registry.changed_from);
  in.Read("changedAt", registry.changed_at);
  return registry;
}

}  // namespace

StatusImage ReadStatusImage(const status::Members& in) {
  StatusImage image;
  in.Read("image", image.image);
  in.Read("required", image.required);
  in.Read("applies", image.applies);
  in.Read("present", image.present);
  in.Read("usable", image.usable);
  in.Read("ready", image.ready);
  in.Read("exposed", image.exposed);
  in.Read("pinned", image.pinned);
  in.Read("settled", image.settled);
  in.Read("readyFor", image.ready_for);
  in.Read("readyAsHidden", image.ready_as_hidden);
  image.ready_as = ReadReadyAs(in);
  in.Read("phase", image.phase);
  in.Read("reason", image.reason);
  in.Read("message", image.message);
  in.Read("imageID", image.image_id);
  in.Read("digest", image.digest);
  in.Read("pulledWith", image.pulled_with);
  in.Read("credential", image.credential);
  in.Read("sizeBytes", image.size_bytes);
  in.Object("verdicts", [&](const status::Members& verdicts) {
    ReadVerdict(verdicts, "Never", image.never);
    ReadVerdict(verdicts, "IfNotPresent", image.if_not_present);
    ReadVerdict(verdicts, "Always", image.always);
  });
  in.Objects("spellings", [&](const status::Members& members) {
    StatusSpelling spelling;
    members.Read("image", spelling.image);
    spelling.ready_as = ReadReadyAs(members);
    members.Object("verdicts", [&](const status::Members& verdicts) {
      ReadVerdict(verdicts, "Never", spelling.never);
      ReadVerdict(verdicts, "IfNotPresent", spelling.if_not_present);
      ReadVerdict(verdicts, "Always", spelling.always);
    });
    image.spellings.push_back(std::move(spelling));
  });
  in.Object("pull", [&](const status::Members& pull) { ReadPull(pull, image.pull); });
  in.Read("open", image.open);
  in.Object("touch", [&](const status::Members& touch) {
    touch.Read("state", image.touch.state);
    touch.Read("attempts", image.touch.attempts);
    touch.Read("obstacle", image.touch.obstacle);
    touch.Read("why", image.touch.why);
  });
  in.Object("registry", [&](const status::Members& registry) { image.registry = ReadRegistry(registry); });
  in.Read("from", image.from);
  in.Read("aliases", image.aliases);
  return image;
}

StatusKubelet ReadStatusKubelet(const status::Members& in) {
  StatusKubelet kubelet;
  in.Read("version", kubelet.version);
  in.Read("rules", kubelet.rules);
  in.Read("verification", kubelet.verification);
  in.Read("root", kubelet.root);
  in.Read("recordsNote", kubelet.records_note);
  in.Object("sources", [&](const status::Members& sources) {
    sources.Read("version", kubelet.version_from);
    sources.Read("verification", kubelet.verification_from);
  });
  return kubelet;
}

// A Snapshot as the status document shows it, for the agent's own screen (prefetchd --once).

namespace {

// Texts of runtimes and registries are made as harmless to a terminal as those of a foreign document.
std::string Shown(std::string_view text) {
  return base::WithoutControls(base::ToUtf8(text));
}
std::vector<std::string> Shown(const std::vector<std::string>& texts) {
  std::vector<std::string> shown;
  for (const std::string& text : texts) shown.push_back(Shown(std::string_view(text)));
  return shown;
}
// Cuts to whole seconds, as the document has them.
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
  // The pod has not been judged yet.
  if (verdicts == nullptr) return spelling;
  const status::ShownVerdicts shown = status::AsShown(*verdicts);
  spelling.never = Shown(shown.never);
  spelling.if_not_present = Shown(shown.if_not_present);
  spelling.always = Shown(shown.always);
  return spelling;
}

// Returns the readyAs that all sources agree on. It is empty if they differ; the spellings then show it.
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
  // Without known bytes, the members must be missing and not 0.
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
  // A single pod needs no list of spellings: the entry's own members describe it.
  if (!want.other_pods.empty()) {
    for (const plan::JudgedPod& pod : plan::PodsOf(want)) {
      shown.spellings.push_back(SpellingOf(pod, plan::VerdictsOfPod(image, pod)));
    }
  }
  if (image.registry) shown.registry = RegistryOf(*image.registry);
  return shown;
}

StatusKubelet KubeletOf(const std::optional<plan::KubeletStatus>& kubelet) {
  // A Snapshot lacks a kubelet only if the operator declared that there is none.
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
