#include "status/documents.h"

#include <algorithm>

#include "base/enum_name.h"
#include "doc/duration.h"
#include "image/reference.h"
#include "image/registry_answer.h"
#include "kubelet/settings.h"
#include "plan/check.h"
#include "plan/snapshot.h"
#include "status/rows.h"

namespace prefetch::status {

std::optional<base::WallTime> ParseTime(const std::string& text) {
  // Nanoseconds reach some 292 years: half of that to both sides of 1970, so that the time between any two
  // holds, too.
  constexpr auto kFurthest = std::chrono::floor<std::chrono::seconds>(base::WallTime::duration::max()) / 2;
  const auto time = doc::ParseTimestamp(text);
  if (!time || text.back() != 'Z') return std::nullopt;
  const std::chrono::seconds since = std::chrono::sys_days(time->date).time_since_epoch() + time->of_day;
  if (since > kFurthest || since < -kFurthest) return std::nullopt;
  return base::WallTime(since);
}

template <typename V>
static void Rows(V&& v, const StatusVerdict*) {
  v("result", &StatusVerdict::result, kPublic,
    "kubelet uses the local image, contacts the registry, or refuses the pod");
  v("reason", &StatusVerdict::reason, kPublic | kMore, "The rule behind the result", plan::CheckReasonNames);
}

template <typename V, typename T>
static void Rows(V&& v, const image::PerPolicy<T>*) {
  using Each = image::PerPolicy<T>;
  v("Never", &Each::never, kPublic, "For a pod with imagePullPolicy Never");
  v("IfNotPresent", &Each::if_not_present, kPublic, "For a pod with imagePullPolicy IfNotPresent");
  v("Always", &Each::always, kPublic, "For a pod with imagePullPolicy Always");
}

template <typename V>
static void Rows(V&& v, const StatusPull*) {
  v("state", &StatusPull::state, kPublic,
    "Its state. `Waiting`: it failed, and the agent tries again. `Failed`: not before the list changes, or a "
    "retry is requested");
  v("attempts", &StatusPull::attempts, 0, "Attempts since the image was last present, or since the start");
  v("bytesDone", &StatusPull::bytes_done, kNull, "Downloaded bytes; null: the runtime does not show them");
  v("bytesTotal", &StatusPull::bytes_total, kNull, "Bytes to download");
  v("bytesPerSecond", &StatusPull::bytes_per_second, kNull, "Speed over the last seconds");
  v("startedAt", &StatusPull::started_at, kNull, "Start of the newest attempt");
  v("finishedAt", &StatusPull::finished_at, kNull, "End of the newest attempt");
  v("lastError", &StatusPull::last_error, kNull, "Why it failed");
  v("nextAttemptAt", &StatusPull::next_attempt_at, kNull, "Time of the next attempt");
  v("retryRequestedAt", &StatusPull::retry_requested_at, kNull,
    "When someone requested a retry (`prefetchctl retry`, `check --pull`); null: no request is open");
}

template <typename V>
static void Rows(V&& v, const StatusTouch*) {
  v("state", &StatusTouch::state, 0, "State of the touch. `Ineffective`: no further touch would help");
  v("attempts", &StatusTouch::attempts, 0, "Touches so far");
  v("obstacle", &StatusTouch::obstacle, kMore, "The obstacle to its effect; `None`: there is none");
  v("why", &StatusTouch::why, kNull, "The obstacle as a sentence");
  v("lastAt", &StatusTouch::last_at, kNull, "Time of the last touch");
  v("nextAttemptAt", &StatusTouch::next_attempt_at, kNull, "Time of the next touch");
}

template <typename V>
static void Rows(V&& v, const StatusRegistry*) {
  v("answer", &StatusRegistry::answer, kPublic | kNull, "The newest answer; null: none since the start");
  v("detail", &StatusRegistry::detail, kNull, "Class of a failure: `Tls`");
  v("digest", &StatusRegistry::digest, kNull, "The digest that the tag names");
  v("checkedAt", &StatusRegistry::checked_at, kNull, "When the agent asked last");
  v("fresh", &StatusRegistry::fresh, kPublic,
    "Whether it agreed within maxAge; without one, within 2 x refreshInterval");
  v("acceptable", &StatusRegistry::acceptable, kPublic | kLater,
    "Whether its answers let the entry be ready");
  v("reason", &StatusRegistry::reason, kPublic | kMore, "Why the image is not fresh, or not ready");
  v("message", &StatusRegistry::message, 0, "The answer as a sentence");
  v("agrees", &StatusRegistry::agrees, kPublic, "Whether a pod with Always would get the present content");
  v("answeredBy", &StatusRegistry::answered_by, kNull, "The mirror that answered");
  v("confirmedAt", &StatusRegistry::confirmed_at, kPublic | kNull, "When it agreed last");
  v("ageSeconds", &StatusRegistry::age_seconds, kNull, "Time since it agreed");
  v("nextCheckAt", &StatusRegistry::next_check_at, kNull, "When the agent asks next");
  v("silentChecks", &StatusRegistry::silent_checks, 0, "Checks in a row without an answer");
  v("changedFrom", &StatusRegistry::changed_from, kNull,
    "The digest before the newest change that the agent pulled");
  v("changedAt", &StatusRegistry::changed_at, kNull, "When it pulled that change");
}

template <typename V>
static void Rows(V&& v, const image::Coordinates*) {
  v("namespace", &image::Coordinates::namespace_name, 0, "Its namespace");
  v("name", &image::Coordinates::name, 0, "Its name");
  v("uid", &image::Coordinates::uid, kLeftOut, "Its metadata.uid, if the list has it");
}

template <typename V>
static void Rows(V&& v, const image::PodCredentialRefs*) {
  v("secrets", &image::PodCredentialRefs::secrets, kLeftOut, "Its pull secrets");
  v("serviceAccount", &image::PodCredentialRefs::service_account, kLeftOut, "Its service account");
}

template <typename V>
static void Rows(V&& v, const StatusSpelling*) {
  v("image", &StatusSpelling::image, kPublic, "The spelling");
  v("readyAs", &StatusSpelling::ready_as, kLeftOut,
    "The pod of the verdicts, as the list has it; missing for pods without credentials");
  v("verdicts", &StatusSpelling::verdicts, kPublic | kNull, "The verdicts for this spelling and pod");
}

template <typename V>
static void Rows(V&& v, const plan::PullOrigin*) {
  v("pulledAt", &plan::PullOrigin::pulled_at, kNull, "When the agent pulled the content that is here");
  v("credential", &plan::PullOrigin::credential, kNull, "Name of that provider, file or secret");
  v("exposed", &plan::PullOrigin::exposed, 0,
    "Whether the agent pulled it with a mounted pull secret, so that every pod can use it");
  v("fetchedByAgent", &plan::PullOrigin::fetched_by_agent, 0,
    "Whether the agent itself downloaded all of it (`fetch: auto`), not the runtime");
}

template <typename V>
static void Rows(V&& v, const StatusImage*) {
  v("image", &StatusImage::image, kPublic, "The name, as the list has it");
  v("normalizedName", &StatusImage::normalized_name, kPublic,
    "The name that the runtime knows: with registry and tag");
  v("required", &StatusImage::required, kPublic, "Whether readiness waits for it");
  v("readyFor", &StatusImage::ready_for, kPublic, "The pull policy for which it must be ready");
  v("readyAs", &StatusImage::ready_as, kLeftOut,
    "The pod of the verdicts, as the list has it; missing for pods without credentials");
  v("refresh", &StatusImage::refresh, kPublic, "As the list has it");
  v("priority", &StatusImage::priority, 0, "As the list has it");
  v("applies", &StatusImage::applies, kPublic,
    "`false`: the entry is for other nodes (`platforms`, `nodeSelector`)");
  v("present", &StatusImage::present, kPublic,
    "Whether the runtime has it under this name, for this platform");
  v("usable", &StatusImage::usable, kPublic | kLater,
    "Whether a container could run from it: it is present, an image, unpacked, and for this platform");
  v("imageID", &StatusImage::image_id, kNull, "Its id in the runtime");
  v("digest", &StatusImage::digest, kNull, "Its digest in this repository");
  v("sizeBytes", &StatusImage::size_bytes, 0, "Its size, as the runtime reports it");
  v("ready", &StatusImage::ready, kPublic, "Whether it meets `readyFor` and the directives of its entry");
  v("settled", &StatusImage::settled, kPublic,
    "Whether nothing is awaited: it has been usable and judged by kubelet, or it keeps failing");
  v("phase", &StatusImage::phase, kPublic, "As of the node");
  v("reason", &StatusImage::reason, kPublic | kMore, "Why it is in this phase");
  v("message", &StatusImage::message, 0, "The same as a sentence");
  v("pulledWith", &StatusImage::pulled_with, 0, "The kind of credential of the agent's pull");
  v.Inline(&StatusImage::origin);
  v("aliases", &StatusImage::aliases, 0, "Other names of its content in the runtime");
  v("pinned", &StatusImage::pinned, 0, "Whether the runtime protects it from garbage collection");
  v("pinProblem", &StatusImage::pin_problem, kLeftOut, "The obstacle to the pin that its entry asks for");
  v("evictionOrder", &StatusImage::eviction_order, kNull,
    "Its place in the order in which kubelet would remove images; null: not known, or never");
  v("verdicts", &StatusImage::verdicts, kPublic | kNull,
    "kubelet's answer to the pod of `readyAs`; null: not known");
  v("verdictsReason", &StatusImage::verdicts_reason, kPublic | kNull,
    "Why `verdicts` is null, or not kubelet's");
  // Callers must be able to distinguish hidden credentials from a pod without any.
  v("readyAsHidden", &StatusImage::ready_as_hidden, kPublic | kLeftOut,
    "Whether the agent hides `readyAs` and `spellings` from this caller");
  v("spellings", &StatusImage::spellings, kPublic | kLeftOut,
    "The spellings and pods of the entry, if there are several: each has verdicts");
  v("registry", &StatusImage::registry, kPublic | kNull, "The registry's answers; null: it is not asked");
  v("registryReason", &StatusImage::registry_reason, kNull, "Why `registry` is null");
  v("pull", &StatusImage::pull, kPublic, "The agent's newest pull");
  v("open", &StatusImage::open, 0, "As the list has it");
  v("touch", &StatusImage::touch, kNull, "Touches of the image; null: none, and none is due");
  v("from", &StatusImage::from, 0, "Its places in the list: `images.yaml:12`");
}

template <typename V>
static void Rows(V&& v, const plan::ListSource*) {
  v("name", &plan::ListSource::name, kPublic, "Name of the source: `images.yaml`");
  v("path", &plan::ListSource::path, 0, "Its path in the agent's container");
  v("hash", &plan::ListSource::hash, kPublic | kNull, "Hash of the version in force; null: none");
  v("entries", &plan::ListSource::entries, kPublic, "Entries of that version");
  v("loadedAt", &plan::ListSource::loaded_at, kPublic | kNull, "When the agent loaded that version");
  v("error", &plan::ListSource::error, kPublic | kNull, "Why the newest version is not in force");
}

template <typename V>
static void Rows(V&& v, const StatusList*) {
  v("hash", &StatusList::hash, kPublic | kNull, "Hash over the canonical forms of all sources");
  v("entries", &StatusList::entries, kPublic, "Images of all sources");
  v("sources", &StatusList::sources, kPublic, "The files of the list");
  v("warnings", &StatusList::warnings, 0, "Remarks about the list that change nothing");
}

template <typename V>
static void Rows(V&& v, const image::RegistryAccess*) {
  v("configPath", &image::RegistryAccess::config_path, kNull, "containerd's `config_path`");
  v("configPathSource", &image::RegistryAccess::config_path_source, kNull, "Where that is from");
  v("byPull", &image::RegistryAccess::by_pull, 0, "Registries that only a new pull can ask");
  v("byPullSource", &image::RegistryAccess::by_pull_source, kNull, "Where that is from");
  v("notes", &image::RegistryAccess::notes, 0, "Problems in the runtime's configuration of registries");
}

template <typename V>
static void Rows(V&& v, const plan::RuntimeStatus*) {
  using Runtime = plan::RuntimeStatus;
  v("name", &Runtime::name, kPublic | kNull, "Its name, as CRI reports it");
  v("version", &Runtime::version, kPublic | kNull, "Its version");
  v("endpoint", &Runtime::endpoint, kNull, "Its socket");
  v("up", &Runtime::up, kPublic, "Whether it answered last");
  v("error", &Runtime::error, kNull, "Why it does not answer");
  v("registries", &Runtime::access, kNull,
    "How the agent asks registries; null: not known yet, or none is asked");
}

template <typename V>
static void Rows(V&& v, const StatusImageGc*) {
  v("highThresholdPercent", &StatusImageGc::high_threshold_percent, 0, "Usage at which it starts");
  v("lowThresholdPercent", &StatusImageGc::low_threshold_percent, 0, "Usage at which it stops");
  v("minimumAgeSeconds", &StatusImageGc::minimum_age_seconds, 0, "It leaves younger images alone");
  v("maximumAgeSeconds", &StatusImageGc::maximum_age_seconds, 0,
    "It removes images that are unused for longer; 0: never");
  v("warnings", &StatusImageGc::warnings, 0, "Images of the list that it will remove");
}

template <typename V>
static void Rows(V&& v, const StatusKubelet*) {
  using Kubelet = StatusKubelet;
  v("version", &Kubelet::version, kPublic | kNull, "Its version; `none` with `--kubelet=none`");
  v("rules", &Kubelet::rules, kPublic | kNull | kKubelet,
    "The version whose rules the agent applies, if the operator chose one");
  v("verification", &Kubelet::verification, kPublic | kNull | kMore,
    "Its `imagePullCredentialsVerificationPolicy`", base::NamesOf<kubelet::VerificationPolicy>);
  v("allowlist", &Kubelet::allowlist, kKubelet, "Its `preloadedImagesVerificationAllowlist`");
  v("root", &Kubelet::root, kNull | kKubelet, "Its root directory");
  v("sources", &Kubelet::sources, 0, "Where each fact is from: a file, or `declared`");
  v("recordsReadable", &Kubelet::records_readable, kNull,
    "Whether the agent can read its records of pulls; null: not looked yet");
  v("recordsNote", &Kubelet::records_note, kNull | kKubelet, "The problem with its records");
  v("runtimeNote", &Kubelet::runtime_note, kNull | kKubelet, "Why its records do not work with this runtime");
  v("contradictions", &Kubelet::contradictions, kKubelet, "Declarations that the node contradicts");
  v("imageGC", &Kubelet::image_gc, kNull | kKubelet, "Its image garbage collection; null: not known");
}

template <typename V>
static void Rows(V&& v, const plan::DiskStatus*) {
  v("path", &plan::DiskStatus::path, 0, "Its path");
  v("capacityBytes", &plan::DiskStatus::capacity_bytes, 0, "Its size");
  v("availableBytes", &plan::DiskStatus::available_bytes, 0, "Its free bytes");
  v("keptFreeBytes", &plan::DiskStatus::kept_free_bytes, 0, "Bytes among them that no pull may take");
  v("neededBytes", &plan::DiskStatus::needed_bytes, 0,
    "Bytes that absent images will still take, as far as their sizes are known");
  v("pressure", &plan::DiskStatus::pressure, 0, "Whether a pull waits for room");
}

template <typename V>
static void Rows(V&& v, const plan::RegistryStatus*) {
  using Server = plan::RegistryStatus;
  v("name", &Server::name, 0, "Name of the registry");
  v("entries", &Server::entries, 0, "Images that it is asked for");
  v("checksPerHour", &Server::checks_per_hour, 0, "Planned checks for these");
  v("requestsPerSecond", &Server::requests_per_second, 0, "Most requests a second");
  v("requestsLeft", &Server::requests_left, 0, "Requests that the agent may send immediately");
  v("requests", &Server::requests, 0, "Requests since the start");
  v("trouble", &Server::trouble, kNull, "Class of its newest failure");
  v("message", &Server::message, kNull, "The same as a sentence");
  v("unreachableSince", &Server::unreachable_since, kNull, "Since when it does not answer");
  v("unreachableForSeconds", &Server::unreachable_for_seconds, kNull, "The same as an age");
  v("heldUntil", &Server::held_until, kNull, "The agent does not ask before");
  v("pullsLeft", &Server::pulls_left, kNull,
    "Pulls that the registry still allows this node, if it reports them");
  v("pullsAllowed", &Server::pulls_allowed, kNull, "Their total number");
  v("updatesWait", &Server::updates_wait, 0, "Whether refreshes wait, since few pulls are left");
}

template <typename V>
static void Rows(V&& v, const plan::UnlistedImage*) {
  v("image", &plan::UnlistedImage::image, 0, "Name of the image");
  v("imageID", &plan::UnlistedImage::image_id, 0, "Its id in the runtime");
  v("sizeBytes", &plan::UnlistedImage::size_bytes, 0, "Its size, as the runtime reports it");
  v("firstSeen", &plan::UnlistedImage::first_seen, 0, "When the agent first saw it");
  v("arrivedAt", &plan::UnlistedImage::arrived_at, 0, "When it came last");
  v("present", &plan::UnlistedImage::present, 0, "Whether it is still there");
}

template <typename V>
static void Rows(V&& v, const StatusDocument*) {
  using Doc = StatusDocument;
  v("hidden", &Doc::hidden, kPublic | kLeftOut,
    "Members that the agent does not show to this caller; missing in the full document");
  v("node", &Doc::node, kPublic, "Name of the node");
  v("agentVersion", &Doc::agent_version, kPublic, "Version of the agent");
  v("ready", &Doc::ready, kPublic, "Whether every required image is ready: what `/readyz` answers");
  v("phase", &Doc::phase, kPublic,
    "`Progressing`: the agent is still at work. `Failing`: an operator must act, or the cause must pass");
  v("reason", &Doc::reason, kPublic | kMore, "Why the node is in this phase");
  v("message", &Doc::message, 0, "The same as a sentence");
  v("required", &Doc::required, kPublic, "Required images for this node's platform");
  v("requiredReady", &Doc::required_ready, kPublic, "Ready ones among them");
  v("time", &Doc::time, kPublic, "When the document was made");
  v("list", &Doc::list, kPublic, "The list in force");
  v("runtime", &Doc::runtime, kPublic, "The container runtime");
  v("kubelet", &Doc::kubelet, kPublic, "The node's kubelet");
  v("disk", &Doc::disk, kNull, "The image filesystem; null: the agent cannot measure it");
  v("registries", &Doc::registries, 0, "The registries that the agent asks about tags");
  v("problems", &Doc::problems, 0, "Problems that concern no single image");
  v("images", &Doc::images, kPublic, "The images of the list, in its order");
  v("unlisted", &Doc::unlisted, kNull,
    "Images on no list that came after the agent's start; null: not known yet");
  v("unlistedSince", &Doc::unlisted_since, kLeftOut, "Since when the agent looks for them");
  v("unlistedLeftOut", &Doc::unlisted_left_out, kLeftOut, "Further ones, beyond the limit of this list");
  v("unlistedReason", &Doc::unlisted_reason, kNull, "Why `unlisted` is null");
}

template <typename V>
static void Rows(V&& v, const Reasoning*) {
  v("result", &Reasoning::result, 0, "As in `verdicts`");
  v("reason", &Reasoning::reason, 0, "kubelet's own reason");
  v("rule", &Reasoning::rule, 0, "The step of kubelet's procedure that decides");
  v("message", &Reasoning::message, 0, "The same as a sentence");
}

template <typename V>
static void Rows(V&& v, const RecordedUse*) {
  v("repository", &RecordedUse::repository, 0, "The name under which kubelet recorded a pull");
  v("node", &RecordedUse::node, 0, "Whether every pod of the node may use it");
  v("secrets", &RecordedUse::secrets, 0, "Number of recorded pull secrets");
  v("serviceAccounts", &RecordedUse::service_accounts, 0, "Number of recorded service accounts");
  v("identities", &RecordedUse::identities, 0, "Their names, if the question asks for them");
}

template <typename V>
static void Rows(V&& v, const RecordView*) {
  v("state", &RecordView::state, 0, "Whether the agent found kubelet's record");
  v("uses", &RecordView::uses, 0, "The pods that may use the image");
}

template <typename V>
static void Rows(V&& v, const image::CredentialWords*) {
  v("source", &image::CredentialWords::source, 0, "Kind of the credential's source");
  v("name", &image::CredentialWords::name, 0, "Name of the provider or file");
  v("match", &image::CredentialWords::match, 0, "The pattern that matched the image");
  v("username", &image::CredentialWords::username, 0, "Its user name");
}

template <typename V>
static void Rows(V&& v, const image::ProviderWords*) {
  v("name", &image::ProviderWords::name, 0, "Name of the credential provider");
  v("matched", &image::ProviderWords::matched, 0, "Whether its `matchImages` names the image");
  v("outcome", &image::ProviderWords::outcome, 0, "Outcome of its newest run");
  v("error", &image::ProviderWords::error, 0, "Why it failed");
}

template <typename V>
static void Rows(V&& v, const RegistryHostView*) {
  v("server", &RegistryHostView::server, 0, "Its address");
  v("mirror", &RegistryHostView::mirror, 0, "Whether it is a mirror");
  v("problem", &RegistryHostView::problem, kNull, "Why it cannot be asked");
}

template <typename V>
static void Rows(V&& v, const RegistryHostsView*) {
  v("byPull", &RegistryHostsView::by_pull, 0, "Whether only a new pull can ask");
  v("source", &RegistryHostsView::source, kNull, "The folder that names the servers");
  v("configPath", &RegistryHostsView::config_path, kNull, "containerd's `config_path`");
  v("configPathSource", &RegistryHostsView::config_path_source, kNull, "Where that is from");
  v("hosts", &RegistryHostsView::hosts, 0, "The servers in the order in which the runtime asks them");
  v("notes", &RegistryHostsView::notes, 0, "Problems of that configuration");
}

template <typename V>
static void Rows(V&& v, const ImageDocument*) {
  using Doc = ImageDocument;
  v("node", &Doc::node, 0, "Name of the node");
  v("time", &Doc::time, 0, "When the document was made");
  v.Inline(&Doc::image);
  v("listed", &Doc::listed, 0, "Whether the list has it");
  v("kubelet", &Doc::kubelet, 0, "The node's kubelet");
  v("runtime", &Doc::runtime, 0, "The container runtime");
  v("reasoning", &Doc::reasoning, kNull, "kubelet's decision for each policy; null: not known");
  v("record", &Doc::record, 0, "kubelet's record of the image");
  v("intent", &Doc::intent, 0, "kubelet's intent to pull it: a state as of the record");
  v("recordKey", &Doc::record_key, kNull, "The key of the record");
  v("credentials", &Doc::credentials, kNull, "Credentials in the order of attempts; null: not looked up");
  v("providers", &Doc::providers, 0, "kubelet's credential providers");
  v("registryHosts", &Doc::registry_hosts, kNull, "Servers that are asked; null: no registry is asked");
  v("listedAliases", &Doc::listed_aliases, 0, "Its other names that the list has, too");
  v("whatHelps", &Doc::remediation, 0, "Advice, the best first");
}

namespace {

// 5,000 images are 5 MB and 300,000 nodes.
constexpr doc::Limits kLimits{.bytes = 32 << 20, .depth = 16, .nodes = 4'000'000};
// More than a document and an image of it usually take, for one allocation: a document of thousands of images
// would otherwise be copied several times while it grows. Memory that is not written to costs nothing.
constexpr std::size_t kHeadBytes = 16384;
constexpr std::size_t kImageBytes = 2048;

}  // namespace

std::string StatusKubelet::SourceOf(std::string_view fact) const {
  for (const auto& [name, source] : sources) {
    if (name == fact) return source;
  }
  return "";
}

std::string ToJson(const StatusDocument& document, const ImageSource& images, View view) {
  return WriteDocument(document, "NodeStatus", view, kHeadBytes + images.count * kImageBytes, &images);
}

std::string ToJson(const ImageDocument& document) {
  return WriteDocument(document, "ImageStatus", View::kFull, kHeadBytes);
}

base::Result<StatusDocument> ParseStatusDocument(std::string_view json) {
  return ParseDocument<StatusDocument>(json, "NodeStatus", "status document", kLimits);
}

base::Result<ImageDocument> ParseImageDocument(std::string_view json) {
  return ParseDocument<ImageDocument>(json, "ImageStatus", "image document", {});
}

const std::vector<std::string>& HiddenMembers() {
  static const std::vector<std::string> kHidden = [] {
    std::vector<std::string> paths;
    for (const doc::Field& field : StatusFields()) {
      if (field.hidden) paths.push_back(base::ReplaceAll(field.path, "[]", ""));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }();
  return kHidden;
}

doc::Fields StatusFields() {
  return FieldsOf<StatusDocument>("NodeStatus");
}

}  // namespace prefetch::status
