// Generate: `prefetchctl generate`, the manifests of deploy/ for one platform, from this one binary.
// GenerateCompat and GenerateTouchDaemonSet: its other forms.
// AddSpellings and ExportPolicy: the spellings of images, for components/policy.
#pragma once

#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "base/call.h"
#include "deploy/compat.h"
#include "deploy/generate.h"
#include "doc/node.h"
#include "image/reference.h"
#include "kube/api.h"
#include "list/image_list.h"

namespace prefetch::ctl {

struct GenerateFlags {
  deploy::GenerateOptions options;  // but for the lists, which are read from `lists`
  std::vector<std::string> lists;   // files, or folders of them
  std::string agent_config;         // a file of kind AgentConfiguration; empty: the shipped one
  std::string output;               // a file, or a folder (it is there, or ends with "/"); empty: `out`
  list::Capabilities capabilities;
  std::optional<doc::Node> installed;  // the agent's DaemonSet in the cluster, if it was read
};

// Reads the DaemonSet of the installation that the options name. Returns kBadInput or kUnreachable, with the
// reason printed, if there is none or it cannot be read; needs the right to list daemonsets of the namespace.
int ReadInstalled(const base::Call& call, kube::Api& api, GenerateFlags& flags, std::ostream& err);

// Exit code: 0 written, 2 bad input: a list with mistakes (all are said, as `list check` says them), an
// option that fits no platform. Notes go to `err`.
int Generate(GenerateFlags flags, std::ostream& out, std::ostream& err);

// `migrate image-prefetcher NAME`: in the place of an installation of stackrox/image-prefetcher.
int GenerateCompat(const deploy::CompatOptions& options, const std::string& output, std::ostream& out,
                   std::ostream& err);

// `generate touch-daemonset`: the images of the list files, but for those that must not be touched.
int GenerateTouchDaemonSet(const std::vector<std::string>& lists, const deploy::NodeChoice& nodes,
                           const std::string& output, std::ostream& out, std::ostream& err);

// Adds the spellings of an image in pods, for components/policy: the entry's own text, and the others that
// kubelet makes the same of. kubelet adds ":latest" where tag and digest are missing, and changes nothing
// else. "nginx" and "docker.io/library/nginx" are two.
void AddSpellings(const image::Reference& reference, std::set<std::string>& spellings);
void AddSpellings(const list::SourceContent& content, std::set<std::string>& spellings);

// `prefetchctl list export --for policy`: the ConfigMap for list files. Exit code: 0 printed, 2 bad input.
int ExportPolicy(const std::vector<std::string>& lists, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
