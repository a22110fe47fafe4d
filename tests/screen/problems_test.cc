// Output for each problem of a node's kubelet, its credentials or the pod of an entry: status, explain and
// /readyz?verbose, one file each.
#include <gtest/gtest.h>

#include "base/text.h"
#include "credentials/missing_providers.h"
#include "golden.h"
#include "kubelet/verdict.h"
#include "plan/readiness.h"
#include "plan/version_estimate.h"
#include "rows.h"
#include "screen/node_text.h"
#include "screen/text_layout.h"
#include "status/documents.h"
#include "status/kubelet_sample.h"
#include "status/status_json.h"

namespace prefetch::screen::problems_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Its first image is explained, with this detail.
struct NodeInTrouble {
  plan::Snapshot snapshot;
  status::ImageDocument detail;
};

// The detail that agrees with the image: whatever pulled it still matches.
status::ImageDocument DetailOf(const plan::ImageState& image, const kubelet::RecordReading& record) {
  status::ImageDocument detail = sample::DetailOf(image, record);
  if (image.origin.with == plan::PulledWith::kProvider) {
    *detail.credentials = {
        {.source = "provider", .name = image.origin.credential, .match = image.desired->reference.domain()}};
  }
  return detail;
}

NodeInTrouble Of(plan::Snapshot snapshot, const kubelet::RecordReading& record = {}) {
  status::ImageDocument detail = DetailOf(snapshot.images.front(), record);
  return {std::move(snapshot), std::move(detail)};
}

plan::ImageState JudgedBy(plan::ImageState state, const kubelet::SettingsFacts& facts,
                          const kubelet::FileContent& record = {}) {
  kubelet::VerdictQuestion question;
  question.image = state.desired->reference.written();
  question.image_id = state.image_id;
  question.record = record;
  state.verdicts = std::make_shared<const kubelet::Verdicts>(
      kubelet::VerdictsFor(question, *kubelet::PossibleSettings(facts)));
  sample::Apply(state.verdicts->never, state);
  return state;
}

