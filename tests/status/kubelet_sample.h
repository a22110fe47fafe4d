// A node with a kubelet, for the tests of report: images as kubelet would judge them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kubelet/settings.h"
#include "kubelet/verdict.h"
#include "plan/snapshot.h"
#include "status/documents.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::sample {

inline kubelet::RecordReading Recorded(const std::string& repository, kubelet::CredentialEntry entry) {
  kubelet::RecordReading record{.reading = kubelet::Reading::kFound, .record = {}};
  record.record.mapping.emplace(repository, std::move(entry));
  return record;
}

inline kubelet::CredentialEntry ForTwoSecrets() {
  kubelet::CredentialEntry entry;
  entry.secrets.push_back({{.uid = "u1", .namespace_name = "team", .name = "pull"}, base::Secret("h1")});
  entry.secrets.push_back({{.uid = "u2", .namespace_name = "shop", .name = "robot"}, base::Secret("h2")});
  return entry;
}

inline kubelet::CredentialEntry ForTheNode() {
  return {.node_pods_accessible = true, .secrets = {}, .service_accounts = {}};
}

inline void Apply(const kubelet::Verdict& verdict, plan::ImageState& state) {
  state.ready = state.usable && verdict.result == kubelet::VerdictResult::kStarts;
  state.phase = state.ready ? plan::Phase::kReady : plan::Phase::kFailing;
  state.reason = plan::ReasonFor(verdict.reason);
  state.message = verdict.message;
}

// `state`, which is on the node, as kubelet 1.36, or `version`, says with this record.
inline plan::ImageState Judged(plan::ImageState state, const kubelet::RecordReading& record = {},
                               image::KubeletVersion version = {1, 36}) {
  kubelet::VerdictFacts facts{
      .image = state.desired->reference.written(), .image_id = state.image_id, .record = record};
  state.verdicts =
      std::make_shared<const kubelet::Verdicts>(kubelet::DecideVerdicts(facts, {}, {.version = version}));
  Apply(state.verdicts->never, state);
  return state;
}

inline kubelet::Verdicts AbsentVerdicts(const std::string& image) {
  return kubelet::DecideVerdicts({.image = image, .image_id = "", .record = {}}, {}, {.version = {1, 36}});
}

// An undecided verdict, as where kubelet's version and configuration are not known.
inline plan::ImageState Undecided(plan::ImageState state) {
  kubelet::Verdict unknown{
      kubelet::VerdictResult::kUnknown, kubelet::VerdictReason::kFactsUnknown, "facts",
      "It depends on unknown settings of kubelet; declare its configuration (--kubelet-config)."};
  kubelet::Verdicts verdicts{unknown, unknown, AbsentVerdicts("a").always};
  state.verdicts = std::make_shared<const kubelet::Verdicts>(verdicts);
  Apply(unknown, state);
  return state;
}

