// GET /v1/images/REF: the facts about one image, collected.
#include <algorithm>
#include <memory>
#include <utility>

#include "agent/answers/inquiry.h"
#include "agent/answers/live_kubelet.h"
#include "kubelet/records.h"
#include "kubelet/trimmed_image.h"
#include "plan/check.h"
#include "plan/image_readiness.h"
#include "plan/spellings.h"
#include "status/status_json.h"

namespace prefetch::agent {
namespace {

using kubelet::FileContent;

std::string_view StateName(const FileContent& file, bool decoded, bool found) {
  switch (file.state) {
    case FileContent::State::kAbsent:
      return "Absent";
    case FileContent::State::kUnreadable:
      return "Unreadable";
    case FileContent::State::kPresent:
      return !decoded ? "Undecodable" : found ? "Found" : "Absent";
  }
  return "Unreadable";
}

std::string Named(const char* what, const kubelet::Coordinates& of) {
  return std::string(what) + " " + of.namespace_name + "/" + of.name;
}

status::RecordedUse UseOf(const std::string& repository, const kubelet::CredentialEntry& entry,
                          bool identities) {
  status::RecordedUse use{.repository = repository,
                          .node = entry.node_pods_accessible,
                          .secrets = entry.secrets.size(),
                          .service_accounts = entry.service_accounts.size(),
                          .identities = {}};
  // Names of Secrets and ServiceAccounts are shown only to a client that asks for them.
  if (!identities) return use;
  for (const auto& secret : entry.secrets) use.identities.push_back(Named("secret", secret.secret));
  for (const auto& account : entry.service_accounts) {
    use.identities.push_back(Named("service account", account));
  }
  return use;
}

struct PodNow {
  image::Reference reference;
  kubelet::VerdictQuestion files;
  plan::VerdictsPtr verdicts;  // the worst of all pods
};

// Reads kubelet's files as they are now. Returns the pod profile with the worst verdict, and the first of
// several. Its files explain the verdict that status shows for the entry.
PodNow WorstPod(const plan::Snapshot& snapshot, const plan::ImageState& image) {
  std::vector<PodNow> all;
  std::vector<plan::SpelledVerdicts> each;
  for (const plan::PodProfile& pod : plan::PodsOf(image.want)) {
    const std::string& written = pod.reference.written();
    all.push_back({pod.reference, ReadKubeletFiles(snapshot, written, image.image_id), nullptr});
    all.back().files.pod = kubelet::IdentityOf(*pod.ready_as);
    all.back().verdicts = std::make_shared<const kubelet::Verdicts>(
        kubelet::VerdictsFor(all.back().files, *snapshot.possible_kubelets));
    each.push_back({written, all.back().verdicts, pod.ready_as});
  }
  plan::VerdictsPtr worst = plan::WorstOf(std::move(each)).worst;
  auto decisive = std::find_if(all.begin(), all.end(), [&](const PodNow& one) {
    return one.verdicts->never.result == worst->never.result &&
           one.verdicts->never.reason == worst->never.reason;
  });
  decisive->verdicts = std::move(worst);
  return std::move(*decisive);
}

// Adds kubelet's files as the newest possible kubelet reads them.
void AddFiles(const plan::Snapshot& snapshot, const plan::ImageState& image, bool identities,
              status::ImageDetail& detail) {
  if (!KnowsKubelet(snapshot)) return;
  image::KubeletVersion version = snapshot.possible_kubelets->back().version;
  PodNow pod_now = WorstPod(snapshot, image);
  const kubelet::VerdictQuestion& files = pod_now.files;
  detail.verdicts = *pod_now.verdicts;
  detail.record_key = kubelet::TrimmedImage(pod_now.reference, version);
  // Records are filed under an image id (K18), so an absent image has none.
  if (image.image_id.empty()) return;
  kubelet::RecordReading record = kubelet::DecodeRecord(files.record.content, image.image_id, version);
  detail.record.state = StateName(files.record, record.reading != kubelet::Reading::kUndecodable,
                                  record.reading == kubelet::Reading::kFound);
  for (const auto& [repository, entry] : record.record.mapping) {
    detail.record.uses.push_back(UseOf(repository, entry, identities));
  }
  kubelet::Reading intent = kubelet::DecodeIntent(files.intent.content, pod_now.reference.written(), version);
  detail.intent =
      StateName(files.intent, intent != kubelet::Reading::kUndecodable, intent == kubelet::Reading::kFound);
}

}  // namespace

void Inquiry::AddCredentials(const base::Call& call, const plan::ImageState& image,
                             status::ImageDetail& detail) const {
  credentials::Lookup lookup = keyring_.Find(call, image.want->reference, image.want->sources);
  detail.credentials_known = true;
  for (const credentials::Credential& credential : lookup.credentials) {
    detail.credentials.push_back({.source = std::string(credentials::SourceName(credential.source)),
                                  .name = credential.name,
                                  .match = credential.match,
                                  .username = credential.auth.username});
  }
  for (const credentials::ProviderReport& provider : lookup.providers) {
    detail.providers.push_back({.name = provider.name,
                                .outcome = std::string(credentials::ProviderOutcomeName(provider.outcome)),
                                .error = provider.error,
                                .matched = provider.matched});
  }
}

// A listed image is answered from the Snapshot, so that the page agrees with status. For other images the
// runtime is asked now. If it does not answer, nothing is said about kubelet's records, which are filed under
// the image id that only the runtime knows.
Explanation Inquiry::Explain(const base::Call& call, const image::Reference& reference,
                             const ExplainOptions& options) const {
  plan::SnapshotPtr snapshot = board_.Latest();
  status::ImageDetail detail;
  plan::ImageState image;
  bool runtime_answered = true;
  const plan::ImageState* listed = plan::FindImage(*snapshot, reference);
  detail.listed = listed != nullptr;
  if (listed != nullptr) {
    image = *listed;
    const bool down = snapshot->readiness.reason == plan::Reason::kRuntimeDown;
    runtime_answered = image.present || !plan::IsUnreported(image, down);
  } else {
    auto here = runtime_.Ask(call.Within(LiveRuntime::Timeout(snapshot->runtime)), {});
    runtime_answered = here->ok();
    image.want = plan::DesiredImage{.reference = reference};
    if (!runtime_answered)
      image.message = "the container runtime could not be asked: " + here->error().message;
    if (runtime_answered) image = runtime_.Unlisted(call, reference, **here);
  }
  for (const std::string& alias : image.aliases) {
    auto other = image::Reference::Parse(alias);
    if (other && plan::FindImage(*snapshot, *other) != nullptr) detail.listed_aliases.push_back(alias);
  }
  if (runtime_answered) AddFiles(*snapshot, image, options.identities, detail);
  if (!detail.listed && detail.verdicts) {
    image.verdicts = std::make_shared<const kubelet::Verdicts>(*detail.verdicts);
    if (image.present) image.reason = plan::ReasonFor(detail.verdicts->never.reason);
    // An unlisted image has no entry that the loop would judge.
    image.ready = plan::IsReadyFor(image, image::PullPolicy::kNever, true);
  }
  if (options.credentials) AddCredentials(call, image, detail);
  if (hosts_) {
    const plan::RuntimeStatus& runtime = snapshot->runtime;
    detail.registry_hosts = hosts_(reference, {runtime.name, runtime.version, runtime.registries});
  }
  return {.known = detail.listed || image.present,
          .json = status::ImageJson(*snapshot, image, detail, clock_.Wall())};
}

}  // namespace prefetch::agent
