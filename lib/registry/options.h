// Settings of operators for questions to registries.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "registry/host_files.h"
#include "registry/host_state.h"
#include "registry/registries_conf.h"

namespace prefetch::registry {

struct TimeLimits {
  std::chrono::milliseconds connect{5'000};  // or a host's dial_timeout, if that is shorter
  std::chrono::seconds stall{15};            // without 64 bytes in a second, the first byte included
  std::chrono::milliseconds request{30'000};
  // Time limit for one request for a blob that does not stall: as long as a pull may take, since the agent
  // may slow it down itself.
  std::chrono::milliseconds content{7'200'000};
  std::chrono::milliseconds check{60'000};  // all of one answer, retries and tokens included
  // The pauses before an exchange that broke, or a 502, 503 or 504, is tried again; jittered by a quarter.
  std::vector<std::chrono::milliseconds> retries = {std::chrono::milliseconds(500),
                                                    std::chrono::milliseconds(2'000)};
};

struct ClientOptions {
  HostFilesOptions hosts;
  // CRI-O's configuration, which then decides instead of hosts.toml. nullptr: it is another runtime's node.
  std::shared_ptr<const RegistriesConf> registries;
  // Judge manifests as CRI-O does, although there is no registries.conf: for checks on behalf of other nodes.
  bool for_crio = false;
  // Questions are those of containerd, and so is the judgement of answers.
  bool IsForContainerd() const { return registries == nullptr && !for_crio; }
  ThrottleLimits throttle;
  TimeLimits times;
  // Hosts of token services that may get passwords although they seem to belong to another owner.
  std::vector<std::string> trusted_realms;
  // For tests that compare with containerd: passwords go to whatever token service a registry names.
  bool trust_every_realm = false;
  // Mirrors get the image's credentials when they ask for some: those named here, "mirror.acme.io:5000", or
  // all, for tests that compare with containerd.
  std::vector<std::string> trusted_mirrors;
  bool trust_every_mirror = false;
  // After five failures in a row a server is left alone for a while (R29). Off for callers with such a
  // circuit of their own, which sometimes have to ask now: the agent (plan/registry_pace.h), whose preflights
  // must see a registry that is back.
  bool circuit = true;
  // Ask the registry's own server, never a mirror: the newest digest, though a pull may still bring a
  // mirror's.
  bool skip_mirrors = false;
};

}  // namespace prefetch::registry
