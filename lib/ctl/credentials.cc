#include "ctl/commands.h"

#include <memory>
#include <utility>

#include "base/fs.h"
#include "base/text.h"
#include "config/agent_config.h"
#include "credentials/keyring.h"
#include "credentials/lookup_words.h"
#include "credentials/match.h"
#include "ctl/crio_logins.h"
#include "doc/write.h"
#include "image/kubelet_version.h"
#include "registry/registries_conf.h"

namespace prefetch::ctl {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kRegistriesConf = "/etc/containers/registries.conf";

struct RequestedImage {
  std::string name;  // as it was written
  image::Reference reference;
};

// All names are parsed before anything is asked, so that one run reports every mistake.
std::vector<RequestedImage> ParseImages(const std::vector<std::string>& names, Lines& mistakes) {
  std::vector<RequestedImage> images;
  for (const std::string& name : names) {
    auto reference = image::Reference::Parse(name);
    if (reference) {
      images.push_back({name, *std::move(reference)});
    } else {
      mistakes.push_back(reference.error().message());
    }
  }
  return images;
}

std::string PullSecretNote(const credentials::KeyringOptions& keyring, const Lines& sources) {
  if (keyring.pull_secrets.empty()) return "";
  // A pull secret applies to the sources that it names, so the command must know for which source it asks.
  if (sources.empty()) {
    return "Declared pull secrets serve only entries of the list sources that they name: without --source "
           "none "
           "applies.\n";
  }
  return "Pull secrets as for entries of " + base::Join(sources, ", ") + ".\n";
}

// The configuration of this node's CRI-O, as far as it is visible here.
class Crio {
 public:
  Crio(const config::RawConfig& raw, const config::GetEnv& get_env, Lines& warnings) {
    if (const auto* root = raw.Text("registry-host-root")) host_root_ = root->value;
    if (host_root_ == "/") host_root_.clear();
    // Every pod has this variable (https://kubernetes.io/docs/concepts/containers/container-environment).
    const bool in_pod = get_env("KUBERNETES_SERVICE_HOST") != nullptr;
    view_ = !host_root_.empty() ? HostView::kMounted : in_pod ? HostView::kPod : HostView::kNode;
    auto settings = registry::ReadCrioSettings(registry::kCrioFile, host_root_);
    if (!settings) warnings.push_back("CRI-O's configuration: " + settings.error().message());
    if (!settings || !*settings) return;
    settings_ = std::move(*settings);
    const auto* conf = raw.Text("registries-conf");
    const std::string file = conf ? conf->value : kRegistriesConf;
    base::StampedFiles disk;
    const registry::RegistriesSettings read = registry::LoadRegistriesConf(file, host_root_, disk);
    if (read.conf) conf_ = read.conf;
    warnings.insert(warnings.end(), read.notes.begin(), read.notes.end());
  }

  // Returns true if CRI-O runs here, but its settings are not visible.
  bool is_hidden() const { return !settings_ && HasCrioSocket(host_root_); }
  // nullopt: not known.
  std::optional<CrioLogins> LoginsFor(const image::Reference& image, bool has_credentials) const {
    if (!settings_ || !conf_) return std::nullopt;
    return FindCrioLogins(*settings_, *conf_, host_root_, view_, image, has_credentials);
  }

 private:
  std::string host_root_;
  HostView view_ = HostView::kNode;
  std::optional<registry::CrioSettings> settings_;
  std::shared_ptr<const registry::RegistriesConf> conf_;
};

struct LookupOutput {
  std::vector<doc::Node> json;
  std::string text;
  bool all = true;  // every image has a credential

