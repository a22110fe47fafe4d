// FakeImageService: a container runtime and the registries behind it, as a small working model that keeps
// state, can be told to fail, and lives in virtual time.
//
// Pulls take the time that bandwidth, latency and unpacking need on a FakeClock: PullImage blocks its thread
// until the test has moved the clock far enough, or its Call is stopped. All other calls answer at once.
//
//   FakeClock clock;
//   FakeImageService runtime(clock, Persona::kContainerd16);
//   runtime.Push(MakeImage("reg.example/app:v1", 100'000'000));
//   runtime.SetBandwidth(10'000'000);
//   … start the agent …
//   clock.AdvanceTo(runtime.NextEvent());   // when Parked() says that everybody waits
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cri/content_service.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image.h"
#include "fakes/fake_store.h"
#include "fakes/persona.h"
#include "fakes/serial_image_service.h"

namespace prefetch::tests {

enum class RegistryState {
  kUp,
  kDown,     // refuses connections; those that were open are cut
  kStalled,  // accepts, and never sends another byte
};

// Where a pull is. kShared: another one of the same image does its work (CRI-O).
enum class PullStage { kResolving, kDownloading, kUnpacking, kShared };

// The calls of containerd's own API that can be told to fail.
enum class LeaseCall { kEnsure, kDelete, kList, kPin };

struct FakeCounters {
  int pull_calls = 0;
  int list_calls = 0;
  int progress_calls = 0;
  int collections = 0;  // leases that were deleted with their bytes at once
  int ingest_calls = 0;
  int pin_calls = 0;
  int registry_requests = 0;
  int refused_passwords = 0;  // as the registry counts them: several for one PullImage
  std::uint64_t bytes_served = 0;

  friend bool operator==(const FakeCounters&, const FakeCounters&) = default;
};

// Any thread may call anything. The clock outlives it and must not move any more once it is gone.
class FakeImageService : public SerialImageService, public cri::ContentService {
 public:
  FakeImageService(FakeClock& clock, Persona persona);
  ~FakeImageService() override;
  FakeImageService(const FakeImageService&) = delete;
  FakeImageService& operator=(const FakeImageService&) = delete;

  // ---- the registries' side
  // Under its tag, which moves if it was there: what had it is still found by digest.
  void Push(const FakeImage& image);
  void DeleteTag(const std::string& name);  // the registry answers 404 from now on
  void Forget(const std::string& name);     // all of its repository is gone, also by digest
  // A mirror stands before the registry and gives every pull of the image's name this one; nullopt: it gives
  // what the registry has again.
  void Lag(const std::string& name, std::optional<FakeImage> image);
  // Returns the image that a registry has under a name, by tag or by digest.
  std::optional<FakeImage> InRegistry(const std::string& normalized) const;
  void SetRegistry(RegistryState state);        // of all registries
  void SetBandwidth(std::uint64_t per_second);  // of the node, shared by its downloads; 0: no limit
  void SetLatency(base::Duration latency);      // of resolving a name
  // Every pull of `name` fails so from now on, after it has been resolved; nullopt: no more.
  void Fail(const std::string& name, std::optional<image::ErrorClass> error_class);

  // The next `times` downloads of each layer of `name` bring a wrong byte.
  void Spoil(const std::string& name, int times);
  // The registry answers requests for the manifest of `name` so: "503 Service Unavailable", and a body.
  // (CRI-O)
  void Answer(const std::string& name, const std::string& status, const std::string& body);
  // A ping of `host` asks nobody who they are, so CRI-O never tells.
  void WelcomeAtPing(const std::string& host);
  // Connections are reset; new ones work. CRI-O goes on from there, unless that was often; containerd's
  // pulls end.
  void CutConnections();
  // Returns the requests of CRI-O to registries since the last call: "GET /v2/team/app/manifests/v1",
  // " +login" with a name and password, " +range" from where it was cut; blobs are "…/blobs/BLOB".
  std::vector<std::string> TakeAsked();

  // Returns the image that the registry would give for this name now; none: it has none or is silent.
  std::optional<FakeImage> Offered(const std::string& name) const;

