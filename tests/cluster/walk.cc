#include "cluster/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>

#include "base/sha256.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster {
namespace {

using std::chrono::steady_clock;

// How long the agent may be behind: what it calls ready and is not, and what is ready and it does not know.
// Without events of its images, such as on CRI-O, the next look finds a removed one: within 10 s.
constexpr double kFalseReadyLimit = 3, kFalseReadyLimitWithoutEvents = 10;
constexpr double kFalseUnreadyLimit = 15;
constexpr int kTries = 4;

constexpr const char* kPolicies[] = {"NeverVerifyPreloadedImages", "AlwaysVerify", "NeverVerify",
                                     "NeverVerifyAllowlistedImages"};

double SecondsSince(steady_clock::time_point when) {
  return std::chrono::duration<double>(steady_clock::now() - when).count();
}

// Does what the command says fit what the pod met?
bool Fits(const std::string& policy, const std::string& result, PodAnswer answer) {
  if (result == "Starts") return answer == PodAnswer::kStarts;
  if (policy == "Never") return result == "Refused" && answer == PodAnswer::kRefused;
  return result == "Pulls" && (answer == PodAnswer::kPulls || answer == PodAnswer::kPullFailed);
}

const RealNode::Verdict& Of(const RealNode::VerdictsOf& verdicts, const std::string& policy) {
  return policy == "Never" ? verdicts.never : verdicts.if_not_present;
}

}  // namespace

const std::vector<Walk::Kind>& Walk::Kinds() {
  static const std::vector<Kind> kinds = {
      {"a pod that pulls with its secret", &Walk::PodThatPullsWithSecret, 4},
      {"a pod with a pull secret", &Walk::PodWithSecret, 3},
      {"a pod without a secret", &Walk::PodWithout, 4},
      {"a pod with image volumes", &Walk::PodWithVolumes, 2},
      {"images are removed", &Walk::RemoveImages, 5},
      {"kubelet restarts", &Walk::RestartKubelet, 2},
      {"kubelet is killed", &Walk::KillKubelet, 1},
      {"kubelet is killed in mid-pull", &Walk::KillKubeletInMidPull, 3},
      {"another policy", &Walk::ChangePolicy, 4},
      {"the node's credentials change", &Walk::ChangeCredentials, 2},
      {"the registry goes or comes", &Walk::ChangeOutage, 2},
      {"a tag moves", &Walk::Retag, 2},
      {"kubelet collects images", &Walk::Collect, 2},
      {"a pull secret changes", &Walk::RotateSecret, 2},
      {"the agent restarts", &Walk::RestartAgent, 2},
  };
  return kinds;
}

Walk::Walk(RealNode& node, std::uint32_t seed) : node_(node), random_(seed) {
  images_ = {node.Push("team/app", "v1", "one"), node.Push("mirror/app", "v1", "one"), node.Push("team/tool"),
             node.Push("team/big", "v1", "", 3'000'000), node.Push("aside/extra")};
  listed_ = images_.size() - 1;
  node.node().HasList({images_.begin(), images_.begin() + static_cast<std::ptrdiff_t>(listed_)});
  teams_ = {{"team-a", "pull", "", kBob},
            {"team-b", "pull", "", kBob},  // the same credentials under another coordinate
            {"team-c", "other", "", kCarl},
            {"team-d", "wrong", "", {"bob", "n0t-the-passw0rd"}}};
  for (Team& team : teams_) {
    MakeNamespace(node_.api(), team.name);
    PutSecret(team);
  }
  node_.StartAgent();
}

void Walk::PutSecret(Team& team) {
  team.secret_uid = PutPullSecret(node_.api(), team.name, team.secret, node_.registry(), team.user.name,
                                  team.user.password);
}

// The hash is that of kubelet: SHA-256 of the credential as compact JSON.
std::vector<std::string> Walk::FlagsOf(const Team& team) {
  const std::string credential =
      R"({"username":")" + team.user.name + R"(","password":")" + team.user.password + "\"}";
  return {"--pod-secret",
          team.name + "/" + team.secret + "/" + team.secret_uid + "/" + base::Sha256Hex(credential)};
}