  void Add(const std::string& image, const credentials::LookupWords& lookup) {
    json.push_back(credentials::LookupJson(image, lookup));
    text += credentials::LookupText(image, lookup);
    all = all && !lookup.credentials.empty();
  }
};

// Returns the exit code.
int Print(const LookupOutput& found, bool json, const std::string& note, std::ostream& out) {
  if (!json) {
    out << found.text << note;
  } else {
    // One image gives one object, so that `jq .credentials` needs no index.
    const bool one = found.json.size() == 1;
    out << doc::WritePrettyJson(one ? found.json.front() : doc::Node::Sequence(found.json));
  }
  return found.all ? kOk : kNegative;
}

// Uses the agent's own loader, so the check finds what the agent would report.
void CheckProviders(const config::RawConfig& raw, image::KubeletVersion version, Lines& good,
                    Lines& mistakes) {
  const auto* given = raw.Text("image-credential-provider-config");
  if (!given) return;
  std::optional<std::string> bin_dir;
  if (const auto* folder = raw.Text("image-credential-provider-bin-dir")) bin_dir = folder->value;
  const std::string& path = given->value;
  credentials::ProviderConfig config = credentials::LoadProviderConfig(path, bin_dir, version);
  mistakes.insert(mistakes.end(), config.problems.begin(), config.problems.end());
  if (config.problems.empty()) {
    good.push_back(path + ": " + base::Plural(config.providers.size(), "provider, ", "providers, ") +
                   config.hash);
  }
}

void CheckDockerConfig(const std::string& path, Lines& good, Lines& warnings, Lines& mistakes) {
  credentials::NodeDockerConfig config = credentials::ReadFirstDockerConfig({path});
  mistakes.insert(mistakes.end(), config.problems.begin(), config.problems.end());
  if (!config.problems.empty()) return;
  if (config.path.empty()) {
    // kubelet skips missing files (A21), but a file that was named on the command line is meant to exist.
    mistakes.push_back(path + ": there is no such file");
    return;
  }
  good.push_back(path + ": " + base::Plural(config.index.size(), "login", "logins"));
  for (const std::string& key : config.index.unusable_keys()) {
    warnings.push_back(path + ": " + credentials::DisplayKey(key) + " is no address, and is left out");
  }
}

void CheckPullSecret(const config::PullSecret& secret, Lines& good, Lines& mistakes) {
  credentials::LoadedPullSecret loaded = credentials::LoadPullSecret(secret);
  mistakes.insert(mistakes.end(), loaded.problems.begin(), loaded.problems.end());
  if (loaded.problems.empty()) {
    good.push_back("pull secret \"" + secret.name +
                   "\": " + base::Plural(loaded.index.size(), "login", "logins") + ", for sources " +
                   base::Join(secret.sources, ", "));
  }
}

// Returns the agent's result in its own words: a newer agent may have others.
credentials::LookupWords LookupOf(const status::ImageDocument& document, const image::Reference& image) {
  // An agent does not tell the providers' patterns.
  return {image.Repository(), document.credentials.value_or(std::vector<image::CredentialWords>()),
          document.providers};
}

std::string SettingsText(const config::RawConfig& raw) {
  const auto* providers = raw.Text("image-credential-provider-config");
  const auto* docker = raw.Texts("docker-config");
  const auto* file = raw.Text("config");
  return (providers ? "credential providers of " + providers->value : "no credential providers") +
         (docker ? ", docker config " + base::Join(docker->value, ", ")
                 : ", docker config in kubelet's search paths") +
         (file ? ", " + file->value : ", no --config");
}

// Returns true if nothing listens at the address.
bool IsUnreachable(const base::Error& error) {
  return error.code() == base::Code::kNotFound || error.code() == base::Code::kUnavailable;
}

}  // namespace

