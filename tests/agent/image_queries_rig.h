// Questions about single images, on a runtime that is a fake and kubelet's files that are real.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/answers/image_queries.h"
#include "doc/json.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "kubelet/record_text.h"
#include "kubelet/records.h"
#include "plan/verdicts.h"
#include "temp_dir.h"

namespace prefetch::agent {

using image::PullPolicy;
using Kind = image::RegistryAnswerKind;

inline const std::string kApp = "reg.example.test/team/app:v1";

const Requester kNode{.kind = Requester::Kind::kNode};

class InquiryTest : public testing::Test {
 protected:
  InquiryTest() {
    std::filesystem::create_directories(dir_ / "image_manager/pulled");
    runtime_.Preload(tests::MakeImage(kApp, 1000));
    runtime_.Preload(tests::MakeImage("reg.example.test/unlisted:v1", 2000));
    snapshot_.node = "n1";
    snapshot_.kubelet.emplace();
    snapshot_.kubelet->root = dir_.path();
    Possible({{.version = {1, 36}}});
    plan::ImageState state;
    state.desired = plan::DesiredImage{.reference = *image::Reference::Parse(kApp)};
    state.present = state.usable = true;
    state.image_id = IdOf(kApp);
    snapshot_.images.push_back(state);
  }

  std::string IdOf(const std::string& name) {
    return image::LocalImageIndex(*runtime_.ListImages({})).Find(*image::Reference::Parse(name))->id;
  }
  void Possible(std::vector<kubelet::KubeletSettings> settings) {
    snapshot_.possible_kubelets =
        std::make_shared<const std::vector<kubelet::KubeletSettings>>(std::move(settings));
  }
  void Record(const std::string& image_id, const std::string& repository, const std::string& entry) {
    dir_.Write("image_manager/pulled/" + kubelet::FileNameFor(image_id),
               tests::RecordText(image_id, repository, entry));
  }
  status::CheckAnswer Check(const std::string& image, PullPolicy policy, bool local = true,
                            status::CheckIdentity identity = {}) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    return image_queries_
        .Check({}, {.questions = {{image, policy, std::move(identity)}}}, local ? kNode : Requester{})
        .answers.at(0);
  }
  doc::Node Explain(const std::string& image, const ExplainOptions& options = {}) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    doc::Problems problems("json");
    auto root =
        doc::ParseJson(image_queries_.Explain({}, *image::Reference::Parse(image), options).json, problems);
    EXPECT_TRUE(root);
    return root ? *root : doc::Node::Mapping();
  }

  tests::TempDir dir_;
  tests::FakeClock clock_;
  tests::FakeImageService runtime_{clock_, tests::Persona::kContainerd16};
  credentials::Keyring keyring_{
      {.docker_configs = {dir_.Write(
           "config.json", R"({"auths":{"reg.example.test":{"username":"ann","password":"s3cr3t-x"}}})")}},
      clock_};
  plan::Snapshot snapshot_;
  Board board_;
  ImageQueryService image_queries_{board_, runtime_, runtime_, keyring_, clock_};
  // The registry's answer, and the last question that it got.
  image::RegistryAnswer says_;
  std::optional<image::RegistryQuestion> asked_;
  base::TimePoint deadline_;
  int times_asked_ = 0;
  ImageQueryService asking_{
      board_,
      runtime_,
      runtime_,
      keyring_,
      clock_,
      [this](const base::Call& call, const image::RegistryQuestion& question, const image::RuntimeInfo&) {
        asked_ = question;
        deadline_ = call.deadline;
        times_asked_++;
        return says_;
      }};
  status::CheckAnswer Ask(const std::string& image, bool local = true, status::CheckIdentity identity = {},
                          PullPolicy policy = PullPolicy::kAlways) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    return asking_
        .Check({}, {.questions = {{image, policy, std::move(identity)}}}, local ? kNode : Requester{})
        .answers.at(0);
  }
};

}  // namespace prefetch::agent