  // ---- the node's side
  void SetRuntimeUp(bool up);  // false: pulls end with kRuntimeDown, calls are refused; bytes stay
  // It was told to stop, and is CRI-O: it takes no call any more, and ends its pulls; up again with
  // SetRuntimeUp.
  void Drain();
  void Restart();
  // CRI-O's registries.conf: names of `prefix` are asked for at `location`.
  void Rewrite(const std::string& prefix, const std::string& location);
  // CRI-O's pull_progress_timeout; zero, as by default: it waits for ever.
  void GiveUpOnSilenceAfter(base::Duration silence);
  // Somebody whose pull of `name` CRI-O shares with ours has gone away: it ends for all (C32).
  void CancelShared(const std::string& name);
  // Sets the version of the runtime from now on.
  void SetVersion(const std::string& version, image::RuntimeRegistries registries = {});
  void LookTakes(base::Duration time);                               // each ImageStatus from now on
  void LooksTimeOut(int times);                                      // the next calls of ImageStatus
  void SetReady(bool ready);                                         // RuntimeReady
  void SetDiskFull(bool full);                                       // no byte more can be written
  void Preload(const FakeImage& image);                              // somebody else has pulled it
  void TagLocally(const FakeImage& image, const std::string& name);  // as other tools do: no repo digest
  // An archive was imported (`ctr images import`, `kind load`): content and a tag, no repo digest.
  void Import(const FakeImage& image, bool unpacked = true);
  // Calls it, on any thread, whenever WatchImages would; it must not call the fake. nullptr: no more.
  void OnImages(std::function<void()> told);
  // Calls it in each ForeignIngests, on the caller's thread, which it may hold. nullptr: no more.
  void OnForeignIngests(std::function<void()> asked);
  void Remove(const std::string& name);  // behind the agent's back, as kubelet does: all its names go
  // Another client labels a name, as `ctr images label` does; empty: removes the label, but not the owner's.
  void LabelPin(const std::string& name, const std::string& value);
  void RefusePin(const std::string& name);  // by an error that is this name's alone
  void HideImagesApi();                     // a containerd whose service of image names cannot be used
  void Untag(const std::string& name);      // as `crictl rmi NAME` does with CRI-O: this name goes
  void LoseSnapshot(const std::string& name);
  void LoseLayers(const std::string& name);      // as by `ctr content rm`
  void FailNext(LeaseCall call, int times);      // the next calls break off, as at a connection that has died
  std::set<std::string> SandboxCgroups() const;  // that were sent with pulls
  std::vector<std::string> Leases();             // those of ours that have not expired

  // ---- for the harness
  int Parked() const;  // calls that wait for virtual time; one that was stopped is on its way out
  // Returns the stage of the newest running pull of this name; none: there is none.
  std::optional<PullStage> StageOf(const std::string& name) const;
  // Does an ImageStatus of this name go on?
  bool IsLookedAt(const std::string& name) const;
  // When something changes if nobody interferes; TimePoint::max(): never.
  base::TimePoint NextEvent() const;
  FakeCounters counters() const;
  int opened_blobs() const;  // calls of OpenBlob that were answered
  std::uint64_t BytesStored() const;
  // All that it takes on the disk: blobs, and what they are unpacked to.
  std::uint64_t BytesUsed() const;

  // ---- cri::ImageService
  cri::CallResult<image::RuntimeInfo> Connect(const base::Call& call) override;
  std::uint64_t Generation() override;
  cri::CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) override;
  cri::CallResult<std::optional<cri::ImageDetails>> ImageStatus(const base::Call& call,
                                                                const std::string& name) override;
  cri::CallResult<std::string> PullImage(const base::Call& call, const cri::PullRequest& request) override;
  cri::CallResult<std::vector<cri::ImageFilesystem>> ImageFsInfo(const base::Call& call) override;

  // ---- cri::ContentService
  cri::CallResult<bool> EnsureLease(const base::Call& call, const std::string& id,
                                    std::chrono::seconds lifetime) override;
  cri::CallResult<bool> DeleteLease(const base::Call& call, const std::string& id,
                                    cri::LeaseDeletion bytes) override;
  cri::CallResult<std::vector<std::string>> ListLeases(const base::Call& call) override;
  cri::CallResult<std::set<std::string>> ListPins(const base::Call& call, const std::string& owner) override;
  cri::CallResult<cri::PinResult> Pin(const base::Call& call, const std::string& name,
                                      const std::string& owner) override;
  cri::CallResult<bool> Unpin(const base::Call& call, const std::string& name,
                              const std::string& owner) override;
  cri::CallResult<image::PullProgress> Progress(const base::Call& call, const std::string& lease) override;
  cri::CallResult<cri::OpenedBlob> OpenBlob(const base::Call& call, const std::string& lease,
                                            const cri::BlobToWrite& blob) override;
  cri::CallResult<std::uint64_t> FinishIngests(const base::Call& call, const std::string& lease,
                                               cri::PartialIngests partial) override;
  cri::CallResult<std::map<std::string, std::uint64_t>> ForeignIngests(const base::Call& call) override;
  cri::CallResult<std::string> Snapshotter(const base::Call& call) override;
  cri::CallError WatchImages(const base::Call& call, const std::function<void()>& changed) override;
  cri::CallResult<bool> IsUnpacked(const base::Call& call, const std::string& chain_id) override;
  cri::CallResult<bool> IsRunnable(const base::Call& call, const std::string& id,
                                   const std::string& chain_id) override;

