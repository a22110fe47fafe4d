// A runtime that lists anything: looks at it end, each entry of the list has its answer, and the audit stays
// bounded.
#include <cstdint>
#include <vector>

#include "agent/runtime_view.h"
#include "base/text.h"
#include "fakes/fake_image_service.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

struct Time {
  tests::FakeClock clock;
};

// Lines of the input, one after the other, as fields of messages that were decoded already.
class Hostile final : Time, public tests::FakeImageService {
 public:
  explicit Hostile(std::string_view text)
      : FakeImageService(clock, tests::Persona::kContainerd16), lines_(base::Split(text, '\n')) {}

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
  cri::CallResult<std::vector<cri::ImageFilesystem>> ImageFsInfo(const base::Call&) override {
    std::vector<cri::ImageFilesystem> all(Number() % 3);
    for (cri::ImageFilesystem& one : all) one.mountpoint = Next();
    return all;
  }
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
