#include "rig/registry.h"

#include <crypt.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "rig/port.h"

namespace prefetch::rig {
namespace {

constexpr std::size_t kShortestPassword = 8;
constexpr std::chrono::seconds kRegistryBootLimit{20};
constexpr std::chrono::seconds kRegistryStopLimit{5};

// A line of an htpasswd file. The cheapest bcrypt there is: these passwords guard nothing.
base::Result<std::string> PasswordLine(const User& user) {
  char salt[CRYPT_GENSALT_OUTPUT_SIZE];
  if (::crypt_gensalt_rn("$2y$", 4, nullptr, 0, salt, sizeof(salt)) == nullptr) {
    return base::Internal("crypt_gensalt refuses bcrypt");
  }
  crypt_data data{};
  const char* hash = ::crypt_r(user.password.c_str(), salt, &data);
  if (hash == nullptr || hash[0] == '*') return base::Internal("crypt refuses bcrypt");
  return user.name + ":" + hash + "\n";
}

// Adds a password, as it is and as a request or a docker config carries it, to the file that
// $PREFETCH_TEST_SECRETS names: tests/run then searches every output for them.
void NoteSecret(const User& user) {
  const char* file = std::getenv("PREFETCH_TEST_SECRETS");
  if (file == nullptr || user.password.empty()) return;
  std::ofstream(file, std::ios::app) << user.password << "\n"
                                     << base::Base64Encode(user.name + ":" + user.password) << "\n";
}

}  // namespace

Registry::Registry(const Scratch& scratch, const std::string& name, std::vector<User> users)
    : folder_(scratch / name), log_(folder_ + "/registry.log"), users_(std::move(users)) {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
}

base::Status Registry::Configure() {
  if (port_ == 0) {
    auto port = FreePort();
    if (!port) return port.status();
    port_ = *port;
  }
  std::string config =
      "version: 0.1\nlog: {level: warn, accesslog: {disabled: false}}\n"
      "storage: {filesystem: {rootdirectory: " +
      folder_ +
      "/data}, delete: {enabled: true}}\n"
      "http: {addr: \"" +
      address() + "\", secret: rig}\n";
  if (!users_.empty()) {
    std::string passwords;
    for (const User& user : users_) {
      // Logs are searched for passwords: a short one is found by chance.
      if (user.password.size() < kShortestPassword)
        return base::InvalidArgument("the password of " + user.name + " is too short");
      auto line = PasswordLine(user);
      if (!line) return line.status();
      passwords += *line;
      NoteSecret(user);
    }
    if (auto ok = base::WriteFileAtomically(folder_ + "/htpasswd", passwords, 0600); !ok) return ok;
    config += "auth: {htpasswd: {realm: rig, path: " + folder_ + "/htpasswd}}\n";
  }
  if (tokens_) {
    config += "auth: {token: {realm: \"" + tokens_->realm + "\", service: " + tokens_->service +
              ", issuer: " + tokens_->issuer + ", rootcertbundle: " + tokens_->root_bundle + "}}\n";
  }
  return base::WriteFileAtomically(folder_ + "/config.yml", config);
}

base::Status Registry::Start() {
  if (auto configured = Configure(); !configured) return configured;
  Command command{{"docker-registry", "serve", folder_ + "/config.yml"}, {{"OTEL_TRACES_EXPORTER", "none"}}};
  if (auto started = process_.Start(command, log_); !started) return started;
  bool up = Eventually(kRegistryBootLimit, [&] { return !process_.Running() || SomebodyListens(port_); });
  if (up && process_.Running()) return {};
  process_.Kill();
  return base::Unavailable("docker-registry did not start, see " + log_);
}

void Registry::Stop() {
  (void)process_.Stop(kRegistryStopLimit);
}

void Registry::Kill() {
  process_.Kill();
}

}  // namespace prefetch::rig
