// The part of pulls that only CRI-O has (runtime rules C30 and C34 to C36), as containers/image does it: the
// requests, what follows a cut, and what of a pull stays. The contract suite compares it with a real one.
#include <chrono>
#include <utility>

#include "fakes/crio_words.h"
#include "fakes/fake_image_service.h"

namespace prefetch::tests {
namespace {

// docker/body_reader.go forgives the first cut, and further ones after this number of bytes or this time.
constexpr double kProgressOfARetry = 1024.0 * 1024.0;
constexpr std::chrono::seconds kTimeOfARetry{60};

std::string PathOf(const std::string& name) {
  const std::string repository = RepositoryOf(name);
  return "GET /v2" + repository.substr(repository.find('/'));
}

}  // namespace

void FakeImageService::Answer(const std::string& name, const std::string& status, const std::string& body) {
  base::Lock lock(mutex_);
  answers_[name] = {status, body};
}

void FakeImageService::WelcomeAtPing(const std::string& host) {
  base::Lock lock(mutex_);
  open_pings_.insert(host);
}

void FakeImageService::Rewrite(const std::string& prefix, const std::string& location) {
  base::Lock lock(mutex_);
  rewrites_[prefix] = location;
}

void FakeImageService::GiveUpOnSilenceAfter(base::Duration silence) {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  gives_up_after_ = silence;
}

std::vector<std::string> FakeImageService::TakeAsked() {
  base::Lock lock(mutex_);
  return std::exchange(asked_, {});
}

std::string FakeImageService::AskedFor(const std::string& name) const {
  for (const auto& [prefix, location] : rewrites_) {
    if (name.starts_with(prefix + "/")) return location + name.substr(prefix.size());
  }
  return name;
}

// A download of CRI-O's is its pull's alone.
std::string FakeImageService::Key(const Pull& pull, const std::string& digest) const {
  return IsCrio(persona_) ? digest + "#" + std::to_string(pull.serial) : digest;
}

bool FakeImageService::MayLogIn(const Pull& pull, const FakeImage& image) const {
  const auto& auth = pull.request.auth;
  if (IsCrio(persona_) && open_pings_.contains(RegistryOf(pull.asked))) return false;
  return auth && auth->username == image.username && auth->password.Reveal() == image.password;
}

// The ping tells whether the registry wants a login. If it does not, no later request has one. If it does, a
// pull without credentials logs in as nobody.
void FakeImageService::AskForManifest(const Pull& pull, int times) {
  counters_.registry_requests += times;
  if (!IsCrio(persona_)) return;
  const FakeImage* image = Find(pull.asked);
  const bool asks = image && !image->username.empty() && !open_pings_.contains(RegistryOf(pull.asked));
  const std::string which = pull.asked.substr(RepositoryOf(pull.asked).size() + 1);
  asked_.emplace_back("GET /v2/");
  counters_.registry_requests++;
  for (int i = 0; i < times; i++)
    asked_.push_back(PathOf(pull.asked) + "/manifests/" + which + (asks ? " +login" : ""));
}

void FakeImageService::AskForBlob(const Pull& pull, bool from_a_cut) {
  counters_.registry_requests++;
  asked_.push_back(PathOf(pull.asked) + "/blobs/BLOB" + (pull.image.username.empty() ? "" : " +login") +
                   (from_a_cut ? " +range" : ""));
}

// The pull asks for its blobs, and each becomes a download of its own.
void FakeImageService::BeginBlobs() {
  const std::set<std::string> active = ActiveBlobs();
  for (Pull& pull : pulls_) {
    if (pull.result || pull.stage != Stage::kDownloading) continue;
    for (const FakeBlob& blob : Missing(pull)) {
      if (!active.contains(blob.digest) || !pull.begun.insert(blob.digest).second) continue;
      store_.blobs[blob.digest] = StoredBlob{blob.bytes, 0, false};
      AskForBlob(pull, false);
    }
  }
}

// A layer is stored once it and all below it are here; what is not, is lost with its pull.
void FakeImageService::CommitLayers() {
  for (Pull& pull : pulls_) {
    if (pull.result || pull.stage != Stage::kDownloading) continue;
    for (const FakeBlob& layer : pull.image.layers) {
      const std::string key = Key(pull, layer.digest);
      if (pull.begun.contains(key) && !store_.IsComplete(key)) break;
      if (!pull.begun.contains(key) && !store_.IsComplete(layer.digest)) break;
      store_.Put(layer);
      if (pull.begun.erase(key) != 0) store_.blobs.erase(key);
    }
  }
}

base::TimePoint FakeImageService::GivenUpAt(const Pull& pull) const {
  const bool silent = registry_state_ == RegistryState::kStalled && pull.stage == Stage::kDownloading &&
                      !pull.result && !Missing(pull).empty();
  if (!IsCrio(persona_) || !silent || gives_up_after_ == base::Duration{}) return base::TimePoint::max();
  return pull.silent_since + gives_up_after_;
}

void FakeImageService::CutConnections() {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  const std::set<std::string> active = ActiveBlobs();
  for (Pull& pull : pulls_) {
    // containerd goes on after an end of the stream only (remotes/docker/httpreadseeker.go).
    const bool reads = !pull.result && pull.stage == Stage::kDownloading && !Missing(pull).empty();
    if (!IsCrio(persona_) && reads) End(pull, Error(image::ErrorClass::kUnreachable, pull));
    for (const std::string& key : std::set<std::string>(pull.begun)) {
      if (pull.result || !active.contains(key)) continue;
      const double done = store_.blobs[key].done;
      auto last = pull.retries.find(key);
      const bool forgiven = last == pull.retries.end() || done - last->second.offset >= kProgressOfARetry ||
                            simulated_ - last->second.when >= kTimeOfARetry;
      if (forgiven) {
        pull.retries[key] = {done, simulated_};
        AskForBlob(pull, true);
      } else {
        End(pull, Heard(CrioWordsOfReset(false), pull.name));
      }
    }
  }
  Simulate(clock_.Now());
}

}  // namespace prefetch::tests
