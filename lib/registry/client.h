// Client: asks registries which digest a tag has, without pulling (RULES.md).
//
// It asks the servers that the runtime would ask (by containerd's hosts.toml or CRI-O's registries.conf,
// in order), with the given credentials. It follows a registry's answers only as far as R21 and R39 to
// R43 allow: no password to another host, every input bounded, no requests to this machine's own
// addresses.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "http/client.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"
#include "registry/blob_source.h"
#include "registry/endpoint_files.h"
#include "registry/host.h"
#include "registry/host_files.h"
#include "registry/options.h"
#include "registry/session.h"

namespace prefetch::registry {

// Owned by main. `http` and `clock` must outlive it. It keeps tokens, and facts about servers, in memory.
class Client {
 public:
  Client(http::Client& http, const base::Clock& clock, ClientOptions options = {});
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Any thread, many at once: more than ClientOptions::throttle.checks wait for their turn. Blocks until
  // there is an answer, at most TimeLimits::check from its turn on, and not beyond call.deadline. Every
  // failure is an answer: "Stopped" is the detail of kUnreachable after call.stop, "OwnLimit" that of
  // kRateLimited when the turn did not come before the deadline, which says nothing about the registry.
  image::RegistryAnswer Ask(const base::Call& call, const image::RegistryQuestion& question);

  // Returns the servers that would be asked for the reference, in order. Reads files; sends nothing.
  // Thread-safe.
  std::shared_ptr<const HostChain> HostsFor(const image::Reference& reference);

  // Content of images, with the same tokens and what was learnt about servers. Lives as long as this.
  image::ContentSource& contents() { return *contents_; }

 private:
  image::RegistryAnswer AskChain(const base::Call& call, const image::RegistryQuestion& question);
  image::RegistryAnswer AskHost(const base::Call& call, const std::vector<ChainedHost>& chain,
                                const ChainedHost& host, const image::RegistryQuestion& question);

  ClientState state_;
  HostFiles files_;
  std::optional<EndpointFiles> endpoint_files_;  // of CRI-O's node, where they decide instead
  const std::unique_ptr<image::ContentSource> contents_;
};

}  // namespace prefetch::registry
