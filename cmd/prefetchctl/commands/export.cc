// The options and examples of `prefetchctl export`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "commands/command.h"
#include "ctl/export.h"

namespace prefetch::ctl {

Command ExportAllowlistCommand(CLI::App& command, Context&) {
  auto options = std::make_shared<ExportAllowlistOptions>();
  Repeatable(command, "--list", options->lists, "A list file, or a folder of them (repeatable)");
  command.get_option("--list")->required();
  command.add_option("--kubelet-version", options->kubelet_version,
                     "The kubelet that will read it, 1.33 or newer; else 1.36");
  auto output = std::make_shared<std::string>("yaml");
  command
      .add_option("-o,--output", *output,
                  "yaml: a drop-in of kubelet's configuration; openshift: a KubeletConfig for the cluster")
      ->check(CLI::IsMember({"yaml", "openshift"}))
      ->capture_default_str();
  command.footer(R"(
Prints the settings by which kubelet verifies every image but those of the list
(NeverVerifyAllowlistedImages), with what that means in comments. Names of the list are then usable by every
pod of the node without any pull secret.

Exit code: 0 printed, 2 bad input, a name that no pattern of this kubelet matches included.

Examples:
  prefetchctl export kubelet-allowlist --list images.yaml > 90-prefetchd-allowlist.conf
  prefetchctl export kubelet-allowlist --list lists/ --kubelet-version 1.35
  prefetchctl export kubelet-allowlist --list images.yaml -o openshift | oc apply -f -)");
  return [options, output] {
    if (*output == "openshift") options->output = AllowlistOutput::kOpenShift;
    return ExportAllowlist(*options, std::cout, std::cerr);
  };
}

Command ExportPinnedCommand(CLI::App& command, Context&) {
  auto options = std::make_shared<ExportPinnedOptions>();
  Repeatable(command, "--list", options->lists, "A list file, or a folder of them (repeatable)");
  command.get_option("--list")->required();
  command.add_option("--name", options->name, "Of the PinnedImageSet")->capture_default_str();
  command.add_option("--pool", options->pool, "The MachineConfigPool whose nodes pin the images")
      ->capture_default_str();
  command.footer(R"(
Prints the list as OpenShift's PinnedImageSet, by which CRI-O keeps images that nothing may collect. It takes
digests only: those of the list, and for tags those that prefetchctl list lock has written beside it.

Exit code: 0 printed, 2 bad input, a tag without a digest included.

Examples:
  prefetchctl list lock images.yaml && prefetchctl export pinned-image-set --list images.yaml | oc apply -f -)");
  return [options] { return ExportPinnedImageSet(*options, std::cout, std::cerr); };
}

}  // namespace prefetch::ctl
