// FakeImage: an image as a registry of the fake world has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "image/platform.h"

namespace prefetch::tests {

struct FakeBlob {
  std::string digest;
  std::uint64_t bytes = 0;

  friend bool operator==(const FakeBlob&, const FakeBlob&) = default;
};

// The bytes of a fake blob, whose digest is only a name: `count` from `offset` on.
std::string FakeBytes(const std::string& digest, std::uint64_t offset, std::uint64_t count);

// A value. Names are normalised: "reg.example/team/app:v1".
struct FakeImage {
  std::string name;
  std::string digest;  // of the manifest
  FakeBlob config;     // its digest is the image id
  std::vector<FakeBlob> layers;
  std::uint64_t manifest_bytes = 1000;
  image::Platform platform{"linux", "amd64", ""};
  std::string username, password;  // who may pull it; empty: everybody
  bool hidden = false;             // to all others it is absent: 404 instead of 401
  std::string refused_user;        // gets 401 from a registry that hides it
  base::Duration unpack{};         // how long unpacking takes once all is there
  bool silent = false;             // no byte of its blobs comes
  bool ends_runtime = false;       // unpacking it crashes the daemon, which comes back at once
  double unpack_factor = 0;        // bytes on the disk for each compressed byte, once it is unpacked
  bool unpackable = true;          // false: an artifact; see Persona on what runtimes make of it

  std::uint64_t Bytes() const;                      // configuration and layers
  std::vector<FakeBlob> Blobs() const;              // configuration first
  std::vector<std::string> ContentDigests() const;  // manifest, configuration, layers
  std::string ChainId() const;                      // of what it is unpacked to
};

// An image whose digests follow from its content: the same sizes under the same seeds are the same blobs.
// `layers` are {seed, bytes}.
struct LayerOf {
  std::string seed;
  std::uint64_t bytes = 0;
};
FakeImage MakeImage(const std::string& name, const std::vector<LayerOf>& layers);
// The same, with one layer that no other image has.
FakeImage MakeImage(const std::string& name, std::uint64_t bytes);

// Names of images: REPOSITORY0:v1, REPOSITORY1:v1, and so on.
inline std::vector<std::string> Numbered(const std::string& repository, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; i++) names.push_back(repository + std::to_string(i) + ":v1");
  return names;
}

// The image, for this user alone.
inline FakeImage Private(FakeImage image, const std::string& user, const std::string& password = "") {
  image.username = user;
  image.password = password;
  return image;
}

}  // namespace prefetch::tests
