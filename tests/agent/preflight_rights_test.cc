// Who is told what: callers x images x policies x what the registry says x rights
// (deploy/docs/gate.md has the same table in words).
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "agent/answers/check_round.h"
#include "agent/inquiry_rig.h"
#include "agent/query_registry.h"
#include "fakes/fake_plugins.h"
#include "plan/image_readiness.h"

namespace prefetch::agent::preflight_rights_test {
namespace {

using plan::AnswerSource;
using plan::PullFor;
constexpr PullPolicy kNever = PullPolicy::kNever, kIfNotPresent = PullPolicy::kIfNotPresent,
                     kAlways = PullPolicy::kAlways;

const std::string kGone = "reg.example.test/gone:v1";  // listed, and not here
const std::string kUnlisted = "reg.example.test/unlisted:v1";
const std::string kNowhere = "reg.example.test/nowhere:v1";  // neither

const Requester kAnonymous;
const Requester kPod{.kind = Requester::Kind::kPod, .rules = {.namespaces = {"ci"}}};
const Requester kAsking{
    .kind = Requester::Kind::kPod,
    .rules = {.namespaces = {"ci"}, .always = AnswerSource::kAsk, .unlisted = AnswerSource::kAsk}};
const Requester kAskingAlways{.kind = Requester::Kind::kPod,
                              .rules = {.namespaces = {"ci"}, .always = AnswerSource::kAsk}};

struct RightsCase {
  std::string name;
  Requester asker;
  std::string image;
  PullPolicy policy;
  Kind says;
  std::string expect;  // "yes Starts Preloaded", and "asked" where the registry was
};

template <typename Row>
class RightsTestOf : public InquiryTest, public testing::WithParamInterface<Row> {
 protected:
  RightsTestOf() {
    plan::ImageState gone;
    gone.desired = plan::DesiredImage{.reference = *image::Reference::Parse(kGone)};
    gone.reason = plan::Reason::kQueued;
    gone.message = "it is going to be pulled";
    snapshot_.images.push_back(gone);
  }

