// HostCheck: one question to one server, with one identity after the other, including the challenges,
// tokens and retries that it takes (R5 to R7, R14 to R25).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "image/registry_question.h"
#include "registry/login.h"
#include "registry/response.h"
#include "registry/session.h"

namespace prefetch::registry {

// Not thread-safe. Its arguments must outlive it.
class HostCheck {
 public:
  // `chain` has all hosts of the registry, `host` among them.
  HostCheck(const ClientState& state, const base::Call& call, const std::vector<ChainedHost>& chain,
            const ChainedHost& host, const image::RegistryQuestion& question);

  // Returns kSame, kMoved, or the reason for neither, with the server that answered and the number of
  // requests. Blocks until then.
  image::RegistryAnswer Run();

 private:
  // Facts about a manifest in the headers of an answer.
  struct ManifestDescriptor {
    ManifestKind kind = ManifestKind::kUnknown;
    std::string type, digest;           // as they are written; empty: none
    std::optional<std::uint64_t> size;  // as Go's client knows it
  };

  image::RegistryAnswer RunAs(const image::AuthConfig* credential);
  image::RegistryAnswer Attempt(const image::AuthConfig* credential);

  // Why a request for the manifest was sent.
  enum class RequestPurpose {
    kHead,
    kGetForHead,    // HEAD is not allowed
    kGetForDigest,  // HEAD told no digest, or no size
  };

  Reply Ask(const std::string& method, const image::Reference& reference,
            std::string accept = std::string(kAcceptedManifests));
  // The same, and again with the answer to the server's challenge.
  Reply AskWithChallenge(const std::string& method, const image::Reference& reference,
                         const std::string& accept = std::string(kAcceptedManifests));
  image::RegistryAnswer Evaluate(const std::string& method, const Reply& reply);
  image::RegistryAnswer EvaluateManifest(RequestPurpose purpose, const http::Response& response);
  image::RegistryAnswer GetForDigest();
  image::RegistryAnswer GetInstead(RequestPurpose purpose);
  image::RegistryAnswer ConfirmByFetch(image::RegistryAnswer answer, const ManifestDescriptor& descriptor);
  // A fetch of the manifest whose digest a host has named. Without a verdict, the next host is asked.
  struct FetchResult {
    std::optional<image::RegistryAnswer> verdict;
    image::RegistryAnswer refusal;
  };
  FetchResult FetchFromHost(const image::RegistryAnswer& answer, const ManifestDescriptor& descriptor);
  FetchResult FetchWithEachIdentity(const image::RegistryAnswer& answer,
                                    const ManifestDescriptor& descriptor);
  image::RegistryAnswer RefusalAnswer(const http::Response& response);
  image::RegistryAnswer NotFoundAnswer(image::RegistryAnswer answer);
  // After a NextHostAnswer containerd goes on to the next host; at a PullFailureAnswer its pull fails.
  image::RegistryAnswer NextHostAnswer(image::RegistryDetail detail, const std::string& why) const;
  image::RegistryAnswer PullFailureAnswer(image::RegistryDetail detail, const std::string& why) const;
  // The first mistake in the headers of a manifest, in containerd's order; nullopt: there is none.
  std::optional<image::RegistryAnswer> CheckType(const ManifestDescriptor& descriptor) const;
  std::optional<image::RegistryAnswer> CheckReportedDescriptor(const ManifestDescriptor& descriptor) const;
  image::RegistryAnswer UnknownEncodingAnswer() const;
  image::RegistryAnswer BeyondLimitsAnswer() const;
  // Returns an indeterminate answer: only a pull can tell.
  image::RegistryAnswer DeferToPull(image::RegistryDetail detail, const std::string& why) const;
  image::RegistryAnswer CompareDigest(const std::string& digest) const;
  // Returns whether containerd would log in to this host and the agent does not.
  bool LacksLogin() const;
  image::RegistryAnswer DeferLoginToPull() const;
  bool IsForContainerd() const { return state_.options.IsForContainerd(); }
  void NoteAllowance(const http::Response& response);

  std::optional<image::PullAllowance> allowance_;  // from the newest response that has one
  int requests_to_other_hosts_ = 0;                // to other hosts of the chain
  ClientState state_;
  const base::Call& call_;
  const std::vector<ChainedHost>& chain_;
  const ChainedHost& host_;
  const image::RegistryQuestion& question_;
  const std::string origin_;  // the host's name in HostState
  Login login_;
};

}  // namespace prefetch::registry
