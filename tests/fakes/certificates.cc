#include "fakes/certificates.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <vector>

#include "base/fs.h"
#include "base/subprocess.h"
#include "temp_dir.h"

namespace prefetch::tests {
namespace {

void OpenSsl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "/usr/bin/openssl");
  auto result = base::RunProcess(base::Call{}.Within(std::chrono::seconds(30)), {.argv = arguments}, "");
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_EQ(result->code, 0) << result->errors;
}

}  // namespace

CertificateAuthority::CertificateAuthority(std::string folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)) {
  self_ = {folder_ + "/" + name_ + ".crt", folder_ + "/" + name_ + ".key"};
  OpenSsl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
           "2", "-subj", "/CN=" + name_, "-keyout", self_.key_file, "-out", self_.certificate_file});
}

std::string CertificateAuthority::certificate() const {
  auto text = base::ReadFile(self_.certificate_file, 64 * 1024);
  return text ? *text : "";
}

// A key, and the request for a certificate in a file beside it.
KeyPair CertificateAuthority::NewRequest(const std::string& name) const {
  std::string stem = folder_ + "/" + name_ + "-" + name;
  OpenSsl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
           "/CN=" + name, "-keyout", stem + ".key", "-out", stem + ".csr"});
  return {stem + ".crt", stem + ".key"};
}

KeyPair CertificateAuthority::Sign(const std::string& name, const std::string& extensions) const {
  std::string stem = folder_ + "/" + name_ + "-" + name;
  KeyPair pair = NewRequest(name);
  std::ofstream(stem + ".ext") << extensions << "\n";
  OpenSsl({"x509", "-req", "-in", stem + ".csr", "-CA", self_.certificate_file, "-CAkey", self_.key_file,
           "-CAcreateserial", "-days", "2", "-extfile", stem + ".ext", "-out", pair.certificate_file});
  return pair;
}

// `openssl x509` cannot set dates; `openssl ca` can, and wants a folder of its own for it.
KeyPair CertificateAuthority::ExpiredServer(const std::string& name) const {
  std::string stem = folder_ + "/" + name_ + "-" + name;
  KeyPair pair = NewRequest(name);
  std::ofstream(stem + ".index").close();
  std::ofstream(stem + ".cnf") << "[ca]\ndefault_ca=me\n[me]\ndatabase=" << stem
                               << ".index\nnew_certs_dir=" << folder_
                               << "\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n"
                               << "[any]\ncommonName=supplied\n"
                               << "[server]\nsubjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n";
  OpenSsl({"ca", "-batch", "-notext", "-config", stem + ".cnf", "-extensions", "server", "-cert",
           self_.certificate_file, "-keyfile", self_.key_file, "-in", stem + ".csr", "-out",
           pair.certificate_file, "-startdate", "20200101000000Z", "-enddate", "20200105000000Z"});
  return pair;
}

KeyPair CertificateAuthority::Server(const std::string& name, const std::string& names) const {
  std::string alternative = names.empty() ? "" : "subjectAltName=" + names + "\n";
  return Sign(name, alternative + "extendedKeyUsage=serverAuth");
}

KeyPair CertificateAuthority::Client(const std::string& user) const {
  return Sign(user, "extendedKeyUsage=clientAuth");
}

const LoopbackCertificate& OnLoopback() {
  static const TempDir folder;
  static const LoopbackCertificate made = [] {
    const CertificateAuthority authority(folder.path(), "loopback");
    return LoopbackCertificate{authority.certificate_file(), authority.Server("server")};
  }();
  return made;
}

}  // namespace prefetch::tests
