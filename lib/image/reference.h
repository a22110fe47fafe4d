// Reference: the name of an image, parsed and normalised as kubelet and the runtimes do it
// (kubelet's rule K1, registry rules R1 and R2).
// MatchesPattern: patterns of image names.
// PullPolicy: Kubernetes' imagePullPolicy.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_name.h"
#include "base/result.h"

namespace prefetch::image {

// The domain of Docker Hub's images, its name in older files, and the server that has them. Returns true for
// that server's names.
inline constexpr std::string_view kDockerHub = "docker.io";
inline constexpr std::string_view kDockerHubIndex = "index.docker.io";
inline constexpr std::string_view kDockerHubServer = "registry-1.docker.io";
constexpr bool IsDockerHubServer(std::string_view host) {
  return host == kDockerHubServer || host == kDockerHubIndex;
}

// A value. Three spellings matter, and they are not the same:
//  - as written:          "nginx@sha256:…", "nginx"           (`written`)
//  - the spec image:       written, with ":latest" if it has neither tag nor digest; this is what kubelet,
//                          and so we, send to the runtime                                     SpecImage()
//  - the normalised name:  "docker.io/library/nginx:latest"; with a digest the tag is dropped, as the
//                          runtimes do; this is the identity of an entry and the key of lookups Normalized()
class Reference {
 public:
  // Parses a reference as a pod writes it. InvalidArgument names the mistake in one sentence ("must be
  // lowercase", …).
  static base::Result<Reference> Parse(std::string_view written);

  // The empty reference, which names nothing.
  Reference() = default;

  const std::string& written() const { return parts().written; }
  // "docker.io", "reg:5000"; as written otherwise.
  const std::string& domain() const { return parts().domain; }
  const std::string& path() const { return parts().path; }  // "library/nginx"
  // "latest" if neither is written; empty for a digest alone.
  const std::string& tag() const { return parts().tag; }
  const std::string& digest() const { return parts().digest; }  // "sha256:…" or empty
  bool has_digest() const { return !parts().digest.empty(); }
  // Returns whether the name writes one of them. "nginx" does not: its tag is implied.
  bool has_tag_or_digest() const { return parts().tag_written || has_digest(); }

  // "docker.io/library/nginx": no tag, no digest (kubelet's "repo name")
  const std::string& Repository() const { return parts().repository; }
  // "docker.io/library/nginx:latest" or "docker.io/library/nginx@sha256:…"
  const std::string& Normalized() const { return parts().normalized; }
  std::string SpecImage() const;

  // Two references are the same image name if their normalised names are equal.
  friend bool operator==(const Reference& a, const Reference& b) { return a.Normalized() == b.Normalized(); }

 private:
  struct Parts {
    std::string written, domain, path, tag, digest, repository, normalized;
    bool tag_written = false;
  };
  explicit Reference(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  const Parts& parts() const {
    static const Parts kNone;
    return parts_ ? *parts_ : kNone;
  }

  // Never changes, so copies share it: a list of thousands is held in several places.
  std::shared_ptr<const Parts> parts_;
};

// Digest: the text form of a content hash, "sha256:" and lower-case hex (registry rule R3).

// sha256, sha384 or sha512 with exactly its number of lower-case hex digits: what registries and runtimes
// accept. Pure; any thread.
bool IsDigest(std::string_view text);

// Why `text` is no digest, as the end of a sentence ("has the wrong length"); empty if it is one.
std::string_view DigestError(std::string_view text);

// Returns the repository of a name as runtimes list it, "repository@digest" or "repository:tag". A tag before
// the digest stays. The name must outlive the result.
std::string_view RepositoryOf(std::string_view name);

// Facts from an image's name as written, before it is normalised. Pure.

// "nginx" of "nginx:1.27", "reg:5000/a" of "reg:5000/a@sha256:…": what kubelet 1.36 keeps its records by
// (1.36: pkg/kubelet/images, the image without tag and digest).
std::string_view WrittenName(std::string_view image);

// Returns true if the name begins with a registry: its part before the first slash has a dot or a colon, or
// is "localhost".
bool NamesRegistry(std::string_view image);

// Returns whether a pattern such as "registry.k8s.io/*" matches. `*` stands for any run of characters, also
// for "/" and for none. A pattern is compared with the whole normalised name ("docker.io/library/nginx:1.27")
// and with its repository ("docker.io/library/nginx"), so that "registry.k8s.io/pause" means every tag and
// digest of it. Case matters.
bool MatchesPattern(std::string_view pattern, std::string_view normalized_name);
bool MatchesAny(const std::vector<std::string>& patterns, std::string_view normalized_name);

// Returns InvalidArgument if the pattern is empty, is longer than 500 bytes, or has more than 20 `*`, blanks
// or control characters.
base::Status CheckPattern(std::string_view pattern);

// Kubernetes' imagePullPolicy, in order of strength: a pod with a later one asks for more.
enum class PullPolicy { kNever, kIfNotPresent, kAlways };

// A value for each pull policy.
template <typename T>
struct PerPolicy {
  T never{}, if_not_present{}, always{};

  const T& For(PullPolicy policy) const {
    if (policy == PullPolicy::kNever) return never;
    return policy == PullPolicy::kIfNotPresent ? if_not_present : always;
  }
  // Returns what `convert` makes of each value.
  template <typename F>
  auto Map(F convert) const {
    return PerPolicy<decltype(convert(never))>{convert(never), convert(if_not_present), convert(always)};
  }

  friend bool operator==(const PerPolicy&, const PerPolicy&) = default;
};

// The policy that a container gets which names none (kubelet's rule K2): kAlways if its tag is exactly
// "latest", written or implied, even beside a digest; kIfNotPresent otherwise.
PullPolicy DefaultPullPolicy(const Reference& reference);

}  // namespace prefetch::image
