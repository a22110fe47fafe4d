#include "fakes/signed_token.h"

#include <gtest/gtest.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>

#include "base/text.h"

namespace prefetch::tests {
namespace {

constexpr int kHalf = 32;  // of a P-256 signature: r, then s

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string Base64Url(const std::string& bytes) {
  std::string text = base::ReplaceAll(base::ReplaceAll(base::Base64Encode(bytes), "+", "-"), "/", "_");
  return text.substr(0, text.find('='));
}

std::string Certificate(const std::string& path) {
  File file(std::fopen(path.c_str(), "r"));
  if (!file) return "";
  std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_X509(file.get(), nullptr, nullptr, nullptr), &X509_free);
  unsigned char* der = nullptr;
  int size = i2d_X509(certificate.get(), &der);
  std::string bytes(reinterpret_cast<char*>(der), static_cast<std::size_t>(size > 0 ? size : 0));
  OPENSSL_free(der);
  return bytes;
}

// JWT wants the two numbers as they are, OpenSSL gives them in ASN.1.
std::string Plain(const std::string& der) {
  const auto* data = reinterpret_cast<const unsigned char*>(der.data());
  std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> signature(
      d2i_ECDSA_SIG(nullptr, &data, static_cast<long>(der.size())), &ECDSA_SIG_free);
  std::string plain(2 * kHalf, '\0');
  auto* out = reinterpret_cast<unsigned char*>(plain.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, kHalf);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + kHalf, kHalf);
  return plain;
}

std::string Signature(const std::string& key_file, const std::string& text) {
  File file(std::fopen(key_file.c_str(), "r"));
  if (!file) return "";
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_PrivateKey(file.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EXPECT_EQ(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()), 1);
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  EXPECT_EQ(EVP_DigestSign(context.get(), nullptr, &size, data, text.size()), 1);
  std::string der(size, '\0');
  EXPECT_EQ(
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(der.data()), &size, data, text.size()),
      1);
  der.resize(size);
  return Plain(der);
}

}  // namespace

std::string SignedToken(const std::string& key_file, const std::string& certificate_file,
                        const std::string& claims) {
  std::string header =
      R"({"typ":"JWT","alg":"ES256","x5c":[")" + base::Base64Encode(Certificate(certificate_file)) + "\"]}";
  std::string text = Base64Url(header) + "." + Base64Url(claims);
  return text + "." + Base64Url(Signature(key_file, text));
}

}  // namespace prefetch::tests
