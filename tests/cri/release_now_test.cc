// Bytes that are in the way: what the agent asks of containerd so that they are gone when the call returns.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "containerd_leases_v1.grpc.pb.h"
#include "containerd_snapshots_v1.grpc.pb.h"
#include "cri/content_service.h"
#include "runtime_v1.grpc.pb.h"
#include "temp_dir.h"

namespace prefetch::cri {
namespace {

namespace leases = ::containerd::services::leases::v1;
namespace snapshots = ::containerd::services::snapshots::v1;

using Calls = std::vector<std::string>;

// A containerd with one lease, which notes what is asked of it.
class NotingStore final : public leases::Leases::Service,
                          public snapshots::Snapshots::Service,
                          public ::runtime::v1::ImageService::Service {
 public:
  bool makes_snapshots = true;

  Calls Seen() {
    base::Lock lock(mutex_);
    return calls_;
  }

  grpc::Status Create(grpc::ServerContext*, const leases::CreateRequest* request,
                      leases::CreateResponse*) override {
    base::Lock lock(mutex_);
    there_ = true;
    Note("create " + request->id() +
         (request->labels().contains("containerd.io/gc.expire") ? "" : " for good"));
    return grpc::Status::OK;
  }
  grpc::Status Delete(grpc::ServerContext*, const leases::DeleteRequest* request, leases::Empty*) override {
    base::Lock lock(mutex_);
    Note("delete " + request->id() + (request->sync() ? " at once" : ""));
    if (!there_) return {grpc::StatusCode::NOT_FOUND, "no lease"};
    there_ = false;
    return grpc::Status::OK;
  }
  grpc::Status Prepare(grpc::ServerContext*, const snapshots::PrepareSnapshotRequest* request,
                       snapshots::PrepareSnapshotResponse*) override {
    base::Lock lock(mutex_);
    Note("prepare in " + request->snapshotter());
    if (!makes_snapshots) return {grpc::StatusCode::FAILED_PRECONDITION, "none is made"};
    return grpc::Status::OK;
  }
  grpc::Status ImageFsInfo(grpc::ServerContext*, const ::runtime::v1::ImageFsInfoRequest*,
                           ::runtime::v1::ImageFsInfoResponse* answer) override {
    answer->add_image_filesystems()->mutable_fs_id()->set_mountpoint(
        "/var/lib/containerd/io.containerd.snapshotter.v1.native");
    return grpc::Status::OK;
  }

 private:
  void Note(std::string call) PREFETCH_REQUIRES(mutex_) { calls_.push_back(std::move(call)); }

  base::Mutex mutex_;
  Calls calls_ PREFETCH_GUARDED_BY(mutex_);
  bool there_ PREFETCH_GUARDED_BY(mutex_) = true;
};

class ReleaseNowTest : public testing::Test {
 protected:
  ReleaseNowTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<leases::Leases::Service*>(&store_));
    builder.RegisterService(static_cast<snapshots::Snapshots::Service*>(&store_));
    builder.RegisterService(static_cast<::runtime::v1::ImageService::Service*>(&store_));
    server_ = builder.BuildAndStart();
  }

  tests::TempDir dir_;
  const std::string socket_ = dir_ / "containerd.sock";
  NotingStore store_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ContentService> service_ = MakeContentService({socket_});
};

const Calls kTwice = {"delete l at once", "create l", "prepare in native", "delete l at once"};

TEST_F(ReleaseNowTest, CollectsOnceMoreWithASnapshotToRemove) {
  EXPECT_TRUE(*service_->DeleteLease({}, "l", LeaseDeletion::kSync));
  EXPECT_EQ(store_.Seen(), kTwice);
  // It is gone then.
  EXPECT_FALSE(*service_->DeleteLease({}, "l", LeaseDeletion::kSync));
  EXPECT_EQ(store_.Seen().size(), kTwice.size() + 1);
}

TEST_F(ReleaseNowTest, LeavesNoLeaseWhereNoSnapshotIsMade) {
  store_.makes_snapshots = false;
  EXPECT_TRUE(*service_->DeleteLease({}, "l", LeaseDeletion::kSync));
  EXPECT_EQ(store_.Seen(), kTwice);
}

TEST_F(ReleaseNowTest, OtherLeasesJustGo) {
  EXPECT_TRUE(*service_->DeleteLease({}, "l", LeaseDeletion::kAsync));
  EXPECT_EQ(store_.Seen(), Calls{"delete l"});
}

}  // namespace
}  // namespace prefetch::cri
