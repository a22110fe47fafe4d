// Conversation: one question to one server, with one identity after the other, including the challenges,
// tokens and retries that it takes (R5 to R7, R14 to R25).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "image/registry_question.h"
#include "registry/authenticator.h"
#include "registry/response.h"
#include "registry/session.h"

namespace prefetch::registry {

// Not thread-safe. Its arguments must outlive it.
class Conversation {
 public:
  // `chain` has all hosts of the registry, `host` among them.
  Conversation(const Parts& parts, const base::Call& call, const std::vector<ChainedHost>& chain,
               const ChainedHost& host, const image::RegistryQuestion& question);

  // Returns kSame, kMoved, or the reason for neither, with the server that answered and the number of
  // requests. Blocks until then.
  image::RegistryAnswer Run();

 private:
  using Authorization = Authenticator::Authorization;

  // Facts about a manifest in the headers of an answer.
  struct Described {
    ManifestKind kind = ManifestKind::kUnknown;
    std::string type, digest;           // as they are written; empty: none
    std::optional<std::uint64_t> size;  // as Go's client knows it
  };

  image::RegistryAnswer RunAs(const image::AuthConfig* credential);
  image::RegistryAnswer Once(const image::AuthConfig* credential);

  // The request that an answer with a manifest belongs to.
  enum class How {
    kHead,
    kGetForHead,    // HEAD is not allowed
    kGetForDigest,  // HEAD told no digest, or no size
  };

  Reply Ask(const std::string& method, const image::Reference& reference, std::string accept,
            const Authorization& authorization);
  Reply Ask(const std::string& method, const Authorization& authorization);
  // The same, and answers the server's challenge. `authorization` becomes the one that was sent last.
  Reply AskAs(const std::string& method, const image::Reference& reference, const std::string& accept,
              Authorization& authorization, const image::AuthConfig* credential);
  image::RegistryAnswer Evaluate(const std::string& method, const Reply& reply, Authorization& authorization,
                                 const image::AuthConfig* credential);
  image::RegistryAnswer EvaluateManifest(How how, const http::Response& response,
                                         Authorization& authorization, const image::AuthConfig* credential);
  image::RegistryAnswer EvaluateHead(const Described& described, Authorization& authorization,
                                     const image::AuthConfig* credential);
  image::RegistryAnswer GetForDigest(Authorization& authorization, const image::AuthConfig* credential);
  image::RegistryAnswer GetInstead(How how, Authorization& authorization,
                                   const image::AuthConfig* credential);
  image::RegistryAnswer Fetched(image::RegistryAnswer answer, const Described& described,
                                Authorization& authorization, const image::AuthConfig* credential);
  // A fetch of the manifest whose digest a host has named. Without a verdict, the next host is asked.
  struct Fetch {
    std::optional<image::RegistryAnswer> verdict;
    image::RegistryAnswer refusal;
  };
  Fetch FetchHere(const image::RegistryAnswer& answer, const Described& described,
                  Authorization& authorization, const image::AuthConfig* credential);
  Fetch FetchAsAny(const image::RegistryAnswer& answer, const Described& described);
  image::RegistryAnswer Refused(const http::Response& response, const Authorization& authorization,
                                const image::AuthConfig* credential);
  image::RegistryAnswer Missing(image::RegistryAnswer answer, const Authorization& authorization);
  // AskNext: containerd goes on to the next host after this answer. Unusable: its pull ends there.
  image::RegistryAnswer AskNext(image::RegistryDetail detail, const std::string& why) const;
  image::RegistryAnswer Unusable(image::RegistryDetail detail, const std::string& why) const;
  // The first mistake in the headers of a manifest, in containerd's order; nullopt: there is none.
  std::optional<image::RegistryAnswer> MistakeOfType(const Described& described) const;
  std::optional<image::RegistryAnswer> MistakeOfReported(const Described& described) const;
  image::RegistryAnswer UnknownEncoding() const;
  image::RegistryAnswer BeyondLimits() const;
  // Only a pull can tell.
  image::RegistryAnswer LeftToPulls(image::RegistryDetail detail, const std::string& why) const;
  image::RegistryAnswer Compared(const std::string& digest) const;
  // Would containerd log in here, and we do not?
  bool LacksLogin() const;
  image::RegistryAnswer LoginLeftToPulls() const;
  image::RegistryAnswer ComparedByPlatform(image::RegistryAnswer moved, const Authorization& authorization);
  bool IsForContainerd() const { return parts_.options.IsForContainerd(); }
  void NoteAllowance(const http::Response& response);
  bool Pause(std::chrono::milliseconds delay) const;

  std::optional<image::PullAllowance> allowance_;  // from the newest response that has one
  int requests_elsewhere_ = 0;                     // to other hosts of the chain
  Parts parts_;
  const base::Call& call_;
  const std::vector<ChainedHost>& chain_;
  const ChainedHost& host_;
  const image::RegistryQuestion& question_;
  const std::string origin_;  // the host's name in HostState
  Session session_;
  Authenticator authenticator_;
};

}  // namespace prefetch::registry
