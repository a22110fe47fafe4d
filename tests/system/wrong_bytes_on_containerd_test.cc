// A registry, or its mirror, sends wrong bytes for a while: what stays of them harms no later pull.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "cri/grpc_image_service.h"
#include "rig/expect_ok.h"
#include "rig/layer_blob.h"
#include "rig/proxy.h"
#include "system/node.h"

namespace prefetch::system::wrong_bytes_on_containerd_test {
namespace {

using std::chrono::seconds;

const rig::Layer kLayer{1, 1'000'000};

struct Lie {
  std::string name;
  std::string (*of)(std::string bytes);
  bool by_mirror = false;
};

std::string Flipped(std::string bytes) {
  bytes[5000] = static_cast<char>(bytes[5000] ^ 1);
  return bytes;
}
std::string Longer(std::string bytes) {
  return bytes + "more";
}
std::string InParts(std::string bytes) {
  return "--x\r\nContent-Range: bytes 0-9/10\r\n\r\n" + bytes + "\r\n--x--\r\n";
}

class WrongBytes : public testing::TestWithParam<Lie> {};

TEST_P(WrongBytes, HarmNoPullOnceTheRegistryIsHonest) {
  Node node;
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  rig::Proxy mirror(registry->registry().port());
  ASSERT_OK(mirror.Start());
  if (GetParam().by_mirror) {
    ASSERT_OK(node.containerd().RouteByMirror(registry->host(), mirror.port(), registry->proxy().port()));
  }
  rig::Proxy& liar = GetParam().by_mirror ? mirror : registry->proxy();
  const std::string image = registry->Push("app", "v1", {kLayer, {2, 3000}});
  const std::string other = registry->Push("team/other", "v7", {kLayer});
  const rig::LayerBlob blob = rig::MakeLayer(kLayer);
  const std::string lie = GetParam().of(blob.bytes);
  liar.Answer("/blobs/" + blob.digest, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n" +
                                           ("Content-Length: " + std::to_string(lie.size())) + "\r\n\r\n" +
                                           lie);
  node.HasList({image});
  node.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node.StatusOf(image).reason.text() == "Corrupt"; }))
      << node.AgentLog();
  liar.Answer("/blobs/" + blob.digest, "");
  // A pod's pull of another name, with the same layer.
  cri::GrpcImageService kubelet({node.containerd().socket()});
  EXPECT_TRUE(rig::Eventually(seconds(5), [&] {
    auto pulled = kubelet.PullImage(base::Call{}.Within(seconds(20)), {.image = other});
    return pulled.ok();
  })) << node.AgentLog();
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return node.Get("/readyz").status == 200; }))
      << node.AgentLog();
}

INSTANTIATE_TEST_SUITE_P(Lies, WrongBytes,
                         testing::Values(Lie{"OneByte", Flipped}, Lie{"Longer", Longer},
                                         Lie{"InParts", InParts}, Lie{"AMirrors", Flipped, true}),
                         [](const auto& lie) { return lie.param.name; });

}  // namespace
}  // namespace prefetch::system::wrong_bytes_on_containerd_test
