// ManyImages: a container runtime that has as many images as one likes, over gRPC as CRI: what the agent
// costs on a large node is measured without pulling thousands of images. It pulls nothing.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace prefetch::bench {

// Returns "r7.example.test/team/app1207:v1"; the names are spread over `registries` registries.
std::string ImageName(int number, int registries);
// Its id and the digest of its manifest: "sha256:…".
std::string ImageId(int number);

class ManyImages {
 public:
  ManyImages(const std::string& socket, int images, int registries);
  ~ManyImages();
  ManyImages(const ManyImages&) = delete;
  ManyImages& operator=(const ManyImages&) = delete;

  int lists() const;  // ListImages calls so far

 private:
  class Served;
  std::unique_ptr<Served> served_;
};

}  // namespace prefetch::bench
