#include "deploy/init_container.h"

#include <utility>

#include "deploy/words.h"

namespace prefetch::deploy {
namespace {

using doc::Node;

// The user of common images without root, such as distroless.
constexpr std::int64_t kNobody = 65532;
constexpr std::int64_t kTokenSeconds = 600;  // Kubernetes issues no token for a shorter time.
// prefetchctl looks for the token in this folder.
constexpr const char* kTokenFolder = "/var/run/secrets/prefetchd";

// IPv6 addresses need the brackets; IPv4 addresses allow them.
std::vector<std::string> Arguments(const InitContainerOptions& options) {
  std::vector<std::string> words = {"check", "--agent=http://[$(NODE_IP)]:" + std::to_string(options.port),
                                    "--timeout=" + std::to_string(options.timeout.count()) + "s"};
  for (const CheckedImage& image : options.images) {
    words.push_back("--image=" + image.image);
    words.push_back("--policy=" + image.policy);
  }
  for (const std::string& secret : options.pod_secrets) words.push_back("--pod-secret=" + secret);
  return words;
}

// OpenShift assigns a range of users to each namespace, and rejects any other user. There, no user is set.
Node SecurityContext(const std::string& platform) {
  Node context = Node::Mapping({{"allowPrivilegeEscalation", Node::Bool(false)},
                                {"capabilities", Node::Mapping({{"drop", Node::Strings({"ALL"})}})},
                                {"readOnlyRootFilesystem", Node::Bool(true)},
                                {"runAsNonRoot", Node::Bool(true)}});
  if (platform != kOpenShift) context.Set("runAsUser", Node::Int(kNobody));
  context.Set("seccompProfile", Node::Mapping({{"type", Node::String("RuntimeDefault")}}));
  return context;
}

}  // namespace

doc::Node InitContainer(const InitContainerOptions& options) {
  Node address = Node::Mapping(
      {{"name", Node::String("NODE_IP")},
       {"valueFrom",
        Node::Mapping({{"fieldRef", Node::Mapping({{"fieldPath", Node::String("status.hostIP")}})}})}});
  Node token = Node::Mapping({{"name", Node::String(kTokenVolume)},
                              {"mountPath", Node::String(kTokenFolder)},
                              {"readOnly", Node::Bool(true)}});
  Node requests = Node::Mapping({{"cpu", Node::String("10m")}, {"memory", Node::String("16Mi")}});
  return Node::Mapping(
      {{"name", Node::String(kCheckContainer)},
       {"image", Node::String(options.image)},
       // The check must start without its registry: Always would need it.
       {"imagePullPolicy", Node::String("IfNotPresent")},
       {"command", Node::Strings({"/usr/bin/prefetchctl"})},
       {"args", Node::Strings(Arguments(options))},
       {"env", Node::Sequence({std::move(address)})},
       {"terminationMessagePolicy", Node::String("FallbackToLogsOnError")},
       {"securityContext", SecurityContext(options.platform)},
       {"resources", Node::Mapping({{"requests", std::move(requests)},
                                    {"limits", Node::Mapping({{"memory", Node::String("64Mi")}})}})},
       {"volumeMounts", Node::Sequence({std::move(token)})}});
}

doc::Node TokenVolume() {
  Node source =
      Node::Mapping({{"serviceAccountToken", Node::Mapping({{"audience", Node::String("prefetchd")},
                                                            {"expirationSeconds", Node::Int(kTokenSeconds)},
                                                            {"path", Node::String("token")}})}});
  return Node::Mapping({{"name", Node::String(kTokenVolume)},
                        {"projected", Node::Mapping({{"sources", Node::Sequence({std::move(source)})}})}});
}

}  // namespace prefetch::deploy
