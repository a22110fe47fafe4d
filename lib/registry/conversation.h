// Conversation: one question put to one server, as one identity after the other, with whatever challenges,
// tokens and second tries that takes (R5 to R7, R14 to R25).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image/registry_question.h"
#include "registry/authenticator.h"
#include "registry/session.h"

namespace prefetch::registry {

// Not thread-safe. Its arguments must outlive it.
class Conversation {
 public:
  Conversation(Parts parts, const base::Call& call, const ChainedHost& host,
               const image::RegistryQuestion& question);

  // kSame, kMoved, or why not. Reports the server that answered, and the number of requests.
  image::RegistryAnswer Run();

 private:
  using Authorization = Authenticator::Authorization;

  image::RegistryAnswer RunAs(const image::AuthConfig* credential);
  image::RegistryAnswer Once(const image::AuthConfig* credential);

  Reply Ask(const std::string& method, const Authorization& authorization);
  image::RegistryAnswer Judge(const std::string& method, const Reply& reply,
                              const Authorization& authorization, const image::AuthConfig* credential);
  image::RegistryAnswer JudgeManifest(const std::string& method, const http::Response& response,
                                      const Authorization& authorization);
  image::RegistryAnswer GetInstead(const Authorization& authorization);
  image::RegistryAnswer Refused(const http::Response& response, const Authorization& authorization,
                                const image::AuthConfig* credential);
  image::RegistryAnswer Missing(image::RegistryAnswer answer, const Authorization& authorization);
  image::RegistryAnswer Compared(const std::string& digest) const;
  image::RegistryAnswer ComparedByPlatform(image::RegistryAnswer moved, const Authorization& authorization);
  void NoteAllowance(const http::Response& response);
  bool Pause(std::chrono::milliseconds delay) const;

  std::optional<image::PullAllowance> allowance_;  // of the newest response that tells one
  Parts parts_;
  const base::Call& call_;
  const ChainedHost& host_;
  const image::RegistryQuestion& question_;
  const std::string origin_;  // how the host is called in the book
  Session session_;
  Authenticator authenticator_;
};

}  // namespace prefetch::registry
