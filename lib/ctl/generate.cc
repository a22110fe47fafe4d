#include "ctl/commands.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <variant>

#include "base/fs.h"
#include "base/text.h"
#include "config/agent_config.h"
#include "config/config_file.h"
#include "ctl/cluster.h"
#include "ctl/manifest_files.h"
#include "deploy/installed.h"
#include "deploy/kustomization.h"
#include "doc/problems.h"
#include "doc/write.h"
#include "doc/yaml.h"
#include "image/kubelet_version.h"
#include "plan/spellings.h"

namespace prefetch::ctl {

namespace {

constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kMostConfigBytes = 256 << 10;

std::string_view EndingOf(list::SourceFormat form) {
  return base::EnumWord(form, {".txt", ".yaml", ".json"});
}

// Returns the list's key in the ConfigMap. The agent finds it in a folder, and reads only files there that
// have names of lists.
std::string KeyFor(const list::LoadedSource& source) {
  std::string name(base::BaseName(source.info.name));
  if (list::IsListFileName(name)) return name;
  // The agent skips names that begin with a dot, and Kubernetes' own links in a mounted ConfigMap have such
  // names.
  name.erase(0, std::min(name.find_first_not_of('.'), name.size()));
  return (name.empty() ? "list" : name) + std::string(EndingOf(list::FormatOfText(source.content->text)));
}

base::Status CheckImageAndVersion(const deploy::GenerateOptions& options) {
  if (!options.image.empty()) {
    auto image = image::Reference::Parse(options.image);
    if (!image) return base::InvalidArgument("--image: " + image.error().message());
  }
  if (!options.kubelet_version.empty()) {
    // The same check as in prefetchd, so that no manifest is printed with which an agent would not start.
    auto version = config::CheckedKubelet(options.kubelet_version);
    if (!version) return base::InvalidArgument("--kubelet-version " + version.error().message());
  }
  return {};
}

bool IsFolderPath(const std::string& path) {
  auto kind = base::KindOf(path);
  return path.ends_with('/') || (kind && *kind == base::FileKind::kDirectory);
}

// "03-daemonset-prefetchd.yaml": numbers, so that `kubectl apply -f FOLDER` goes in this order.
std::string FileNameFor(const doc::Node& document, std::size_t index) {
  std::string number = (index < 10 ? "0" : "") + std::to_string(index);
  return number + "-" + base::ToLower(doc::TextAt(document, {"kind"})) + "-" +
         doc::TextAt(document, {"metadata", "name"}) + ".yaml";
}

// Returns true for a name as FileNameFor makes them: "09-daemonset-prefetchd.yaml".
bool IsOurFileName(std::string_view name) {
  const std::vector<std::string_view> parts = base::Split(name, '-');
  return parts.size() >= 3 && parts[0].find_first_not_of("0123456789") == std::string_view::npos &&
         (parts[2] == "prefetchd" || parts[2] == "prefetchd.yaml") && name.ends_with(".yaml");
}

// Names files that look like those of an earlier run: `kubectl apply -f FOLDER` applies them, too, an old
// DaemonSet with a higher number even last. They may be another instance's, so the user decides.
base::Status NoteOtherFiles(const std::string& folder, const std::set<std::string>& written,
                            std::ostream& err) {
  auto names = base::ListDirectory(folder, kMostFiles);
  if (!names) return base::InvalidArgument(names.error().message());
  for (const std::string& name : *names) {
    if (!IsOurFileName(name) || written.contains(name)) continue;
    err << "note: " << folder << name
        << " is not from this run, and would be applied, too: remove it if an earlier run wrote it\n";
  }
  return {};
}

// Writes one file for each object. The path ends with "/".
base::Status WriteFolder(const std::vector<doc::Node>& documents, const std::string& folder,
                         std::ostream& err) {
  if (!base::KindOf(folder) && ::mkdir(folder.c_str(), 0755) != 0) {
    // Only the last folder is made. A whole path that does not exist is more probably a typing error.
    return base::InvalidArgument("-o " + folder +
                                 ": the folder cannot be made; the one above it has to be there");
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < documents.size(); i++) {
    const std::string& name = *names.insert(FileNameFor(documents[i], i)).first;
    auto written = base::WriteFileAtomically(folder + name, doc::WriteYaml(documents[i]));
    if (!written) {
      return base::InvalidArgument(written.error().message() + ": " + folder + " has only " +
                                   std::to_string(i) + " of " + std::to_string(documents.size()) +
                                   " files of this run");
    }
  }
  return NoteOtherFiles(folder, names, err);
}

// The output of one run must not replace a file that it has read, nor be a list of the next run.
base::Status CheckNoInput(const std::string& output, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  if (output.empty()) return {};
  std::error_code absent;
  const fs::path folder =
      IsFolderPath(output) ? fs::path(output) : fs::absolute(output, absent).parent_path();
  for (const std::string& input : inputs) {
    const std::string path = IsStdin(input) ? "/dev/stdin" : input;
    if (!fs::equivalent(output, path, absent) && !fs::equivalent(folder, path, absent)) continue;
    return base::InvalidArgument("-o " + output + " would write into the input " + input +
                                 ": name another file or directory");
  }
  return {};
}

base::Status Write(const std::vector<doc::Node>& documents, const std::string& output, std::ostream& out,
                   std::ostream& err) {
  if (!output.empty() && IsFolderPath(output)) {
    return WriteFolder(documents, output.ends_with('/') ? output : output + "/", err);
  }
  std::string text;
  for (const doc::Node& document : documents) text += "---\n" + doc::WriteYaml(document);
  if (output.empty()) {
    out << text;
    return {};
  }
  auto written = base::WriteFileAtomically(output, text);
  return written ? written : base::Status(base::InvalidArgument(written.error().message()));
}

// Reads the lists into the options; false, with the mistakes printed, if one of them is invalid.
bool LoadLists(GenerateFlags& flags, std::ostream& err) {
  list::Capabilities with_texts = flags.capabilities;
  with_texts.keeps_text = true;
  Mistakes mistakes;
  const ListFiles files = ReadListFiles(flags.lists, mistakes, with_texts);
  const std::string too_long = "is longer than " + std::to_string(list::kMaxSourceBytes) + " bytes";
  for (std::string& mistake : mistakes) {
    if (mistake.ends_with(too_long)) mistake += ": split it into several files, and give --list for each";
  }
  if (!mistakes.empty()) return RejectInput(mistakes, err), false;
  for (const std::string& warning : files.list.warnings) err << "warning: " << warning << "\n";
  std::set<std::string> spellings;
  for (const list::LoadedSource& source : files.sources) {
    flags.options.lists.push_back({KeyFor(source), source.content->text});
    AddSpellings(*source.content, spellings);
  }
  // Component policy has the pods' spellings of the images of all lists that the agents get.
  if (deploy::ListsOwnImage(flags.options)) {
    auto own = image::Reference::Parse(flags.options.image);
    if (own) AddSpellings(*own, spellings);
  }
  flags.options.policy_images = {spellings.begin(), spellings.end()};
  return true;
}

// Adds the field as a new last line, which keeps comments. A text that cannot take one (JSON) is written
// anew.
std::string WithProviderEnvironment(const std::string& text) {
  constexpr const char* kKey = "providerEnvironment";
  constexpr const char* kFile = "/etc/prefetchd/agent/provider.env";
  std::string longer = text + (text.ends_with('\n') ? "" : "\n") + kKey + ": " + kFile + "\n";
  doc::Problems problems("agent.yaml");
  auto raw = config::ReadConfigFile(longer, problems);
  if (raw && problems.empty() && raw->provider_environment_file) return longer;
  doc::Problems unused("agent.yaml");
  doc::Node root = doc::ParseYaml(text, unused).value_or(doc::Node::Mapping());
  doc::Put(root, kKey, doc::Node::String(kFile));
  return doc::WriteYaml(root);
}

// Reads agent.yaml into the options; false, with the mistakes printed, if agents would not start with it.
bool ReadAgentConfig(GenerateFlags& flags, std::ostream& err) {
  if (flags.agent_config.empty()) return true;
  auto text = base::ReadFile(flags.agent_config, kMostConfigBytes);
  if (!text) return Fail(kBadInput, text.error(), err), false;
  doc::Problems problems(flags.agent_config);
  auto raw = config::ReadConfigFile(*text, problems);
  if (!problems.empty() || !raw) return RejectInput(problems.Lines(), err), false;
  // The shipped file's only field: platforms need it for their credential plugins.
  if (!raw->provider_environment_file && !raw->provider_environment) *text = WithProviderEnvironment(*text);
  flags.options.agent_config = *std::move(text);
  return true;
}

// Stands for the variables that Kubernetes fills in: $(POD_IP) in --listen.
constexpr std::string_view kAnyPodAddress = "10.0.0.1";

const doc::Node* AgentsContainer(const std::vector<doc::Node>& documents) {
  for (const doc::Node& document : documents) {
    if (doc::TextAt(document, {"kind"}) != "DaemonSet") continue;
    const auto& containers = doc::ItemsAt(document, {"spec", "template", "spec", "containers"});
    if (!containers.empty()) return &containers.front();
  }
  return nullptr;
}

// The file is a string inside a ConfigMap.
std::string AgentYaml(const std::vector<doc::Node>& documents) {
  for (const doc::Node& document : documents) {
    const doc::Node* text = doc::ValueAt(document, {"data", "agent.yaml"});
    if (text != nullptr) return text->text;
  }
  return "";
}

// The option parser belongs to cmd; the table of settings has all that is needed here.
void SetFlag(std::string_view arg, config::RawConfig& raw) {
  const std::string_view flag = arg.substr(0, arg.find('='));
  const std::string value(arg.substr(std::min(arg.size(), flag.size() + 1)));
  for (const config::Setting& setting : config::kSettings) {
    if (config::FlagOf(setting) != flag) continue;
    const std::string by(flag);
    switch (setting.kind()) {
      case config::SettingKind::kText:
        raw.given[setting.name] = config::SourcedText{value, by};
        break;
      case config::SettingKind::kSwitch:
        // A switch may stand alone.
        raw.given[setting.name] = config::SourcedSwitch{value.empty() || value == "true", by};
        break;
      case config::SettingKind::kTexts:
        auto& values = raw.given.try_emplace(setting.name, config::SourcedTexts{{}, by}).first->second;
        std::get<config::SourcedTexts>(values).value.push_back(value);
    }
  }
}

config::RawConfig FlagsOf(const doc::Node& container) {
  config::RawConfig raw;
  for (const doc::Node& arg : doc::ItemsAt(container, {"args"})) {
    SetFlag(base::ReplaceAll(arg.text, "$(POD_IP)", kAnyPodAddress), raw);
  }
  return raw;
}

// Returns the last value of a variable, which counts; nullptr if the manifest does not give it one.
const char* VariableOf(const doc::Node& container, std::string_view name) {
  const char* found = nullptr;
  for (const doc::Node& variable : doc::ItemsAt(container, {"env"})) {
    const doc::Node* value = variable.Find("value");
    if (value != nullptr && doc::TextAt(variable, {"name"}) == name) found = value->text.c_str();
  }
  return found;
}

// Checks that the agents of these manifests would accept their configuration, with prefetchd's own
// validation, before anything is applied. Returns the configuration of the DaemonSet's agents: its flags and
// variables over agent.yaml. Reads no files of the node. InvalidArgument has all mistakes, a line each, in
// prefetchd's own words.
base::Result<config::AgentConfig> ConfigOfManifests(const std::vector<doc::Node>& documents) {
  const doc::Node* container = AgentsContainer(documents);
  if (container == nullptr) return base::Internal("the manifests have no DaemonSet");
  doc::Problems problems("agent.yaml");
  config::RawConfig environment =
      config::ReadEnvironment([&](const char* name) { return VariableOf(*container, name); }, problems);
  std::optional<config::RawConfig> file = config::ReadConfigFile(AgentYaml(documents), problems);
  if (!problems.empty() || !file) return base::InvalidArgument(base::Join(problems.Lines(), "\n"));
  // The same order as in prefetchd: flags win over variables, and both over the file.
  return config::Validate(config::Overlay(*file, config::Overlay(environment, FlagsOf(*container))));
}

// Mounted Secrets and pullSecrets of agent.yaml must fit together, and prefetchd must accept all of it.
base::Status CheckAgentConfig(const GenerateFlags& flags, const std::vector<doc::Node>& documents,
                              std::vector<std::string>& notes) {
  auto config = ConfigOfManifests(documents);
  if (!config) {
    const std::string file = flags.agent_config.empty() ? "" : flags.agent_config + ": ";
    return base::InvalidArgument(file + "no agent would start: " + config.error().message());
  }
  // A Secret without a declaration would be mounted for nothing, which is a mistake; a declaration without a
  // mount may be completed by a patch, which is a note.
  std::set<std::string> declared, mounted;
  for (const config::PullSecret& secret : config->pull_secrets)
    declared.insert(base::WithoutTrailingSlashes(secret.path));
  for (const std::string& secret : flags.options.mounted_pull_secrets) {
    const std::string folder = deploy::FolderOfPullSecret(secret);
    mounted.insert(folder);
    if (declared.contains(folder)) continue;
    return base::InvalidArgument("--mount-pull-secret " + secret + ": no entry of pullSecrets has the path " +
                                 folder +
                                 ": declare it in the file of --agent-config, or leave the option out");
  }
  for (const std::string& path : declared) {
    if (mounted.contains(path)) continue;
    notes.push_back("pullSecrets: nothing is mounted at " + path + ": mount the Secret by a patch, or use " +
                    deploy::FolderOfPullSecret("NAME") + " and --mount-pull-secret NAME");
  }
  return {};
}

// Prints a note if kubelet is newer than the rules that this release, and so its agent, knows.
void NoteNewer(const std::string& declared, std::ostream& err) {
  auto version = image::KubeletVersion::Parse(declared);
  if (!version || !image::IsNewerThanKnown(*version)) return;
  err << "note: kubelet " << version->ToString() << " is newer than the rules that this release knows ("
      << image::kKnownKubelets << "): nodes report KubeletNewer unless every plausible rule agrees; update "
      << "prefetchd, or set kubeletRules: \"" << image::kNewestKnownKubelet.ToString()
      << "\" in agent.yaml\n";
}

// The manifests have imagePullPolicy: IfNotPresent, so another image under the same tag reaches new nodes
// only.
void NoteLatest(const std::string& image, std::ostream& err) {
  auto reference = image::Reference::Parse(image);
  if (!reference || reference->tag() != "latest" || reference->has_digest()) return;
  err << "note: --image " << image
      << " means the tag latest, and nodes keep the image that they have: name a "
      << "version, so that upgrades reach every node\n";
}

int Print(const base::Result<deploy::Generated>& generated, const std::string& output, std::ostream& out,
          std::ostream& err) {
  if (!generated) return Fail(kBadInput, generated.error(), err);
  if (auto written = Write(generated->documents, output, out, err); !written) {
    return Fail(kBadInput, written.error(), err);
  }
  for (const std::string& note : generated->notes) err << "note: " << note << "\n";
  return kOk;
}

// Adds a note with all settings that the manifests would remove from the running installation.
void NoteRemovedSettings(const GenerateFlags& flags, deploy::Generated& generated) {
  if (!flags.installed) return;
  const std::vector<std::string> removed =
      deploy::RemovedSettings(*flags.installed, generated.documents, flags.agent_config.empty());
  if (removed.empty()) return;
  generated.notes.push_back(
      "these manifests remove settings of the DaemonSet in the cluster; to keep them, give their options, "
      "too: " +
      base::Join(removed, ", "));
}

}  // namespace

// Reads the DaemonSet of the named installation. Without it there is nothing to compare with, so its absence
// is a mistake.
int ReadInstalled(const base::Call& call, kube::Api& api, GenerateFlags& flags, std::ostream& err) {
  const std::string& instance = flags.options.instance;
  const std::string name = instance.empty() ? "prefetchd" : "prefetchd-" + instance;
  const std::string& space = flags.options.name_space.empty() ? name : flags.options.name_space;
  constexpr kube::Resource kDaemonSets{"DaemonSet", "apps", "daemonsets"};
  auto found = ListAll<doc::Node>(
      call, {.label_selector = "", .field_selector = "metadata.name=" + name},
      [&](const kube::ListOptions& page) { return api.ListObjects(call, kDaemonSets, space, page); });
  if (!found) return Fail(kUnreachable, ToUserError(found.failure(), "workload-list.yaml"), err);
  if (found->empty()) {
    return Fail(
        kBadInput,
        base::InvalidArgument("--from-cluster: the namespace " + space + " has no DaemonSet " + name +
                              ": give --image instead, or --namespace and --instance of the installation"),
        err);
  }
  flags.installed = std::move(found->front());
  return kOk;
}

int Generate(GenerateFlags flags, std::ostream& out, std::ostream& err) {
  // All input is checked before anything is printed.
  std::vector<std::string> inputs = flags.lists;
  inputs.push_back(flags.agent_config);
  if (auto apart = CheckNoInput(flags.output, inputs); !apart) return Fail(kBadInput, apart.error(), err);
  if (auto words = CheckImageAndVersion(flags.options); !words) return Fail(kBadInput, words.error(), err);
  if (!LoadLists(flags, err) || !ReadAgentConfig(flags, err)) return kBadInput;
  NoteNewer(flags.options.kubelet_version, err);
  NoteLatest(flags.options.image, err);
  auto generated = deploy::Generate(deploy::EmbeddedFiles(), flags.options);
  if (generated) {
    auto starts = CheckAgentConfig(flags, generated->documents, generated->notes);
    if (!starts) return Fail(kBadInput, starts.error(), err);
    NoteRemovedSettings(flags, *generated);
  }
  return Print(generated, flags.output, out, err);
}

int GenerateCompat(const deploy::CompatOptions& options, const std::string& output, std::ostream& out,
                   std::ostream& err) {
  if (auto words = CheckImageAndVersion(options.common); !words) return Fail(kBadInput, words.error(), err);
  NoteNewer(options.common.kubelet_version, err);
  NoteLatest(options.common.image, err);
  auto generated = deploy::GenerateCompat(deploy::EmbeddedFiles(), options);
  if (generated) {
    if (auto config = ConfigOfManifests(generated->documents); !config)
      return Fail(kBadInput, std::move(config).error().Wrap("no agent would start"), err);
  }
  return Print(generated, output, out, err);
}

int GenerateTouchDaemonSet(const std::vector<std::string>& lists, const deploy::NodeChoice& nodes,
                           const std::string& output, std::ostream& out, std::ostream& err) {
  if (lists.empty()) return Fail(kBadInput, base::InvalidArgument("--list is required"), err);
  if (auto apart = CheckNoInput(output, lists); !apart) return Fail(kBadInput, apart.error(), err);
  std::vector<std::string> mistakes, images;
  ListFiles files = ReadListFiles(lists, mistakes);
  if (!mistakes.empty()) return Fail(kBadInput, base::InvalidArgument(base::Join(mistakes, "\n")), err);
  for (const plan::DesiredImage& image : files.list.images) {
    // The list forbids touches of this image.
    if (image.open == plan::Open::kNever) continue;
    // A DaemonSet runs on all its nodes, and a container for another platform would fail there.
    if (image.nodes == plan::NodeScope()) {
      for (const image::Reference& spelling : plan::SpellingsOf(image)) images.push_back(spelling.written());
    } else {
      err << "note: " << image.reference.written()
          << " is left out: it is for some nodes only (platforms, nodeSelector)\n";
    }
  }
  return Print(deploy::GenerateTouchDaemonSets(deploy::EmbeddedFiles(), images, nodes), output, out, err);
}

void AddSpellings(const image::Reference& reference, std::set<std::string>& spellings) {
  spellings.insert(reference.written());
  // kubelet adds ":latest" if tag and digest are missing, and changes nothing else (K1).
  if (reference.has_digest() || reference.tag() != "latest") return;
  const std::string with_tag = reference.SpecImage();
  spellings.insert(with_tag);
  spellings.insert(with_tag.substr(0, with_tag.size() - std::string_view(":latest").size()));
}

void AddSpellings(const list::SourceContent& content, std::set<std::string>& spellings) {
  for (const list::ListEntry& entry : content.entries) AddSpellings(entry.image.reference, spellings);
}

int ExportPolicy(const std::vector<std::string>& lists, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  ListFiles files = ReadListFiles(lists, mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  std::set<std::string> spellings;
  for (const list::LoadedSource& source : files.sources) AddSpellings(*source.content, spellings);
  auto made = deploy::PolicyConfigMap({spellings.begin(), spellings.end()});
  if (!made) return Fail(kBadInput, made.error(), err);
  out << "# The images by which deploy/components/policy judges, one spelling a line.\n"
      << doc::WriteYaml(*made);
  return kOk;
}

}  // namespace prefetch::ctl