std::size_t Walk::Deal(std::vector<std::size_t>& deck, std::size_t n) {
  if (deck.empty()) {
    for (std::size_t i = 0; i < n; i++) deck.insert(deck.begin() + Below(static_cast<int>(i) + 1), i);
  }
  const std::size_t dealt = deck.back();
  deck.pop_back();
  return dealt;
}

const Walk::Kind& Walk::NextKind() {
  if (kinds_.empty()) {
    for (const Kind& kind : Kinds()) {
      for (int i = 0; i < kind.cards; i++)
        kinds_.insert(kinds_.begin() + Below(static_cast<int>(kinds_.size()) + 1), &kind);
    }
    EXPECT_EQ(kinds_.size(), static_cast<std::size_t>(kStepsOfDeck));
    const auto first = std::find(kinds_.rbegin(), kinds_.rend(), &Kinds().front());
    std::iter_swap(kinds_.rbegin() + Below(5), first);
  }
  const Kind& next = *kinds_.back();
  kinds_.pop_back();
  return next;
}

void Walk::Step() {
  const Kind& kind = NextKind();
  step_ = "step " + std::to_string(++counts_.steps) + ", " + kind.name;
  (this->*kind.doing)();
  Note(step_);
  Team& team = AnyTeam();
  Ask({{{.images = images_}, {}},
       {{.images = images_, .namespace_name = team.name, .secrets = {team.secret}}, FlagsOf(team)}},
      true);
  if (Below(2) == 0) {
    Ask({{{.policy = "IfNotPresent", .images = {AnyImage()}}, {}}}, false);
  } else {
    Ask({{{.policy = "IfNotPresent",
           .images = {AnyImage()},
           .namespace_name = team.name,
           .secrets = {team.secret}},
          FlagsOf(team)}},
        false);
  }
}

// --- what happens ---

void Walk::MakePodOf(Team& team, const std::string& policy) {
  const std::string image = AnyImage();
  step_ += " of " + team.name + ", " + policy + ", " + image;
  node_.pods().Ask(
      {.policy = policy, .images = {image}, .namespace_name = team.name, .secrets = {team.secret}});
}

void Walk::PodThatPullsWithSecret() {
  MakePodOf(teams_[Deal(team_deck_, teams_.size())], "Always");
}

void Walk::PodWithSecret() {
  MakePodOf(AnyTeam(), "IfNotPresent");
}

void Walk::PodWithout() {
  std::string policy = AnyPolicy();
  std::vector<std::string> images = {AnyImage()};
  step_ += ", " + policy + ", " + images[0];
  node_.pods().Ask({.policy = policy, .images = images});
}

void Walk::PodWithVolumes() {
  std::vector<std::string> images = {AnyImage(), AnyImage()};
  if (images[1] == images[0]) images.pop_back();
  std::string policy = AnyPolicy();
  step_ += ", " + policy + ", " + images[0];
  Question question{.policy = policy, .images = images, .as_volumes = true};
  std::string pod = node_.pods().Make(question);
  // Its answer is of no interest, but it has to have been looked at.
  rig::Eventually(seconds(20), [&] {
    doc::Node status = node_.api().Get("/api/v1/namespaces/default/pods/" + pod).body;
    for (const doc::Node& container : doc::ItemsAt(status, {"status", "containerStatuses"})) {
      const std::string reason = doc::TextAt(container, {"state", "waiting", "reason"});
      if (doc::ValueAt(container, {"state", "terminated"}) != nullptr) return true;
      if (!reason.empty() && reason != "ContainerCreating") return true;
    }
    return false;
  });
  node_.pods().Remove(question, pod);
}

void Walk::RemoveImages() {
  const std::string image = AnyImage();
  step_ += ": " + image;
  node_.RemoveImage(image);
  if (Below(3) == 0) node_.RemoveImage(AnyImage());
}

void Walk::StopKubelet() {
  node_.kubelet().Stop();
}

void Walk::StartKubelet(const KubeletOptions& options) {
  EXPECT_OK(node_.kubelet().Start(options)) << step_;
}

void Walk::RestartKubelet() {
  StopKubelet();
  if (Below(2) == 0) node_.RemoveImage(AnyImage());
  StartKubelet(node_.kubelet().options());
}

