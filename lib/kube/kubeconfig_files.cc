#include "kube/kubeconfig_files.h"

#include <filesystem>

#include "base/fs.h"
#include "base/secret.h"
#include "base/text.h"
#include "doc/kubernetes_yaml.h"
#include "kube/kubeconfig_types.h"

namespace prefetch::kube {
namespace {

constexpr std::size_t kLongestKubeconfig = 4 << 20;  // with many clusters' certificates in it

// The first of several documents counts, as for kubectl, and a file without one names nothing.
std::optional<doc::Node> Parse(const std::string& text, doc::Problems& problems) {
  auto root =
      doc::ReadKubernetesYaml(text, problems, doc::RepeatedKeys::kLastCounts, {.bytes = kLongestKubeconfig});
  if (root && root->kind == doc::Node::Kind::kNull) return doc::Node::Mapping();
  return root;
}

}  // namespace

std::string ResolvePath(const std::string& folder, const std::string& path) {
  if (path.empty() || path.starts_with('/')) return path;
  std::string whole = (std::filesystem::path(folder) / path).lexically_normal().string();
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

base::Result<KubeconfigFiles> KubeconfigFiles::Read(const std::vector<std::string>& paths, bool may_miss) {
  KubeconfigFiles all;
  base::Status absent;
  for (const std::string& path : paths) {
    auto text = base::ReadFile(path, kLongestKubeconfig);
    if (!text) {
      bool missing = text.error().code() == base::Code::kNotFound;
      // A file that exists and cannot be read is an error in any case: it may have the entry that is meant.
      if (!missing || !may_miss) return std::move(text).error().Wrap("kubeconfig");
      absent = text.status();
      continue;
    }
    doc::Problems problems(path);
    auto root = Parse(*text, problems);
    // The text has tokens and keys. The tree that was made of it is wiped as well (SecretNode).
    base::WipeString(*text);
    if (!root) return problems.ToStatus().error();
    all.files_.push_back(std::make_unique<File>(path, std::move(problems), *std::move(root)));
    File& file = *all.files_.back();
    CheckKubeconfig(doc::Reader(file.tree.node, file.problems));
  }
  if (all.files_.empty()) {
    if (absent.ok()) return base::NotFound("no kubeconfig file is named");
    return std::move(absent).error().Wrap("kubeconfig");
  }
  return all;
}

std::optional<KubeconfigEntry> KubeconfigFiles::Find(std::string_view list, std::string_view key,
                                                     const std::string& name) {
  for (const auto& file : files_) {
    doc::ObjectReader object{doc::Reader(file->tree.node, file->problems)};
    for (const doc::Reader& item : object.Items(list)) {
      if (item.IsNull()) continue;
      doc::ObjectReader entry(item);
      // The first file counts that has an entry of that name.
      if (entry.String("name").value_or("") != name) continue;
      static const doc::Node kNothing = doc::Node::Mapping();
      auto body = entry.Object(key);
      if (!body) body.emplace(doc::Reader(kNothing, file->problems, item.path() + "." + std::string(key)));
      // Relative paths in a file begin at that file, whatever the working directory is.
      std::string folder = std::filesystem::absolute(file->path).parent_path().string();
      return KubeconfigEntry{*std::move(body), file->path, std::move(folder)};
    }
  }
  return std::nullopt;
}

std::string KubeconfigFiles::CurrentContext() {
  for (const auto& file : files_) {
    doc::ObjectReader object{doc::Reader(file->tree.node, file->problems)};
    std::string context = object.String("current-context").value_or("");
    if (!context.empty()) return context;
  }
  return "";
}

base::Status KubeconfigFiles::ToStatus() const {
  std::vector<std::string> lines;
  for (const auto& file : files_) {
    for (std::string& line : file->problems.Lines()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return {};
  return base::InvalidArgument(base::Join(lines, "\n"));
}

}  // namespace prefetch::kube