 private:
  class Writer;
  using Stage = PullStage;

  // Where the last connection of a blob began after another was cut.
  struct Retry {
    double offset = 0;
    base::TimePoint when;
  };
  // One PullImage that has not ended.
  struct Pull {
    std::string name;   // normalised
    std::string asked;  // the same, or what registries.conf makes of it
    int serial = 0;
    cri::PullRequest request;
    std::stop_token stop;
    Stage stage = Stage::kResolving;
    base::TimePoint stage_ends = base::TimePoint::max();  // of kResolving and kUnpacking
    FakeImage image;                                      // once resolved
    bool waited = false;                                  // for a registry that asks for patience
    const Pull* leader = nullptr;                         // whose end is this one's, too (C32)
    std::set<std::string> begun;                          // keys of blobs
    std::map<std::string, Retry> retries;                 // by key
    base::TimePoint silent_since;
    std::optional<cri::CallResult<std::string>> result;
  };

  std::optional<cri::CallError> Refusal(const base::Call& call) const PREFETCH_REQUIRES(mutex_);
  void Look(const base::Call& call, const std::string& name) PREFETCH_REQUIRES(mutex_);
  std::optional<cri::CallError> ContentRefusal(const base::Call& call) const PREFETCH_REQUIRES(mutex_);
  std::optional<cri::CallError> LeaseRefusal(const base::Call& call, LeaseCall kind)
      PREFETCH_REQUIRES(mutex_);
  cri::CallError Error(image::ErrorClass error_class, const Pull& pull) const;

  // Virtual time.
  void OnAdvance() PREFETCH_EXCLUDES(mutex_);
  void Simulate(base::TimePoint to) PREFETCH_REQUIRES(mutex_);
  base::TimePoint NextChange() const PREFETCH_REQUIRES(mutex_);
  void Download(base::Duration span) PREFETCH_REQUIRES(mutex_);
  void Step() PREFETCH_REQUIRES(mutex_);
  bool StepPull(Pull& pull) PREFETCH_REQUIRES(mutex_);
  void Resolve(Pull& pull) PREFETCH_REQUIRES(mutex_);
  void Refuse(Pull& pull, cri::CallError error) PREFETCH_REQUIRES(mutex_);
  std::optional<cri::CallError> ToldFailure(const Pull& pull) const PREFETCH_REQUIRES(mutex_);
  void Download(Pull& pull) PREFETCH_REQUIRES(mutex_);
  std::optional<cri::CallError> LoginRefusal(const Pull& pull, const FakeImage& image)
      PREFETCH_REQUIRES(mutex_);
  void Finish(Pull& pull) PREFETCH_REQUIRES(mutex_);
  const Pull* LeaderOf(const Pull& pull) const PREFETCH_REQUIRES(mutex_);
  void End(Pull& pull, cri::CallResult<std::string> result) PREFETCH_REQUIRES(mutex_);
  void EndAll(image::ErrorClass error_class) PREFETCH_REQUIRES(mutex_);
  void EndStopped() PREFETCH_REQUIRES(mutex_);
  std::set<std::string> ActiveBlobs() const PREFETCH_REQUIRES(mutex_);
  std::vector<FakeBlob> Missing(const Pull& pull) const PREFETCH_REQUIRES(mutex_);
  bool HasWrongBlob(const Pull& pull) const PREFETCH_REQUIRES(mutex_);
  std::string Key(const Pull& pull, const std::string& digest) const;

