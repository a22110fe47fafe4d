#include "registry/tls_files.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "base/redactor.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxPemBytes = 4 * 1024 * 1024;
constexpr std::string_view kBeginCertificate = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kPrivateKey = "PRIVATE KEY-----";

const std::string& KeyFileOf(const ClientPair& pair) {
  return pair.key_file.empty() ? pair.certificate_file : pair.key_file;
}

}  // namespace

std::string TlsFiles::Read(const std::string& path, std::string& problem) {
  auto text = files_.Read(host_root_ + path, kMaxPemBytes);
  if (text) return std::move(*text);
  problem = text.error().message();
  return "";
}

// The runtime loads all pairs before it asks anybody.
void TlsFiles::Check(const ClientPair& pair, std::string& problem) {
  if (Read(pair.certificate_file, problem).find(kBeginCertificate) == std::string::npos && problem.empty()) {
    problem = pair.certificate_file + " holds no certificate";
  }
  std::string key = Read(KeyFileOf(pair), problem);
  if (key.find(kPrivateKey) == std::string::npos && problem.empty()) {
    problem = KeyFileOf(pair) + " holds no private key";
  }
  base::WipeString(key);
}

std::string TlsFiles::SystemAuthorities() {
  for (const std::string& file : system_ca_files_) {
    auto text = files_.Read(file, kMaxPemBytes);
    if (text) return std::move(*text) + "\n";
  }
  return "";
}

void TlsFiles::Load(ChainedHost& chained, std::vector<std::string>& notes) {
  const Host& host = chained.host;
  http::Tls tls;
  for (const std::string& file : host.ca_files) {
    const std::string pem = Read(file, chained.problem);
    if (chained.problem.empty() && pem.find(kBeginCertificate) == std::string::npos) {
      chained.problem = file + " holds no certificate";
    }
    tls.ca_pem += pem + "\n";
  }
  if (!tls.ca_pem.empty()) {
    tls.ca_pem += SystemAuthorities();
    chained.tls_elsewhere = std::make_shared<const http::Tls>(http::Tls{.ca_pem = tls.ca_pem});
  }
  if (!host.client_pairs.empty()) {
    const ClientPair& pair = host.client_pairs.front();
    if (host.client_pairs.size() > 1) {
      notes.push_back(host.server.Authority() + " is shown the first of " +
                      std::to_string(host.client_pairs.size()) + " client certificates, " +
                      pair.certificate_file + "; the runtime shows the one that the server asks for");
    }
    tls.certificate_pem = Read(pair.certificate_file, chained.problem);
    tls.key_pem = base::Secret(Read(KeyFileOf(pair), chained.problem));
    base::RememberSecret(tls.key_pem);
    for (const ClientPair& each : host.client_pairs) Check(each, chained.problem);
  }
  tls.verify = !host.skip_verify;
  if (!host.ca_files.empty() || !host.client_pairs.empty() || host.skip_verify) {
    chained.tls = std::make_shared<const http::Tls>(std::move(tls));
  }
}

}  // namespace prefetch::registry
