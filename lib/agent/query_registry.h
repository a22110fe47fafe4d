// AskRegistry: one question to one registry, start to end: the credentials that a pull would try, in its
// order, and the local image to compare with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/refusals.h"
#include "base/call.h"
#include "base/clock.h"
#include "credentials/keyring.h"
#include "image/platform.h"
#include "image/registry_access.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"
#include "plan/observation.h"
#include "status/image_detail.h"

namespace prefetch::agent {

// The runtime's own name and version, which decide how the agent asks registries. Empty if not known.
struct RegistryQueryContext {
  std::string name, version;
  image::RuntimeRegistries registries = {};

  friend bool operator==(const RegistryQueryContext&, const RegistryQueryContext&) = default;
};

// Asks without pulling. Blocks, at most a minute; any thread may call, many at once; whatever goes wrong is
// an answer. Injected: main has the client for it, tests have registries that keep state. Empty: this agent
// asks no registry.
using RegistryResolver = std::function<image::RegistryAnswer(
    const base::Call& call, const image::RegistryQuestion& question, const RegistryQueryContext& runtime)>;

// The servers that would get the same question, in order. Only reads files. Empty: as RegistryResolver.
using RegistryHosts = std::function<status::RegistryHostsView(const image::Reference& reference,
                                                              const RegistryQueryContext& runtime)>;

// How registries are asked for such a runtime, with the source of that. Looks for folders; sends nothing.
// Empty: as RegistryResolver.
using RegistryAccessFor = std::function<image::RegistryAccess(const RegistryQueryContext& runtime)>;

// An answer that tells nothing about the registry: we were stopped, or our own limits came first.
bool HasNoContent(const image::RegistryAnswer& answer);

struct RegistryQueryJob {
  image::Reference reference;
  std::shared_ptr<const credentials::Lookup> credentials;  // those that a pull would try
  std::optional<plan::Local> local;                        // the image on the node, if any
  RegistryQueryContext runtime;
  bool untrusted_name = false;  // RegistryQuestion::untrusted_name
};

// All that a question needs. Everything outlives the worker that uses it.
struct RegistryQueryParts {
  const RegistryResolver& resolver;
  Refusals* refusals;  // null: refused credentials are not counted
  const base::Clock& clock;
  image::Platform node;
};

// Never shows a registry a credential that it has refused for several images just now.
image::RegistryAnswer AskRegistry(const base::Call& call, const RegistryQueryParts& parts,
                                  const RegistryQueryJob& job);

}  // namespace prefetch::agent