std::optional<int> FetchAgentCredentials(const base::Call& call, const AgentClient& agent,
                                         const CredentialsOptions& options, const config::GetEnv& get_env,
                                         std::ostream& out, std::ostream& err) {
  Lines mistakes;
  std::vector<RequestedImage> images = ParseImages(options.images, mistakes);
  if (images.empty() || !mistakes.empty()) return std::nullopt;  // FindCredentials says what is wrong
  LookupOutput found;
  for (const RequestedImage& image : images) {
    auto json = agent.ImageJson(call, image.name, {});
    // Each image may run a credential plugin, so the user can interrupt between them.
    if (call.Stopped()) return kInterrupted;
    // Only before the first answer: an agent that stops halfway must not mix two ways of finding credentials
    // in one output.
    if (!json && found.json.empty() && IsUnreachable(json.error())) {
      err << "note: no agent answers here, so these settings count: "
          << SettingsText(LoadCredentialConfig(options.flags, get_env, mistakes)) << "\n";
      return std::nullopt;
    }
    if (!json) return Fail(json.error(), err);
    auto document = status::ParseImageDocument(*json);
    if (!document) return Fail(kUnreachable, std::move(document).error().Wrap("the agent's answer"), err);
    found.Add(image.name, LookupOf(*document, image.reference));
  }
  return Print(found, options.json, "As this node's agent finds them.\n", out);
}

int FindCredentials(const base::Call& call, const CredentialsOptions& options, const config::GetEnv& get_env,
                    std::ostream& out, std::ostream& err) {
  Lines mistakes;
  const config::RawConfig raw = LoadCredentialConfig(options.flags, get_env, mistakes);
  credentials::KeyringOptions keyring_options = ToKeyringOptions(raw, mistakes);
  std::vector<RequestedImage> images = ParseImages(options.images, mistakes);
  if (images.empty() && mistakes.empty()) mistakes.emplace_back("an IMAGE is needed, or --check");
  if (!mistakes.empty()) return RejectInput(mistakes, err);

  base::SystemClock clock;
  credentials::Keyring keyring(keyring_options, clock);
  credentials::KeyringHealth health = keyring.Health();
  // kubelet would not start with this file (A1), so its credentials cannot be predicted.
  if (!health.unusable_provider_config.empty()) return RejectInput(health.problems, err);
  Lines warnings = health.problems;
  const Crio crio(raw, get_env, warnings);
  for (const std::string& problem : warnings) err << "warning: " << problem << "\n";
  LookupOutput found;
  for (const RequestedImage& image : images) {
    credentials::Lookup lookup = keyring.Find(call, {image.reference, options.sources});
    found.Add(image.name, credentials::WordsOf(lookup));
    if (auto logins = crio.LoginsFor(image.reference, !lookup.credentials.empty())) {
      for (const std::string& problem : logins->problems) err << "warning: CRI-O: " << problem << "\n";
      found.json.back().Set("crio", CrioJson(*logins));
      found.text += CrioText(*logins);
    } else if (crio.is_hidden()) {
      found.json.back().Set("crio", UnseenCrioJson());
      found.text += UnseenCrioText();
    }
  }
  return Print(found, options.json, PullSecretNote(keyring_options, options.sources), out);
}

int CheckCredentials(const CredentialsOptions& options, const config::GetEnv& get_env, std::ostream& out,
                     std::ostream& err) {
  Lines good, warnings, mistakes;
  if (!options.images.empty()) mistakes.emplace_back("--check takes no IMAGE");
  config::RawConfig raw = LoadCredentialConfig(options.flags, get_env, mistakes);
  image::KubeletVersion version = DeclaredKubeletVersion(raw, mistakes);
  CheckProviders(raw, version, good, mistakes);
  if (const auto* configs = raw.Texts("docker-config")) {
    for (const std::string& path : configs->value) CheckDockerConfig(path, good, warnings, mistakes);
  }
  for (const config::PullSecret& secret : raw.pull_secrets) CheckPullSecret(secret, good, mistakes);
  if (good.empty() && mistakes.empty() && !raw.Text("config")) {
    mistakes.emplace_back(
        "there is nothing to check: name --image-credential-provider-config, --docker-config or --config");
  }
  // Good parts go to standard output, so that a pipeline can compare them; warnings and mistakes do not.
  for (const std::string& line : good) out << line << "\n";
  for (const std::string& line : warnings) err << "warning: " << line << "\n";
  return mistakes.empty() ? kOk : RejectInput(mistakes, err);
}

}  // namespace prefetch::ctl
