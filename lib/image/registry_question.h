// RegistryQuestion: a question to a registry about one reference, without pulling. A value: the agent makes
// it, lib/registry answers it with a RegistryAnswer.
// AuthConfig: one credential for a registry.
// ContentSource: the source of an image's bytes, if the runtime does not download them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "image/platform.h"
#include "image/reference.h"

namespace prefetch::image {

// One credential for a registry, as CRI's message of that name carries it. A value. Only user name and
// password: the portable part (runtime rule C6).
struct AuthConfig {
  std::string username;
  base::Secret password;
};

struct RegistryQuestion {
  Reference reference;
  // The digests that the runtime's repo_digests name for the reference's repository (registry rule R10).
  // Empty: none is known, and any digest is kMoved with local_digest_unknown.
  std::vector<std::string> local_digests;
  Platform platform;
  // Credentials in the order in which a pull would try them: the next one only if the one before was refused.
  // Empty: anonymous.
  std::vector<AuthConfig> credentials;
  // A pod wrote the registry's name, and no list has it: the answer must tell nothing about this node's own
  // network.
  bool untrusted_name = false;
  // Addresses of this node and of the API server, for untrusted_name. nullopt: they are not known yet, and a
  // registry that only the pod names is not asked.
  std::optional<std::vector<std::string>> excluded_addresses = std::vector<std::string>();
  // The manifest is fetched as well, as a pull by containerd would, where that costs nothing but a request
  // (R53). Otherwise the answer is what HEAD tells, and a pull may still find something else.
  bool fetches_manifest = false;
};

// The documents of one image for one platform, byte for byte. Their digests were verified.
struct ImageManifest {
  std::string index;  // empty: the reference names the manifest itself
  std::string manifest;
  // How near the registry is: the time of the quickest answer, and the shortest round trip to the server
  // that gave the manifest, where that is known.
  base::Duration answer_time{0};
  std::optional<base::Duration> round_trip = {};
};

// The bytes from `begin` up to `end` of a blob with `size` bytes.
struct BlobRange {
  std::string digest;
  std::uint64_t size = 0;
  std::uint64_t begin = 0, end = 0;
};

// The source of an image's bytes, if the runtime does not download them. lib/registry has one that asks
// registries, lib/agent uses it; these folders do not know each other.
// Any thread may call, many at once. A call blocks until it has an answer or `call` ends. A failure names its
// owner, but for Cancelled (call.stop):
//   kImage      NotFound, PermissionDenied. InvalidArgument: the runtime may get it, but not like this: other
//               content than its digest says, nothing for this platform, settings that only a runtime follows
//   kRegistry   an answer that is no use for any image: too busy, out of order. InvalidArgument: no ranges
//   kNetwork    no answer
class ContentSource {
 public:
  virtual ~ContentSource() = default;

  virtual base::Result<ImageManifest> FetchManifest(const base::Call& call,
                                                    const RegistryQuestion& image) = 0;
  // Gives exactly those bytes to `sink`, in order and in parts, on this thread. After a failure, the ones
  // that it got are good as far as anybody can tell; a further call asks for the rest. Their digest is the
  // caller's to check: only a whole blob has one. Cancelled also if `sink` returned false. It may block for
  // some seconds, which slows the sender.
  virtual base::Status FetchBytes(const base::Call& call, const RegistryQuestion& image,
                                  const BlobRange& range,
                                  const std::function<bool(std::string_view piece)>& sink) = 0;
  // Returns how long from now the image's own registry is not to be asked for it, after a 429 or 503.
  // nullopt: it sent no Retry-After.
  virtual std::optional<base::Duration> RetryAfter(const RegistryQuestion&) { return std::nullopt; }
};

}  // namespace prefetch::image