  std::string Told(const Requester& asker, const std::string& image, PullPolicy policy) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    status::CheckAnswer answer = asking_.Check({}, {.questions = {{image, policy, {}}}}, asker).answers.at(0);
    return std::string(answer.ok ? "yes " : "no ") + answer.result.text() + " " + answer.reason +
           (times_asked_ > 0 ? " asked" : "");
  }
};

using RightsTest = RightsTestOf<RightsCase>;

TEST_P(RightsTest, Is) {
  says_ = {.kind = GetParam().says};
  EXPECT_EQ(Told(GetParam().asker, GetParam().image, GetParam().policy), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RightsTest,
    testing::Values(
        // What is on the list and here, anybody may know.
        RightsCase{"NeighbourListed", kAnonymous, kApp, kNever, Kind::kSame, "yes Starts Preloaded"},
        RightsCase{"PodListed", kPod, kApp, kNever, Kind::kSame, "yes Starts Preloaded"},
        RightsCase{"NodeListed", kNode, kApp, kNever, Kind::kSame, "yes Starts Preloaded"},
        RightsCase{"PodListedIfNotPresent", kPod, kApp, kIfNotPresent, Kind::kUnreachable,
                   "yes Starts Preloaded"},
        RightsCase{"PodListedAndNotHere", kPod, kGone, kNever, Kind::kSame, "no Refused ImageAbsent"},
        // The registry is asked for whom the configuration says.
        RightsCase{"NeighbourAlways", kAnonymous, kApp, kAlways, Kind::kSame, "no Pulls PolicyAlways"},
        RightsCase{"PodAlways", kPod, kApp, kAlways, Kind::kSame, "no Pulls PolicyAlways"},
        RightsCase{"AskingAlways", kAskingAlways, kApp, kAlways, Kind::kSame, "yes Pulls UpToDate asked"},
        RightsCase{"AskingAlwaysMoved", kAskingAlways, kApp, kAlways, Kind::kMoved,
                   "yes Pulls TagMoved asked"},
        RightsCase{"AskingAlwaysGone", kAskingAlways, kApp, kAlways, Kind::kTagMissing,
                   "no Refused TagMissing asked"},
        RightsCase{"AskingAlwaysDenied", kAskingAlways, kApp, kAlways, Kind::kAccessDenied,
                   "no Refused AccessDenied asked"},
        RightsCase{"AskingAlwaysDown", kAskingAlways, kApp, kAlways, Kind::kUnreachable,
                   "no Unknown Unreachable asked"},
        RightsCase{"NodeAlways", kNode, kApp, kAlways, Kind::kSame, "yes Pulls UpToDate asked"},
        RightsCase{"AskingIfNotPresentAndNotHere", kAskingAlways, kGone, kIfNotPresent, Kind::kMoved,
                   "yes Pulls ImageAbsent asked"},
        RightsCase{"PodIfNotPresentAndNotHere", kPod, kGone, kIfNotPresent, Kind::kMoved,
                   "no Pulls ImageAbsent"},
        // What is on no list.
        RightsCase{"NeighbourUnlisted", kAnonymous, kUnlisted, kNever, Kind::kSame, "no Unknown NotListed"},
        RightsCase{"PodUnlisted", kPod, kUnlisted, kNever, Kind::kSame, "no Unknown NotListed"},
        RightsCase{"AlwaysIsNoRightToUnlisted", kAskingAlways, kUnlisted, kAlways, Kind::kSame,
                   "no Unknown NotListed"},
        RightsCase{"AskingUnlisted", kAsking, kUnlisted, kNever, Kind::kSame, "yes Starts Preloaded"},
        RightsCase{"AskingUnlistedAlways", kAsking, kUnlisted, kAlways, Kind::kTagMissing,
                   "no Refused TagMissing asked"},
        RightsCase{"AskingNowhere", kAsking, kNowhere, kNever, Kind::kSame, "no Refused ImageAbsent"},
        RightsCase{"PodNowhere", kPod, kNowhere, kNever, Kind::kSame, "no Unknown NotListed"},
        RightsCase{"NoName", kPod, "Upper/Case", kNever, Kind::kSame, "no Refused InvalidImageName"}),
    [](const auto& row) { return row.param.name; });

// The whole table, of images that no refresh has asked for.
struct TableCell {
  std::string name;
  Requester asker;
  std::string image;
  PullPolicy policy;
  bool registry_is_up;
  std::string expect;
};

// Never; then IfNotPresent and Always, each while the registry answers and while it does not.
using Cells = std::array<std::string, 5>;

const Requester kAskingUnlisted{.kind = Requester::Kind::kPod,
                                .rules = {.namespaces = {"ci"}, .unlisted = AnswerSource::kAsk}};

std::vector<TableCell> WholeTable() {
  const std::string starts = "yes Starts Preloaded", absent = "no Refused ImageAbsent",
                    hidden = "no Unknown NotListed", down = "no Unknown Unreachable asked";
  const Cells nothing{hidden, hidden, hidden, hidden, hidden};
  const Cells here{starts, starts, starts, "no Pulls PolicyAlways", "no Pulls PolicyAlways"};
  const Cells here_asked{starts, starts, starts, "yes Pulls UpToDate asked", down};
  const Cells gone{absent, "no Pulls ImageAbsent", "no Pulls ImageAbsent", "no Pulls PolicyAlways",
                   "no Pulls PolicyAlways"};
  const Cells gone_asked{absent, "yes Pulls ImageAbsent asked", down, "yes Pulls ImageAbsent asked", down};
  std::vector<TableCell> table;
  auto add = [&](const std::string& name, const Requester& asker, const std::string& image,
                 const Cells& cells) {
    table.push_back({name + "Never", asker, image, kNever, true, cells[0]});
    table.push_back({name + "IfNotPresentUp", asker, image, kIfNotPresent, true, cells[1]});
    table.push_back({name + "IfNotPresentDown", asker, image, kIfNotPresent, false, cells[2]});
    table.push_back({name + "AlwaysUp", asker, image, kAlways, true, cells[3]});
    table.push_back({name + "AlwaysDown", asker, image, kAlways, false, cells[4]});
  };
  struct Who {
    std::string name;
    Requester asker;
    Cells listed, gone, unlisted, nowhere;
  };
  for (const Who& who : {Who{"Neighbour", kAnonymous, here, gone, nothing, nothing},
                         Who{"Pod", kPod, here, gone, nothing, nothing},
                         Who{"PodOfAlways", kAskingAlways, here_asked, gone_asked, nothing, nothing},
                         Who{"PodOfUnlisted", kAskingUnlisted, here, gone, here, gone},
                         Who{"PodOfBoth", kAsking, here_asked, gone_asked, here_asked, gone_asked},
                         Who{"Node", kNode, here_asked, gone_asked, here_asked, gone_asked}}) {
    add(who.name + "Listed", who.asker, kApp, who.listed);
    add(who.name + "ListedGone", who.asker, kGone, who.gone);
    add(who.name + "Unlisted", who.asker, kUnlisted, who.unlisted);
    add(who.name + "UnlistedGone", who.asker, kNowhere, who.nowhere);
  }
  return table;
}

class WholeTableTest : public RightsTestOf<TableCell> {};

TEST_P(WholeTableTest, Is) {
  const TableCell& cell = GetParam();
  const bool is_here = cell.image == kApp || cell.image == kUnlisted;
  says_ = {.kind = !cell.registry_is_up ? Kind::kUnreachable : is_here ? Kind::kSame : Kind::kMoved};
  EXPECT_EQ(Told(cell.asker, cell.image, cell.policy), cell.expect);
}

INSTANTIATE_TEST_SUITE_P(Table, WholeTableTest, testing::ValuesIn(WholeTable()),
                         [](const auto& row) { return row.param.name; });

using PreflightRights = RightsTest;

TEST_F(PreflightRights, PodsThatAskTogetherAreOneQuestionToTheRegistry) {
  says_ = {.kind = Kind::kSame};
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> pods;
    for (int i = 0; i < 16; i++) {
      pods.emplace_back([&] {
        auto result = asking_.Check({}, {.questions = {{kApp, kAlways, {}}}}, kAskingAlways);
        if (result.ok) good++;
      });
    }
  }
  EXPECT_EQ(good, 16);
  EXPECT_EQ(times_asked_, 1);
  Told(kAskingAlways, kGone, kAlways);
  EXPECT_EQ(times_asked_, 2) << "another image is another question";
  Told(kNode, kApp, kAlways);
  EXPECT_EQ(times_asked_, 3) << "the node asks with what pods may not use";
}

TEST_F(PreflightRights, ThePodsOwnSecretsMakeADenialUnknown) {
  says_ = {.kind = Kind::kAccessDenied};
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  status::CheckRequest request{.questions = {{kApp, kAlways, {.secrets = {{"ci", "pull", ""}}}}}};
  EXPECT_EQ(asking_.Check({}, request, kAskingAlways).answers.at(0).result.text(), "Unknown");
}

// A pod's own question goes out with what every pod of the node has, the node's with all that the agent has.
TEST_F(PreflightRights, NoPullSecretOfTheAgentsIsUsedForAPod) {
  const std::string auths = R"({"auths":{"reg.example.test":{"username":"bob","password":"s3cr3t-y"}}})";
  credentials::Keyring keyring({.docker_configs = {dir_ / "config.json"},
                                .pull_secrets = {{.name = "team-pull",
                                                  .path = dir_.Write("secret/.dockerconfigjson", auths),
                                                  .allow_repositories = {"reg.example.test"},
                                                  .list_sources = {"images.yaml"}}}},
                               clock_);
  ImageQueryService asking(
      board_, runtime_, runtime_, keyring, clock_,
      [this](const base::Call&, const image::RegistryQuestion& question, const RegistryQueryContext&) {
        asked_ = question;
        return image::RegistryAnswer{.kind = Kind::kSame};
      });
  snapshot_.images[0].desired.Change([](plan::DesiredImage& desired) { desired.sources = {"images.yaml"}; });
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  auto users = [&](const Requester& asker) {
    asking.Check({}, {.questions = {{kApp, kAlways, {}}}}, asker);
    std::string names;
    for (const image::AuthConfig& auth : asked_->credentials) names += auth.username + " ";
    return names;
  };
  EXPECT_EQ(users(kAskingAlways), "ann ");
  EXPECT_EQ(users(kNode), "bob ann ");
}

TEST_F(PreflightRights, ATokenOfThePodsAccountMayOpenWhatIsDenied) {
  credentials::Keyring keyring(
      {.provider_config = dir_.Write("providers.yaml", tests::ProviderOfAccounts("reg.example.test")),
       .provider_bin_dir = "/bin",
       .docker_configs = {dir_ / "config.json"},
       .kubelet_version = {1, 36}},
      clock_);
  EXPECT_EQ(keyring.problems(), std::vector<std::string>{});
  ImageQueryService asking(
      board_, runtime_, runtime_, keyring, clock_,
      [](const base::Call&, const image::RegistryQuestion&, const RegistryQueryContext&) {
        return image::RegistryAnswer{.kind = Kind::kAccessDenied};
      });
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  EXPECT_EQ(asking.Check({}, {.questions = {{kApp, kAlways, {}}}}, kAskingAlways).answers.at(0).result.text(),
            "Unknown");
}

// The last of many images of a question gets what time is left.
TEST_F(PreflightRights, WhatIsHeardInLittleTimeIsNoAnswerForOthers) {
  SharedRegistryAnswers moment;
  const RegistryResolver unreachable = [this](const base::Call&, const image::RegistryQuestion&,
                                              const RegistryQueryContext&) {
    times_asked_++;
    return image::RegistryAnswer{.kind = Kind::kUnreachable};
  };
  auto ask = [&](std::chrono::seconds left, const base::Call& call) {
    LiveRegistry now(unreachable, keyring_, clock_, std::chrono::steady_clock::now() + left, &moment);
    EXPECT_EQ(now.Ask(call, {}, snapshot_.images[0], true).kind, Kind::kUnreachable);
  };
  ask(std::chrono::seconds(2), {});
  // Its turn came late.
  ask(std::chrono::minutes(1), base::Call{}.Within(std::chrono::seconds(2)));
  ask(std::chrono::minutes(1), {});
  EXPECT_EQ(times_asked_, 3);
  ask(std::chrono::minutes(1), {});
  EXPECT_EQ(times_asked_, 3) << "who had all the time is believed";
}

// Where such a question leads is bounded (RegistryQuestion::untrusted_name).
TEST_F(PreflightRights, ARegistryThatNoListNamesIsAStrangers) {
  says_ = {.kind = Kind::kUnreachable};
  struct Case {
    Requester asker;
    std::string image;
    bool stranger;
  };
  for (const Case& each : {Case{kAsking, "127.0.0.1:5000/x:y", true}, Case{kAsking, "other.test/x:y", true},
                           Case{kAsking, kNowhere, false}, Case{kAsking, kApp, false},
                           Case{kNode, "127.0.0.1:5000/x:y", false}}) {
    asked_.reset();
    Told(each.asker, each.image, kAlways);
    ASSERT_TRUE(asked_) << each.image;
    EXPECT_EQ(asked_->untrusted_name, each.stranger) << each.image;
  }
}

// By it an answer in the background is kept from pods that could not have got it.
TEST_F(PreflightRights, AnAnswerTellsWhetherACredentialWasLent) {
  const RegistryResolver asker = [](const base::Call&, const image::RegistryQuestion&,
                                    const RegistryQueryContext&) {
    return image::RegistryAnswer{.kind = Kind::kSame};
  };
  const image::Reference app = *image::Reference::Parse(kApp);
  const image::AuthConfig bob{.username = "bob", .password = base::Secret("pw")};
  RefusedCredentials refusals;
  auto is_lent = [&](bool exposes) {
    credentials::Lookup lookup;
    lookup.credentials = {{.auth = bob, .exposes = exposes},
                          {.auth = {.username = "ann", .password = base::Secret("pw")}}};
    return QueryRegistry({}, {asker, &refusals, clock_, image::Platform::Host()},
                         {.reference = app,
                          .credentials = std::make_shared<const credentials::Lookup>(lookup),
                          .local = std::nullopt,
                          .runtime = {}})
        .restricted;
  };
  EXPECT_FALSE(is_lent(false));
  EXPECT_TRUE(is_lent(true));
  for (const char* other : {"r.io/a:v1", "r.io/b:v1", "r.io/c:v1"}) {
    refusals.RecordRefusal(*image::Reference::Parse(app.domain() + std::string(other).substr(4)), bob,
                           clock_.Now());
  }
  EXPECT_FALSE(is_lent(true)) << "one that was refused is not sent";
}

TEST_F(PreflightRights, PullsAreForWhomTheConfigurationSays) {
  plan::CallerRules listed{.namespaces = {"ci"}, .pull = PullFor::kListed};
  Requester asker{.kind = Requester::Kind::kPod, .rules = listed, .pull = true};
  EXPECT_TRUE(asker.Rights(true).pull);
  EXPECT_FALSE(asker.Rights(false).pull);
  asker.pull = false;
  EXPECT_FALSE(asker.Rights(true).pull) << "it did not ask for that";
  EXPECT_FALSE((Requester{.kind = Requester::Kind::kPod, .rules = {.namespaces = {"ci"}}, .pull = true}
                    .Rights(true)
                    .pull));
  EXPECT_FALSE((Requester{.pull = true}.Rights(true).pull));
}

}  // namespace
}  // namespace prefetch::agent::preflight_rights_test
