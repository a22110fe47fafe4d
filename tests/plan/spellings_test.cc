#include "plan/spellings.h"

#include <gtest/gtest.h>

#include "plan/snapshot.h"
#include "plan/verdict_debounce.h"
#include "plan/verdicts.h"
#include "rows.h"

namespace prefetch::plan::spellings_test {
namespace {

using kubelet::VerdictReason;
using kubelet::VerdictResult;
using tests::Closed;
using tests::Open;
using tests::Unknown;

struct Row {
  std::string name;
  std::vector<VerdictsPtr> each;
  VerdictResult never, if_not_present;
  std::string message;  // of Never
};
TEST_TABLE(WorstOfTest, IsWhatCounts, Row) {
  std::vector<SpellingVerdicts> each;
  for (std::size_t i = 0; i < row.each.size(); i++) {
    each.push_back({std::string(1, static_cast<char>('a' + i)), row.each[i]});
  }
  EntryVerdicts all = WorstOf(each);
  EXPECT_EQ(all.worst->never.result, row.never);
  EXPECT_EQ(all.worst->if_not_present.result, row.if_not_present);
  EXPECT_EQ(all.worst->never.message, row.message);
  EXPECT_EQ(all.each != nullptr, each.size() > 1);
}
const char kAlone[] = "what it means for Never.";
const char kOfB[] = "Pods that write b: what it means for Never.";
TEST_ROWS(All, WorstOfTest, {"One", {Open()}, VerdictResult::kStarts, VerdictResult::kStarts, kAlone},
          {"Alike", {Closed(), Closed()}, VerdictResult::kRefused, VerdictResult::kPulls, kAlone},
          {"TheSecondIsClosed", std::vector<VerdictsPtr>{Open(), Closed(), Closed()}, VerdictResult::kRefused,
           VerdictResult::kPulls, kOfB},
          {"TheFirstIsClosed", std::vector<VerdictsPtr>{Closed(), Open()}, VerdictResult::kRefused,
           VerdictResult::kPulls, "Pods that write a: what it means for Never."},
          // Refused for certain; and with IfNotPresent a pull is better than nobody knows what.
          {"UnknownAndClosed", std::vector<VerdictsPtr>{Unknown(), Closed()}, VerdictResult::kRefused,
           VerdictResult::kUnknown, kOfB},
          {"OpenAndUnknown", {Open(), Unknown()}, VerdictResult::kUnknown, VerdictResult::kUnknown, kOfB});

TEST(Spellings, TheSameReadingIsTheSameObject) {
  std::vector<SpellingVerdicts> each = {{"a", Open()}, {"b", Closed()}};
  EntryVerdicts before = WorstOf(each);
  EXPECT_EQ(WorstOf(each, before).worst, before.worst);
  each[1].verdicts = Open();
  EXPECT_NE(WorstOf(each, before).worst, before.worst);
}

const base::Shared<image::PodCredentialRefs> kWithPull =
    image::PodCredentialRefs{.secrets = {{"", "ci", "pull"}}, .service_account = {}};

TEST(WorstOf, SaysForWhichPods) {
  EXPECT_EQ(WorstOf({{"a", Open(), kWithPull}, {"a", Closed()}}).worst->never.message,
            "Pods without pull secrets: what it means for Never.");
  EXPECT_EQ(WorstOf({{"a", Closed(), kWithPull}, {"a", Open()}}).worst->never.message,
            "Pods with secret ci/pull: what it means for Never.");
  EXPECT_EQ(WorstOf({{"a", Open(), kWithPull}, {"b", Closed()}}).worst->never.message,
            "Pods that write b without pull secrets: what it means for Never.");
  EXPECT_EQ(WorstOf({{"a", Open(), kWithPull}, {"b", Closed(), kWithPull}}).worst->never.message,
            "Pods that write b: what it means for Never.");
  // A certain verdict does not hide an assumed one.
  const EntryVerdicts assumed =
      WorstOf({{"a", Open()}, {"a", Open(VerdictReason::kAssumedForPod), kWithPull}});
  EXPECT_EQ(assumed.worst->never.reason, VerdictReason::kAssumedForPod);
  EXPECT_EQ(assumed.worst->never.result, VerdictResult::kStarts);
}

TEST(VerdictsOfPod, EachPodHasThoseOfItsSpellingAndItsSecrets) {
  const VerdictsPtr of_all = Closed(), of_a = Open(), of_b = Unknown(), of_a_with = Closed();
  ImageState image{.verdicts = of_all};
  const image::Reference a = *image::Reference::Parse("a"), b = *image::Reference::Parse("b");
  EXPECT_EQ(VerdictsOfPod(image, {a}), of_all.get()) << "there is one pod";
  image.spellings = std::make_shared<const std::vector<SpellingVerdicts>>(
      std::vector<SpellingVerdicts>{{"b", of_b}, {"a", of_a_with, kWithPull}, {"a", of_a}});
  EXPECT_EQ(VerdictsOfPod(image, {a}), of_a.get());
  EXPECT_EQ(VerdictsOfPod(image, {a, kWithPull}), of_a_with.get());
  EXPECT_EQ(VerdictsOfPod(image, {b}), of_b.get());
  EXPECT_EQ(VerdictsOfPod(image, {b, kWithPull}), nullptr);
}

DesiredImage Want(const std::vector<std::string>& spellings) {
  DesiredImage desired;
  for (const std::string& spelling : spellings) {
    image::Reference reference = *image::Reference::Parse(spelling);
    if (desired.reference.written().empty()) {
      desired.reference = std::move(reference);
    } else {
      desired.other_pods.push_back({std::move(reference)});
    }
  }
  return desired;
}

DebouncedVerdict Held(const std::vector<SpellingVerdicts>& each) {
  return AfterReading({}, {.verdicts = WorstOf(each), .image_id = "id"}, {});
}

TEST(IsSpelled, AsAnyPodOfTheEntryWritesIt) {
  const DesiredImage both = Want({"nginx", "docker.io/library/nginx"});
  EXPECT_TRUE(IsSpelled(both, "nginx"));
  EXPECT_TRUE(IsSpelled(both, "docker.io/library/nginx"));
  EXPECT_FALSE(IsSpelled(both, "docker.io/nginx"));
}

TEST(AfterNewList, WhatStaysIsKnownAndWhatIsNewIsNot) {
  const DesiredImage both = Want({"nginx", "docker.io/library/nginx"});
  const DebouncedVerdict held = Held({{"nginx", Open()}, {"docker.io/library/nginx", Closed()}});
  ASSERT_EQ(held.shown.worst->never.result, VerdictResult::kRefused);

  EXPECT_EQ(AfterNewList(held, both, both).shown, held.shown);
  DebouncedVerdict one = AfterNewList(held, both, Want({"nginx"}));
  ASSERT_TRUE(one.shown.worst);
  EXPECT_EQ(one.shown.worst->never.result, VerdictResult::kStarts);
  EXPECT_EQ(one.newest.worst->never.result, VerdictResult::kStarts);
  EXPECT_FALSE(one.shown.each);
  EXPECT_EQ(one.image_id, "id");
  // Otherwise it would be ready by what is known of the one alone.
  EXPECT_FALSE(AfterNewList(one, Want({"nginx"}), both).shown.worst);
}

TEST(AfterNewList, AnotherPodIsNotKnown) {
  DesiredImage any = Want({"a"}), with = any, both = any;
  with.ready_as = kWithPull;
  both.other_pods = {{both.reference, kWithPull}};
  const DebouncedVerdict held = Held({{"a", Closed()}, {"a", Open(), kWithPull}});
  ASSERT_EQ(held.shown.worst->never.result, VerdictResult::kRefused);
  EXPECT_EQ(AfterNewList(held, both, with).shown.worst->never.result, VerdictResult::kStarts);
  EXPECT_EQ(AfterNewList(held, both, any).shown.worst->never.result, VerdictResult::kRefused);
  EXPECT_FALSE(AfterNewList(AfterNewList(held, both, with), with, any).shown.worst);
  EXPECT_EQ(SpellingsOf(both).size(), 1U);
  EXPECT_FALSE(HaveSamePods(any, with));
  EXPECT_TRUE(HaveSamePods(both, both));
}

TEST(AfterNewList, WhatIsAbsentIsAbsentUnderEachSpelling) {
  DebouncedVerdict absent = AfterReading({}, {.verdicts = {Closed(VerdictReason::kImageAbsent)}}, {});
  EXPECT_TRUE(AfterNewList(absent, Want({"a"}), Want({"a", "a:latest"})).shown.worst);
}

}  // namespace
}  // namespace prefetch::plan::spellings_test
