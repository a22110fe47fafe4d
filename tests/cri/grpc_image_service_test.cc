// Calls on the wire, and failures of the connection (C10 to C13). The contract suite tests what a runtime
// does with images.
#include "cri/image_service.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <memory>
#include <thread>

#include "base/fs.h"
#include "cri/content_service.h"
#include "must.h"
#include "scripted_runtime.h"
#include "temp_dir.h"

namespace prefetch::cri::grpc_image_service_test {
namespace {

using image::ErrorClass;
using tests::ScriptedImages;
using tests::ScriptedRuntime;
using tests::ScriptedVersion;

base::Call For(std::chrono::milliseconds limit) {
  return base::Call{}.Within(limit);
}

class GrpcImageServiceTest : public testing::Test {
 protected:
  std::unique_ptr<ScriptedRuntime> Serve() {
    return std::make_unique<ScriptedRuntime>(socket_, std::vector<grpc::Service*>{&images_, &version_});
  }

  tests::TempDir dir_;
  std::string socket_ = dir_ / "cri.sock";
  ScriptedImages images_;
  ScriptedVersion version_;
  std::unique_ptr<ImageService> service_ = MakeImageService(Endpoint{socket_});
};

TEST_F(GrpcImageServiceTest, ConnectTellsWhoAnswers) {
  auto server = Serve();
  auto info = tests::Must(service_->Connect(For(std::chrono::seconds(5))));
  EXPECT_EQ(*info, (image::RuntimeInfo{"scripted", "1.2.3~test"}));
  version_.not_ready_since = "loading plugins";
  const auto error = tests::MustFail(service_->Connect(For(std::chrono::seconds(5))));
  EXPECT_EQ(error, (CallError{ErrorClass::kRuntimeDown,
                              "the runtime says that it is not ready: NotYet: loading plugins"}));
}

TEST_F(GrpcImageServiceTest, ConnectTellsWhatTheRuntimeTellsOfItsRegistries) {
  version_.config = R"({"registry":{"configPath":"/c","mirrors":{"docker.io":{}}}})";
  auto server = Serve();
  auto info = tests::Must(service_->Connect(For(std::chrono::seconds(5))));
  EXPECT_EQ(info->registries, (image::RuntimeRegistries{true, "/c", {"docker.io"}, true}));
}

TEST_F(GrpcImageServiceTest, AMissingSocketIsToldAtOnce) {
  auto start = std::chrono::steady_clock::now();
  const auto error = tests::MustFail(service_->ListImages(For(std::chrono::seconds(30))));
  EXPECT_EQ(error.error_class, ErrorClass::kRuntimeDown);
  EXPECT_EQ(error.message, "cannot reach the container runtime at " + socket_ + ": absent");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST_F(GrpcImageServiceTest, ASocketOfAnotherUserIsToldAtOnce) {
  auto server = Serve();
  // This thread alone: neither root's rights to files nor those of the owner.
  ::setfsuid(65534);
  ASSERT_EQ(::setfsuid(-1), 65534) << "the tests run as root";
  auto images = service_->ListImages(For(std::chrono::seconds(30)));
  ::setfsuid(0);
  ASSERT_FALSE(images);
  EXPECT_EQ(images.error().error_class, ErrorClass::kRuntimeDown);
  EXPECT_EQ(images.error().message, "cannot reach the container runtime at " + socket_ +
                                        ": permission denied: run as root, or as the socket's owner");
}

TEST_F(GrpcImageServiceTest, ARuntimeThatComesBackIsNoticedByTheNextCall) {
  for (int round = 0; round < 3; round++) {
    auto server = Serve();
    ASSERT_TRUE(service_->ListImages(For(std::chrono::seconds(5))));
    server.reset();
    // The first call may still meet the end of the old connection; the second cannot.
    const auto error = tests::MustFail(service_->ListImages(For(std::chrono::seconds(5))));
    EXPECT_EQ(error.error_class, ErrorClass::kRuntimeDown) << error.message;
    const auto second = tests::MustFail(service_->ListImages(For(std::chrono::seconds(5))));
    EXPECT_EQ(second.error_class, ErrorClass::kRuntimeDown) << second.message;
  }
  auto server = Serve();
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(service_->ListImages(For(std::chrono::seconds(5))));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
}

TEST_F(GrpcImageServiceTest, AListenerThatNeverAnswersIsDownAtTheDeadline) {
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(fd.get(), 16), 0);
  const auto error = tests::MustFail(service_->ListImages(For(std::chrono::milliseconds(200))));
  EXPECT_EQ(error.error_class, ErrorClass::kRuntimeDown);
}

TEST_F(GrpcImageServiceTest, AStopEndsAPullAtOnceAndTheRuntimeHearsOfIt) {
  images_.hang = true;
  auto server = Serve();
  std::stop_source stop;
  std::jthread stopper([&] {
    images_.waiting.wait(0);
    stop.request_stop();
  });
  const auto error = tests::MustFail(
      service_->PullImage({base::TimePoint::max(), stop.get_token()}, {"a.example/b:v1", {}, ""}));
  EXPECT_EQ(error.error_class, ErrorClass::kCancelled);
  images_.cancelled.wait(0);
}

TEST_F(GrpcImageServiceTest, AStopBeforeTheCallSendsNothing) {
  auto server = Serve();
  std::stop_source stop;
  stop.request_stop();
  auto pulled = service_->PullImage({base::TimePoint::max(), stop.get_token()}, {"a.example/b:v1", {}, ""});
  ASSERT_FALSE(pulled);
  EXPECT_EQ(pulled.error().error_class, ErrorClass::kCancelled);
  EXPECT_EQ(images_.pulled.image().image(), "");
}

TEST_F(GrpcImageServiceTest, APullSendsNameCredentialAndLeaseAndNothingElse) {
  auto server = Serve();
  image::AuthConfig auth{"robot", base::Secret("pw")};
  auto pulled =
      tests::Must(service_->PullImage(For(std::chrono::seconds(5)), {"a.example/b:v1", auth, "prefetchd-1"}));
  EXPECT_EQ(*pulled, "sha256:id");
  EXPECT_EQ(images_.pulled.image().image(), "a.example/b:v1");
  EXPECT_EQ(images_.pulled.auth().username(), "robot");
  EXPECT_EQ(images_.pulled.auth().password(), "pw");
  EXPECT_EQ(images_.lease_header, "prefetchd-1");
  ASSERT_TRUE(service_->PullImage(For(std::chrono::seconds(5)), {"a.example/b:v1", std::nullopt, ""}));
  EXPECT_FALSE(images_.pulled.has_auth());
  EXPECT_EQ(images_.lease_header, "");
  EXPECT_FALSE(images_.pulled.has_sandbox_config());
}

// The sandbox has nothing but the cgroup: with CRI-O, a namespace has its own credentials and policy.
TEST_F(GrpcImageServiceTest, APullOfOurOwnNamesACgroup) {
  auto server = Serve();
  ASSERT_TRUE(service_->PullImage(For(std::chrono::seconds(5)),
                                  {"a.example/b:v1", std::nullopt, "", kOwnPullCgroup}));
  EXPECT_EQ(images_.pulled.sandbox_config().SerializeAsString(), "\x42\x18\x0a\x16prefetchd/system.slice");
}

// Callers limit the time of a pull: up to a day (pullTimeout).
TEST_F(GrpcImageServiceTest, APullHasNoLimitOfItsOwn) {
  auto server = Serve();
  ASSERT_TRUE(service_->PullImage(base::Call{}, {"a.example/b:v1", std::nullopt, ""}));
  EXPECT_GT(images_.deadline, std::chrono::system_clock::now() + std::chrono::hours(25));
}

TEST_F(GrpcImageServiceTest, APullWithoutAnImageRefHasFailed) {
  images_.image_ref = "";
  auto server = Serve();
  const auto error =
      tests::MustFail(service_->PullImage(For(std::chrono::seconds(5)), {"a.example/b:v1", {}, ""}));
  EXPECT_EQ(error.error_class, ErrorClass::kRuntimeError);
}

TEST_F(GrpcImageServiceTest, AnErrorNeverShowsTheCredential) {
  images_.pull_status = grpc::Status(grpc::StatusCode::UNKNOWN,
                                     "invalid decoded auth: \"hunter2\\x00\" (cm9ib3Q6aHVudGVyMg==)");
  auto server = Serve();
  image::AuthConfig auth{"robot", base::Secret("hunter2")};
  const auto error =
      tests::MustFail(service_->PullImage(For(std::chrono::seconds(5)), {"a.example/b:v1", auth, ""}));
  EXPECT_EQ(error.error_class, ErrorClass::kBadCredentialFormat);
  EXPECT_EQ(error.message, "invalid decoded auth: \"[redacted]\\x00\" ([redacted])");
}

TEST_F(GrpcImageServiceTest, ARuntimeWithoutTheServiceIsRefusedWithASentence) {
  ScriptedRuntime server(socket_, {&version_});
  const auto error = tests::MustFail(service_->Connect(For(std::chrono::seconds(5))));
  EXPECT_EQ(error.error_class, ErrorClass::kRuntimeUnsupported);
  EXPECT_NE(error.message.find("containerd 1.6 or newer"), std::string::npos) << error.message;
}

TEST_F(GrpcImageServiceTest, AListOfSixMegabytesArrives) {
  const std::string tag = "registry.example.test/" + std::string(1000, 'a');
  for (int i = 0; i < 6000; i++) images_.images.add_images()->add_repo_tags(tag + std::to_string(i));
  auto server = Serve();
  auto images = tests::Must(service_->ListImages(For(std::chrono::seconds(20))));
  EXPECT_EQ(images->size(), 6000u);
}

TEST_F(GrpcImageServiceTest, ImageStatusReadsTheVerboseJson) {
  images_.image_status.mutable_image()->set_id("sha256:ab");
  (*images_.image_status.mutable_info())["info"] =
      R"({"chainID":"sha256:cd","imageSpec":{"architecture":"amd64","os":"linux"}})";
  auto server = Serve();
  auto status = service_->ImageStatus(For(std::chrono::seconds(5)), "a.example/b:v1");
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((*status)->image.id, "sha256:ab");
  EXPECT_EQ((*status)->chain_id, "sha256:cd");
  EXPECT_EQ((*status)->platform->ToString(), "linux/amd64");
}

// As CRI-O 1.36 shows a Helm chart; an image without verbose information is none.
TEST_F(GrpcImageServiceTest, AnArtifactIsNamedByItsManifest) {
  const std::string manifest(64, 'a');
  for (const std::string& id : {manifest, std::string(64, 'b')}) {
    images_.image_status.mutable_image()->set_id(id);
    images_.image_status.mutable_image()->clear_repo_digests();
    images_.image_status.mutable_image()->add_repo_digests("a.example/chart@sha256:" + manifest);
    auto server = Serve();
    auto status = service_->ImageStatus(For(std::chrono::seconds(5)), "a.example/chart:v1");
    ASSERT_TRUE(status && *status);
    EXPECT_EQ((*status)->artifact, id == manifest);
  }
}

TEST_F(GrpcImageServiceTest, FieldsOfAFutureAreIgnored) {
  // Field 99, a string: what a later API may add.
  images_.image_status.mutable_image()->set_id("sha256:ab");
  ASSERT_TRUE(images_.image_status.mutable_image()->MergeFromString("\xba\x06\x05hello"));
  auto server = Serve();
  auto status = service_->ImageStatus(For(std::chrono::seconds(5)), "a.example/b:v1");
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((*status)->image.id, "sha256:ab");
}

TEST_F(GrpcImageServiceTest, AnAbsentImageIsNoError) {
  auto server = Serve();
  auto status = tests::Must(service_->ImageStatus(For(std::chrono::seconds(5)), "a.example/b:v1"));
  EXPECT_FALSE(*status);
}

TEST_F(GrpcImageServiceTest, OtherRuntimesHaveNoContentApiAndAreNotAskedAgain) {
  auto server = Serve();
  const auto content = MakeContentService(Endpoint{socket_});
  for (int i = 0; i < 2; i++) {
    const auto error = tests::MustFail(content->ListLeases(For(std::chrono::seconds(5))));
    EXPECT_EQ(error.error_class, ErrorClass::kRuntimeUnsupported);
  }
  server.reset();
  auto leases = content->ListLeases(For(std::chrono::seconds(5)));
  ASSERT_FALSE(leases);
}

}  // namespace
}  // namespace prefetch::cri::grpc_image_service_test
