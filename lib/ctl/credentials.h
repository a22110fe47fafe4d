// `prefetchctl credentials`: which credentials this node has for an image, and is their configuration good;
// the same code that the agent finds them with.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "config/settings.h"
#include "ctl/agent_client.h"

namespace prefetch::ctl {

struct CredentialsOptions {
  // The flags that prefetchd has too. Settings that they leave open come from the environment and from the
  // file of --config, as prefetchd's do.
  config::RawConfig flags;
  std::vector<std::string> images;
  std::vector<std::string> sources;  // of the list, that the images are taken to be in
  bool json = false;
  bool check = false;
};

// Looks up each image, for which it runs plugins. JSON is an object for one image, an array for several. Exit
// code: 0 every image has a credential, 1 at least one has none, 2 bad input, the provider configuration
// included.
int FindCredentials(const base::Call& call, const CredentialsOptions& options, const config::GetEnv& get_env,
                    std::ostream& out, std::ostream& err);

// Prints the credentials that this node's agent finds. Returns nullopt if there is no agent to ask; `err`
// then has a line with the settings by which FindCredentials looks instead. Else returns the exit code of
// FindCredentials, or 4 if the agent fails.
std::optional<int> FetchAgentCredentials(const base::Call& call, const AgentClient& agent,
                                         const CredentialsOptions& options, const config::GetEnv& get_env,
                                         std::ostream& out, std::ostream& err);

// Reads the configuration alone; no plugin is run. A line for each good file on `out`, one for each mistake
// on `err`. Exit code: 0 good, 2 not.
int CheckCredentials(const CredentialsOptions& options, const config::GetEnv& get_env, std::ostream& out,
                     std::ostream& err);

}  // namespace prefetch::ctl
