// Blobs that we write into containerd's content store ourselves (C37).
#include <algorithm>
#include <map>

#include "base/sha256.h"
#include "contract/contract_fixture.h"
#include "must.h"
#include "rows.h"

namespace prefetch::tests::content_writing_contract {
namespace {

using image::ErrorClass;

const std::string kBytes(300'000, 'x');

cri::BlobToWrite Blob(const std::string& bytes = kBytes) {
  const std::string digest = "sha256:" + base::Sha256Hex(bytes);
  return {.ref = "layer-" + digest, .digest = digest, .size_bytes = bytes.size(), .labels = {}};
}

class ContentWritingContract : public ImageServiceContract {
 protected:
  void SetUp() override { MakeLease(kLease); }

  void MakeLease(const std::string& lease) {
    ASSERT_TRUE(world_->content().EnsureLease(Soon(), lease, std::chrono::hours(1)));
  }
  cri::OpenedBlob Open(const cri::BlobToWrite& blob = Blob(), const base::Call& call = Soon()) {
    auto opened = world_->content().OpenBlob(call, kLease, blob);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *std::move(opened) : cri::OpenedBlob{};
  }
  // The ingest of a writer that has ended is free a moment later.
  cri::OpenedBlob OpenOnceFree(const cri::BlobToWrite& blob = Blob()) {
    cri::OpenedBlob opened{.state = cri::BlobState::kLocked, .writer = nullptr};
    EXPECT_TRUE(world_->Until([&] {
      opened = Open(blob);
      return opened.state != cri::BlobState::kLocked;
    }));
    return opened;
  }
  void Write(const std::string& bytes = kBytes) {
    auto opened = Open(Blob(bytes));
    ASSERT_EQ(opened.state, cri::BlobState::kWritable);
    EXPECT_EQ(opened.writer->Append(bytes), std::nullopt);
    EXPECT_EQ(opened.writer->Commit(), std::nullopt);
  }

  const std::string kLease = "prefetchd-1";
};

TEST_P(ContentWritingContract, ABlobIsWrittenOnce) {
  auto opened = Open();
  ASSERT_EQ(opened.state, cri::BlobState::kWritable);
  EXPECT_EQ(opened.writer->offset(), 0U);
  EXPECT_EQ(opened.writer->Append(kBytes.substr(0, 100'000)), std::nullopt);
  EXPECT_EQ(opened.writer->offset(), 100'000U);
  EXPECT_EQ(opened.writer->Append(kBytes.substr(100'000)), std::nullopt);
  EXPECT_EQ(opened.writer->Commit(), std::nullopt);
  opened.writer.reset();
  EXPECT_EQ(Open().state, cri::BlobState::kExists);
}

TEST_P(ContentWritingContract, WhatWasBegunIsResumed) {
  EXPECT_EQ(Open().writer->Append(kBytes.substr(0, 100'000)), std::nullopt);
  auto opened = OpenOnceFree();
  ASSERT_EQ(opened.state, cri::BlobState::kWritable);
  EXPECT_EQ(opened.writer->offset(), 100'000U);
  EXPECT_EQ(opened.writer->Append(kBytes.substr(100'000)), std::nullopt);
  EXPECT_EQ(opened.writer->Commit(), std::nullopt);
}

TEST_P(ContentWritingContract, WhatAnotherWriterHasIsTaken) {
  auto first = Open();
  ASSERT_EQ(first.state, cri::BlobState::kWritable);
  EXPECT_EQ(Open().state, cri::BlobState::kLocked);
}

TEST_P(ContentWritingContract, WhatARunningPullFetchesIsTaken) {
  auto app = world_->Push({"team/app", "v1", {{1, 9 * kMegabyte}}});
  world_->SetBandwidth(kMegabyte);
  RunningPull pull(*world_, cri::PullRequest{app.name, std::nullopt, ""});
  std::map<std::string, std::uint64_t> ingests;
  const auto layer = [&] {
    return std::find_if(ingests.begin(), ingests.end(), [](const auto& ingest) {
      return ingest.first.starts_with("layer-") && ingest.second > 100'000;
    });
  };
  ASSERT_TRUE(world_->Until([&] {
    ingests = *world_->content().ForeignIngests(Soon());
    return layer() != ingests.end();
  }));
  const std::string ref = layer()->first;
  const cri::BlobToWrite blob{.ref = ref, .digest = ref.substr(6), .size_bytes = 9'000'000, .labels = {}};
  EXPECT_EQ(Open(blob).state, cri::BlobState::kLocked);
  pull.Stop();
  EXPECT_FALSE(pull.Wait());
}

TEST_P(ContentWritingContract, APullUnderALeaseOfOursIsNoneOfOthers) {
  auto app = world_->Push({"team/app", "v1", {{1, 9 * kMegabyte}}});
  world_->SetBandwidth(kMegabyte);
  RunningPull pull(*world_, cri::PullRequest{app.name, std::nullopt, kLease});
  ASSERT_TRUE(world_->Until([&] { return ProgressOf(kLease).bytes_done > 100'000; }));
  EXPECT_EQ(*world_->content().ForeignIngests(Soon()), (std::map<std::string, std::uint64_t>{}));
  pull.Stop();
  EXPECT_FALSE(pull.Wait());
}

TEST_P(ContentWritingContract, WrongBytesFailAndAreGone) {
  {
    auto opened = Open();
    EXPECT_EQ(opened.writer->Append(std::string(kBytes.size(), 'y')), std::nullopt);
    auto failed = tests::Must(opened.writer->Commit());
    EXPECT_EQ(failed->error_class, ErrorClass::kCorrupt) << failed->message;
  }
  auto again = OpenOnceFree();
  ASSERT_EQ(again.state, cri::BlobState::kWritable);
  EXPECT_EQ(again.writer->offset(), 0U);
}

TEST_P(ContentWritingContract, TooFewBytesFailAndAreGone) {
  {
    auto opened = Open();
    EXPECT_EQ(opened.writer->Append(kBytes.substr(1)), std::nullopt);
    EXPECT_TRUE(opened.writer->Commit());
  }
  EXPECT_EQ(OpenOnceFree().writer->offset(), 0U);
}

TEST_P(ContentWritingContract, CompleteIngestsAreCommittedOrDiscarded) {
  EXPECT_EQ(*world_->content().FinishIngests(Soon(), "prefetchd-none", cri::PartialIngests::kAbort), 0U);
  const auto begin = [&](const cri::BlobToWrite& blob, const std::string& bytes) {
    EXPECT_EQ(Open(blob).writer->Append(bytes), std::nullopt);
  };
  const cri::BlobToWrite right = Blob("all right"), wrong = Blob("all wrong"), begun = Blob("only begun");
  cri::BlobToWrite larger = Blob("its size is told wrong"), taken = Blob("taken");
  larger.size_bytes += 7;
  begin(right, "all right");
  begin(wrong, "all wronG");
  begin(begun, "only");
  begin(larger, "its size is told wrong");
  auto writer = tests::Must(Open(taken).writer);
  EXPECT_EQ(writer->Append("takeN"), std::nullopt);
  std::uint64_t discarded = 0;
  const auto finish = [&](cri::PartialIngests partial) {
    auto gone = world_->content().FinishIngests(Soon(), kLease, partial);
    EXPECT_TRUE(gone) << gone.error().message;
    discarded += gone ? *gone : 0;
  };
  // Each is free a moment after its writer has ended.
  ASSERT_TRUE(world_->Until([&] {
    finish(cri::PartialIngests::kKeep);
    return Open(right).state == cri::BlobState::kExists && discarded > 0 &&
           Open(larger).state == cri::BlobState::kExists;
  }));
  EXPECT_EQ(discarded, 9U);
  EXPECT_EQ(OpenOnceFree(wrong).writer->offset(), 0U);
  EXPECT_EQ(OpenOnceFree(begun).writer->offset(), 4U);
  EXPECT_EQ(OpenOnceFree(larger).state, cri::BlobState::kExists);
  EXPECT_EQ(Open(taken).state, cri::BlobState::kLocked);
  ASSERT_TRUE(world_->Until([&] {
    finish(cri::PartialIngests::kAbort);
    return OpenOnceFree(begun).writer->offset() == 0;
  }));
  EXPECT_EQ(discarded, 13U);
  EXPECT_EQ(writer->Append("!"), std::nullopt) << "what a writer holds is left to it";
}

TEST_P(ContentWritingContract, EmptyIngestsAreDiscarded) {
  // The runtime refuses blobs without a byte, and has none because the agent looked between two of its pulls.
  for (const cri::BlobToWrite& blob : {Blob(), Blob("")}) {
    ASSERT_EQ(Open(blob).state, cri::BlobState::kWritable);
    EXPECT_TRUE(world_->Until([&] {
      EXPECT_EQ(*world_->content().FinishIngests(Soon(), kLease, cri::PartialIngests::kKeep), 0U);
      return world_->StoreIsEmpty();
    })) << blob.ref;
    EXPECT_EQ(OpenOnceFree(blob).state, cri::BlobState::kWritable);
  }
}

TEST_P(ContentWritingContract, AStopEndsAWriter) {
  std::stop_source stop;
  auto opened = Open(Blob(), {.stop = stop.get_token()});
  ASSERT_EQ(opened.state, cri::BlobState::kWritable);
  stop.request_stop();
  auto failed = tests::Must(opened.writer->Append(kBytes));
  EXPECT_EQ(failed->error_class, ErrorClass::kCancelled);
  EXPECT_TRUE(
      Failed(world_->content().OpenBlob({.stop = stop.get_token()}, kLease, Blob()), ErrorClass::kCancelled));
}

TEST_P(ContentWritingContract, WithoutTheLeaseBlobsGo) {
  Write();
  EXPECT_EQ(Open(Blob("begun")).writer->Append("be"), std::nullopt);
  ASSERT_TRUE(world_->content().DeleteLease(Soon(), kLease));
  // A writer ends a moment after its call. If the runtime collects before, what was begun goes the next time.
  EXPECT_TRUE(world_->Until([&] {
    MakeLease("prefetchd-2");
    EXPECT_TRUE(world_->content().DeleteLease(Soon(), "prefetchd-2"));
    return world_->StoreIsEmpty();
  }));
}

// An existing blob belongs to the asking lease, too.
TEST_P(ContentWritingContract, ASecondLeaseKeepsWhatIsThere) {
  MakeLease("prefetchd-2");
  Write();
  auto second = tests::Must(world_->content().OpenBlob(Soon(), "prefetchd-2", Blob()));
  EXPECT_EQ(second->state, cri::BlobState::kExists);
  ASSERT_TRUE(world_->content().DeleteLease(Soon(), kLease));
  MakeLease(kLease);
  EXPECT_EQ(Open().state, cri::BlobState::kExists);
}

TEST_P(ContentWritingContract, WithoutALeaseNothingIsWritten) {
  EXPECT_FALSE(world_->content().OpenBlob(Soon(), "prefetchd-none", Blob()));
}

TEST_P(ContentWritingContract, TheSnapshotterHasAName) {
  auto snapshotter = tests::Must(world_->content().Snapshotter(Soon()));
  EXPECT_TRUE(*snapshotter == "overlayfs" || *snapshotter == "native") << *snapshotter;
}

INSTANTIATE_TEST_SUITE_P(Contract, ContentWritingContract, testing::ValuesIn(Worlds(Runtime::kContainerd)),
                         tests::kRowName);

}  // namespace
}  // namespace prefetch::tests::content_writing_contract
