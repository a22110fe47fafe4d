#include "cluster/programs.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <sstream>

#include "rig/process.h"

namespace prefetch::cluster {
namespace {

constexpr const char* kKubernetes =
    "Kubernetes' server and node release tarballs (see the changelog of the release at "
    "github.com/kubernetes/kubernetes)";
constexpr const char* kContainerd =
    "containerd's release tarball (github.com/containerd/containerd/releases)";

struct Needed {
  const char* name;
  const char* where;
  bool in_folder;  // what a system has of it is of another release
};
constexpr Needed kNeeded[] = {
    {"etcd", "etcd's release tarball (github.com/etcd-io/etcd/releases), 3.5 or later", true},
    {"kube-apiserver", kKubernetes, true},
    {"kube-controller-manager", kKubernetes, true},
    {"kubelet", kKubernetes, true},
    {"kubectl", kKubernetes, true},
    {"containerd", kContainerd, true},
    {"containerd-shim-runc-v2", kContainerd, true},
    {"ctr", kContainerd, true},
    {"runc", "Debian's package runc, or github.com/opencontainers/runc/releases", false},
};

bool IsProgram(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

// The first word that looks like a version.
std::string VersionIn(const std::string& text) {
  for (std::size_t i = 0; i + 2 < text.size(); i++) {
    bool starts = i == 0 || std::isdigit(static_cast<unsigned char>(text[i - 1])) == 0;
    if (!starts || std::isdigit(static_cast<unsigned char>(text[i])) == 0) continue;
    std::size_t end = i;
    int dots = 0;
    while (end < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.')) {
      dots += text[end++] == '.' ? 1 : 0;
    }
    if (dots >= 2) return text.substr(i, end - i);
    i = end;
  }
  return "?";
}

}  // namespace

void UseFolder(const std::string& folder) {
  const char* path = std::getenv("PATH");
  ::setenv("PATH", (folder + ":" + (path == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : path)).c_str(), 1);
}

std::string PathOf(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (IsProgram(folder + "/" + name)) return folder + "/" + name;
  }
  return "";
}

std::vector<MissingProgram> MissingPrograms(const std::string& folder) {
  std::vector<MissingProgram> missing;
  for (const Needed& needed : kNeeded) {
    if (IsProgram(folder + "/" + needed.name)) continue;
    if (!needed.in_folder && !PathOf(needed.name).empty()) continue;
    missing.push_back({needed.name, needed.where});
  }
  return missing;
}

std::string VersionOfProgram(const std::string& name) {
  std::vector<std::string> words{name, "--version"};
  if (name == "kubectl") words = {name, "version", "--client"};
  auto ran = rig::RunProgram({words, {}}, std::chrono::seconds(20));
  return ran ? VersionIn(ran->out + ran->err) : "?";
}

std::string Versions() {
  std::string line;
  for (const char* name :
       {"kubelet", "kube-apiserver", "kube-controller-manager", "etcd", "containerd", "runc", "crio"}) {
    if (PathOf(name).empty()) continue;
    line += (line.empty() ? "" : ", ") + std::string(name) + " " + VersionOfProgram(name);
  }
  return line;
}

std::string KubeletVersion() {
  static const std::string version = VersionOfProgram("kubelet");
  return version;
}

std::string OlderKubelet() {
  const char* folder = std::getenv("PREFETCH_CLUSTER_OLDER");
  const std::string program = std::string(folder == nullptr ? "" : folder) + "/kubelet";
  return folder != nullptr && IsProgram(program) ? program : "";
}

}  // namespace prefetch::cluster
