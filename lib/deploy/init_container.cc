#include "deploy/init_container.h"

#include <cstdlib>

#include "deploy/kustomization.h"
#include "deploy/words.h"
#include "doc/yaml.h"

namespace prefetch::deploy {
namespace {

using doc::Node;

// Returns the spec of the pod in the example. Its container and volume are those of every pod, but for the
// image and the arguments.
const Node& ExampleSpec() {
  static const Node kPod = [] {
    constexpr const char* kPath = "examples/check-init-container.yaml";
    doc::Problems problems(kPath);
    auto pod = doc::ParseYaml(EmbeddedFiles().at(kPath), problems);
    if (!pod) std::abort();  // it is part of the program
    return *std::move(pod);
  }();
  return *doc::ValueAt(kPod, {"spec"});
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

}  // namespace

doc::Node InitContainer(const InitContainerOptions& options) {
  Node container = doc::ItemsAt(ExampleSpec(), {"initContainers"}).front();
  Put(container, "image", Node::String(options.image));
  Put(container, "args", Node::Strings(Arguments(options)));
  // OpenShift assigns a range of users to each namespace, and rejects any other user. There, no user is set.
  if (options.platform == kOpenShift) Remove(Sub(container, "securityContext"), "runAsUser");
  return container;
}

doc::Node TokenVolume() {
  return doc::ItemsAt(ExampleSpec(), {"volumes"}).front();
}

}  // namespace prefetch::deploy
