// A writer of blobs against a content store that breaks its contract.
#include "cri/content_writer.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "cri/scripted_store.h"
#include "http/server.h"
#include "temp_dir.h"

namespace prefetch::cri {
namespace {

using image::ErrorClass;
using tests::ScriptedStore;

class ContentWriterTest : public testing::Test {
 protected:
  CallResult<OpenedBlob> Open(std::string_view script) {
    store_.Play(script, "blob", "", stop_);
    return writer_.Open({.stop = stop_.get_token()}, "lease",
                        {.ref = "blob", .digest = "sha256:d", .size_bytes = 4, .labels = {}});
  }

  std::stop_source stop_;
  ScriptedStore store_;
  ContentWriter writer_{store_.endpoint()};
};

TEST_F(ContentWriterTest, AfterAFailureItDiscardsNothing) {
  auto opened = Open("ok\nend 13 the disk has a fault");
  ASSERT_TRUE(opened && opened->writer);
  auto failed = opened->writer->Append("abcd");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->message, "the disk has a fault");
  auto no_use = opened->writer->Commit();
  ASSERT_TRUE(no_use);
  EXPECT_NE(no_use->error_class, ErrorClass::kCorrupt);
  EXPECT_EQ(store_.Seen().aborts, 0);
}

TEST_F(ContentWriterTest, WrongBytesAreDiscardedOnce) {
  auto opened = Open("ok\nok\nend 9 unexpected digest");
  ASSERT_TRUE(opened && opened->writer);
  ASSERT_FALSE(opened->writer->Append("abcd"));
  EXPECT_EQ(opened->writer->Commit()->error_class, ErrorClass::kCorrupt);
  EXPECT_NE(opened->writer->Commit()->error_class, ErrorClass::kCorrupt);
  EXPECT_EQ(store_.Seen().aborts, 1);
}

TEST_F(ContentWriterTest, AnswersThatNobodyAskedForHoldNothingUp) {
  auto opened = Open("ok\ntwice\nend 0");
  ASSERT_TRUE(opened && opened->writer);
  ASSERT_FALSE(opened->writer->Append("ab"));
  std::optional<CallError> failed;
  for (int i = 0; i < 3 && !failed; i++) failed = opened->writer->Append("c");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->message, "Content.Write ended early");
}

TEST_F(ContentWriterTest, AStopEndsTheWaitForAnAnswer) {
  auto opened = Open("ok\nwait");
  ASSERT_TRUE(opened && opened->writer);
  auto failed = opened->writer->Append("abcd");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->error_class, ErrorClass::kCancelled);
}

// A socket that takes connections, and says nothing on them.
TEST_F(ContentWriterTest, AStopEndsTheWaitForAConnection) {
  tests::TempDir dir;
  auto silent = http::Listener::Unix(dir / "silent.sock", 0600);
  ASSERT_TRUE(silent);
  std::jthread stopper([&] {
    pollfd came{silent->fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&came, 1, 20'000), 1);
    stop_.request_stop();
  });
  ContentWriter writer(Endpoint{dir / "silent.sock"});
  const auto begin = std::chrono::steady_clock::now();
  auto opened = writer.Open({.stop = stop_.get_token()}, "lease",
                            {.ref = "blob", .digest = "sha256:d", .size_bytes = 4, .labels = {}});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().error_class, ErrorClass::kCancelled);
}

}  // namespace
}  // namespace prefetch::cri
