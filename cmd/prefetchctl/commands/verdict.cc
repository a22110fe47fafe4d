// The options and examples of `prefetchctl verdict`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "commands/command.h"
#include "ctl/verdict.h"
#include "image/kubelet_version.h"

namespace prefetch::ctl {

Command VerdictCommand(CLI::App& command, Context&) {
  auto options = std::make_shared<VerdictOptions>();
  command.add_option("--image", options->image, "The image, exactly as the pod names it")->required();
  command.add_option("--image-id", options->image_id, "The runtime's id of the image; empty: it is absent")
      ->required();
  command.add_option("--kubelet-root", options->kubelet_root,
                     "kubelet's --root-dir; default: " + std::string(image::kDefaultKubeletRoot));
  auto* config =
      command.add_option("--kubelet-config", options->kubelet_config, "kubelet's KubeletConfiguration file");
  auto* verification = command.add_option("--verification", options->verification,
                                          "kubelet's imagePullCredentialsVerificationPolicy");
  verification->excludes(config);
  RepeatableOption(command, "--allowlist", options->allowlist,
                   "A pattern of kubelet's preloadedImagesVerificationAllowlist (repeatable)")
      ->needs(verification);
  command.add_option("--kubelet-version", options->kubelet_version, "kubelet's version, 1.31 or later");
  const std::string newest(image::kNewestKnownName);
  command.add_option("--kubelet-rules", options->kubelet_rules,
                     "Rules to apply if kubelet is newer than " + newest + ", such as " + newest);
  command.add_option("--pull-policy", options->pull_policy, "Only for this imagePullPolicy")
      ->check(CLI::IsMember({"Never", "IfNotPresent", "Always"}));
  RepeatableOption(command, "--pod-secret", options->pod_secrets,
                   "A pull secret of the pod: NAMESPACE/NAME/UID/HASH, HASH may be empty (repeatable)");
  command.add_option("--pod-service-account", options->pod_service_account,
                     "The pod's service account: NAMESPACE/NAME/UID");
  TextOrJsonOption(command, options->json);
  command.footer(R"(
Prints what kubelet would do with a pod that starts now, from kubelet's files alone: Starts, Pulls, Refused or
Unknown, and the reason. Without --pod-secret and --pod-service-account, the verdict is for pods that have
neither. The command does not guess unknown settings of kubelet. If one matters, the verdict is Unknown.

Exit code: 0 computed, 2 bad input, or an allowlist that kubelet would reject.

Examples:
  prefetchctl verdict --image quay.io/acme/app:v1 --image-id sha256:90f7... \
      --kubelet-config /var/lib/kubelet/config.yaml --kubelet-version 1.36
  prefetchctl verdict --image quay.io/acme/app:v1 --image-id sha256:90f7... --pull-policy Never \
      --kubelet-version 1.36 --verification AlwaysVerify --pod-secret team/pull/9a41.../ -o json)");
  return [options] { return PrintVerdicts(*options, std::cout, std::cerr); };
}

}  // namespace prefetch::ctl
