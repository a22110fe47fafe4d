// Images made for tests and for the sandbox: any size, shared layers, the same bytes every time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "image/platform.h"

namespace prefetch::rig {

// One layer: a gzipped tar of one file of incompressible bytes that follow from `seed`. The same seed and
// size give the same blob, so images share it.
struct Layer {
  std::uint64_t seed = 0;
  std::uint64_t size = 0;  // of the blob, within a kilobyte or two; at least some 2 KiB
  // Number of compressible bytes in the file: they fill the disk, and hardly enlarge the blob.
  std::uint64_t zeros = 0;
  // The bytes of an executable: the layer is the file /program and nothing else. Only with seed and size 0.
  std::string program = {};
};

enum class ManifestKind {
  kDocker,
  kOci,
  kChart,  // a Helm chart: no image
};

struct ImageSpec {
  std::string repository;  // "team/app"
  std::string tag;         // "v1"
  std::vector<Layer> layers;
  image::Platform platform = image::Platform::Host();
  ManifestKind kind = ManifestKind::kDocker;
  // A label of the config: two repositories have one image (the same id) if it and the layers are the same.
  std::string name;  // empty: repository:tag
  // Program of a container that names no command.
  std::string entrypoint = {};
};

struct PushedImage {
  std::string digest;  // of the manifest or index: what RepoDigests shows
  std::string config;  // digest of the config: the image id of CRI (empty for an index)
  std::vector<std::string> layers;
  std::uint64_t bytes = 0;  // of all layers
};

// Uploads to one registry by plain HTTP, as one user or as nobody. One thread owns it.
class Pusher {
 public:
  // `registry` is "127.0.0.1:5000".
  explicit Pusher(std::string registry, std::string user = "", base::Secret password = base::Secret());
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;
  ~Pusher();

  // PermissionDenied for 401 and 403, Unavailable when nobody answers, Internal for any other refusal.
  base::Result<PushedImage> Push(const ImageSpec& spec);
  // One index over all `images`, of one repository and under the tag of the first; they get no tags.
  base::Result<PushedImage> PushIndex(const std::vector<ImageSpec>& images);
  // Any manifest as it is, under a tag: for broken ones.
  base::Result<PushedImage> PushManifest(const std::string& repository, const std::string& tag,
                                         const std::string& media_type, const std::string& manifest);

 private:
  class Http;
  base::Result<PushedImage> PushBlobsAndManifest(const ImageSpec& spec, const std::string& reference,
                                                 std::string& descriptor);
  base::Status PushBlob(const std::string& repository, const std::string& digest, const std::string& bytes);
  std::unique_ptr<Http> http_;
};

}  // namespace prefetch::rig
