// A client, a clock and a fake registry: what most tests of the registry client stand on.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_registry.h"
#include "http/curl_client.h"
#include "registry/client.h"

namespace prefetch::tests {

inline base::Call Patient() {
  return base::Call{}.Within(std::chrono::seconds(20));
}

inline image::Reference Ref(const std::string& text) {
  auto reference = image::Reference::Parse(text);
  EXPECT_TRUE(reference) << text;
  return reference ? *reference : image::Reference();
}

inline image::AuthConfig User(const std::string& user, const std::string& password) {
  return {.username = user, .password = base::Secret(password)};
}

// "Moved", "AccessDenied BadCredentials"
inline std::string Word(const image::RegistryAnswer& answer) {
  std::string word(base::EnumName(answer.kind));
  return answer.detail.name().empty() ? word : word + " " + answer.detail.name();
}

// No hosts.toml of this machine, no throttle, no pauses.
inline registry::ClientOptions QuickOptions() {
  registry::ClientOptions options;
  options.hosts.runtime.containerd = false;
  options.throttle = {.checks = 8, .requests_per_host = 8, .rate = {}};
  options.times.retries = {std::chrono::milliseconds(1), std::chrono::milliseconds(1)};
  return options;
}

class RegistryWorld : public testing::Test {
 protected:
  void Make(registry::ClientOptions options = QuickOptions()) {
    client_.emplace(http_, clock_, std::move(options));
  }
  image::RegistryAnswer Ask(const std::string& reference, std::vector<image::AuthConfig> credentials = {},
                            std::vector<std::string> local = {}) {
    if (!client_) Make();
    return client_->Ask(Patient(), {.reference = Ref(reference),
                                    .local_digests = std::move(local),
                                    .platform = {"linux", "amd64", ""},
                                    .credentials = std::move(credentials)});
  }
  image::RegistryAnswer AskFake(const std::string& name, std::vector<image::AuthConfig> credentials = {},
                                std::vector<std::string> local = {}) {
    return Ask(registry_.address() + "/" + name, std::move(credentials), std::move(local));
  }
  // The manifest is fetched as well, as a pull would.
  image::RegistryAnswer AskFakeForManifest(const std::string& name,
                                           std::vector<image::AuthConfig> credentials = {}) {
    return client_->Ask(Patient(), {.reference = Ref(registry_.address() + "/" + name),
                                    .platform = {"linux", "amd64", ""},
                                    .credentials = std::move(credentials),
                                    .fetches_manifest = true});
  }

  FakeClock clock_;
  FakeRegistry registry_;
  http::CurlClient http_;
  std::optional<registry::Client> client_;
};

}  // namespace prefetch::tests

namespace prefetch::registry {

using tests::FakeRegistry;
using tests::FakeReply;
using tests::User;
using tests::WireRequest;
using tests::Word;

}  // namespace prefetch::registry
