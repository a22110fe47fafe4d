// A docker-registry of the test's own on loopback, for everybody or for users with a password.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::rig {

struct User {
  std::string name;
  std::string password;
};

// Demands tokens of somebody else's token service instead of passwords.
struct TokenAuth {
  std::string realm, service, issuer;
  std::string root_bundle;  // PEM file of the certificates that may sign
};

// One thread owns it. Passwords of users are also added to the file that $PREFETCH_TEST_SECRETS names.
class Registry {
 public:
  // Everything is below scratch/<name>. Without users it asks nobody for a password.
  Registry(const Scratch& scratch, const std::string& name, std::vector<User> users = {});

  // Before the first Start.
  void DemandTokens(TokenAuth tokens) { tokens_ = std::move(tokens); }

  // Starts it, the first time on a free port and then always on that one; returns when it answers.
  base::Status Start();
  // SIGTERM: connections are cut after a short while. Pushed images stay.
  void Stop();
  // SIGKILL.
  void Kill();

  int port() const { return port_; }
  // "127.0.0.1:PORT", as it begins a reference.
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // The first user, or an empty one.
  User user() const { return users_.empty() ? User{} : users_[0]; }

 private:
  base::Status Configure();

  std::string folder_;
  std::string log_;
  std::vector<User> users_;
  std::optional<TokenAuth> tokens_;
  int port_ = 0;
  Process process_;
};

}  // namespace prefetch::rig
