// Observation: the current facts about one entry, from the runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prefetch::plan {

// The image that the runtime has under the entry's name.
struct Local {
  std::string id;      // opaque
  std::string digest;  // "sha256:…" of the repo_digests entry for the entry's repository
  // The further ones for that repository: the same content under an index that was published anew
  // (registry rule R10). Nearly always empty.
  std::vector<std::string> other_digests;
  std::uint64_t size_bytes = 0;
  // Its configuration is for a platform that this node runs (runtime rule C19: the runtime does not check
  // single-manifest images). `platform` is for messages: "linux/arm64".
  bool runs_here = true;
  std::string platform;
  bool artifact = false;  // an OCI artifact, which the runtime keeps: no container starts from it
  // A container starts from it: its content is unpacked, or all of it is here for the runtime to unpack.
  bool unpacked = true;
  // The entry's digest is found through a tag of its repository, perhaps through nothing else: when that tag
  // moves, it is gone (runtime rule C34).
  bool found_by_tag = false;
  bool pinned = false;               // kubelet's garbage collection leaves it alone
  std::vector<std::string> aliases;  // other names of the same id

  friend bool operator==(const Local&, const Local&) = default;
};

struct Observation {
  // False until the runtime has answered for this entry; afterwards `local` is the newest answer, also while
  // the runtime is away: nothing is called missing that is not known to be missing.
  bool known = false;
  std::optional<Local> local;

  friend bool operator==(const Observation&, const Observation&) = default;
};

}  // namespace prefetch::plan
