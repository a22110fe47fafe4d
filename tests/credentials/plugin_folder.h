// A node's credential plugins in a folder of the test's own: real shell scripts, and their configuration.
#pragma once

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/fs.h"
#include "credentials/keyring.h"
#include "temp_dir.h"

namespace prefetch::credentials {

// A clock that the test moves.
class StepClock final : public base::Clock {
 public:
  base::TimePoint Now() const override {
    std::lock_guard lock(mutex_);
    return now_;
  }
  base::WallTime Wall() const override { return {}; }
  void Step(base::Duration duration) {
    std::lock_guard lock(mutex_);
    now_ += duration;
  }

 private:
  mutable std::mutex mutex_;
  base::TimePoint now_ = base::TimePoint(std::chrono::hours(1000));
};

class PluginFolder {
 public:
  PluginFolder() {
    std::filesystem::create_directories(bin_dir());
    dir_.Write("docker.json", "{}");
  }

  std::string bin_dir() const { return dir_ / "bin"; }
  std::string config() const { return dir_ / "config.yaml"; }
  const tests::TempDir& dir() const { return dir_; }

  // An executable whose every run adds a line to a file of its own, then does `script`.
  void AddPlugin(const std::string& name, const std::string& script) const {
    std::string file =
        dir_.Write("bin/" + name, "#!/bin/sh\necho run >> '" + RunsFile(name) + "'\n" + script + "\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  // How often it ran.
  long Runs(const std::string& name) const {
    base::Result<std::string> text = base::ReadFile(RunsFile(name), 1 << 20);
    return text ? std::count(text->begin(), text->end(), '\n') : 0;
  }
  void WriteConfig(const std::string& providers) const {
    dir_.Write(
        "config.yaml",
        "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n" + providers);
  }
  // One provider of a configuration.
  static std::string Provider(const std::string& name, const std::string& patterns,
                              const std::string& duration = "0s", const std::string& more = "") {
    return "- name: " + name +
           "\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  matchImages: " + patterns +
           "\n  defaultCacheDuration: \"" + duration + "\"\n" + more;
  }
  // A script that answers with one credential.
  static std::string Answer(const std::string& type, const std::string& key, const std::string& username,
                            const std::string& password, const std::string& more = "") {
    return "cat >/dev/null; echo '{\"kind\":\"CredentialProviderResponse\",\"apiVersion\":"
           "\"credentialprovider.kubelet.k8s.io/v1\",\"cacheKeyType\":\"" +
           type + "\"," + more + "\"auth\":{\"" + key + "\":{\"username\":\"" + username +
           "\",\"password\":\"" + password + "\"}}}'";
  }

  KeyringOptions Options() const {
    KeyringOptions options;
    options.provider_config = config();
    options.provider_bin_dir = bin_dir();
    options.provider_environment = {{"PATH", "/usr/bin:/bin"}};
    options.docker_configs = {dir_ / "docker.json"};
    return options;
  }

 private:
  std::string RunsFile(const std::string& name) const { return dir_ / ("runs-" + name); }

  tests::TempDir dir_;
};

inline image::Reference Ref(const std::string& name) {
  return *image::Reference::Parse(name);
}

}  // namespace prefetch::credentials
