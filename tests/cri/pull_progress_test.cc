// How much a look at a pull asks of the store. It comes four times a second from each pull, and the store's
// database has one writer.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "containerd_content_v1.grpc.pb.h"
#include "containerd_leases_v1.grpc.pb.h"
#include "cri/content_service.h"
#include "temp_dir.h"

namespace prefetch::cri {
namespace {

namespace content = ::containerd::services::content::v1;
namespace leases = ::containerd::services::leases::v1;

std::string Digest(char digit) {
  return "sha256:" + std::string(64, digit);
}

constexpr char kManifest = '0', kConfig = '1', kDone = '2', kComes = '3';

// One lease holds a manifest of a configuration and two layers. The second layer is still on its way.
class Store final : public content::Content::Service, public leases::Leases::Service {
 public:
  void Complete(char blob) {
    base::Lock lock(mutex_);
    whole_.insert(Digest(blob));
  }
  // Runs while the next manifest is read.
  std::function<void()> during_read;
  // Questions about one blob so far.
  int Asked(char blob) {
    base::Lock lock(mutex_);
    return asked_[Digest(blob)];
  }

  grpc::Status Info(grpc::ServerContext*, const content::InfoRequest* request,
                    content::InfoResponse* answer) override {
    base::Lock lock(mutex_);
    asked_[request->digest()]++;
    if (whole_.count(request->digest()) == 0) return {grpc::StatusCode::NOT_FOUND, "not found"};
    answer->mutable_info()->set_digest(request->digest());
    answer->mutable_info()->set_size(100);
    if (request->digest() == Digest(kManifest))
      (*answer->mutable_info()->mutable_labels())["containerd.io/gc.ref.content.config"] = Digest(kConfig);
    return grpc::Status::OK;
  }
  grpc::Status Read(grpc::ServerContext*, const content::ReadContentRequest*,
                    grpc::ServerWriter<content::ReadContentResponse>* stream) override {
    const auto blob = [](const std::string& type, char digit) {
      return R"({"mediaType":"application/vnd.oci.image.)" + type + R"(","size":100,"digest":")" +
             Digest(digit) + R"("})";
    };
    if (auto run = std::exchange(during_read, {})) run();
    content::ReadContentResponse answer;
    answer.set_data(
        R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":)" +
        blob("config.v1+json", kConfig) + R"(,"layers":[)" + blob("layer.v1.tar+gzip", kDone) + "," +
        blob("layer.v1.tar+gzip", kComes) + "]}");
    stream->Write(answer);
    return grpc::Status::OK;
  }
  grpc::Status ListStatuses(grpc::ServerContext*, const content::ListStatusesRequest*,
                            content::ListStatusesResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status ListResources(grpc::ServerContext*, const leases::ListResourcesRequest*,
                             leases::ListResourcesResponse* answer) override {
    base::Lock lock(mutex_);
    for (const std::string& digest : held_) {
      leases::Resource* resource = answer->add_resources();
      resource->set_id(digest);
      resource->set_type("content");
    }
    return grpc::Status::OK;
  }
  grpc::Status Delete(grpc::ServerContext*, const leases::DeleteRequest*, leases::Empty*) override {
    return grpc::Status::OK;
  }

 private:
  base::Mutex mutex_;
  std::set<std::string> whole_ PREFETCH_GUARDED_BY(mutex_) = {Digest(kManifest), Digest(kConfig),
                                                              Digest(kDone)};
  std::set<std::string> held_ PREFETCH_GUARDED_BY(mutex_) = {Digest(kManifest)};
  std::map<std::string, int> asked_ PREFETCH_GUARDED_BY(mutex_);
};

class PullProgressTest : public testing::Test {
 protected:
  PullProgressTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<content::Content::Service*>(&store_));
    builder.RegisterService(static_cast<leases::Leases::Service*>(&store_));
    server_ = builder.BuildAndStart();
  }
  image::PullProgress Look() {
    auto progress = service_->Progress({}, "lease");
    EXPECT_TRUE(progress) << progress.error().message;
    return progress ? *progress : image::PullProgress{};
  }

  tests::TempDir dir_;
  const std::string socket_ = dir_ / "containerd.sock";
  Store store_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ContentService> service_ = MakeContentService({socket_});
};

TEST_F(PullProgressTest, AsksAboutEachBlobUntilItIsComplete) {
  ASSERT_NE(server_, nullptr);
  EXPECT_EQ(Look().bytes_done, Look().bytes_done);
  const int done = store_.Asked(kDone), comes = store_.Asked(kComes);
  for (int i = 0; i < 3; i++) EXPECT_LT(Look().bytes_done, Look().bytes_total);
  EXPECT_EQ(store_.Asked(kDone), done);
  EXPECT_EQ(store_.Asked(kComes), comes + 6);
  store_.Complete(kComes);
  image::PullProgress all = Look();
  EXPECT_GT(all.bytes_total, 0U);
  EXPECT_EQ(all.bytes_done, all.bytes_total);
  Look();
  EXPECT_EQ(store_.Asked(kComes), comes + 7);
}

// A new lease of the same name does not hold what the old one held.
TEST_F(PullProgressTest, AskAgainAfterTheLeaseHasGone) {
  Look();
  Look();
  const int before = store_.Asked(kDone);
  EXPECT_TRUE(service_->DeleteLease({}, "lease", LeaseDeletion::kAsync));
  Look();
  EXPECT_GT(store_.Asked(kDone), before);
}

// The facts about the old lease must not come back as those of the new one.
TEST_F(PullProgressTest, AskAgainAfterTheLeaseHasGoneMeanwhile) {
  store_.during_read = [&] { EXPECT_TRUE(service_->DeleteLease({}, "lease", LeaseDeletion::kAsync)); };
  Look();
  const int before = store_.Asked(kDone);
  Look();
  EXPECT_GT(store_.Asked(kDone), before);
}

}  // namespace
}  // namespace prefetch::cri
