#include "kube/identity.h"

#include <chrono>

#include "base/on_exit.h"
#include "base/redactor.h"
#include "base/text.h"

namespace prefetch::kube {
namespace {

constexpr std::size_t kLongestFile = 1 << 20;
constexpr std::chrono::seconds kForcedReadInterval{60};  // file times can be too coarse to show a change

std::vector<std::string> FilesOf(const Cluster& cluster) {
  std::vector<std::string> files = {cluster.token_file, cluster.ca_file, cluster.certificate_file,
                                    cluster.key_file};
  std::erase(files, "");
  return files;
}

}  // namespace

Identity::Identity(Cluster cluster, const base::Clock& clock)
    : cluster_(std::move(cluster)), clock_(clock), files_(FilesOf(cluster_)) {
  base::Lock lock(mutex_);
  from_files_ = ConfiguredMaterial();
  Rebuild();
}

Identity::Material Identity::ConfiguredMaterial() const {
  return {.tls = {.ca_pem = cluster_.ca_pem,
                  .server_name = cluster_.tls_server_name,
                  .verify = cluster_.verify,
                  .certificate_pem = cluster_.certificate_pem,
                  .key_pem = cluster_.key_pem},
          .token = cluster_.token};
}

// Starts from what the configuration itself has, and replaces it by what the files have.
base::Result<Identity::Material> Identity::ReadMaterial() const {
  Material material = ConfiguredMaterial();
  base::Status read_all;
  auto also = [&](const std::string& file, auto take) {
    // All files or none: a certificate of one version with the key of another would fail each handshake.
    if (file.empty() || !read_all) return;
    auto text = base::ReadFile(file, kLongestFile);
    read_all = text.status();
    if (!text) return;
    // A file that is being replaced may be empty for a moment. No credential in use is that.
    if (base::TrimSpace(*text).empty()) read_all = base::InvalidArgument(file + " is empty");
    if (read_all) take(*text);
    base::WipeString(*text);
  };
  also(cluster_.token_file,
       [&](std::string& text) { material.token = base::Secret(std::string(base::TrimSpace(text))); });
  // kubectl, too, uses the token beside the file's name until the file can be read.
  if (!cluster_.token.empty() && !read_at_) read_all = {};
  also(cluster_.ca_file, [&](std::string& text) { material.tls.ca_pem = text; });
  also(cluster_.certificate_file, [&](std::string& text) { material.tls.certificate_pem = text; });
  also(cluster_.key_file, [&](std::string& text) { material.tls.key_pem = base::Secret(text); });
  if (!read_all) return std::move(read_all).error();
  return material;
}

base::Status Identity::ReadFiles(bool force) {
  if (files_.empty()) return {};
  // Stamps are taken before the files are read, so that a change in between shows next time.
  std::vector<base::FileStamp> stamps = base::StampsOf(files_);
  const bool due = !read_at_ || stamps != stamps_ || clock_.Now() - *read_at_ >= kForcedReadInterval;
  if (!force && !due) return {};
  auto material = ReadMaterial();
  if (!material) {
    if (read_at_) return {};  // the last version stays in use
    return std::move(material).error().Wrap("credential of " + cluster_.source);
  }
  stamps_ = std::move(stamps);
  read_at_ = clock_.Now();
  from_files_ = *std::move(material);
  Rebuild();
  return {};
}

void Identity::SetPluginCredential(ExecCredential credential) {
  plugin_expires_ = base::TimePoint::max();
  if (credential.expires) {
    // The expiry is turned into monotonic time once, so that a clock that is set later does not matter.
    auto left = std::chrono::duration_cast<base::Duration>(*credential.expires - clock_.Wall());
    plugin_expires_ = clock_.Now() + left;
  }
  from_plugin_ = std::move(credential);
  Rebuild();
}

// Makes the proof that requests carry. Its generation tells a caller whether another credential came since
// its own request was refused, so it changes only with the content.
void Identity::Rebuild() {
  auto [tls, token] = from_files_;
  if (from_plugin_) {
    // A plugin may give a token, a certificate, or both, which then replace those of the file.
    if (!from_plugin_->token.empty()) token = from_plugin_->token;
    if (!from_plugin_->certificate_pem.empty()) {
      tls.certificate_pem = from_plugin_->certificate_pem;
      tls.key_pem = from_plugin_->key_pem;
    }
  }
  base::Secret authorization;
  if (!token.empty()) {
    authorization = http::BearerAuthorization(token);
  } else if (!cluster_.username.empty()) {
    authorization = http::BasicAuthorization(cluster_.username, cluster_.password);
  }
  const bool same = auth_.tls && tls.ca_pem == auth_.tls->ca_pem &&
                    tls.certificate_pem == auth_.tls->certificate_pem &&
                    tls.key_pem.SameAs(auth_.tls->key_pem) && authorization.SameAs(auth_.authorization);
  if (same) return;
  base::RememberSecret(from_files_.token);
  base::RememberSecret(from_files_.tls.key_pem);
  base::RememberSecret(cluster_.password);
  auth_ = {.tls = std::make_shared<const http::Tls>(std::move(tls)),
           .authorization = std::move(authorization),
           .generation = auth_.generation + 1};
}

bool Identity::PluginIsDue() const {
  return cluster_.exec && (!from_plugin_ || clock_.Now() >= plugin_expires_);
}

// Returns true if this thread has to run the plugin, and false if another run has just brought a credential.
base::Result<bool> Identity::ClaimPlugin(const base::Call& call) {
  base::Lock lock(mutex_);
  // One thread runs the plugin for all: ten requests must not open ten logins.
  const auto has_ended = [this]() PREFETCH_REQUIRES(mutex_) { return !plugin_runs_; };
  if (!base::WaitFor(plugin_done_, mutex_, call, has_ended)) {
    if (call.Stopped()) return base::Cancelled("stopped while a credential plugin ran");
    return base::DeadlineExceeded("the credential plugin took too long");
  }
  // The run that was awaited may have brought a credential.
  if (!PluginIsDue()) return false;
  plugin_runs_ = true;
  return true;
}

base::Status Identity::RunPlugin(const base::Call& call) {
  auto mine = ClaimPlugin(call);
  if (!mine) return std::move(mine).error();
  if (!*mine) return {};
  // Without the lock: a plugin takes its time, and other threads need the credential that still holds.
  const base::OnExit end([this] {
    base::Lock lock(mutex_);
    plugin_runs_ = false;
    plugin_done_.notify_all();
  });
  auto credential = RunExecPlugin(call, *cluster_.exec);
  if (!credential) return std::move(credential).error();
  base::Lock lock(mutex_);
  SetPluginCredential(*std::move(credential));
  return {};
}

base::Status Identity::Refresh(const base::Call& call, bool force) {
  {
    base::Lock lock(mutex_);
    // Files come first: a plugin's run may take long, and needs none of them.
    if (base::Status read = ReadFiles(force); !read) return read;
    // The server has refused the plugin's credential, whatever expiry the plugin gave.
    if (force) plugin_expires_ = clock_.Now();
  }
  return cluster_.exec ? RunPlugin(call) : base::Status();
}

base::Result<RequestAuth> Identity::Current(const base::Call& call) {
  if (base::Status fresh = Refresh(call, false); !fresh) return std::move(fresh).error();
  base::Lock lock(mutex_);
  return auth_;
}

// Called after a refusal. Returns another credential if there is one, so a request is repeated only if it may
// succeed.
std::optional<RequestAuth> Identity::Replacement(const base::Call& call, const RequestAuth& refused) {
  {
    base::Lock lock(mutex_);  // another thread has been here meanwhile
    if (auth_.generation != refused.generation) return auth_;
  }
  // The caller keeps the refusal that it has, which explains more than a plugin's second failure.
  if (base::Status fresh = Refresh(call, true); !fresh) return std::nullopt;
  base::Lock lock(mutex_);
  if (auth_.generation == refused.generation) return std::nullopt;
  return auth_;
}

}  // namespace prefetch::kube
