// Snapshots for the tests of report: a node in trouble, a node at peace, a node that starts.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "plan/snapshot.h"

namespace prefetch::sample {

// 2026-08-01T10:00:00Z plus `seconds`.
inline base::WallTime At(int seconds) {
  return base::WallTime(std::chrono::seconds(1785578400 + seconds));
}

inline plan::ImageState Image(const std::string& name, plan::Phase phase, plan::Reason reason,
                              std::string message) {
  auto reference = image::Reference::Parse(name);
  EXPECT_TRUE(reference) << name;
  plan::ImageState state{.desired = plan::DesiredImage{
                             .reference = *reference, .from = {"images.yaml:3"}, .sources = {"images.yaml"}}};
  state.phase = phase;
  state.reason = reason;
  state.message = std::move(message);
  return state;
}

inline plan::ImageState Ready(const std::string& name, std::uint64_t size) {
  plan::ImageState state = Image(name, plan::Phase::kReady, plan::Reason::kPresent, "on the node");
  state.ready = state.present = state.usable = state.settled = true;
  state.size_bytes = size;
  state.image_id = "sha256:1f2e3d4c5b6a79880102030405060708090a0b0c0d0e0f101112131415161718";
  state.digest = "sha256:9ab1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff";
  state.origin.with = plan::PulledWith::kProvider;
  state.origin.credential = "acme-login";
  state.origin.pulled_at = At(-90);
  state.pull.state = plan::PullState::kDone;
  state.pull.attempts = 1;
  state.pull.started_at = At(-100);
  state.pull.finished_at = At(-90);
  return state;
}

inline plan::ImageState Failing(const std::string& name, plan::Reason reason, std::string error,
                                int attempts) {
  plan::ImageState state = Image(name, plan::Phase::kFailing, reason, error);
  state.pull.state = plan::PullState::kWaiting;
  state.pull.attempts = attempts;
  state.pull.last_error = std::move(error);
  state.pull.started_at = At(-40);
  state.pull.finished_at = At(-38);
  state.pull.next_attempt_at = At(130);
  return state;
}

inline plan::ImageState Pulling(const std::string& name, std::uint64_t done, std::uint64_t total,
                                double rate) {
  plan::ImageState state =
      Image(name, plan::Phase::kProgressing, plan::Reason::kPulling, "the pull has started");
  state.pull = {.state = plan::PullState::kPulling,
                .attempts = 1,
                .bytes_known = total > 0,
                .bytes_done = done,
                .bytes_total = total,
                .bytes_per_second = rate,
                .started_at = At(-11)};
  return state;
}

inline plan::ImageState Queued(const std::string& name) {
  plan::ImageState state =
      Image(name, plan::Phase::kProgressing, plan::Reason::kQueued, "waits for its turn");
  state.pull.state = plan::PullState::kQueued;
  return state;
}

// Counts what the images say, as plan/readiness does.
inline plan::Snapshot Node(std::vector<plan::ImageState> images) {
  plan::Snapshot snapshot;
  snapshot.node = "ci-7";
  snapshot.time = At(0);
  bool failing = false;
  for (const plan::ImageState& image : images) {
    if (!image.desired->required || !image.applies) continue;
    snapshot.readiness.required++;
    snapshot.readiness.required_ready += image.ready ? 1 : 0;
    failing |= image.phase == plan::Phase::kFailing;
  }
  bool ready = snapshot.readiness.required == snapshot.readiness.required_ready;
  snapshot.readiness.ready = ready;
  snapshot.readiness.phase = ready     ? plan::Phase::kReady
                             : failing ? plan::Phase::kFailing
                                       : plan::Phase::kProgressing;
  snapshot.readiness.reason = ready ? plan::Reason::kAllReady : plan::Reason::kImagesNotReady;
  snapshot.readiness.message =
      ready ? "every required image is on the node" : "some required images are not ready";
  snapshot.list.hash = "sha256:3f9c21aa00000000000000000000000000000000000000000000000000000000";
  snapshot.list.sources = {{.name = "images.yaml",
                            .path = "/etc/prefetchd/images.yaml",
                            .hash = "sha256:77aa",
                            .entries = images.size(),
                            .loaded_at = At(-40)}};
  for (const plan::ImageState& image : images) snapshot.list.images.push_back(image.desired);
  snapshot.runtime = {.name = "containerd",
                      .version = "1.6.20",
                      .endpoint = "unix:///run/containerd/containerd.sock",
                      .up = true};
  snapshot.disk_known = true;
  snapshot.disk = {.path = "/var/lib/containerd",
                   .capacity_bytes = 100'000'000'000,
                   .available_bytes = 60'000'000'000,
                   .kept_free_bytes = 20'000'000'000,
                   .needed_bytes = 680'000'000};
  snapshot.images = std::move(images);
  return snapshot;
}

inline plan::Snapshot TroubledNode() {
  std::vector<plan::ImageState> images = {
      Ready("gcr.io/acme/db@sha256:9ab1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff",
            310'000'000),
      Ready("docker.io/library/busybox:1.36", 4'261'550),
      Pulling("ghcr.io/acme/e2e:main", 412'000'000, 680'000'000, 38'000'000),
      Failing("quay.io/acme/private:v2", plan::Reason::kAccessDenied,
              "401 Unauthorized from quay.io with the node's credentials", 3),
      Failing("quay.io/acme/a-team-with-a-long-name/and-a-service-with-a-longer-one:v1.2.3-rc4",
              plan::Reason::kNotFound, "quay.io has no such tag", 1),
      Queued("quay.io/acme/tool:v9"),
      Pulling("registry.example:5000/builder:latest", 0, 0, 0),
  };
  plan::ImageState optional = Failing("docker.io/library/nice:to-have", plan::Reason::kUnreachable,
                                      "dial tcp 198.51.100.7:443: connection refused", 7);
  optional.desired.Change([](plan::DesiredImage& desired) { desired.required = false; });
  images.push_back(optional);
  plan::ImageState elsewhere =
      Image("docker.io/library/arm:1", plan::Phase::kReady, plan::Reason::kOtherPlatform,
            "the entry is for other platforms than this node's");
  elsewhere.applies = false;
  elsewhere.ready = true;
  images.push_back(elsewhere);
  for (int i = 1; i <= 16; i++)
    images.push_back(Ready("ghcr.io/acme/service-" + std::to_string(i) + ":v1", 90'000'000));
  plan::Snapshot snapshot = Node(std::move(images));
  snapshot.problems = {
      "credential provider \"ecr\": its binary is not there: /opt/bin/ecr-credential-provider"};
  return snapshot;
}

inline plan::Snapshot PeacefulNode() {
  plan::Snapshot snapshot = Node(
      {Ready("ghcr.io/acme/runner:v3", 1'200'000'000), Ready("docker.io/library/busybox:1.36", 4'261'550)});
  plan::Unlisted unlisted{.since = At(-3600), .left_out = 0};
  unlisted.images.push_back({.image = "quay.io/acme/tool:v9",
                             .image_id = "sha256:77aa",
                             .size_bytes = 90'000'000,
                             .first_seen = At(-600),
                             .arrived_at = At(-600)});
  unlisted.images.push_back({.image = "docker.io/library/alpine:3.20",
                             .image_id = "sha256:88bb",
                             .size_bytes = 3'600'000,
                             .first_seen = At(-900),
                             .arrived_at = At(-120),
                             .present = false});
  snapshot.unlisted = std::make_shared<const plan::Unlisted>(std::move(unlisted));
  return snapshot;
}

// One of each word that a registry may have said about an image that is here; one registry is away.
inline plan::ImageState Asked(const std::string& name, plan::RegistryView said) {
  plan::ImageState state = Ready(name, 90'000'000);
  state.desired.Change(
      [](plan::DesiredImage& desired) { desired.refresh = plan::Refresh::kIfDigestChanged; });
  said.next_check_at = At(2'400);
  state.registry = std::make_shared<const plan::RegistryView>(said);
  return state;
}

inline plan::Snapshot StaleNode() {
  using image::RegistryAnswerKind;
  plan::Snapshot snapshot =
      Node({Asked("ghcr.io/acme/current:v1", {.answer = RegistryAnswerKind::kSame,
                                              .message = "the registry agreed",
                                              .checked_at = At(-300),
                                              .confirmed_at = At(-300),
                                              .fresh = true,
                                              .agrees = true,
                                              .reason = plan::Reason::kUpToDate,
                                              .changed_from = "sha256:0123456789ab",
                                              .changed_at = At(-7'200)}),
            Asked("ghcr.io/acme/starting:v1",
                  {.message = "the registry has not been asked since the agent started",
                   .reason = plan::Reason::kNotChecked}),
            Asked("quay.io/acme/away:v1", {.answer = RegistryAnswerKind::kUnreachable,
                                           .detail = "Dns",
                                           .message = "the registry does not answer: no such host",
                                           .checked_at = At(-60),
                                           .confirmed_at = At(-10'800),
                                           .reason = plan::Reason::kUnreachable,
                                           .silent = 4}),
            Asked("ghcr.io/acme/moved:v1",
                  {.answer = RegistryAnswerKind::kMoved,
                   .message = "the tag has changed: sha256:9ab1c2d3e4f5 here, sha256:77aa77aa77aa in the "
                              "registry; the node's image stays in use until then",
                   .digest = "sha256:77aa77aa77aa",
                   .checked_at = At(-20),
                   .confirmed_at = At(-3'600),
                   .reason = plan::Reason::kTagMoved}),
            Asked("ghcr.io/acme/lagging:v1",
                  {.answer = RegistryAnswerKind::kMoved,
                   .message = "the runtime was given sha256:9ab1c2d3e4f5 where the registry names "
                              "sha256:77aa77aa77aa: a mirror lags behind",
                   .checked_at = At(-20),
                   .confirmed_at = At(-3'600),
                   .reason = plan::Reason::kMirrorLag}),
            Asked("ghcr.io/acme/missing:v1", {.answer = RegistryAnswerKind::kTagMissing,
                                              .message = "the tag is gone from the registry",
                                              .checked_at = At(-120),
                                              .confirmed_at = At(-172'800),
                                              .reason = plan::Reason::kTagMissing})});
  snapshot.registries = {{.name = "ghcr.io", .entries = 5, .requests = 40},
                         {.name = "quay.io",
                          .entries = 1,
                          .requests = 7,
                          .unreachable_since = At(-10'000),
                          .trouble = "Unreachable",
                          .message = "no such host",
                          .held_until = At(60)}};
  return snapshot;
}

inline plan::Snapshot StartingNode() {
  std::vector<plan::ImageState> images;
  for (int i = 1; i <= 30; i++) images.push_back(Queued("ghcr.io/acme/service-" + std::to_string(i) + ":v1"));
  images[0] = Pulling("ghcr.io/acme/service-1:v1", 12'000'000, 90'000'000, 8'000'000);
  return Node(std::move(images));
}

inline plan::Snapshot BrokenListNode() {
  plan::Snapshot snapshot = Node({Ready("ghcr.io/acme/runner:v3", 1'200'000'000)});
  snapshot.list.sources.push_back({.name = "team.yaml",
                                   .path = "/etc/prefetchd/team.yaml",
                                   .error = "team.yaml:3:5: images[0].image: must be lowercase"});
  snapshot.list.sources[0].error = "images.yaml:7:1: unknown key \"image\"";
  snapshot.readiness = {
      .ready = false,
      .phase = plan::Phase::kFailing,
      .reason = plan::Reason::kListInvalid,
      .message = "no valid version of team.yaml is known: team.yaml:3:5: images[0].image: must be lowercase",
      .required = 1,
      .required_ready = 1};
  return snapshot;
}

}  // namespace prefetch::sample
