// A runtime that lists anything: looks at it end, each entry of the list has its answer, and the audit stays
// bounded.
#include <cstdint>
#include <map>
#include <vector>

#include "agent/observe.h"
#include "base/text.h"
#include "fakes/serial_image_service.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

// Lines of the input, one after the other, as fields of messages that were decoded already.
class Hostile final : public tests::SerialImageService, public cri::ContentService {
 public:
  explicit Hostile(std::string_view text) : lines_(base::Split(text, '\n')) {}

  cri::CallResult<image::RuntimeInfo> Connect(const base::Call&) override {
    if (Number() % 16 == 1) return Failure();
    return image::RuntimeInfo{.name = Next(), .version = Next()};
  }
  std::uint64_t Generation() override { return Number() % 4; }
  cri::CallResult<std::vector<image::LocalImage>> ListImages(const base::Call&) override {
    if (Number() % 16 == 1) return Failure();
    std::vector<image::LocalImage> images(Number() % 8);
    for (image::LocalImage& image : images) image = Image();
    return images;
  }
  cri::CallResult<std::optional<cri::ImageDetails>> ImageStatus(const base::Call&,
                                                                const std::string&) override {
    switch (Number() % 16) {
      case 1:
        return Failure();
      case 2:
        return std::optional<cri::ImageDetails>();
      default:
        break;
    }
    cri::ImageDetails details{.image = Image()};
    if (Number() % 2 == 0) details.platform = image::Platform{Next(), Next(), Next()};
    details.chain_id = Next();
    details.artifact = Number() % 4 == 1;
    return std::optional(details);
  }
  cri::CallResult<std::string> PullImage(const base::Call&, const cri::PullRequest&) override {
    return Next();
  }
  cri::CallResult<std::vector<cri::ImageFilesystem>> ImageFsInfo(const base::Call&) override {
    std::vector<cri::ImageFilesystem> all(Number() % 3);
    for (cri::ImageFilesystem& one : all) one.mountpoint = Next();
    return all;
  }
  cri::CallResult<bool> EnsureLease(const base::Call&, const std::string&, std::chrono::seconds) override {
    return true;
  }
  cri::CallResult<bool> DeleteLease(const base::Call&, const std::string&, cri::LeaseDeletion) override {
    return true;
  }
  cri::CallResult<std::vector<std::string>> ListLeases(const base::Call&) override {
    return std::vector<std::string>{Next()};
  }
  cri::CallResult<std::set<std::string>> ListPins(const base::Call&, const std::string&) override {
    return std::set<std::string>{Next()};
  }
  cri::CallResult<cri::PinResult> Pin(const base::Call&, const std::string&, const std::string&) override {
    return static_cast<cri::PinResult>(Number() % 3);
  }
  cri::CallResult<bool> Unpin(const base::Call&, const std::string&, const std::string&) override {
    return Number() % 2 == 0;
  }
  cri::CallResult<image::PullProgress> Progress(const base::Call&, const std::string&,
                                                const image::Reference&) override {
    return image::PullProgress{};
  }
  cri::CallResult<cri::OpenedBlob> OpenBlob(const base::Call&, const std::string&,
                                            const cri::BlobToWrite&) override {
    return Failure();
  }
  cri::CallResult<std::uint64_t> FinishIngests(const base::Call&, const std::string&,
                                               cri::PartialIngests) override {
    return Failure();
  }
  cri::CallResult<std::map<std::string, std::uint64_t>> ForeignIngests(const base::Call&) override {
    return std::map<std::string, std::uint64_t>();
  }
  cri::CallResult<std::string> Snapshotter(const base::Call&) override { return Next(); }
  cri::CallError WatchImages(const base::Call&, const std::function<void()>&) override { return Failure(); }
  cri::CallResult<bool> IsUnpacked(const base::Call&, const std::string&) override {
    return Number() % 2 == 0;
  }
  cri::CallResult<bool> IsRunnable(const base::Call&, const std::string&, const std::string&) override {
    if (Number() % 16 == 1) return Failure();
    return Number() % 2 == 0;
  }

 private:
  std::string Next() { return at_ < lines_.size() ? std::string(lines_[at_++]) : std::string(); }
  std::uint64_t Number() { return base::ParseUint(Next()).value_or(0); }
  cri::CallError Failure() { return {.error_class = image::ErrorClass::kRuntimeDown, .message = Next()}; }
  image::LocalImage Image() {
    image::LocalImage image{.id = Next()};
    for (std::uint64_t i = Number() % 4; i > 0; i--) image.repo_tags.push_back(Next());
    for (std::uint64_t i = Number() % 4; i > 0; i--) image.repo_digests.push_back(Next());
    image.size_bytes = Number();
    image.pinned = Number() % 8 == 1;
    return image;
  }

  const std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
};

plan::ImageList List() {
  plan::ImageList list;
  for (const char* name :
       {"r.io/app:v1", "r.io/tool:v2",
        "r.io/app@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    plan::DesiredImage desired;
    desired.reference = *image::Reference::Parse(name);
    list.images.push_back(std::move(desired));
  }
  return list;
}

}  // namespace

FUZZ_TARGET(text) {
  static const plan::ImageList list = List();
  Hostile runtime(text);
  agent::Observer observer(runtime, runtime, [](const std::string&) { return plan::DiskSpace{}; },
                           {"linux", "amd64", ""}, {"*pause*"});
  for (int look = 0; look < 3; look++) {
    const agent::RuntimePoll seen = observer.Poll({}, list, look == 2, base::WallTime());
    if (seen.error || seen.unchanged) continue;
    if (seen.locals.size() != list.images.size()) __builtin_trap();
    if (seen.unlisted && seen.unlisted->images.size() > plan::kMostUnlisted) __builtin_trap();
  }
}
