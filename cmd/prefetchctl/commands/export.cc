// The options and examples of `prefetchctl list export`, and of its deprecated spelling `prefetchctl export`.
#include "ctl/export.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "commands/command.h"
#include "ctl/policy_images.h"

namespace prefetch::ctl {
namespace {

struct ExportFlags {
  std::string target;  // "kubelet", "openshift", "policy"
  std::string output = "yaml";
  ExportAllowlistOptions allowlist;
  ExportPinnedOptions pinned;
};

CLI::Option* ListsOption(CLI::App& command, std::vector<std::string>& lists) {
  Several(command, "--list", lists, "A list file, or a directory of list files (repeatable)");
  return command.get_option("--list")->required();
}

void AllowlistFlags(CLI::App& command, ExportFlags& flags) {
  command.add_option("--kubelet-version", flags.allowlist.kubelet_version,
                     "Version of the kubelet that will read it, 1.33 or later; default: 1.37");
  command
      .add_option("-o,--output", flags.output,
                  "yaml: a drop-in of kubelet's configuration; openshift: a KubeletConfig for the cluster")
      ->check(CLI::IsMember({"yaml", "openshift"}))
      ->capture_default_str();
}

void PinnedFlags(CLI::App& command, ExportFlags& flags) {
  command.add_option("--name", flags.pinned.name, "Name of the PinnedImageSet")->capture_default_str();
  command.add_option("--pool", flags.pinned.pool, "The MachineConfigPool whose nodes pin the images")
      ->capture_default_str();
}

int RunAllowlist(ExportFlags& flags) {
  if (flags.output == "openshift") flags.allowlist.output = AllowlistOutput::kOpenShift;
  return ExportAllowlist(flags.allowlist, std::cout, std::cerr);
}

// Returns the first given option that is for another target; empty if there is none. Without this check it
// would have no effect, and the user would not notice.
std::string Misplaced(const CLI::App& command, const std::string& target) {
  const std::map<std::string, std::vector<std::string>> options = {
      {"kubelet", {"--kubelet-version", "--output"}}, {"openshift", {"--name", "--pool"}}};
  for (const auto& [of, names] : options) {
    for (const std::string& option : names) {
      if (of != target && command.count(option) > 0) return option;
    }
  }
  return "";
}

}  // namespace

Command ListExportCommand(CLI::App& command, Context&) {
  auto flags = std::make_shared<ExportFlags>();
  command.add_option("--for", flags->target, "Target of the export")
      ->required()
      ->check(CLI::IsMember({"kubelet", "openshift", "policy"}));
  ListsOption(command, flags->allowlist.lists);
  AllowlistFlags(command, *flags);
  PinnedFlags(command, *flags);
  command.get_option("--kubelet-version")->group("For kubelet");
  command.get_option("--output")->group("For kubelet");
  command.get_option("--name")->group("For OpenShift");
  command.get_option("--pool")->group("For OpenShift");
  command.footer(R"(
For kubelet: prints settings that exempt the images of the list from kubelet's verification
(NeverVerifyAllowlistedImages). Comments in the output explain the effect. From then on, every pod of the node
can use the names of the list without a pull secret.

For OpenShift: prints the list as a PinnedImageSet. CRI-O then keeps the images, and garbage collection skips
them. A PinnedImageSet takes digests only. For tags, the command uses the digests that prefetchctl list lock has
written beside the list.

For policy: prints the ConfigMap of deploy/components/policy, with every spelling of the images. Use it as a patch
in a kustomization, or apply it when the list has changed.

Exit code:
  0  printed
  2  bad input, a name that no pattern of this kubelet matches, or a tag without a digest

Examples:
  prefetchctl list export --for kubelet --list images.yaml > 90-prefetchd-allowlist.conf
  prefetchctl list export --for kubelet --list images.yaml -o openshift | oc apply -f -
  prefetchctl list lock images.yaml && prefetchctl list export --for openshift --list images.yaml
  prefetchctl list export --for policy --list images.yaml | kubectl apply --server-side -f -)");
  return [&command, flags] {
    if (std::string option = Misplaced(command, flags->target); !option.empty()) {
      return Fail(kBadInput, base::InvalidArgument(option + " cannot be used with --for " + flags->target),
                  std::cerr);
    }
    if (flags->target == "kubelet") return RunAllowlist(*flags);
    if (flags->target == "policy") return ExportPolicy(flags->allowlist.lists, std::cout, std::cerr);
    flags->pinned.lists = flags->allowlist.lists;
    return ExportPinnedImageSet(flags->pinned, std::cout, std::cerr);
  };
}

Command ExportAllowlistCommand(CLI::App& command, Context&) {
  auto flags = std::make_shared<ExportFlags>();
  ListsOption(command, flags->allowlist.lists);
  AllowlistFlags(command, *flags);
  command.footer(R"(
Deprecated spelling of prefetchctl list export --for kubelet. The next release removes it.

Examples:
  prefetchctl list export --for kubelet --list images.yaml > 90-prefetchd-allowlist.conf)");
  return [flags] {
    WarnOfDeprecatedSpelling("export kubelet-allowlist", "list export --for kubelet");
    return RunAllowlist(*flags);
  };
}

Command ExportPinnedCommand(CLI::App& command, Context&) {
  auto flags = std::make_shared<ExportFlags>();
  ListsOption(command, flags->pinned.lists);
  PinnedFlags(command, *flags);
  command.footer(R"(
Deprecated spelling of prefetchctl list export --for openshift. The next release removes it.

Examples:
  prefetchctl list lock images.yaml && prefetchctl list export --for openshift --list images.yaml)");
  return [flags] {
    WarnOfDeprecatedSpelling("export pinned-image-set", "list export --for openshift");
    return ExportPinnedImageSet(flags->pinned, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
