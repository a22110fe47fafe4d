// RegistryDetail: the second word of a RegistryAnswer: what exactly was in the way.
#pragma once

#include <cstdint>
#include <string>

namespace prefetch::image {

class RegistryDetail {
 public:
  enum Word : std::uint8_t {
    kNone,
    kAddress,
    kBadChallenge,
    kBadCredentials,
    kBadRealm,
    kBadRedirect,
    kBadRequest,
    kBlocked,
    kCircuitOpen,
    kConnect,
    kCredentials,
    kCredentialsWithheld,
    kDigestMismatch,
    kDns,
    kForbidden,
    kGone,
    kInsecureRedirect,
    kInsufficientScope,
    kInternal,
    kInvalidReference,
    kLegal,
    kLowConfidence,
    kManifestTooLarge,
    kNoChallenge,
    kNoCredentials,
    kNoHosts,
    kNoManifest,
    kNoToken,
    kNotARegistry,
    kNotAcceptable,
    kNotQueried,
    kNotSent,
    kOnHold,
    kOnPull,
    kOwnLimit,
    kProxy,
    kProxyAuth,
    kQuota,
    kRepositoryMissing,
    kReset,
    kSamePlatform,
    kSchema1,
    kSlowDown,
    kStopped,
    kTimeout,
    kTls,
    kTokenService,
    kTooLong,
    kUnauthenticated,
    kUntrustedRealm,
    kStatus,  // an HTTP status that has no word of its own
  };

  constexpr RegistryDetail(Word word = kNone) : word_(word) {}  // NOLINT(google-explicit-constructor)
  static constexpr RegistryDetail Status(int status) {
    RegistryDetail detail(kStatus);
    detail.status_ = static_cast<std::int16_t>(status);
    return detail;
  }

  constexpr Word word() const { return word_; }
  constexpr int status() const { return status_; }  // of kStatus; else 0
  std::string name() const;                         // "Tls", "Status502"; empty: kNone

  friend constexpr bool operator==(const RegistryDetail&, const RegistryDetail&) = default;

 private:
  Word word_;
  std::int16_t status_ = 0;
};

}  // namespace prefetch::image
