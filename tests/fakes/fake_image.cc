#include "fakes/fake_image.h"

#include "base/sha256.h"

namespace prefetch::tests {

std::string FakeBytes(const std::string& digest, std::uint64_t offset, std::uint64_t count) {
  std::string bytes;
  bytes.reserve(count);
  for (std::uint64_t i = offset; i < offset + count; i++) bytes += digest[i % digest.size()];
  return bytes;
}

std::uint64_t FakeImage::Bytes() const {
  std::uint64_t sum = config.bytes;
  for (const FakeBlob& layer : layers) sum += layer.bytes;
  return sum;
}

std::vector<FakeBlob> FakeImage::Blobs() const {
  std::vector<FakeBlob> blobs = {config};
  blobs.insert(blobs.end(), layers.begin(), layers.end());
  return blobs;
}

std::vector<std::string> FakeImage::ContentDigests() const {
  std::vector<std::string> digests = {digest};
  for (const FakeBlob& blob : Blobs()) digests.push_back(blob.digest);
  return digests;
}

std::string FakeImage::ChainId() const {
  return "sha256:" + base::Sha256Hex("chain of " + config.digest);
}

FakeImage MakeImage(const std::string& name, const std::vector<LayerOf>& layers) {
  FakeImage image;
  image.name = name;
  std::string all;
  for (const LayerOf& layer : layers) {
    std::string digest = "sha256:" + base::Sha256Hex(layer.seed + "/" + std::to_string(layer.bytes));
    image.layers.push_back({digest, layer.bytes});
    all += digest;
  }
  image.config = {"sha256:" + base::Sha256Hex("config of " + all), 500};
  image.digest = "sha256:" + base::Sha256Hex("manifest of " + all);
  return image;
}

FakeImage MakeImage(const std::string& name, std::uint64_t bytes) {
  return MakeImage(name, {{name, bytes}});
}

}  // namespace prefetch::tests
