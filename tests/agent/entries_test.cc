#include "agent/entries.h"

#include <gtest/gtest.h>

#include "plan/check.h"

namespace prefetch::agent::entries_test {
namespace {

const image::Platform kNode{.os = "linux", .architecture = "amd64"};

using ListPtr = std::shared_ptr<const plan::ImageList>;

plan::ImageList Named(std::initializer_list<const char*> names) {
  plan::ImageList list;
  for (const char* name : names) {
    plan::DesiredImage desired;
    desired.reference = *image::Reference::Parse(name);
    list.images.push_back(std::move(desired));
  }
  return list;
}

ListPtr List(std::initializer_list<const char*> names) {
  return std::make_shared<const plan::ImageList>(Named(names));
}

ActivePull RunNumber(std::uint64_t id) {
  ActivePull run;
  run.id = id;
  return run;
}

struct EntriesTest : testing::Test {
  Entries entries{kNode};
};

TEST_F(EntriesTest, AreFoundByNameInAnyOrderOfTheList) {
  entries.Replace(List({"r.io/c:1", "r.io/a:1", "r.io/b:1"}));
  for (Entry& entry : entries.all()) EXPECT_EQ(entries.Find(entry.name()), &entry);
  EXPECT_EQ(entries.Find("r.io/d:1"), nullptr);
  EXPECT_EQ(entries.Find(""), nullptr);
}

TEST_F(EntriesTest, ShareWhatTheListSaysOfThem) {
  ListPtr list = List({"r.io/a:1", "r.io/b:1"});
  entries.Replace(list);
  for (std::size_t i = 0; i < 2; i++) EXPECT_EQ(&*entries.all()[i].desired, &list->images[i]);
}

// A new line number or a neighbour is no change of the entry.
TEST_F(EntriesTest, AChangedEntryIsTriedAtOnce) {
  const base::TimePoint later{std::chrono::hours(100)}, told{std::chrono::hours(50)};
  plan::ImageList list = Named({"r.io/a:1", "r.io/b:1", "r.io/c:1", "r.io/d:1"});
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  for (Entry& entry : entries.all()) entry.history.not_before = later;
  entries.all()[2].history.retry_after_until = told;
  list.images[0].from = {"images.yaml:99"};
  list.images[1].pull_timeout += std::chrono::seconds(1);
  list.images[2].priority++;
  list.images[3].sources = {"team.yaml"};
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  EXPECT_EQ(entries.all()[0].history.not_before, later);
  EXPECT_EQ(entries.all()[1].history.not_before, base::TimePoint());
  EXPECT_EQ(entries.all()[2].history.not_before, told) << "its registry has named a time";
  EXPECT_EQ(entries.all()[3].history.not_before, base::TimePoint()) << "other pull secrets serve its source";
}

// Shown until it is read again, it could call the entry ready too early.
TEST_F(EntriesTest, TheVerdictOfOtherPodsIsForgotten) {
  plan::ImageList list = Named({"r.io/a:1", "r.io/b:1"});
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  for (Entry& entry : entries.all()) {
    entry.verdict.image_id = "id";
    entry.verdict.shown.worst = std::make_shared<const kubelet::Verdicts>();
  }
  list.images[0].ready_as = image::PodCredentialRefs{.secrets = {{"", "ci", "pull"}}, .service_account = {}};
  list.images[1].priority++;
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  EXPECT_FALSE(entries.all()[0].verdict.shown.worst);
  EXPECT_TRUE(entries.all()[1].verdict.shown.worst);
}

TEST_F(EntriesTest, WhatAListAsksOtherwiseIsMarked) {
  plan::ImageList list = Named({"r.io/a:1", "r.io/b:1"});
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  for (Entry& entry : entries.all()) entry.desired_changed = false;
  list.images[0].refresh_interval += std::chrono::seconds(1);
  list.images[1].priority += 1;
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  EXPECT_TRUE(entries.all()[0].desired_changed);
  EXPECT_FALSE(entries.all()[1].desired_changed) << "no question for the registry";
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  EXPECT_TRUE(entries.all()[0].desired_changed) << "until somebody has acted on it";
}

image::Reference Name(const std::string& text) {
  return *image::Reference::Parse(text);
}

TEST_F(EntriesTest, WhatWasAskedForIsBesideTheList) {
  const base::TimePoint now{std::chrono::hours(100)};
  entries.Replace(List({"r.io/a:1"}));
  Entry* asked = entries.Request(Name("r.io/x:1"), now);
  ASSERT_NE(asked, nullptr);
  EXPECT_FALSE(asked->on_list);
  asked->requested_until = now + std::chrono::seconds(1);
  asked->runs.push_back(RunNumber(7));
  EXPECT_EQ(entries.listed().size(), 1U);
  ASSERT_EQ(entries.requested().size(), 1U);
  EXPECT_FALSE(entries.Settled());
  entries.all()[0].history.settled = true;
  EXPECT_TRUE(entries.Settled()) << "the list's entries alone";
  // A new list takes nothing away from it.
  std::stop_token token = entries.requested()[0].runs[0].stop.get_token();
  entries.Replace(List({"r.io/b:1", "r.io/c:1"}));
  ASSERT_EQ(entries.requested().size(), 1U);
  EXPECT_EQ(entries.Find("r.io/x:1"), &entries.all()[2]);
  EXPECT_FALSE(token.stop_requested());
  // And one that has it takes it over, with its pull.
  entries.Replace(List({"r.io/x:1"}));
  EXPECT_TRUE(entries.requested().empty());
  EXPECT_TRUE(entries.listed()[0].on_list);
  ASSERT_EQ(entries.listed()[0].runs.size(), 1U);
  EXPECT_FALSE(token.stop_requested());
}

TEST_F(EntriesTest, SoManyAreKeptInMindAtOnce) {
  const base::TimePoint now{std::chrono::hours(100)};
  entries.Replace(List({"r.io/a:1"}));
  for (std::size_t i = 0; i < plan::kMaxRequestedImages; i++) {
    Entry* asked = entries.Request(Name("r.io/x:" + std::to_string(i)), now);
    ASSERT_NE(asked, nullptr);
    asked->requested_until = now + std::chrono::seconds(1);
  }
  EXPECT_EQ(entries.Request(Name("r.io/y:1"), now), nullptr);
  entries.Find("r.io/x:3")->requested_until = now;
  EXPECT_NE(entries.Request(Name("r.io/y:1"), now), nullptr) << "in the place of one that nobody waits for";
  EXPECT_EQ(entries.Find("r.io/x:3"), nullptr);
  EXPECT_EQ(entries.requested().size(), plan::kMaxRequestedImages);
}

TEST(Entries, LabelsSelectThem) {
  plan::ImageList list = Named({"r.io/a:1", "r.io/gpu:1"});
  list.images[1].nodes.node_selector = {{"pool", "gpu"}};
  Entries entries(kNode, {.labels = std::nullopt, .pending = true});
  entries.Replace(std::make_shared<const plan::ImageList>(list));
  for (Entry& entry : entries.all()) entry.history.settled = true;
  EXPECT_EQ(entries.CountUnselected(), 1U);
  EXPECT_FALSE(entries.Settled()) << "the labels may come";
  EXPECT_FALSE(entries.SetLabels({})) << "they do not come";
  EXPECT_TRUE(entries.Settled());
  EXPECT_EQ(entries.CountUnselected(), 1U);
  for (Entry& entry : entries.all()) entry.desired_changed = false;
  EXPECT_TRUE(entries.SetLabels({.labels = image::NodeLabels{{"pool", "gpu"}}}));
  EXPECT_TRUE(entries.all()[1].applies());
  EXPECT_TRUE(entries.all()[1].desired_changed);
  EXPECT_FALSE(entries.all()[0].desired_changed);
  EXPECT_FALSE(entries.SetLabels({.labels = image::NodeLabels{{"pool", "gpu"}, {"zone", "a"}}}));
  EXPECT_TRUE(entries.SetLabels({.labels = image::NodeLabels()}));
  EXPECT_FALSE(entries.all()[1].applies());
  EXPECT_EQ(entries.CountUnselected(), 0U);
}

TEST_F(EntriesTest, SettledCountsOnlyWhatApplies) {
  plan::ImageList list = Named({"r.io/a:1", "r.io/b:1"});
  list.images[1].nodes.platforms = {{.os = "linux", .architecture = "s390x"}};
  entries.Replace(std::make_shared<const plan::ImageList>(std::move(list)));
  EXPECT_FALSE(entries.Settled());
  entries.all()[0].history.settled = true;
  EXPECT_TRUE(entries.Settled());
}

}  // namespace
}  // namespace prefetch::agent::entries_test
