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

Node Map(const std::vector<std::pair<std::string, Node>>& members) {
  Node map = Node::Mapping();
  for (const auto& [key, value] : members) map.Set(key, value);
  return map;
}

Node StringSequence(const std::vector<std::string>& words) {
  std::vector<Node> items;
  for (const std::string& word : words) items.push_back(Node::String(word));
  return Node::Sequence(std::move(items));
}

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
  Node context = Map({{"allowPrivilegeEscalation", Node::Bool(false)},
                      {"capabilities", Map({{"drop", StringSequence({"ALL"})}})},
                      {"readOnlyRootFilesystem", Node::Bool(true)},
                      {"runAsNonRoot", Node::Bool(true)}});
  if (platform != kOpenShift) context.Set("runAsUser", Node::Int(kNobody));
  context.Set("seccompProfile", Map({{"type", Node::String("RuntimeDefault")}}));
  return context;
}

}  // namespace

doc::Node InitContainer(const InitContainerOptions& options) {
  Node address =
      Map({{"name", Node::String("NODE_IP")},
           {"valueFrom", Map({{"fieldRef", Map({{"fieldPath", Node::String("status.hostIP")}})}})}});
  Node token = Map({{"name", Node::String(kTokenVolume)},
                    {"mountPath", Node::String(kTokenFolder)},
                    {"readOnly", Node::Bool(true)}});
  Node requests = Map({{"cpu", Node::String("10m")}, {"memory", Node::String("16Mi")}});
  return Map({{"name", Node::String(kCheckContainer)},
              {"image", Node::String(options.image)},
              // The check must start without its registry: Always would need it.
              {"imagePullPolicy", Node::String("IfNotPresent")},
              {"command", StringSequence({"/usr/bin/prefetchctl"})},
              {"args", StringSequence(Arguments(options))},
              {"env", Node::Sequence({std::move(address)})},
              {"terminationMessagePolicy", Node::String("FallbackToLogsOnError")},
              {"securityContext", SecurityContext(options.platform)},
              {"resources",
               Map({{"requests", std::move(requests)}, {"limits", Map({{"memory", Node::String("64Mi")}})}})},
              {"volumeMounts", Node::Sequence({std::move(token)})}});
}

doc::Node TokenVolume() {
  Node source = Map({{"serviceAccountToken", Map({{"audience", Node::String("prefetchd")},
                                                  {"expirationSeconds", Node::Int(kTokenSeconds)},
                                                  {"path", Node::String("token")}})}});
  return Map({{"name", Node::String(kTokenVolume)},
              {"projected", Map({{"sources", Node::Sequence({std::move(source)})}})}});
}

}  // namespace prefetch::deploy
