// The clients of CRI and of containerd's services, by real gRPC, before a runtime that answers anything at
// all (fuzz/hostile_runtime.h). The first byte chooses the call; after an 's', silence meets a deadline.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "fuzz/hostile_runtime.h"

namespace {

using namespace prefetch;

constexpr const char* kPassword = "hunter2-\"of\"-the-node";
constexpr const char* kImage = "reg.example.test/team/app:v1";
const std::string kDigest = "sha256:" + std::string(64, 'a');
constexpr std::chrono::milliseconds kShort{20}, kLong{300};
// Beyond a deadline: gRPC's timers are checked ten times a second, and the machine is busy.
constexpr std::chrono::seconds kSlack{5};
constexpr std::size_t kNames = 20;
// Longest text of the client beside the runtime's own words.
constexpr std::size_t kOurWords = 300;
constexpr std::size_t kLargestAnswer = std::size_t{16} << 20;

// `knows_password`: the request had it. Text that a runtime makes up is nobody's secret.
void Judge(const cri::CallError& error, bool knows_password = false) {
  const std::string& text = error.message;
  if (text.empty() || text.size() > cri::kMaxQuotedBytes + kOurWords || !base::IsUtf8(text)) __builtin_trap();
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) __builtin_trap();
  }
  if (!knows_password) return;
  if (text.find(kPassword) != std::string::npos) __builtin_trap();
  if (text.find("hunter2-\\\"of\\\"-the-node") != std::string::npos) __builtin_trap();
  static const std::string pair = base::Base64Encode(std::string("ci:") + kPassword);
  if (text.find(pair) != std::string::npos) __builtin_trap();
}

template <typename T>
const T* Check(const cri::CallResult<T>& result, bool knows_password = false) {
  if (result) return &*result;
  Judge(result.error(), knows_password);
  return nullptr;
}

void CheckImage(const image::LocalImage& image) {
  if (image.id.size() > kLargestAnswer || !base::IsUtf8(image.id)) __builtin_trap();
}

void AskImages(cri::ImageService& images, const base::Call& call, unsigned which) {
  switch (which) {
    case 0: {
      const auto answer = images.Connect(call);
      if (const auto* info = Check(answer); info && !base::IsUtf8(info->name + info->version))
        __builtin_trap();
      return;
    }
    case 1: {
      const auto answer = images.ListImages(call);
      if (const auto* all = Check(answer)) {
        for (const image::LocalImage& image : *all) CheckImage(image);
      }
      return;
    }
    case 2: {
      const auto answer = images.ImageStatus(call, kImage);
      if (const auto* details = Check(answer); details && *details) CheckImage((*details)->image);
      return;
    }
    case 3: {
      const auto answer = images.ImageStatuses(call, std::vector<std::string>(kNames, kImage));
      if (const auto* all = Check(answer); all && all->size() != kNames) __builtin_trap();
      return;
    }
    case 4: {
      const cri::PullRequest request{
          .image = kImage,
          .auth = image::AuthConfig{.username = "ci", .password = base::Secret(kPassword)},
          .lease = "prefetchd-fuzz"};
      const auto answer = images.PullImage(call, request);
      if (const auto* ref = Check(answer, true); ref && ref->empty()) __builtin_trap();
      return;
    }
    default:
      Check(images.ImageFsInfo(call));
  }
}

void Download(cri::ContentService& content, const base::Call& call) {
  const cri::BlobToWrite blob{.ref = "layer-" + kDigest, .digest = kDigest, .size_bytes = 8, .labels = {}};
  auto opened = content.OpenBlob(call, "prefetchd-fuzz", blob);
  if (!Check(opened)) return;
  if ((opened->state == cri::BlobState::kWritable) != (opened->writer != nullptr)) __builtin_trap();
  if (!opened->writer) return;
  bool failed = false;
  for (const char* piece : {"four", "more"}) {
    if (const auto error = opened->writer->Append(piece)) {
      Judge(*error);
      failed = true;
    }
  }
  const auto error = opened->writer->Commit();
  if (error) Judge(*error);
  if (failed && !error) __builtin_trap();
}

// Thousands of events are as good as one.
void Watch(cri::ContentService& content, const base::Call& call) {
  int changes = 0;
  Judge(content.WatchImages(call, [&] { changes++; }));
  if (changes > (1 << 20)) __builtin_trap();
}

void AskContent(cri::ContentService& content, const base::Call& call, unsigned which) {
  const std::string lease = "prefetchd-fuzz";
  switch (which) {
    case 6:
      Check(content.EnsureLease(call, lease, std::chrono::hours(24)));
      return;
    case 7:
      Check(content.DeleteLease(call, lease, cri::LeaseDeletion::kSync));
      return;
    case 8: {
      const auto answer = content.ListLeases(call);
      if (const auto* all = Check(answer)) {
        for (const std::string& id : *all) {
          if (!id.starts_with(cri::kLeasePrefix)) __builtin_trap();
        }
      }
      return;
    }
    case 9:
      for (int look = 0; look < 2; look++) Check(content.Progress(call, lease));
      return;
    case 10:
      return Download(content, call);
    case 11:
      Check(content.ForeignIngests(call));
      return;
    case 12: {
      const auto answer = content.Snapshotter(call);
      if (const auto* name = Check(answer); name && !base::IsUtf8(*name)) __builtin_trap();
      return;
    }
    case 13:
      return Watch(content, call);
    case 14:
      Check(content.IsUnpacked(call, kDigest));
      return;
    default:
      Check(content.IsRunnable(call, kDigest, ""));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // All runs share these two. They are never destroyed: other threads of gRPC end with the process.
  static auto* const runtime = new fuzz::HostileRuntime;
  static auto* const images = cri::MakeImageService(runtime->endpoint()).release();
  if (size < 2) return 0;
  const unsigned which = (data[0] - unsigned{'a'}) % 16;
  const bool silent = data[1] == 's';
  const std::string_view script(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::stop_source stop;
  runtime->Play(script, stop, silent);
  const auto deadline = std::chrono::steady_clock::now() + (silent ? kShort : kLong);
  const base::Call call{.deadline = deadline, .stop = stop.get_token()};
  if (which < 6) {
    AskImages(*images, call, which);
  } else {
    // It remembers what a daemon can do, so each run has another one.
    const auto content = cri::MakeContentService(runtime->endpoint());
    AskContent(*content, call, which);
  }
  runtime->Play({}, {}, false);
  if (std::chrono::steady_clock::now() > deadline + kSlack) __builtin_trap();
  return 0;
}
