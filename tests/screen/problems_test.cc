// What people are shown of each thing that can be the matter with a node's kubelet, its credentials or the
// pod of an entry: status, explain and /readyz?verbose, one file each.
#include <gtest/gtest.h>

#include "base/text.h"
#include "credentials/not_given.h"
#include "golden.h"
#include "kubelet/possible_verdicts.h"
#include "plan/version_belief.h"
#include "screen/image_document.h"
#include "screen/status_document.h"
#include "screen/status_table.h"
#include "screen/text_layout.h"
#include "status/kubelet_sample.h"
#include "status/status_json.h"

namespace prefetch::screen::problems_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Its first image is explained.
using MakeNode = plan::Snapshot (*)();

plan::ImageState JudgedBy(plan::ImageState state, const kubelet::SettingsFacts& facts) {
  kubelet::VerdictQuestion question;
  question.image = state.want->reference.written();
  question.image_id = state.image_id;
  state.verdicts = std::make_shared<const kubelet::Verdicts>(
      kubelet::VerdictsFor(question, *kubelet::PossibleSettings(facts)));
  sample::Apply(state.verdicts->never, state);
  return state;
}

plan::ImageState Runner() {
  return sample::Ready("quay.io/acme/runner:v3", 1'200'000'000);
}

// As the Node object and a restart of kubelet, if there was one, leave it after so long.
plan::Snapshot VersionNode(const plan::NodeWord& first, const std::optional<plan::NodeWord>& after_start,
                           base::Duration passed) {
  const base::TimePoint seen{std::chrono::hours(1)};
  plan::VersionBelief belief = plan::AfterWord({}, first);
  if (after_start)
    belief = plan::AfterStart(belief, {.seen_at = seen, .began_at = base::WallTime(std::chrono::hours(9))});
  const plan::VersionInForce in_force = plan::VersionAt(belief, after_start.value_or(first), seen + passed);
  // Its configuration is read; without a version that says little.
  kubelet::SettingsFacts facts{
      .version = in_force.version, .upgrading = in_force.awaited, .configuration_known = true};
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
  return snapshot;
}

const plan::NodeWord kSays136{.version = image::KubeletVersion{1, 36, 2},
                              .version_text = "1.36.2",
                              .heartbeat = base::WallTime(std::chrono::hours(8)),
                              .silent_since = {},
                              .trouble = ""};

plan::NodeWord Silent(plan::NodeWord word, const std::string& trouble, bool refused) {
  word.silent_since = base::TimePoint(std::chrono::hours(1));
  word.refused = refused;
  word.trouble = trouble;
  return word;
}

plan::Snapshot VersionRefused() {
  const std::string words =
      "nodes \"n1\" is forbidden: User \"system:serviceaccount:prefetchd:prefetchd\" cannot get resource "
      "\"nodes\" in API group \"\" at the cluster scope";
  return VersionNode(Silent({}, words, true), {}, seconds(1));
}
plan::Snapshot VersionAway() {
  return VersionNode(Silent(kSays136, "Unreachable", false), {}, minutes(5));
}
plan::Snapshot VersionAwayAfterAStart() {
  return VersionNode(kSays136, Silent(kSays136, "Unreachable", false), seconds(20));
}
plan::Snapshot VersionAwaited() {
  return VersionNode(kSays136, kSays136, seconds(20));
}
plan::Snapshot VersionUnconfirmed() {
  return VersionNode(kSays136, kSays136, seconds(90));
}

plan::Snapshot WithProblem(const std::string& problem) {
  plan::Snapshot snapshot = sample::KubeletNodeOf({sample::Open("quay.io/acme/runner:v3")});
  snapshot.problems.push_back(problem);
  return snapshot;
}
plan::Snapshot VersionContradicted() {
  plan::Snapshot snapshot = WithProblem("declared version 1.36, but the Node says 1.37.0");
  snapshot.kubelet->version = "1.36";
  snapshot.kubelet->contradictions = snapshot.problems;
  return snapshot;
}
plan::Snapshot StaleMount() {
  return WithProblem(
      "/var/lib/kubelet/config.json was replaced on the node, and the agent still has the old file mounted: "
      "restart the agent's pod, and mount the folder instead of the file");
}
plan::Snapshot NoKubeletRoot() {
  plan::Snapshot snapshot = sample::KubeletNodeOf({JudgedBy(Runner(), {})});
  snapshot.kubelet->version = snapshot.kubelet->verification = "";
  snapshot.kubelet->sources = {};
  snapshot.kubelet->records_readable = false;
  snapshot.kubelet->records_note =
      "kubelet's root directory /var/lib/kubelet is not there: mount it, name it with --kubelet-root, or "
      "declare --kubelet=none where no kubelet runs";
  snapshot.problems.push_back(snapshot.kubelet->records_note);
  return snapshot;
}

// kubelet has a provider for ECR that this agent has not, or not so.
plan::Snapshot WithoutProvider(const credentials::NotGiven& missing) {
  const std::string image = "123.dkr.ecr.eu-west-1.amazonaws.com/app:v1";
  std::string why = "no credential of this node matches, asked anonymously: 401 Unauthorized";
  const credentials::Target target("123.dkr.ecr.eu-west-1.amazonaws.com/app");
  for (const credentials::Unasked& unasked : credentials::UnaskedFor(missing, target))
    why += " (provider \"" + unasked.name + "\" was skipped: " + unasked.why + ")";
  plan::Snapshot snapshot =
      sample::KubeletNodeOf({sample::Failing(image, plan::Reason::kAccessDenied, why, 2)});
  snapshot.providers_not_given = missing.Count();
  for (const std::string& problem : credentials::ProblemsOf(missing)) snapshot.problems.push_back(problem);
  return snapshot;
}
plan::Snapshot WithProgram(credentials::ProgramHere program) {
  credentials::Provider ecr;
  ecr.name = "ecr-credential-provider";
  ecr.match_images = {*credentials::Pattern::Parse("*.dkr.ecr.*.amazonaws.com")};
  return WithoutProvider(credentials::FindNotGiven(
      {"/etc/eks/config.json", "/etc/eks"}, {.providers = {ecr}, .problems = {}, .hash = ""},
      {"/etc/eks/config.json", "/opt/plugins", {{ecr.name, program}}}));
}
plan::Snapshot ProviderWithoutProgram() {
  return WithProgram(credentials::ProgramHere::kAbsent);
}
plan::Snapshot ProviderWithOtherProgram() {
  return WithProgram(credentials::ProgramHere::kAnother);
}
plan::Snapshot ProvidersUnreadable() {
  return WithoutProvider(credentials::FindNotGiven(
      {"/etc/eks/config.json", "/etc/eks"},
      {.providers = {}, .problems = {"/etc/eks/config.json: No such file or directory"}, .hash = ""}, {}));
}

// readyAs names a secret without its UID, of which kubelet has recorded two.
plan::Snapshot SecretAmbiguous() {
  kubelet::CredentialEntry entry = sample::ForTwoSecrets();
  entry.secrets.push_back({{.uid = "u9", .namespace_name = "team", .name = "pull"}, base::Secret("h9")});
  plan::ImageState state = Runner();
  state.want.Change([](plan::DesiredImage& want) {
    want.ready_as = image::PodCoordinates{.secrets = {{"", "team", "pull"}}, .service_account = {}};
  });
  return sample::KubeletNodeOf(
      {sample::JudgedForAll(std::move(state), sample::Recorded("quay.io/acme/runner", entry))});
}
plan::Snapshot SecretAssumed() {
  return sample::KubeletNodeOf({sample::ForPodsWithASecret()});
}
plan::Snapshot PodsDiffer() {
  return sample::KubeletNodeOf({sample::ForTwoPods()});
}

struct ProblemCase {
  std::string name;
  MakeNode node;
};
class ProblemTest : public testing::TestWithParam<ProblemCase> {};

TEST_P(ProblemTest, IsShown) {
  const plan::Snapshot snapshot = GetParam().node();
  auto status = ParseStatusDocument(status::StatusJson(snapshot));
  ASSERT_TRUE(status) << status.error().message();
  const plan::ImageState& image = snapshot.images.front();
  auto explained = ParseImageDocument(status::ImageJson(snapshot, image, sample::DetailOf(image)));
  ASSERT_TRUE(explained) << explained.error().message();
  const std::string table = StatusTable(*status, {.width = 80});
  const std::string readyz =
      status::ReadyzText(snapshot, plan::AskReady(snapshot, {}), true, status::View::kFull);
  tests::ExpectGolden("screen/problem-" + GetParam().name + ".txt",
                      "$ prefetchctl status\n" + table + "\n$ prefetchctl explain " +
                          image.want->reference.written() + "\n" + ExplainText(*explained, 80) +
                          "\n$ curl /readyz?verbose\n" + readyz);
  for (std::string_view line : base::Split(table, '\n')) EXPECT_LE(DisplayWidth(line), 80U) << line;
  for (const std::string& problem : snapshot.problems)
    EXPECT_NE(readyz.find(problem), std::string::npos) << problem;
}

INSTANTIATE_TEST_SUITE_P(
    All, ProblemTest,
    testing::Values(ProblemCase{"newer", &sample::NewerNode}, ProblemCase{"version-refused", &VersionRefused},
                    ProblemCase{"version-away", &VersionAway},
                    ProblemCase{"version-away-after-a-start", &VersionAwayAfterAStart},
                    ProblemCase{"version-awaited", &VersionAwaited},
                    ProblemCase{"version-unconfirmed", &VersionUnconfirmed},
                    ProblemCase{"version-contradicted", &VersionContradicted},
                    ProblemCase{"no-kubelet-root", &NoKubeletRoot}, ProblemCase{"stale-mount", &StaleMount},
                    ProblemCase{"providers-unreadable", &ProvidersUnreadable},
                    ProblemCase{"provider-without-program", &ProviderWithoutProgram},
                    ProblemCase{"provider-with-other-program", &ProviderWithOtherProgram},
                    ProblemCase{"secret-ambiguous", &SecretAmbiguous},
                    ProblemCase{"secret-assumed", &SecretAssumed}, ProblemCase{"pods-differ", &PodsDiffer}),
    [](const auto& row) { return base::ReplaceAll(row.param.name, "-", "_"); });

}  // namespace
}  // namespace prefetch::screen::problems_test
