// Images, credentials, settings and events of the stories about the model of kubelet.
#pragma once

#include <string>
#include <vector>

#include "kubelet/fake_node.h"

namespace prefetch::tests {

using image::KubeletVersion;
using kubelet::Coordinates;
using kubelet::HashedSecret;
using kubelet::KubeletSettings;
using kubelet::PodIdentity;
using Policy = kubelet::VerificationPolicy;

inline const char kImage[] = "reg.io/t/a:v1";
inline const char kId[] = "sha256:aaa";
inline const std::string kDigest = "@sha256:" + std::string(64, 'b');

inline HashedSecret Secret(const std::string& uid, const std::string& hash,
                           const std::string& name = "pull") {
  return {{uid, "team", name}, base::Secret(hash)};
}

inline const HashedSecret kSecret = Secret("u-1", "h-1");
inline const Coordinates kAccount{"u-9", "team", "runner"};
inline const PullCredential kNode;
inline const PullCredential kBySecret{.secret = kSecret, .service_account = {}};
inline const PullCredential kByAccount{.secret = {}, .service_account = kAccount};
inline const PodIdentity kAnybody;

inline PodIdentity With(const HashedSecret& secret) {
  return {.secrets = {secret}, .service_account = {}};
}
inline PodIdentity With(const Coordinates& account) {
  return {.secrets = {}, .service_account = account};
}

inline KubeletSettings By(Policy policy, unsigned minor = 36) {
  return {.version = {1, minor}, .gate = true, .policy = policy, .allowlist = {}};
}
inline KubeletSettings Default(unsigned minor = 36) {
  return By(Policy::kNeverVerifyPreloadedImages, minor);
}
inline const KubeletSettings kStrict = By(Policy::kAlwaysVerify);
inline KubeletSettings Listed(const std::vector<std::string>& patterns) {
  KubeletSettings settings = By(Policy::kNeverVerifyAllowlistedImages);
  settings.allowlist = *kubelet::Allowlist::Parse(patterns, settings.version);
  return settings;
}

inline void PrefetchOnly(FakeNode& node) {
  node.Prefetch(kImage, kId);
}
inline void ClosedBySecret(FakeNode& node) {
  node.Prefetch(kImage, kId);
  node.KubeletPulls(kImage, kId, kBySecret);
}
inline void KilledInMidPull(FakeNode& node) {
  node.kubelet.BeginPull(kImage);
  node.kubelet.Stop();
  node.Prefetch(kImage, kId);
}
// The name of a pull that no start resolves: runtimes report it otherwise.
inline void KilledUnderAShortName(FakeNode& node) {
  node.kubelet.BeginPull("nginx");
  node.Prefetch("nginx", kId);
  node.Restart();
}
// `count` secrets of others, then kSecret.
inline void RecordedFor(FakeNode& node, int count) {
  node.Prefetch(kImage, kId);
  for (int i = 1; i < count; i++) {
    std::string n = std::to_string(i);
    node.KubeletPulls(kImage, kId, {.secret = Secret("other-" + n, "x" + n), .service_account = {}});
  }
  node.KubeletPulls(kImage, kId, kBySecret);
}
// Written by hand, for everybody.
inline std::string OpenRecord(KubeletVersion version) {
  return EncodeRecord({{kId, {{"reg.io/t/a", {.node_pods_accessible = true}}}}, "2026-08-01T10:00:00Z"},
                      version);
}
inline void Damage(FakeNode& node, const std::string& path, const std::string& content) {
  node.root.Write(path, content);
  node.Restart();
}

}  // namespace prefetch::tests
