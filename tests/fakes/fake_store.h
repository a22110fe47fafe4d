// FakeStore: what is on the fake node: blobs, images, leases; and what the garbage collector leaves of it
// (runtime rules C26 and C27). No threads, no time of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "fakes/fake_image.h"

namespace prefetch::tests {

struct StoredBlob {
  std::uint64_t total = 0;
  double done = 0;  // a fraction of a byte matters to nobody but the arithmetic
  bool complete = false;
  // Only blobs that somebody writes have these: the bytes so far, and whether any of them is not FakeBytes().
  std::string bytes = {};
  bool wrong = false;
};

// An image that the node has, with all its names.
struct StoredImage {
  FakeImage image;
  std::set<std::string> tags;     // "reg.example/team/app:v1"
  std::set<std::string> digests;  // "reg.example/team/app@sha256:…"
  std::string previous;           // the newest tag that it has lost
  bool unpacked = true;
};

// The two labels of a name that pins are made of (C39); empty: it does not have the label.
struct FakePin {
  std::string value;
  std::string owner;  // empty: a client that does not say who it is has set the value
};

// How a runtime names what it has (C34).
enum class Naming {
  kDigestsStay,  // containerd: a pull by tag also gives the digest's name, which stays when the tag moves
  kPulledNames,  // CRI-O: the names that were pulled; each of their repositories has every known digest
};

struct FakeLease {
  base::TimePoint expires;
  std::set<std::string> digests;
};

class FakeStore {
 public:
  explicit FakeStore(Naming naming) : naming_(naming) {}

  std::map<std::string, StoredBlob> blobs;    // by digest
  std::map<std::string, StoredImage> images;  // by image id ("sha256:…")
  std::map<std::string, FakeLease> leases;    // ours, by id
  std::map<std::string, FakePin> pins;        // by the image's name
  std::set<std::string> orphans;              // held by leases of pulls that a killed daemon has left

  bool IsComplete(const std::string& digest) const;
  // A blob that is whole, at once.
  void Put(const FakeBlob& blob);
  // Records `image` under `name` (a tag, or "repository@digest") with its repository's digest; the tag leaves
  // whatever had it.
  void Record(const FakeImage& image, const std::string& name, bool with_digest);
  // All names of the image that has `name`, as containerd's RemoveImage does. False: none has it.
  bool Remove(const std::string& name);
  // This name alone, and with its last name the image, as CRI-O's RemoveImage of a name does.
  bool Untag(const std::string& name);
  // Drops every blob that no image, lease or orphan refers to and that is not in `in_use`.
  void CollectGarbage(base::TimePoint now, const std::set<std::string>& in_use);

  const StoredImage* FindByName(const std::string& normalized) const;
  // Returns the listed repo digests: not all of them are found by name, see C34.
  std::set<std::string> ListedDigests(const StoredImage& stored) const;

 private:
  std::set<std::string> KnownDigests(const StoredImage& stored) const;

  Naming naming_;
};

// "reg.example/team/app" of "reg.example/team/app:v1" or "…@sha256:…".
std::string RepositoryOf(const std::string& normalized);
// "reg.example" of them.
std::string RegistryOf(const std::string& normalized);

}  // namespace prefetch::tests
