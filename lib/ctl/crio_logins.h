// Whose credentials CRI-O sends for an image: those of the pull, or a login that it has itself (registry rule
// R50). For `prefetchctl credentials`.
#pragma once

#include <string>
#include <vector>

#include "credentials/crio_logins.h"
#include "doc/node.h"
#include "image/reference.h"
#include "registry/registries_conf.h"

namespace prefetch::ctl {

// A place that CRI-O asks, and the login that it sends there.
struct CrioEndpoint {
  std::string name;                    // "mirror.acme.io/quay/app"
  bool uses_pull_credentials = false;  // the credentials of the pull
  credentials::CrioLogin login;        // CRI-O's own for this name, sent unless `uses_pull_credentials`
};

struct CrioLogins {
  std::vector<CrioEndpoint> places;     // as they are asked; empty: only CRI-O knows
  std::vector<std::string> unseen;      // CRI-O's own files that the node may have, and not visible here
  std::vector<std::string> namespaced;  // files for pulls of pods of one namespace
  std::vector<std::string> problems;
};

// How much of the node's files is here.
enum class HostView {
  kNode,     // all: a file that is not here is on no node
  kMounted,  // folders of the node, below the host root: a file whose folder is there is not
  kPod,      // single mounts: a file that is not here may be on the node
};

// `has_credentials`: a pull of the image brings some. Reads files below `host_root`.
CrioLogins FindCrioLogins(const registry::CrioSettings& settings, const registry::RegistriesConf& conf,
                          const std::string& host_root, HostView view, const image::Reference& image,
                          bool has_credentials);

// Returns true if CRI-O's socket is below `host_root`. A node without visible settings of CRI-O may then have
// logins all the same.
bool HasCrioSocket(const std::string& host_root);
// The message for that case.
std::string UnseenCrioText();
doc::Node UnseenCrioJson();

// Some lines, to go below LookupText; and the same for programs. No secrets. Pure.
std::string CrioText(const CrioLogins& logins);
doc::Node CrioJson(const CrioLogins& logins);

}  // namespace prefetch::ctl