  // CRI-O's pulls: fake_crio_pulls.cc.
  void AskForBlob(const Pull& pull, bool from_a_cut) PREFETCH_REQUIRES(mutex_);
  void AskForManifest(const Pull& pull, int times) PREFETCH_REQUIRES(mutex_);
  bool MayLogIn(const Pull& pull, const FakeImage& image) const PREFETCH_REQUIRES(mutex_);
  void BeginBlobs() PREFETCH_REQUIRES(mutex_);
  void CommitLayers() PREFETCH_REQUIRES(mutex_);
  base::TimePoint GivenUpAt(const Pull& pull) const PREFETCH_REQUIRES(mutex_);
  std::string AskedFor(const std::string& name) const PREFETCH_REQUIRES(mutex_);
  void CollectGarbage() PREFETCH_REQUIRES(mutex_);
  void TellOfImages() PREFETCH_REQUIRES(mutex_);
  const FakeImage* Find(const std::string& normalized) const PREFETCH_REQUIRES(mutex_);
  image::LocalImage ToLocal(const StoredImage& stored) const PREFETCH_REQUIRES(mutex_);
  std::string IdOf(const FakeImage& image) const;

  FakeClock& clock_;
  const Persona persona_;

  mutable base::Mutex mutex_;
  base::Condition condition_;
  std::map<std::string, FakeImage> registry_ PREFETCH_GUARDED_BY(mutex_);  // by tag
  std::map<std::string, FakeImage> untagged_ PREFETCH_GUARDED_BY(mutex_);  // by "repository@digest"
  // Images that a mirror gives instead, by name.
  std::map<std::string, FakeImage> mirrored_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, image::ErrorClass> failures_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, int> spoilt_ PREFETCH_GUARDED_BY(mutex_);  // downloads to come, by digest
  std::map<std::string, std::pair<std::string, std::string>> answers_ PREFETCH_GUARDED_BY(mutex_);  // by name
  std::set<std::string> unpinnable_ PREFETCH_GUARDED_BY(mutex_);                                    // names
  bool hides_images_api_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::set<std::string> open_pings_ PREFETCH_GUARDED_BY(mutex_);             // hosts
  std::map<std::string, std::string> rewrites_ PREFETCH_GUARDED_BY(mutex_);  // prefix to location
  base::Duration gives_up_after_ PREFETCH_GUARDED_BY(mutex_){};
  std::vector<std::string> asked_ PREFETCH_GUARDED_BY(mutex_);
  RegistryState registry_state_ PREFETCH_GUARDED_BY(mutex_) = RegistryState::kUp;
  std::uint64_t bandwidth_ PREFETCH_GUARDED_BY(mutex_) = 0;
  base::Duration latency_ PREFETCH_GUARDED_BY(mutex_){};
  bool up_ PREFETCH_GUARDED_BY(mutex_) = true;
  std::uint64_t generation_ PREFETCH_GUARDED_BY(mutex_) = 0;         // how often it was started
  std::string version_ PREFETCH_GUARDED_BY(mutex_);                  // empty: the persona's
  image::RuntimeRegistries registries_ PREFETCH_GUARDED_BY(mutex_);  // that it tells, with version_
  base::Duration look_takes_ PREFETCH_GUARDED_BY(mutex_){};
  int looks_time_out_ PREFETCH_GUARDED_BY(mutex_) = 0;
  // The names of those under way, by when they end.
  std::multimap<base::TimePoint, std::string> looks_ PREFETCH_GUARDED_BY(mutex_);
  bool ready_ PREFETCH_GUARDED_BY(mutex_) = true;
  bool disk_full_ PREFETCH_GUARDED_BY(mutex_) = false;
  FakeStore store_ PREFETCH_GUARDED_BY(mutex_);
  std::uint64_t told_ PREFETCH_GUARDED_BY(mutex_) = 0;  // changes of images
  std::function<void()> on_images_ PREFETCH_GUARDED_BY(mutex_);
  std::function<void()> on_foreign_ingests_ PREFETCH_GUARDED_BY(mutex_);
  std::map<LeaseCall, int> failing_ PREFETCH_GUARDED_BY(mutex_);
  std::set<std::string> written_ PREFETCH_GUARDED_BY(mutex_);  // digests of blobs with an open writer
  std::list<Pull> pulls_ PREFETCH_GUARDED_BY(mutex_);          // in the order in which they came
  int pulls_begun_ PREFETCH_GUARDED_BY(mutex_) = 0;
  base::TimePoint simulated_ PREFETCH_GUARDED_BY(mutex_);
  FakeCounters counters_ PREFETCH_GUARDED_BY(mutex_);
  int opened_blobs_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::set<std::string> sandbox_cgroups_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::tests