plan::ImageState Runner() {
  return sample::Ready("quay.io/acme/runner:v3", 1'200'000'000);
}

// The node after this time, by its Node object and by a restart of kubelet, if there was one.
NodeInTrouble VersionNode(const plan::NodeReport& first, const std::optional<plan::NodeReport>& after_start,
                          base::Duration passed) {
  const base::TimePoint seen{std::chrono::hours(1)};
  plan::VersionEstimate belief = plan::AfterNodeReport({}, first);
  if (after_start)
    belief = plan::AfterStart(belief, {.seen_at = seen, .began_at = base::WallTime(std::chrono::hours(9))});
  const plan::VersionInForce in_force = plan::VersionAt(belief, after_start.value_or(first), seen + passed);
  // Its configuration is read; without a version that says little.
  kubelet::SettingsFacts facts{.version = in_force.version, .configuration_known = true};
  plan::ImageState image = JudgedBy(Runner(), facts);
  if (in_force.awaited) {  // as plan/image_readiness has it
    image.phase = plan::Phase::kProgressing;
    image.message = "the agent is still reading this node's kubelet settings";
  }
  plan::Snapshot snapshot = sample::KubeletNodeOf({std::move(image)});
  snapshot.kubelet->version = in_force.version ? in_force.version->ToString() : "";
  snapshot.kubelet->verification = in_force.version ? "NeverVerifyPreloadedImages" : "";
  snapshot.kubelet->sources = {};
  if (in_force.version) snapshot.kubelet->sources = {{"version", "Node status"}, {"verification", "default"}};
  snapshot.kubelet->learning = in_force.awaited;
  if (!in_force.problem.empty()) snapshot.problems.push_back(in_force.problem);
  return Of(std::move(snapshot));
}

const plan::NodeReport kSays136{.version = image::KubeletVersion{1, 36, 2},
                                .version_text = "1.36.2",
                                .heartbeat = base::WallTime(std::chrono::hours(8))};

plan::NodeReport Silent(plan::NodeReport word, const std::string& trouble, bool refused) {
  word.silent_since = base::TimePoint(std::chrono::hours(1));
  word.refused = refused;
  word.trouble = trouble;
  return word;
}

NodeInTrouble VersionRefused() {
  const std::string words =
      "nodes \"n1\" is forbidden: User \"system:serviceaccount:prefetchd:prefetchd\" cannot get resource "
      "\"nodes\" in API group \"\" at the cluster scope";
  return VersionNode(Silent({}, words, true), {}, seconds(1));
}
NodeInTrouble VersionAway() {
  return VersionNode(Silent(kSays136, "Unreachable", false), {}, minutes(5));
}
NodeInTrouble VersionAwayAfterAStart() {
  return VersionNode(kSays136, Silent(kSays136, "Unreachable", false), seconds(20));
}
NodeInTrouble VersionAwaited() {
  return VersionNode(kSays136, kSays136, seconds(20));
}
NodeInTrouble VersionUnconfirmed() {
  return VersionNode(kSays136, kSays136, seconds(90));
}

// A node with one image, which kubelet has recorded for every pod.
NodeInTrouble WithProblem(const std::string& problem) {
  plan::Snapshot snapshot = sample::KubeletNodeOf({sample::Open("quay.io/acme/runner:v3")});
  snapshot.problems.push_back(problem);
  return Of(std::move(snapshot), sample::Recorded("quay.io/acme/runner", sample::ForTheNode()));
}
NodeInTrouble NewerThanTheRules() {
  return Of(sample::NewerNode(), sample::Recorded("gcr.io/acme/db", sample::ForTheNode()));
}
NodeInTrouble VersionContradicted() {
  NodeInTrouble node = WithProblem(plan::VersionContradictionMessage("1.36", "1.37.0"));
  node.snapshot.kubelet->version = "1.36";
  node.snapshot.kubelet->contradictions = node.snapshot.problems;
  return node;
}
NodeInTrouble StaleMount() {
  return WithProblem(plan::StaleMountMessage("/var/lib/kubelet/config.json"));
}
NodeInTrouble StaleMountWithoutKubelet() {
  plan::Snapshot snapshot = sample::Node({Runner()});
  snapshot.problems.push_back(plan::StaleMountMessage("/etc/ssl/certs/ca-certificates.crt"));
  status::ImageDocument detail = DetailOf(snapshot.images.front(), {});
  detail.record = {};
  detail.intent = kubelet::Reading::kNotAsked;
  return {std::move(snapshot), std::move(detail)};
}
NodeInTrouble NoKubeletRoot() {
  const kubelet::FileContent unreadable{kubelet::Reading::kUnreadable, ""};
  plan::Snapshot snapshot = sample::KubeletNodeOf({JudgedBy(Runner(), {}, unreadable)});
  plan::KubeletStatus& kubelet = *snapshot.kubelet;
  kubelet.version = kubelet.verification = "";
  kubelet.sources = {};
  kubelet.records_readable = false;
  kubelet.records_note = plan::RecordsNote(kubelet.root, kubelet::RecordsAccess::kNoRoot, false);
  snapshot.problems.push_back(kubelet.records_note);
  NodeInTrouble node = Of(std::move(snapshot));
  node.detail.record.state = node.detail.intent = kubelet::Reading::kUnreadable;
  return node;
}

// kubelet has a provider for ECR that this agent has not, or not so.
NodeInTrouble WithoutProvider(const credentials::MissingProviders& missing) {
  const std::string image = "123.dkr.ecr.eu-west-1.amazonaws.com/app:v1";
  std::string why = "no credential of this node matches, asked anonymously: 401 Unauthorized";
  const credentials::Target target("123.dkr.ecr.eu-west-1.amazonaws.com/app");
  status::ImageDocument detail;
  for (const credentials::SkippedProvider& unasked : credentials::SkippedProviders(missing, target)) {
    why += " (provider \"" + unasked.name + "\" was skipped: " + unasked.why + ")";
    detail.providers.push_back(
        {.name = unasked.name, .outcome = "skipped", .error = unasked.why, .matched = true});
  }
  plan::ImageState state = sample::Failing(image, plan::Reason::kAccessDenied, why, 2);
  state.verdicts = std::make_shared<const kubelet::Verdicts>(sample::AbsentVerdicts(image));
  NodeInTrouble node = Of(sample::KubeletNodeOf({std::move(state)}));
  node.detail.providers = std::move(detail.providers);
  node.snapshot.providers_not_given = missing.Count();
  node.snapshot.problems = credentials::ProblemsOf(missing);
  return node;
}

const char kEcr[] = "ecr-credential-provider";
credentials::ProviderConfig EcrFor(const std::vector<std::string>& images) {
  credentials::Provider ecr;
  ecr.name = kEcr;
  for (const std::string& image : images) ecr.match_images.push_back(*credentials::Pattern::Parse(image));
  return {.providers = {ecr}, .problems = {}, .hash = ""};
}
NodeInTrouble WithProgram(credentials::ProviderGap program) {
  const credentials::ProviderConfig there = EcrFor({"*.dkr.ecr.*.amazonaws.com"});
  return WithoutProvider(credentials::FindMissingProviders(
      {"/etc/eks/config.json", "/etc/eks"}, there,
      {"/etc/eks/config.json", "/opt/plugins", {{kEcr, program, there.providers[0].match_images}}}));
}
NodeInTrouble ProviderWithoutProgram() {
  return WithProgram(credentials::ProviderGap::kNoProgram);
}
NodeInTrouble ProviderWithOtherProgram() {
  return WithProgram(credentials::ProviderGap::kDifferentProgram);
}
NodeInTrouble ProviderOfFewerImages() {
  return WithoutProvider(credentials::FindMissingProviders(
      {"/etc/eks/config.json", "/etc/eks"}, EcrFor({"*.dkr.ecr.*.amazonaws.com", "public.ecr.aws"}),
      {"/etc/prefetchd/providers.yaml",
       "/etc/eks",
       {{kEcr, std::nullopt, EcrFor({"public.ecr.aws"}).providers[0].match_images}}}));
}
NodeInTrouble ProvidersUnreadable(const credentials::AgentProviders& own) {
  return WithoutProvider(credentials::FindMissingProviders(
      {"/etc/eks/config.json", "/etc/eks"},
      {.providers = {}, .problems = {"/etc/eks/config.json: No such file or directory"}, .hash = ""}, own));
}
NodeInTrouble ProvidersUnreadableAndNone() {
  return ProvidersUnreadable({});
}
NodeInTrouble ProvidersUnreadableAndPerhapsTheSame() {
  return ProvidersUnreadable({"/etc/prefetchd/config.json", "/etc/eks", {{"acme-login"}}});
}

// readyAs names a secret without its UID; kubelet has recorded two secrets of that name.
NodeInTrouble SecretAmbiguous() {
  kubelet::CredentialEntry entry = sample::ForTwoSecrets();
  entry.secrets.push_back({{.uid = "u9", .namespace_name = "team", .name = "pull"}, base::Secret("h9")});
  const kubelet::RecordReading record = sample::Recorded("quay.io/acme/runner", entry);
  plan::ImageState state = Runner();
  state.desired.Change([](plan::DesiredImage& desired) {
    desired.ready_as = image::PodCredentialRefs{.secrets = {{"", "team", "pull"}}, .service_account = {}};
  });
  return Of(sample::KubeletNodeOf({sample::JudgedForAll(std::move(state), record)}), record);
}
NodeInTrouble OfTwoSecrets(plan::ImageState state) {
  return Of(sample::KubeletNodeOf({std::move(state)}),
            sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets()));
}
NodeInTrouble SecretAssumed() {
  return OfTwoSecrets(sample::ForPodsWithASecret());
}
NodeInTrouble PodsDiffer() {
  return OfTwoSecrets(sample::ForTwoPods());
}

