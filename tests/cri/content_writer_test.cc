// A writer of blobs against a content store that breaks its contract.
#include "cri/content_writer.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "containerd_content_v1.grpc.pb.h"
#include "containerd_leases_v1.grpc.pb.h"
#include "cri/content_service.h"
#include "cri/scripted_store.h"
#include "http/server.h"
#include "must.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::cri {
namespace {

using image::ErrorClass;
using tests::ScriptedStore;
namespace content = ::containerd::services::content::v1;
namespace leases = ::containerd::services::leases::v1;

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
  auto failed = tests::Must(opened->writer->Append("abcd"));
  EXPECT_EQ(failed->message, "the disk has a fault");
  auto no_use = tests::Must(opened->writer->Commit());
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
  auto failed = tests::Must(opened->writer->Append("abcd"));
  EXPECT_EQ(failed->error_class, ErrorClass::kCancelled);
}

// A socket that takes connections, and says nothing on them.
TEST_F(ContentWriterTest, AStopEndsTheWaitForAConnection) {
  tests::TempDir dir;
  auto silent = tests::Must(http::Listener::Unix(dir / "silent.sock", 0600));
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

// Which downloads are kubelet's or of other clients: the store moves on between two questions.

using Ingests = std::map<std::string, std::uint64_t>;

// Each listing of the ingests moves the store one step on, until the last step. Leases hold the ingests of
// the current step: none that has ended since the listing.
class MovingStore final : public content::Content::Service, public leases::Leases::Service {
 public:
  struct Step {
    Ingests ingests;
    std::vector<std::string> of_ours;  // when the leases are asked next
  };
  explicit MovingStore(std::vector<Step> steps) : steps_(std::move(steps)) {}

  grpc::Status ListStatuses(grpc::ServerContext*, const content::ListStatusesRequest*,
                            content::ListStatusesResponse* answer) override {
    base::Lock lock(mutex_);
    now_ = std::min(now_ + 1, static_cast<int>(steps_.size()) - 1);
    for (const auto& [ref, offset] : steps_[static_cast<std::size_t>(now_)].ingests) {
      content::Status* status = answer->add_statuses();
      status->set_ref(ref);
      status->set_offset(static_cast<std::int64_t>(offset));
    }
    return grpc::Status::OK;
  }
  using content::Content::Service::List;  // is of other requests
  grpc::Status List(grpc::ServerContext*, const leases::ListRequest*, leases::ListResponse* answer) override {
    answer->add_leases()->set_id(std::string(kLeasePrefix) + "1");
    answer->add_leases()->set_id("of-another-client");
    return grpc::Status::OK;
  }
  grpc::Status ListResources(grpc::ServerContext*, const leases::ListResourcesRequest* request,
                             leases::ListResourcesResponse* answer) override {
    base::Lock lock(mutex_);
    if (!request->id().starts_with(kLeasePrefix)) return {grpc::StatusCode::INTERNAL, "not our affair"};
    for (const std::string& ref : steps_[static_cast<std::size_t>(now_)].of_ours) {
      leases::Resource* resource = answer->add_resources();
      resource->set_id(ref);
      resource->set_type("ingests");
    }
    return grpc::Status::OK;
  }

 private:
  base::Mutex mutex_;
  int now_ PREFETCH_GUARDED_BY(mutex_) = -1;
  const std::vector<Step> steps_;
};

struct Row {
  std::string name;
  std::vector<MovingStore::Step> steps;
  Ingests expect;
};

TEST_TABLE(OthersIngestsTest, AreThoseThatNoLeaseOfOursHolds, Row) {
  tests::TempDir dir;
  const std::string socket = dir / "containerd.sock";
  MovingStore store(row.steps);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(static_cast<content::Content::Service*>(&store));
  builder.RegisterService(static_cast<leases::Leases::Service*>(&store));
  auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  const auto service = MakeContentService({socket});
  auto others = tests::Must(service->ForeignIngests({}));
  EXPECT_EQ(*others, row.expect);
}

TEST_ROWS(Stores, OthersIngestsTest, {"None", {{{}, {}}}, {}}, {"OursAlone", {{{{"a", 1}}, {"a"}}}, {}},
          {"OthersAlone", {{{{"b", 1}}, {}}, {{{"b", 5}}, {}}}, {{"b", 5}}},
          {"Both", {{{{"a", 1}, {"b", 2}}, {"a"}}}, {{"b", 2}}},
          // Its lease does not name it any more when it is asked.
          {"OursEndsMeanwhile", {{{{"a", 1}, {"b", 2}}, {}}, {{{"b", 3}}, {}}}, {{"b", 3}}},
          // It is not known yet which lease holds the new one.
          {"OneBeginsMeanwhile", {{{{"b", 2}}, {}}, {{{"b", 3}, {"c", 1}}, {"c"}}}, {{"b", 3}}});

}  // namespace
}  // namespace prefetch::cri