void Walk::KillKubelet() {
  node_.kubelet().Kill();
  StartKubelet(node_.kubelet().options());
}

void Walk::KillKubeletInMidPull() {
  const std::string image = AnyImage();
  Team& team = AnyTeam();
  const bool has_secret = Below(2) == 0;
  step_ += ": " + image + (has_secret ? " of " + team.name : "");
  node_.RemoveImage(image);
  node_.host().proxy().Freeze(true);
  Question question{
      .policy = AnyPolicy(), .images = {image}, .namespace_name = has_secret ? team.name : "default"};
  if (has_secret) question.secrets = {team.secret};
  std::string pod = node_.pods().Make(question);
  rig::Eventually(seconds(4), [&] { return !node_.kubelet().Records("pulling").empty(); });
  node_.kubelet().Kill();
  node_.host().proxy().Freeze(false);
  node_.pods().Remove(question, pod);
  StartKubelet(node_.kubelet().options());
}

void Walk::ChangePolicy() {
  KubeletOptions options = node_.kubelet().options();
  options.policy = kPolicies[Below(4)];
  options.allowlist.clear();
  if (options.policy == std::string(kPolicies[3])) options.allowlist = {node_.registry() + "/team/*"};
  step_ += ": " + options.policy;
  StopKubelet();
  StartKubelet(options);
}

void Walk::ChangeCredentials() {
  credentials_right_ = !credentials_right_;
  step_ += credentials_right_ ? ": right again" : ": wrong now";
  node_.HasCredentials(credentials_right_);
}

void Walk::ChangeOutage() {
  registry_away_ = !registry_away_;
  step_ += registry_away_ ? ": away" : ": back";
  EXPECT_OK(node_.host().proxy().Refuse(registry_away_));
  if (registry_away_) node_.host().proxy().CutAll();
}

void Walk::Retag() {
  node_.Push("team/app", "v1", "retag " + std::to_string(++retags_));
}

void Walk::Collect() {
  KubeletOptions options = node_.kubelet().options();
  StopKubelet();
  options.collects = true;
  StartKubelet(options);
  // The first look comes when kubelet likes; without one the step was a restart.
  rig::Eventually(seconds(5), [&] { return node_.IdOf(images_[2]).empty(); });
  options.collects = false;
  StopKubelet();
  StartKubelet(options);
}

void Walk::RotateSecret() {
  Team& team = teams_[static_cast<std::size_t>(Below(3))];
  if (Below(2) == 0) {
    team.user = team.user.name == kBob.name ? kCarl : kBob;
    step_ += ": other credentials in " + team.name;
  } else {
    (void)node_.api().Delete("/api/v1/namespaces/" + team.name + "/secrets/" + team.secret);
    step_ += ": made anew in " + team.name;
  }
  PutSecret(team);
}

void Walk::RestartAgent() {
  if (Below(2) == 0) {
    node_.node().agent().Kill();
  } else {
    (void)node_.node().agent().Stop(seconds(10));
  }
  node_.StartAgent();
}

// --- what is asked ---

void Walk::Note(const std::string& text) {
  char time[16];
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(time, sizeof(time), "%H:%M:%S ", &parts);
  std::printf("%s%s\n", time, text.c_str());
  std::fflush(stdout);
}

void Walk::Disagree(const std::string& what) {
  counts_.disagreements.push_back(step_ + " (policy " + node_.kubelet().options().policy + "): " + what);
  Note("DISAGREE " + what);
}

Walk::Said Walk::Command(const Asked& asked) {
  Said said;
  for (const std::string& image : asked.question.images)
    said.push_back(node_.VerdictOf(image, asked.pod_flags));
  return said;
}

// Returns the agent's answer for each image on its list, and then the one for the node.
std::vector<bool> Walk::Agent() {
  std::vector<bool> starts;
  for (std::size_t i = 0; i < listed_; i++) {
    doc::Node body = ParseOrNull(node_.node().Get("/v1/images/" + images_[i]).body);
    starts.push_back(doc::TextAt(body, {"verdicts", "Never", "result"}) == "Starts");
  }
  starts.push_back(node_.node().Get("/readyz").status == 200);
  return starts;
}