inline plan::ImageState ClosedByOthers() {
  return Judged(Ready("quay.io/acme/runner:v3", 1'200'000'000),
                Recorded("quay.io/acme/runner", ForTwoSecrets()));
}

inline plan::ImageState UnderOtherName() {
  plan::ImageState state = Ready("mirror.acme.io/app:v1", 210'000'000);
  state.aliases = {
      "mirror.acme.io/app:stable", "quay.io/acme/app:v1",
      "quay.io/acme/app@sha256:9ab1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff"};
  return Judged(std::move(state), Recorded("quay.io/acme/app", ForTwoSecrets()));
}

inline plan::ImageState Absent() {
  plan::ImageState state = Failing("quay.io/acme/private:v2", plan::Reason::kAccessDenied,
                                   "401 Unauthorized from quay.io with the node's credentials", 3);
  state.verdicts = std::make_shared<const kubelet::Verdicts>(AbsentVerdicts("quay.io/acme/private:v2"));
  return state;
}

inline plan::ImageState Preloaded(const std::string& name) {
  plan::ImageState state = Ready(name, 4'261'550);
  state.origin.with = plan::PulledWith::kUnknown;
  state.origin.credential.clear();
  return Judged(std::move(state));
}

inline plan::ImageState Open(const std::string& name) {
  return Judged(Ready(name, 310'000'000),
                Recorded(image::Reference::Parse(name)->Repository(), ForTheNode()));
}

// Each pod of its sources as kubelet 1.36 judges it with this record.
inline plan::ImageState JudgedForAll(plan::ImageState state, const kubelet::RecordReading& record) {
  std::vector<plan::SpellingVerdicts> each;
  for (const plan::PodProfile& pod : plan::PodsOf(state.desired)) {
    kubelet::VerdictFacts facts{
        .image = pod.reference.written(), .image_id = state.image_id, .record = record};
    kubelet::Verdicts verdicts =
        kubelet::DecideVerdicts(facts, kubelet::IdentityOf(*pod.ready_as), {.version = {1, 36}});
    each.push_back({pod.reference.written(), std::make_shared<const kubelet::Verdicts>(std::move(verdicts)),
                    pod.ready_as});
  }
  plan::EntryVerdicts all = plan::WorstOf(std::move(each));
  state.verdicts = all.worst;
  state.spellings = all.each;
  Apply(state.verdicts->never, state);
  return state;
}

// Two sources write it in two ways, and kubelet has pulled it for pods of the first only.
inline plan::ImageState SpelledTwice() {
  plan::ImageState state = Ready("docker.io/library/nginx:1.27", 71'000'000);
  state.desired.Change([](plan::DesiredImage& desired) {
    desired.other_pods = {{*image::Reference::Parse("nginx:1.27")}};
    desired.from = {"images.yaml:4", "team.txt:1"};
  });
  return JudgedForAll(std::move(state), Recorded("docker.io/library/nginx", ForTheNode()));
}

// The list has it for pods that bring a secret, which kubelet's record names.
inline plan::ImageState ForPodsWithASecret() {
  plan::ImageState state = Ready("quay.io/acme/runner:v3", 1'200'000'000);
  state.desired.Change([](plan::DesiredImage& desired) {
    desired.ready_as = image::PodCredentialRefs{
        .secrets = {{"", "team", "pull"}}, .service_account = image::Coordinates{"6f1c", "team", "runner"}};
  });
  return JudgedForAll(std::move(state), Recorded("quay.io/acme/runner", ForTwoSecrets()));
}

// A second source has it for pods without any.
inline plan::ImageState ForTwoPods() {
  plan::ImageState state = ForPodsWithASecret();
  state.desired.Change([](plan::DesiredImage& desired) {
    desired.other_pods = {{desired.reference}};
    desired.from = {"images.yaml:4", "team.txt:1"};
  });
  return JudgedForAll(std::move(state), Recorded("quay.io/acme/runner", ForTwoSecrets()));
}

// Node() of images whose kubelet is `verification`, as a file says.
inline plan::Snapshot KubeletNodeOf(std::vector<plan::ImageState> images) {
  plan::Snapshot snapshot = Node(std::move(images));
  snapshot.kubelet = plan::KubeletStatus{};
  snapshot.kubelet->version = "1.36.2";
  snapshot.kubelet->verification = "NeverVerifyPreloadedImages";
  snapshot.kubelet->root = "/var/lib/kubelet";
  snapshot.kubelet->sources = {{"version", "declared"}, {"verification", "/var/lib/kubelet/config.yaml"}};
  snapshot.kubelet->records_readable = true;
  return snapshot;
}

// One of each kind.
inline plan::Snapshot KubeletNode() {
  return KubeletNodeOf({Open("gcr.io/acme/db:v5"), Preloaded("docker.io/library/busybox:1.36"),
                        ClosedByOthers(), UnderOtherName(),
                        Undecided(Ready("ghcr.io/acme/odd:v1", 90'000'000)),
                        Pulling("ghcr.io/acme/e2e:main", 412'000'000, 680'000'000, 38'000'000),
                        Queued("quay.io/acme/tool:v9")});
}

// kubelet has a credential provider that the agent was not given.
inline plan::ImageState RefusedForWantOfAProvider() {
  plan::ImageState state = Failing("123.dkr.ecr.eu-west-1.amazonaws.com/app:v1", plan::Reason::kAccessDenied,
                                   "no credential of this node matches, asked anonymously: 401 Unauthorized "
                                   "(provider \"ecr-credential-provider\" was skipped: kubelet uses it, from "
                                   "/etc/kubernetes/providers/ecr.yaml; the agent was given none)",
                                   2);
  state.verdicts =
      std::make_shared<const kubelet::Verdicts>(AbsentVerdicts(state.desired->reference.written()));
  return state;
}

inline plan::Snapshot UngivenNode() {
  plan::Snapshot snapshot = KubeletNodeOf({Open("gcr.io/acme/db:v5"), RefusedForWantOfAProvider()});
  snapshot.providers_not_given = 1;
  snapshot.problems.emplace_back(
      "kubelet uses the credential provider \"ecr-credential-provider\" from "
      "/etc/kubernetes/providers/ecr.yaml; the agent was given none: images of *.dkr.ecr.*.amazonaws.com "
      "will be refused (401); mount kubelet's file and its plugins, and name them with "
      "--image-credential-provider-config and --image-credential-provider-bin-dir");
  return snapshot;
}

// Its kubelet is newer than the rules that are known.
inline plan::Snapshot NewerNodeOf(std::vector<plan::ImageState> images) {
  plan::Snapshot snapshot = KubeletNodeOf(std::move(images));
  snapshot.kubelet->version = "1.99.0";
  snapshot.kubelet->newer = true;
  snapshot.kubelet->sources.front().second = "Node status";
  snapshot.problems.push_back(kubelet::UnknownRulesReason({.version = image::KubeletVersion{1, 99, 0}}));
  return snapshot;
}

inline plan::ImageState BeyondTheRules() {
  return Judged(Ready("quay.io/acme/runner:v3", 1'200'000'000), {}, {1, 99, 0});
}

inline plan::Snapshot NewerNode() {
  return NewerNodeOf({Open("gcr.io/acme/db:v5"), BeyondTheRules()});
}

// The detail that goes with an image of this node: its record, and what it would be pulled with.
inline status::ImageDocument DetailOf(const plan::ImageState& image,
                                      const kubelet::RecordReading& record = {}) {
  status::ImageDocument detail;
  if (image.verdicts) detail.reasoning = status::ReasoningOf(*image.verdicts);
  detail.record_key = image.desired->reference.Repository();
  if (!image.image_id.empty()) {
    const bool found = record.reading == kubelet::Reading::kFound;
    detail.record.state = found ? kubelet::Reading::kFound : kubelet::Reading::kAbsent;
    detail.intent = kubelet::Reading::kAbsent;
  }
  for (const auto& [repository, entry] : record.record.mapping) {
    detail.record.uses.push_back({.repository = repository,
                                  .node = entry.node_pods_accessible,
                                  .secrets = entry.secrets.size(),
                                  .service_accounts = entry.service_accounts.size(),
                                  .identities = {}});
  }
  detail.credentials.emplace();
  return detail;
}

}  // namespace prefetch::sample
