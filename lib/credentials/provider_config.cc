#include "credentials/provider_config.h"

#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/fs.h"
#include "base/label_syntax.h"
#include "base/redactor.h"
#include "base/sha256.h"
#include "base/text.h"
#include "doc/go_types.h"
#include "doc/kubernetes_yaml.h"

namespace prefetch::credentials {

namespace {

using doc::Need;

constexpr std::size_t kLongestFile = 1 << 20;
constexpr std::size_t kMostFiles = 1000;

// k8s.io/kubelet/config/v1/types.go; the older versions have no tokenAttributes, and pass over it
// before 1.32.
constexpr doc::GoField kVariable[] = {{"name", doc::GoType::kText}, {"value", doc::GoType::kText}};
constexpr doc::GoField kProvider[] = {
    {"name", doc::GoType::kText},       {"matchImages", doc::GoType::kTexts},
    {"args", doc::GoType::kTexts},      {"defaultCacheDuration", doc::GoType::kDuration},
    {"apiVersion", doc::GoType::kText}, {"env", doc::GoType::kObjects, kVariable}};
constexpr doc::GoField kConfig[] = {{"providers", doc::GoType::kObjects, kProvider}};

enum class ObjectVersion { kV1alpha1, kV1beta1, kV1 };

std::string DecodeName(doc::ObjectReader& object) {
  std::optional<std::string> name = object.String("name", Need::kRequired);
  if (!name) return "";
  // A4: the name is joined to the folder of plugins, so it must not lead out of it.
  if (name->find('/') != std::string::npos) object.Fail("name", "must not contain /");
  if (name->find(' ') != std::string::npos) object.Fail("name", "must not contain a space");
  if (*name == "." || *name == "..") object.Fail("name", "must be the name of a file");
  if (name->empty()) object.Fail("name", "must not be empty");
  return *name;
}

// An empty list is a mistake: such a provider would never be asked.
std::vector<Pattern> DecodeMatchImages(doc::ObjectReader& object) {
  std::vector<Pattern> patterns;
  std::vector<doc::Reader> items = object.Items("matchImages", Need::kRequired);
  if (items.empty() && object.Has("matchImages")) object.Fail("matchImages", "must have an entry");
  for (const doc::Reader& item : items) {
    std::optional<std::string> text = item.IsNull() ? std::string() : item.String();
    if (!text) continue;
    std::optional<Pattern> pattern = Pattern::Parse(*text);
    if (pattern) {
      patterns.push_back(std::move(*pattern));
    } else {
      item.Fail("must be a registry such as *.example.com, with an optional port and path");
    }
  }
  return patterns;
}

std::string DecodeApiVersion(doc::ObjectReader& object) {
  constexpr std::string_view kV1alpha1 = "credentialprovider.kubelet.k8s.io/v1alpha1";
  constexpr std::string_view kV1beta1 = "credentialprovider.kubelet.k8s.io/v1beta1";
  constexpr std::string_view kV1 = "credentialprovider.kubelet.k8s.io/v1";
  return std::string(object
                         .Enum<std::string_view>("apiVersion",
                                                 {{kV1alpha1, kV1alpha1}, {kV1beta1, kV1beta1}, {kV1, kV1}},
                                                 Need::kRequired)
                         .value_or(""));
}

std::vector<std::pair<std::string, std::string>> DecodeEnv(doc::ObjectReader& object,
                                                           doc::UnknownKeys unknown) {
  std::vector<std::pair<std::string, std::string>> env;
  for (const doc::Reader& item : object.Items("env")) {
    if (item.IsNull()) {
      env.emplace_back();
      continue;
    }
    doc::ObjectReader variable(item);
    std::string name = variable.String("name").value_or("");
    std::string value = variable.String("value").value_or("");
    base::RememberVariable(name, value);
    env.emplace_back(std::move(name), std::move(value));
    variable.Finish(unknown);
  }
  return env;
}

// Decodes the field if the versions of the object and of kubelet know it. Before 1.33, and in older objects,
// it is an unknown field.
std::optional<TokenAttributes> DecodeToken(doc::ObjectReader& object, ObjectVersion object_version,
                                           image::KubeletVersion version, const std::string& api_version) {
  // A3. A field that is not taken here is left to Finish(), which reports it as unknown.
  if (object_version != ObjectVersion::kV1 || version < kFirstWithTokenAttributes) return std::nullopt;
  std::optional<doc::Reader> found = object.Find("tokenAttributes");
  if (!found) return std::nullopt;
  if (version < kFirstWithTokenGateOn) {
    found->Fail("needs the feature gate KubeletServiceAccountTokenForCredentialProviders, which is off in " +
                version.ToString());
    return std::nullopt;
  }
  if (api_version != "credentialprovider.kubelet.k8s.io/v1") {
    object.Fail("apiVersion", "must be credentialprovider.kubelet.k8s.io/v1 with tokenAttributes");
  }
  return DecodeTokenAttributes(*found);
}

Provider DecodeProvider(const doc::Reader& reader, ObjectVersion object_version,
                        image::KubeletVersion version) {
  Provider out;
  doc::ObjectReader object(reader);
  doc::UnknownKeys unknown =
      version >= kFirstStrict ? doc::UnknownKeys::kProblem : doc::UnknownKeys::kIgnored;
  // All fields are decoded although one may be wrong, so that all mistakes are reported at once.
  out.name = DecodeName(object);
  out.match_images = DecodeMatchImages(object);
  out.default_cache_duration =
      object.Duration("defaultCacheDuration", {}, Need::kRequired).value_or(std::chrono::nanoseconds(0));
  out.api_version = DecodeApiVersion(object);
  if (auto args = object.Find("args")) out.args = doc::GoTexts(*args);
  out.env = DecodeEnv(object, unknown);
  out.token_attributes = DecodeToken(object, object_version, version, out.api_version);
  object.Finish(unknown);
  return out;
}

// Returns nullopt if the version is unknown. The providers are decoded all the same, so that their mistakes
// are reported, too.
std::optional<ObjectVersion> CheckHeader(doc::ObjectReader& object, doc::KeyOrder order) {
  object.Ignore("kind");
  object.Ignore("apiVersion");
  if (doc::TypeMeta(object.reader(), "kind", order) != "CredentialProviderConfig") {
    object.Fail("kind", "must be CredentialProviderConfig");
  }
  const std::string version = doc::TypeMeta(object.reader(), "apiVersion", order);
  if (version == "kubelet.config.k8s.io/v1alpha1") return ObjectVersion::kV1alpha1;
  if (version == "kubelet.config.k8s.io/v1beta1") return ObjectVersion::kV1beta1;
  if (version == "kubelet.config.k8s.io/v1") return ObjectVersion::kV1;
  object.Fail("apiVersion", "must be kubelet.config.k8s.io/v1, v1beta1 or v1alpha1");
  return std::nullopt;
}

bool HasConfigExtension(const std::string& name) {
  std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string_view extension = std::string_view(name).substr(dot);
  return extension == ".json" || extension == ".yaml" || extension == ".yml";
}

// Returns true for a directory itself. Symbolic links count as files, whatever they lead to.
bool IsDirectoryItself(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::directory;
}

// A7: kubelet hashes the length of each file in eight bytes before its content.
std::string BigEndian(std::uint64_t value) {
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
  return out;
}

// Reports each name once, at its second use.
void CheckNamesAreUnique(const std::vector<Provider>& providers, std::vector<std::string>& problems) {
  std::map<std::string, int> seen;
  for (const Provider& provider : providers) {
    if (!provider.name.empty() && ++seen[provider.name] == 2) {
      problems.push_back("provider \"" + provider.name + "\" is configured twice");
    }
  }
}

// Explains a dangling link. Flatcar on AKS links its plugin into /usr/bin, and a container has a /usr/bin of
// its own.
std::string MissingFileReason(const std::string& path, const std::string& error) {
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::read_symlink(path, failed);
  if (failed) return error;
  return path + " is a symbolic link to " + target.string() +
         ", which is not there: in a container, mount that file at the same path";
}

void CheckExecutables(const std::vector<Provider>& providers, const std::string& bin_dir,
                      std::vector<std::string>& problems) {
  if (bin_dir.empty()) {
    problems.emplace_back("the credential provider bin directory is not set");
    return;
  }
  base::Result<base::FileKind> directory = base::KindOf(bin_dir);
  // A1: kubelet exits if a plugin is not there and executable, so its absence is a mistake of the
  // configuration.
  if (!directory) {
    problems.push_back("plugin directory: " + directory.error().message());
    return;
  }
  for (const Provider& provider : providers) {
    std::string path = base::JoinPath(bin_dir, provider.name);
    base::Result<base::FileKind> kind = base::KindOf(path);
    if (!kind) {
      problems.push_back("plugin: " + MissingFileReason(path, kind.error().message()));
    } else if (*kind == base::FileKind::kDirectory) {
      problems.push_back("plugin: " + path + " is a directory");
    } else if (::access(path.c_str(), X_OK) != 0) {
      problems.push_back("plugin: " + path + " is not executable");
    }
  }
}

}  // namespace

std::vector<Provider> DecodeProviderConfig(std::string_view text, image::KubeletVersion version,
                                           doc::Problems& problems) {
  std::vector<Provider> providers;
  const bool strict = version >= kFirstStrict;
  const auto found = doc::ReadKubernetesObject(
      text, problems, strict ? doc::RepeatedKeys::kProblem : doc::RepeatedKeys::kLastCounts);
  if (!found) return providers;
  const doc::Reader reader(found->root, problems);
  doc::ObjectReader object(reader);
  if (found->root.kind != doc::Node::Kind::kMapping) return providers;
  const std::optional<ObjectVersion> object_version = CheckHeader(object, found->order);
  doc::CheckGoTypes(reader, kConfig);
  std::vector<doc::Reader> items = object.Items("providers", Need::kRequired);
  if (items.empty() && object.Has("providers")) object.Fail("providers", "must have an entry");
  for (const doc::Reader& item : items) {
    providers.push_back(DecodeProvider(item, object_version.value_or(ObjectVersion::kV1), version));
  }
  object.Finish(strict ? doc::UnknownKeys::kProblem : doc::UnknownKeys::kIgnored);
  return providers;
}

// A directory stands for its configuration files in the order of their names. kubelet reads directories since
// a certain release only.
base::Result<std::vector<std::string>> ProviderConfigFiles(const std::string& path,
                                                           image::KubeletVersion version) {
  if (path.empty()) return base::InvalidArgument("the credential provider config is not set");
  base::Result<base::FileKind> kind = base::KindOf(path);
  if (!kind) return std::move(kind).error();
  if (*kind != base::FileKind::kDirectory) return std::vector<std::string>{path};
  if (version < kFirstWithConfigDirectories) {
    return base::InvalidArgument(path + " is a directory, which kubelet " + version.ToString() +
                                 " does not read");
  }
  base::Result<std::vector<std::string>> names = base::ListDirectory(path, kMostFiles);
  if (!names) return std::move(names).error();
  std::vector<std::string> files;
  for (const std::string& name : *names) {
    std::string file = base::JoinPath(path, name);
    if (HasConfigExtension(name) && !IsDirectoryItself(file)) files.push_back(std::move(file));
  }
  if (files.empty()) return base::NotFound(path + ": no configuration files found in directory");
  return files;
}

// Reads all files even after a mistake, so that one run reports every mistake.
ProviderConfig LoadProviderConfig(const std::string& path, const std::optional<std::string>& bin_dir,
                                  image::KubeletVersion version) {
  ProviderConfig config;
  base::Result<std::vector<std::string>> files = ProviderConfigFiles(path, version);
  if (!files) {
    config.problems.push_back(files.error().message());
    return config;
  }
  std::string hashed;
  bool all_read = true;
  for (const std::string& file : *files) {
    base::Result<std::string> text = base::ReadFile(file, kLongestFile);
    if (!text) {
      config.problems.push_back(text.error().message());
      all_read = false;
      continue;
    }
    // The hash is over the files as they are, right or wrong (A7).
    hashed += BigEndian(text->size()) + *text;
    doc::Problems problems(file);
    // A2: the files' providers are put one after the other.
    for (Provider& provider : DecodeProviderConfig(*text, version, problems)) {
      config.providers.push_back(std::move(provider));
    }
    for (std::string& line : problems.Lines()) config.problems.push_back(std::move(line));
  }
  if (all_read) config.hash = "sha256:" + base::Sha256Hex(hashed);
  CheckNamesAreUnique(config.providers, config.problems);
  // A plugin is looked for only once its name is known to be one.
  if (bin_dir && config.problems.empty()) CheckExecutables(config.providers, *bin_dir, config.problems);
  // kubelet exits for any of these problems (A1), so no provider of a partly right configuration may be used.
  if (!config.problems.empty()) config.providers.clear();
  return config;
}

namespace {

std::vector<std::string> DecodeKeys(doc::ObjectReader& object, std::string_view field,
                                    std::set<std::string>& required) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const doc::Reader& item : object.Items(field)) {
    std::optional<std::string> key = item.String();
    if (!key) continue;
    if (!IsQualifiedName(*key)) item.Fail("must be a qualified name such as example.com/name");
    if (!seen.insert(*key).second) item.Fail("is listed twice");
    // A5: each key is in one of the two lists only.
    if (required.count(*key) != 0) item.Fail("is also a required key");
    keys.push_back(std::move(*key));
  }
  // The next list is compared with this one.
  required.merge(seen);
  return keys;
}

}  // namespace