struct ProblemCase {
  std::string name;
  NodeInTrouble (*node)();
};
TEST_TABLE(ProblemTest, IsShown, ProblemCase) {
  const auto [snapshot, detail] = row.node();
  auto status = status::ParseStatusDocument(status::StatusJson(snapshot));
  ASSERT_TRUE(status) << status.error().message();
  const plan::ImageState& image = snapshot.images.front();
  auto explained = status::ParseImageDocument(status::ImageJson(snapshot, image, detail));
  ASSERT_TRUE(explained) << explained.error().message();
  const std::string table = StatusTable(*status, {.width = 80});
  const std::string readyz =
      status::ReadyzText(snapshot, plan::EvaluateReady(snapshot, {}), true, status::View::kFull);
  tests::ExpectGolden("screen/problem-" + row.name + ".txt",
                      "$ prefetchctl status\n" + table + "\n$ prefetchctl explain " +
                          image.desired->reference.written() + "\n" + ExplainText(*explained, 80) +
                          "\n$ curl /readyz?verbose\n" + readyz);
  for (std::string_view line : base::Split(table, '\n')) EXPECT_LE(DisplayWidth(line), 80U) << line;
  for (const std::string& problem : snapshot.problems)
    EXPECT_NE(readyz.find(problem), std::string::npos) << problem;
}

INSTANTIATE_TEST_SUITE_P(
    All, ProblemTest,
    testing::Values(ProblemCase{"newer", &NewerThanTheRules}, ProblemCase{"version-refused", &VersionRefused},
                    ProblemCase{"version-away", &VersionAway},
                    ProblemCase{"version-away-after-a-start", &VersionAwayAfterAStart},
                    ProblemCase{"version-awaited", &VersionAwaited},
                    ProblemCase{"version-unconfirmed", &VersionUnconfirmed},
                    ProblemCase{"version-contradicted", &VersionContradicted},
                    ProblemCase{"no-kubelet-root", &NoKubeletRoot}, ProblemCase{"stale-mount", &StaleMount},
                    ProblemCase{"stale-mount-without-kubelet", &StaleMountWithoutKubelet},
                    ProblemCase{"providers-unreadable", &ProvidersUnreadableAndNone},
                    ProblemCase{"providers-perhaps-the-same", &ProvidersUnreadableAndPerhapsTheSame},
                    ProblemCase{"provider-of-fewer-images", &ProviderOfFewerImages},
                    ProblemCase{"provider-without-program", &ProviderWithoutProgram},
                    ProblemCase{"provider-with-other-program", &ProviderWithOtherProgram},
                    ProblemCase{"secret-ambiguous", &SecretAmbiguous},
                    ProblemCase{"secret-assumed", &SecretAssumed}, ProblemCase{"pods-differ", &PodsDiffer}),
    [](const auto& row) { return base::ReplaceAll(row.param.name, "-", "_"); });

}  // namespace
}  // namespace prefetch::screen::problems_test
