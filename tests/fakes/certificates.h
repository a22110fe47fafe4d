// Certificates made for one test, by the openssl program.
#pragma once

#include <string>

namespace prefetch::tests {

struct KeyPair {
  std::string certificate_file, key_file;
};

// An authority of the test's own in a folder of the test's own. Files are PEM; names tell them apart.
class CertificateAuthority {
 public:
  CertificateAuthority(std::string folder, std::string name);

  const std::string& certificate_file() const { return self_.certificate_file; }
  std::string certificate() const;

  // For "127.0.0.1" and "api.test", unless other names are given ("DNS:x,IP:::1"); "": for `name`, in the
  // subject alone.
  KeyPair Server(const std::string& name, const std::string& names = "IP:127.0.0.1,DNS:api.test") const;
  KeyPair Client(const std::string& user) const;
  // As Server, but it was good for some days of the year 2020.
  KeyPair ExpiredServer(const std::string& name) const;

 private:
  KeyPair Sign(const std::string& name, const std::string& extensions) const;
  KeyPair NewRequest(const std::string& name) const;

  std::string folder_, name_;
  KeyPair self_;
};

// The certificate of an authority, for servers of this process on loopback; made once.
struct LoopbackCertificate {
  std::string authority_file;
  KeyPair server;
};
const LoopbackCertificate& OnLoopback();

}  // namespace prefetch::tests