bool IsQualifiedName(std::string_view text) {
  return base::IsLabelKey(base::ToLower(text));
}

TokenAttributes DecodeTokenAttributes(const doc::Reader& reader) {
  using doc::Need;
  TokenAttributes out;
  doc::ObjectReader object(reader);
  out.service_account_token_audience =
      object.String("serviceAccountTokenAudience", Need::kRequired).value_or("");
  if (object.Has("serviceAccountTokenAudience") && out.service_account_token_audience.empty()) {
    object.Fail("serviceAccountTokenAudience", "must not be empty");
  }
  out.cache_type =
      object.Enum<TokenCacheType>("cacheType", Need::kRequired).value_or(TokenCacheType::kServiceAccount);
  out.require_service_account = object.Bool("requireServiceAccount", Need::kRequired).value_or(false);
  std::set<std::string> required;
  out.required_annotation_keys = DecodeKeys(object, "requiredServiceAccountAnnotationKeys", required);
  out.optional_annotation_keys = DecodeKeys(object, "optionalServiceAccountAnnotationKeys", required);
  if (!out.require_service_account && !out.required_annotation_keys.empty()) {
    object.Fail("requiredServiceAccountAnnotationKeys", "needs requireServiceAccount: true");
  }
  object.Finish();
  return out;
}

}  // namespace prefetch::credentials
