// `prefetchctl generate init-container`: pods that ask the agent of their node about their images before they
// start.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "ctl/check.h"

namespace prefetch::ctl {

// Options as written on the command line.
struct InitContainerFlags {
  std::string platform;
  std::string image;  // the agent's own
  std::optional<std::uint16_t> port;
  std::optional<std::string> timeout;           // else 60 s, or half of the job's deadline if that is shorter
  std::string file;                             // manifests; "-" is standard input; empty: `checked` alone
  std::vector<std::string> pod_template_paths;  // as of `check`
  std::vector<CheckOptions::Image> checked;     // without a file
  std::vector<std::string> pod_secrets;         // that the pods pull with, beside those that they name
  std::vector<std::string> image_pull_secrets;  // for `image`; added to the pods
  std::string output;                           // a file; empty: `out`
};

// Inserts the container, or puts it in the place of the one that is there, into each pod of the file that
// asks for images; without a file it prints what belongs into a pod. Other lines of a YAML file, and their
// comments, stay as they are; if that cannot be done, `err` tells so. Exit code: 0 written, 2 bad input, with
// all mistakes.
int GenerateInitContainer(const InitContainerFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
