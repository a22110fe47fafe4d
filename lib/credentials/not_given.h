// NotGiven: the credential providers that kubelet uses and this agent was not given. Without them a pull by
// kubelet goes well, and the agent's is refused. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "credentials/match.h"
#include "credentials/provider_config.h"

namespace prefetch::credentials {

struct NotGiven {
  std::string file;                 // kubelet's configuration; empty: nothing is missing
  std::string unreadable;           // why it cannot be read here; empty: it was read
  bool none_given = true;           // the agent has no configuration at all
  std::vector<Provider> providers;  // those that are missing; none if it cannot be read

  // What cannot be read counts as one.
  std::size_t Count() const;
};

// `kubelets` and `own` are paths as they are reached here, empty: none; `there` is what `kubelets` says. The
// agent's own may be the same file mounted elsewhere: the names of its providers decide, and where the
// other file cannot be read, the file's name.
NotGiven FindNotGiven(const std::string& kubelets, const ProviderConfig& there, const std::string& own,
                      const std::vector<std::string>& own_names);

// A sentence for each provider, for people.
std::vector<std::string> ProblemsOf(const NotGiven& missing);

// For a pull of this image: who would have been asked, and why nobody was.
struct Unasked {
  std::string name;     // of the provider; of the file, if it cannot be read
  std::string pattern;  // that matched; empty: not known
  std::string why;
};
std::vector<Unasked> UnaskedFor(const NotGiven& missing, const Target& target);

}  // namespace prefetch::credentials