std::string Walk::Compare(const Question& question, const Said& before, const std::vector<Answered>& answers,
                          const Said& after) {
  std::string wrong;
  for (std::size_t i = 0; i < answers.size(); i++) {
    const RealNode::Verdict& said = Of(before[i], question.policy);
    const RealNode::Verdict& later = Of(after[i], question.policy);
    counts_.judged++;
    if (said.result == "Unknown") counts_.unknown++;
    if (said.result == "Unknown" || Fits(question.policy, said.result, answers[i].answer)) continue;
    wrong += question.images[i] + ", " + question.policy + ", pod of " + question.namespace_name + ": said " +
             said.result + "/" + said.reason + " of " + before[i].image_id + ", the pod " +
             NameOf(answers[i].answer) + " (" + answers[i].text + "), then " + later.result + "/" +
             later.reason + " of " + after[i].image_id + "; ";
  }
  return wrong;
}

std::string Walk::CompareAgent(const std::vector<bool>& before, const std::vector<Answered>& answers,
                               const std::vector<bool>& after, bool& false_ready) const {
  std::vector<bool> truth;
  for (std::size_t i = 0; i < listed_; i++) truth.push_back(answers[i].answer == PodAnswer::kStarts);
  truth.push_back(std::find(truth.begin(), truth.end(), false) == truth.end());
  std::string wrong;
  false_ready = false;
  for (std::size_t i = 0; i < truth.size(); i++) {
    if (before[i] == truth[i] || after[i] == truth[i]) continue;
    wrong += (i < listed_ ? images_[i] : "/readyz") + " says " + (after[i] ? "ready" : "not ready") +
             ", pods say " + (truth[i] ? "ready" : "not ready") + "; ";
    if (after[i]) false_ready = true;
  }
  return wrong;
}

void Walk::Ask(const std::vector<Asked>& asked, bool agent_too) {
  // Since when it is proven that the agent says too much, or too little: since pods gave the first other
  // answer. A machine under load makes the question itself take seconds, which prove nothing.
  auto since = steady_clock::now();
  std::optional<bool> was_ready;
  for (int wrongs = 0;;) {
    auto command = [&] {
      std::vector<Said> said;
      for (const Asked& one : asked) said.push_back(Command(one));
      return said;
    };
    std::vector<Question> questions;
    for (const Asked& one : asked) questions.push_back(one.question);
    std::vector<bool> agent = agent_too ? Agent() : std::vector<bool>{};
    auto before = command();
    auto answers = node_.pods().Ask(questions);
    const auto answered = steady_clock::now();
    auto after = command();
    std::string wrong, late;
    bool false_ready = false;
    for (std::size_t i = 0; i < asked.size(); i++)
      wrong += Compare(questions[i], before[i], answers[i], after[i]);
    if (agent_too) late = CompareAgent(agent, answers[0], Agent(), false_ready);
    if (wrong.empty() && late.empty()) return;
    if (late.empty() || was_ready != false_ready) since = answered;
    was_ready = late.empty() ? std::nullopt : std::optional<bool>(false_ready);
    const double took = late.empty() ? 0 : SecondsSince(since);
    double& longest = false_ready ? counts_.longest_false_ready : counts_.longest_false_unready;
    longest = std::max(longest, took);
    if (!wrong.empty()) {
      counts_.repeated++;
      Note("again: " + wrong);
    }
    if (!late.empty())
      Note((false_ready ? "false ready " : "false not ready ") + std::to_string(took) + ": " + late);
    // A state may move in between: ask again. A difference that stays is an error.
    if (!wrong.empty() && ++wrongs >= kTries) return Disagree(wrong);
    // A runtime that tells progress is a containerd, and tells of images.
    const double limit = !false_ready                             ? kFalseUnreadyLimit
                         : node_.node().runtime().TellsProgress() ? kFalseReadyLimit
                                                                  : kFalseReadyLimitWithoutEvents;
    if (took > limit) return Disagree("for " + std::to_string(took) + " s " + late);
  }
}

}  // namespace prefetch::cluster
