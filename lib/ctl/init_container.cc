#include "ctl/commands.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/fs.h"
#include "base/text.h"
#include "deploy/kustomization.h"
#include "doc/block_edit.h"
#include "doc/duration.h"
#include "doc/json.h"
#include "doc/problems.h"
#include "doc/write.h"
#include "manifest/image_use.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;

constexpr seconds kLeastTimeout{5};            // a restarting agent is away for a few seconds
constexpr const char* kBefore = "containers";  // new keys of a pod's spec stand before this one

// Checks the flags, and sets the container's timeout.
void CheckFlags(InitContainerFlags& flags, Mistakes& mistakes) {
  deploy::InitContainerOptions& container = flags.container;
  if (auto good = deploy::CheckPlatform(deploy::EmbeddedFiles(), container.platform); !good) {
    mistakes.push_back(good.error().message());
  }
  auto image = image::Reference::Parse(container.image);
  if (!image) mistakes.push_back("--image must name the agent's image: " + image.error().message());
  if (flags.timeout) {
    auto timeout = doc::ParseDuration(*flags.timeout);
    if (timeout && *timeout >= kLeastTimeout) {
      container.timeout = std::chrono::duration_cast<seconds>(*timeout);
    } else {
      mistakes.emplace_back("--timeout must be a duration of 5s or more, such as 90s");
    }
  }
  // Exactly one of the two.
  if (flags.file.empty() == flags.checked.empty()) {
    mistakes.emplace_back("name a manifest with -f, or the pod's images with --check-image, and not both");
  }
}

// Adds the secrets that are not there yet.
void AddSecrets(const std::vector<std::string>& names, std::vector<std::string>& secrets) {
  for (const std::string& name : names) {
    if (std::ranges::find(secrets, name) == secrets.end()) secrets.push_back(name);
  }
}

doc::Node SecretItem(const std::string& secret) {
  return doc::Node::Mapping({{"name", doc::Node::String(secret)}});
}

// Returns the deadline after which Kubernetes ends the pod: its own, its Job's, or its CronJob's; the
// earliest counts.
std::optional<seconds> DeadlineOf(const manifest::PodInTree& pod) {
  std::optional<seconds> deadline;
  const doc::Node* const values[] = {
      doc::ValueAt(*pod.spec, {"activeDeadlineSeconds"}),
      doc::ValueAt(*pod.object, {"spec", "activeDeadlineSeconds"}),
      doc::ValueAt(*pod.object, {"spec", "jobTemplate", "spec", "activeDeadlineSeconds"})};
  for (const doc::Node* value : values) {
    if (value == nullptr || value->kind != doc::Node::Kind::kInt || value->integer <= 0) continue;
    const seconds one(value->integer);
    deadline = deadline ? std::min(*deadline, one) : one;
  }
  return deadline;
}

// Returns the questions about the images of the pod, except for the image of the check itself.
std::vector<deploy::CheckedImage> ImagesOf(const manifest::PodInTree& pod, const std::string& file,
                                           Mistakes& mistakes) {
  std::vector<manifest::ImageUse> uses;
  for (const manifest::ImageUse& use : pod.uses) {
    // The command may run on its own output, and must not make the check ask about itself.
    if (use.kind == manifest::UseKind::kInitContainer && use.name == deploy::kCheckContainer) continue;
    if (!use.reference) {
      mistakes.push_back(file + ":" + std::to_string(use.at.line) + ":" + std::to_string(use.at.column) +
                         ": " + use.path +
                         ": is not an image name; if a program fills it in, render the manifest first");
      continue;
    }
    uses.push_back(use);
  }
  std::vector<deploy::CheckedImage> images;
  const auto policy_of = [](const manifest::ImageUse& use) { return use.policy; };
  for (const manifest::UsedImage& image : manifest::CombineUses(uses, policy_of)) {
    images.push_back({image.image, std::string(base::EnumName(image.policy))});
  }
  return images;
}

// The limit of all commands that read manifests. The text is edited as a whole, so its documents have no
// limit of their own.
manifest::ReadOptions LargeInputOptions() {
  manifest::ReadOptions options;
  options.limits.bytes = doc::kMostSavedBytes;
  return options;
}

// One manifest, with the parts to insert into it.
class Manifest {
 public:
  Manifest(const InitContainerFlags& flags, std::string text)
      : flags_(flags), name_(flags.file == kStdin ? "stdin" : flags.file), text_(std::move(text)) {
    // Nobody would understand the message of a YAML parser about a GitLab runner's configuration.
    if (manifest::IsRunnerConfig(text_))
      mistakes_.push_back(name_ + ": TOML has no pods to change: print the container with --check-image");
    else
      documents_ = Parse(text_);
  }

