#include "ctl/commands.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "config/agent_config.h"
#include "doc/write.h"
#include "image/kubelet_version.h"
#include "kubelet/settings.h"
#include "list/lock.h"

namespace prefetch::ctl {

namespace {

using image::KubeletVersion;

// Returns every name as it is written: kubelet compares texts, so an image that two sources spell differently
// is two names (K13).
std::vector<image::Reference> ReadNames(const std::vector<std::string>& paths,
                                        std::vector<std::string>& mistakes) {
  ListFiles files = ReadListFiles(paths, mistakes);
  std::vector<image::Reference> names;
  for (const list::LoadedSource& source : files.sources) {
    for (const list::ListEntry& entry : source.content->entries) names.push_back(entry.image.reference);
  }
  if (names.empty() && mistakes.empty()) {
    mistakes.emplace_back(
        "there is no image in the list, and with an empty allowlist kubelet exempts nothing");
  }
  return names;
}

KubeletVersion Version(const ExportOptions& options, std::vector<std::string>& mistakes) {
  // The newest known version.
  if (!options.kubelet_version) return {};
  // Those before it have no allowlist, which is said below.
  auto old = KubeletVersion::Parse(*options.kubelet_version);
  if (old && *old < kubelet::kFirstWithGate) return *old;
  auto version = config::CheckedKubelet(*options.kubelet_version);
  if (version) return *version;
  mistakes.push_back("--kubelet-version " + version.error().message());
  return {};
}

// Returns true for a pattern that exempts everything below a folder (K12).
bool IsFolder(const std::string& pattern) {
  return pattern.ends_with("/*");
}

// The same list has other patterns for another kubelet, so the file states for which one it was made.
std::string VersionComment(const ExportOptions& options, KubeletVersion version) {
  std::string text = "For kubelet " + version.ToString();
  if (!options.kubelet_version) text += ", the default without --kubelet-version";
  return text +
         (version < kubelet::kFirstWithNamesAsWritten
              ? ". From 1.36 on names can be exempt one by one: print this again after the upgrade.\n"
              : ". Older ones read exact names otherwise, so that those with a tag are not exempt there: "
                "print this again with --kubelet-version.\n");
}

std::string FolderComment(const std::vector<std::string>& patterns) {
  auto folders = std::ranges::count_if(patterns, IsFolder);
  if (folders == 0) return "";
  return "- A pattern that ends with /* (" + std::to_string(folders) +
         " here) exempts everything below that folder, later pushes included; one "
         "with a single / exempts a whole registry or organisation.\n";
}

std::string GateComment(const ExportOptions& options, KubeletVersion version) {
  // With the gate off, kubelet does not start with these fields (K8).
  if (!kubelet::NeedsFeatureGate(version)) return "";
  if (options.output == AllowlistOutput::kYaml) {
    return "- The feature gate KubeletEnsureSecretPulledImages is off by default in kubelet " +
           version.ToString() + ", which does not start with these settings unless it is on.\n";
  }
  return "- Kubelet " + version.ToString() +
         " does not start with these settings unless its feature gate KubeletEnsureSecretPulledImages is on. "
         "A "
         "KubeletConfig must not set it: first switch it on in the cluster's FeatureGate (CustomNoUpgrade, "
         "which cannot be undone).\n";
}

std::string PlaceComment(AllowlistOutput output) {
  switch (output) {
    case AllowlistOutput::kYaml:
      return "Put it as a file that ends in .conf into the folder of kubelet's --config-dir, or its fields "
             "into kubelet's configuration. Name it last if other files there have these fields: kubelet "
             "replaces lists, and does not join them. Then restart kubelet.\n";
    case AllowlistOutput::kOpenShift:
      return "Apply it to the cluster: the Machine Config Operator writes it into kubelet's configuration "
             "and "
             "restarts each node of the pools in turn. If a pool has a KubeletConfig already, put the two "
             "fields of spec.kubeletConfig there instead.\n";
  }
  return "";
}

// Lines of at most this many characters, with "# " before each.
constexpr std::size_t kCommentWidth = 100;

std::string AsComment(const std::string& text) {
  std::string out;
  for (std::string_view paragraph : base::Split(text, '\n')) {
    std::string line = "#";
    for (std::string_view word : base::Split(paragraph, ' ')) {
      if (line.size() + 1 + word.size() > kCommentWidth) {
        out += line + "\n";
        line = paragraph.starts_with('-') ? "#  " : "#";
      }
      if (!word.empty()) line += " " + std::string(word);
    }
    out += line + "\n";
  }
  return out;
}

std::string Head(const ExportOptions& options, KubeletVersion version,
                 const std::vector<std::string>& patterns) {
  std::string text =
      "Exempts the images of a list from kubelet's verification of pull credentials "
      "(NeverVerifyAllowlistedImages). " +
      VersionComment(options, version) + "\nWhat it means:\n" +
      "- Every pod of the node may use the names below once they are on the node, without any pull secret, "
      "even "
      "if kubelet pulled them with one.\n" +
      FolderComment(patterns) +
      "- Names are compared as pods write them: nginx and docker.io/library/nginx are two names.\n"
      "- kubelet verifies all other images strictly from then on. Unlike by default, it refuses a preloaded "
      "image "
      "that is not on this list to pods with imagePullPolicy Never. Pods with IfNotPresent ask the registry "
      "with "
      "their own credentials, until kubelet itself has pulled the image.\n" +
      GateComment(options, version) + "\n" + PlaceComment(options.output);
  text.pop_back();
  return AsComment(text);
}

// Sets the policy and its list together, as neither has a use without the other.
doc::Node& SetVerification(doc::Node& node, const std::vector<std::string>& patterns) {
  return node
      .Set("imagePullCredentialsVerificationPolicy",
           doc::Node::String(
               std::string(base::EnumName(kubelet::VerificationPolicy::kNeverVerifyAllowlistedImages))))
      .Set("preloadedImagesVerificationAllowlist", doc::Node::Strings(patterns));
}

std::string DropIn(KubeletVersion version, const std::vector<std::string>& patterns) {
  doc::Node node = doc::Node::Mapping({{"apiVersion", doc::Node::String("kubelet.config.k8s.io/v1beta1")},
                                       {"kind", doc::Node::String("KubeletConfiguration")}});
  // A KubeletConfig of OpenShift must not set gates (GateComment).
  if (kubelet::NeedsFeatureGate(version)) {
    node.Set("featureGates",
             doc::Node::Mapping({{"KubeletEnsureSecretPulledImages", doc::Node::Bool(true)}}));
  }
  return doc::WriteYaml(SetVerification(node, patterns));
}

// An object of the Machine Config Operator.
doc::Node MachineConfigObject(const char* kind, doc::Node metadata, doc::Node spec) {
  return doc::Node::Mapping({{"apiVersion", doc::Node::String("machineconfiguration.openshift.io/v1")},
                             {"kind", doc::Node::String(kind)},
                             {"metadata", std::move(metadata)},
                             {"spec", std::move(spec)}});
}

std::string OpenShift(const std::vector<std::string>& patterns) {
  doc::Node settings = doc::Node::Mapping();
  SetVerification(settings, patterns);
  const doc::Node labels = doc::Node::Mapping(
      {{"pools.operator.machineconfiguration.openshift.io/worker", doc::Node::String("")}});
  const doc::Node spec =
      doc::Node::Mapping({{"machineConfigPoolSelector", doc::Node::Mapping({{"matchLabels", labels}})},
                          {"kubeletConfig", std::move(settings)}});
  const doc::Node metadata = doc::Node::Mapping({{"name", doc::Node::String("prefetchd-allowlist")}});
  // The YAML writer has no comments, so this one is put into its text.
  const std::string selected = "  machineConfigPoolSelector:\n";
  return base::ReplaceAll(
      doc::WriteYaml(MachineConfigObject("KubeletConfig", metadata, spec)), selected,
      "  # Choose the label of the pools whose nodes run the agent; this is the one of all "
      "workers.\n" +
          selected);
}

}  // namespace

int ExportAllowlist(const ExportOptions& options, std::ostream& out, std::ostream& err) {
  std::vector<std::string> mistakes;
  KubeletVersion version = Version(options, mistakes);
  std::vector<image::Reference> names = ReadNames(options.lists, mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  auto exported = kubelet::ExportAllowlist(names, version);
  if (!exported) return RejectInput({exported.error().message()}, err);
  // A name that no pattern matches would be refused to pods on every node, so nothing is printed at all.
  for (const kubelet::UnmatchedName& each : exported->unmatched) mistakes.push_back(each.why);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  out << Head(options, version, exported->patterns)
      << (options.output == AllowlistOutput::kYaml ? DropIn(version, exported->patterns)
                                                   : OpenShift(exported->patterns));
  return kOk;
}

namespace {

// https://docs.redhat.com/documentation/openshift_container_platform: MachineConfig APIs, PinnedImageSet
constexpr std::size_t kMostImages = 500;

std::set<std::string> Pinned(const std::vector<list::LoadedSource>& sources, Mistakes& mistakes) {
  std::set<std::string> names;
  for (const list::LoadedSource& source : sources) {
    auto lock = list::ReadLockOf(source.info.path, source.info.name);
    if (!lock) {
      mistakes.push_back(lock.error().message());
      continue;
    }
    for (const list::ListEntry& entry : source.content->entries) {
      const image::Reference& reference = entry.image.reference;
      auto locked = lock->find(reference.Normalized());
      if (reference.has_digest()) {
        names.insert(reference.Repository() + "@" + reference.digest());
      } else if (locked != lock->end()) {
        names.insert(reference.Repository() + "@" + locked->second);
      } else {
        // A PinnedImageSet takes digests only.
        mistakes.push_back(source.info.name + ":" + std::to_string(entry.at.line) + ": " +
                           reference.written() + " has no digest: run prefetchctl list lock " +
                           source.info.name + " first");
      }
    }
  }
  return names;
}

doc::Node Document(const ExportOptions& options, const std::set<std::string>& names) {
  std::vector<doc::Node> images;
  for (const std::string& name : names) {
    images.push_back(doc::Node::Mapping().Set("name", doc::Node::String(name)));
  }
  const doc::Node labels =
      doc::Node::Mapping({{"machineconfiguration.openshift.io/role", doc::Node::String(options.pool)}});
  return MachineConfigObject(
      "PinnedImageSet", doc::Node::Mapping({{"name", doc::Node::String(options.name)}, {"labels", labels}}),
      doc::Node::Mapping({{"pinnedImages", doc::Node::Sequence(std::move(images))}}));
}

}  // namespace

int ExportPinnedImageSet(const ExportOptions& options, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles(options.lists, mistakes);
  std::set<std::string> names = Pinned(files.sources, mistakes);
  if (names.empty() && mistakes.empty()) mistakes.emplace_back("there is no image in the list to pin");
  if (names.size() > kMostImages) {
    mistakes.push_back("a PinnedImageSet has at most " + std::to_string(kMostImages) + " images, not " +
                       std::to_string(names.size()) + ": split the list");
  }
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  out << "# Pins the images of a list on the nodes of a pool: CRI-O pulls them by digest and kubelet never "
         "collects them.\n"
      << doc::WriteYaml(Document(options, names));
  return kOk;
}

}  // namespace prefetch::ctl
