#include "status/policy_help.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/text.h"
#include "status/words.h"

namespace prefetch::status {
namespace {

bool Says(const std::string& error, std::string_view words) {
  return error.find(words) != std::string::npos;
}

// By the words of containers/image: signature/policy_eval_simple.go, policy_eval_signedby.go and
// policy_eval_sigstore.go.
std::string HelpOfCrio(const std::string& error) {
  if (Says(error, "is rejected by policy")) {
    return "the rule has the type reject: allow the image there, or remove it from the list";
  }
  if (Says(error, "no signature exists")) {
    return "sign it, or name the place of its signatures: lookaside or use-sigstore-attachments in "
           "/etc/containers/registries.d";
  }
  if (Says(error, "signatures were accepted")) {
    return "it is signed, but not as the rule demands: compare key and signedIdentity of the rule with the "
           "signature";
  }
  return WordsFor(plan::ReasonName(plan::Reason::kSignatureRejected)).advice;
}

}  // namespace

// containers/image docker/policyconfiguration/naming.go.
std::vector<std::string> PolicyScopes(const image::Reference& reference) {
  std::vector<std::string> scopes = {reference.Normalized()};
  std::string name = reference.Repository();
  while (true) {
    scopes.push_back(name);
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) break;
    name.resize(slash);
  }
  name.resize(std::min(name.find(':'), name.size()));
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.')) {
    name.erase(0, dot + 1);
    scopes.push_back("*." + name);
  }
  scopes.emplace_back();
  return scopes;
}

// containers/image signature/policy_config.go, through CRI-O: 'invalid policy in "FILE": …'.
bool IsBrokenPolicy(const std::string& error) {
  return Says(error, "invalid policy in ");
}

std::vector<std::string> SignatureHelp(const plan::ImageState& image, const plan::RuntimeStatus& runtime) {
  if (runtime.name != "cri-o") {
    return {
        "an image verifier of containerd blocked it: look at the programs in bin_dir of the plugin "
        "io.containerd.image-verifier.v1.bindir (/opt/containerd/image-verifier/bin)"};
  }
  return {HelpOfCrio(image.pull.last_error),
          "the policy is /etc/containers/policy.json, or the file that signature_policy in crio.conf names; "
          "the rule is the first of these below transports.docker, else default: \"" +
              base::Join(PolicyScopes(image.want->reference), "\", \"") + "\"",
          "pods of a namespace with a file NAMESPACE.json in /etc/crio/policies (signature_policy_dir) have "
          "that policy instead"};
}

}  // namespace prefetch::status