  void PutContainers() {
    doc::Problems problems(name_);
    manifest::ReadOptions options = LargeInputOptions();
    options.pod_template_paths = flags_.pod_template_paths;
    pods_ = manifest::FindPods(documents_, problems, options, &all_);
    for (const std::string& line : problems.Lines()) mistakes_.push_back(line);
    if (!mistakes_.empty()) return;
    for (const manifest::PodInTree& pod : pods_) PutInto(pod);
    if (mistakes_.empty() && items_.empty()) mistakes_.push_back(name_ + ": " + NothingFoundMessage());
    for (const doc::NamedItem& item : items_) items_of_[item.mapping].push_back(&item);
    NoteUnchecked();
  }

  // Returns the whole text; notes() then lists what was lost.
  std::string ChangedText() {
    std::vector<doc::Node> changed = documents_;
    for (std::size_t i = 0; i < documents_.size(); i++) ChangeTree(documents_[i], changed[i]);
    // The text is edited in place, so that comments stay, and then parsed again: it is used only if it means
    // the same as the changed tree.
    auto edited = doc::PutIntoText(text_, items_);
    if (edited && IsSame(*edited, changed)) return *edited;
    if (changed.size() == 1 && IsJson()) return doc::WritePrettyJson(changed[0]);
    notes_.push_back(name_ +
                     ": a pod's spec is not in block style, or an alias; the whole file is written anew, "
                     "without its comments");
    std::string text;
    for (const doc::Node& document : changed)
      text += (text.empty() ? "" : "---\n") + doc::WriteYaml(document);
    return text;
  }

  const Mistakes& mistakes() const { return mistakes_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::set<std::string> namespaces() const {
    std::set<std::string> names;
    for (const manifest::PodInTree& pod : pods_) names.insert(pod.uses.front().pod->object_namespace);
    return names;
  }

 private:
  // The user would otherwise take these objects for checked, as those beside them are.
  void NoteUnchecked() {
    std::set<const manifest::Pod*> checked;
    std::set<std::string> checked_titles, told;
    for (const manifest::PodInTree& pod : pods_) {
      checked.insert(pod.uses.front().pod.get());
      checked_titles.insert(PodTitle(*pod.uses.front().pod));
    }
    for (const manifest::ImageUse& use : all_.uses) {
      const std::string title = PodTitle(*use.pod);
      if (checked.contains(use.pod.get()) || !told.insert(title).second) continue;
      notes_.push_back((checked_titles.contains(title) ? "a part of " : "") + title +
                       " gets no check: if it has a pod template, name its place with --pod-template-path; "
                       "else print the container with --check-image");
    }
    for (const auto* unseen : {&all_.unread, &all_.unresolved, &all_.references}) {
      for (const manifest::UnseenImage& image : *unseen)
        if (told.insert(PodTitle(*image.pod)).second) notes_.push_back(UnseenLine(image));
    }
  }
  std::string NothingFoundMessage() const {
    if (!notes_.empty()) return "no pod in it is for nodes with agents";
    if (!all_.uses.empty()) {
      return "no pod template in it can take the check: print the container with --check-image, and add it "
             "where its pods are made (for Tekton and Argo, as the first step)";
    }
    if (flags_.pod_template_paths.empty()) {
      return "no pod in it names an image; for pods of custom resources, name their place with "
             "--pod-template-path";
    }
    return "no pod in it names an image, not even at --pod-template-path; for resources that have no pod "
           "template, print the container with --check-image";
  }
  bool IsJson() const {
    doc::Problems problems(name_);
    return doc::ParseJson(text_, problems, doc::JsonRules::kStrict, LargeInputOptions().limits).has_value() &&
           problems.empty();
  }
  std::vector<doc::Node> Parse(const std::string& text) {
    doc::Problems problems(name_);
    std::vector<doc::Node> documents = manifest::ParseManifests(text, problems, LargeInputOptions().limits);
    for (const std::string& line : problems.Lines()) mistakes_.push_back(line);
    return documents;
  }

  void PutInto(const manifest::PodInTree& pod) {
    const manifest::Pod& about = *pod.uses.front().pod;
    deploy::InitContainerOptions options = flags_.container;
    options.images = ImagesOf(pod, name_, mistakes_);
    if (options.images.empty()) return;
    const auto& systems = about.nodes.operating_systems;
    // The check would never pass there.
    if (systems == std::vector<std::string>{"windows"}) {
      notes_.push_back(PodTitle(about) + " is left as it is: it is for Windows, where no agent runs");
      return;
    }
    if (auto deadline = DeadlineOf(pod); deadline && !flags_.timeout) {
      // Half of the deadline is left to the pod's own work. A timeout that the user gave is not changed.
      options.timeout = std::min(options.timeout, *deadline / 2);
    }
    if (auto deadline = DeadlineOf(pod);
        deadline && (options.timeout >= *deadline || options.timeout < kLeastTimeout)) {
      mistakes_.push_back(name_ + ": activeDeadlineSeconds of " + PodTitle(about) +
                          " leaves no time for the check: raise it, or give a shorter --timeout");
    }
    // kubelet pulls with the pod's secrets, so the check must ask with the same ones.
    AddSecrets(about.image_pull_secrets, options.pod_secrets);
    AddSecrets(flags_.image_pull_secrets, options.pod_secrets);
    items_.push_back({pod.spec, "initContainers", deploy::InitContainer(options), kBefore});
    items_.push_back({pod.spec, "volumes", deploy::TokenVolume(), kBefore});
    for (const std::string& secret : flags_.image_pull_secrets) {
      items_.push_back({pod.spec, "imagePullSecrets", SecretItem(secret), kBefore});
    }
  }

  // Inserts the items into `to`, a copy of `from`. Items are known by the nodes of `from`, so both trees are
  // walked in step.
  void ChangeTree(const doc::Node& from, doc::Node& to) const {
    if (auto items = items_of_.find(&from); items != items_of_.end()) {
      for (const doc::NamedItem* item : items->second) doc::PutNamed(to, item->key, item->item, item->before);
    }
    for (std::size_t i = 0; i < from.items.size(); i++) ChangeTree(from.items[i], to.items[i]);
    for (const doc::Member& member : from.members) {
      if (doc::Node* twin = doc::Find(to, member.key)) ChangeTree(member.value, *twin);
    }
  }

  bool IsSame(const std::string& text, const std::vector<doc::Node>& documents) const {
    doc::Problems problems(name_);
    const std::vector<doc::Node> read = manifest::ParseManifests(text, problems, LargeInputOptions().limits);
    // Content is compared, not style.
    return problems.empty() &&
           std::equal(read.begin(), read.end(), documents.begin(), documents.end(), doc::SameContent);
  }

  const InitContainerFlags& flags_;
  std::string name_;
  std::string text_;
  std::vector<doc::Node> documents_;
  std::vector<manifest::PodInTree> pods_;  // those that take an init container
  manifest::Manifests all_;  // also the images of workflows, and of resources whose pods have no known place
  std::vector<doc::NamedItem> items_;
  std::unordered_map<const doc::Node*, std::vector<const doc::NamedItem*>> items_of_;  // by the pod's spec
  Mistakes mistakes_;
  std::vector<std::string> notes_;
};

int Write(const std::string& text, const InitContainerFlags& flags, const std::string& namespaces,
          std::ostream& out, std::ostream& err) {
  if (flags.output.empty()) {
    out << text << std::flush;
  } else if (auto written = base::WriteFileAtomically(flags.output, text); !written) {
    return Fail(kBadInput, written.error(), err);
  }
  // Without this, the check would fail in each pod, and no pod would start.
  err << "note: the agents must have the component preflight, and admit " << namespaces
      << " (preflight.namespaces in agent.yaml)\n";
  return kOk;
}

int PrintContainer(InitContainerFlags flags, Mistakes mistakes, std::ostream& out, std::ostream& err) {
  for (const CheckOptions::Image& image : flags.checked) {
    auto reference = image::Reference::Parse(image.image);
    if (!reference) {
      mistakes.push_back("--check-image " + image.image + ": " + reference.error().message());
      continue;
    }
    auto policy = image.policy ? ParsePolicyOption(image.policy, "--policy", mistakes)
                               : image::DefaultPullPolicy(*reference);
    flags.container.images.push_back({image.image, std::string(policy ? base::EnumName(*policy) : "")});
  }
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  AddSecrets(flags.image_pull_secrets, flags.container.pod_secrets);
  std::vector<doc::Node> secrets;
  std::ranges::transform(flags.image_pull_secrets, std::back_inserter(secrets), SecretItem);
  doc::Node spec = doc::Node::Mapping();
  if (!secrets.empty()) spec.Set("imagePullSecrets", doc::Node::Sequence(std::move(secrets)));
  spec.Set("initContainers", doc::Node::Sequence({deploy::InitContainer(flags.container)}))
      .Set("volumes", doc::Node::Sequence({deploy::TokenVolume()}));
  return Write(doc::WriteYaml(spec), flags, "the namespace of the pod", out, err);
}

}  // namespace

int GenerateInitContainer(InitContainerFlags flags, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  CheckFlags(flags, mistakes);
  if (!flags.checked.empty()) return PrintContainer(std::move(flags), std::move(mistakes), out, err);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  auto text = ReadFileOrStdin(flags.file, LargeInputOptions().limits.bytes);
  if (!text) return Fail(kBadInput, text.error(), err);
  Manifest manifest(flags, *std::move(text));
  manifest.PutContainers();
  if (!manifest.mistakes().empty()) return RejectInput(manifest.mistakes(), err);
  std::vector<std::string> namespaces;
  const std::string written = manifest.ChangedText();
  for (const std::string& note : manifest.notes()) err << "note: " << note << "\n";
  for (const std::string& name : manifest.namespaces()) {
    namespaces.push_back(name.empty() ? "the namespace of the pod" : "the namespace " + name);
  }
  return Write(written, flags, base::Join(namespaces, ", "), out, err);
}

}  // namespace prefetch::ctl
