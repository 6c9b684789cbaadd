// Certificates and keys as PEM.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "common/security/small_file.h"
#include "common/security/tls_files.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace paceline {
namespace {

template <class Write>
std::string Pem(Write write) {
  BIO* const bio = BIO_new(BIO_s_mem());
  CHECK(write(bio) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

// A key, and a certificate of it by itself: the same in every run.
std::pair<std::string, std::string> KeyAndCertificate() {
  const std::string secret(32, 'k');
  EVP_PKEY* const key = EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr,
      reinterpret_cast<const unsigned char*>(secret.data()), secret.size());
  CHECK(key != nullptr);
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);  // Version 3.
  ASN1_TIME_set_string(X509_getm_notBefore(certificate), "20260101000000Z");
  ASN1_TIME_set_string(X509_getm_notAfter(certificate), "20360101000000Z");
  X509_set_pubkey(certificate, key);
  CHECK(X509_sign(certificate, key, nullptr) > 0);
  std::pair<std::string, std::string> pems = {
      Pem([key](BIO* bio) {
        return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr,
                                        nullptr);
      }),
      Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); })};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return pems;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const auto [key, certificate] = KeyAndCertificate();
  return {FuzzText(certificate) + key,
          FuzzText(certificate + certificate) + key,
          FuzzText(key) + certificate, FuzzText("") + key};
}

void FuzzOne(absl::string_view input) {
  static const ScratchFolder folder;
  FuzzInput fuzz(input);
  const std::string certificate(fuzz.Text());
  const std::string key(fuzz.Rest());
  TlsFiles files;
  files.cert = folder.Write("cert.pem", certificate);
  files.key = folder.Write("key.pem", key);
  files.ca = files.cert;
  const auto content = ReadSmallFile(files.cert);
  ExpectInvalidArgument(content.status());
  CHECK(content.ok() == !certificate.empty());
  const auto material = ReadTlsFiles(files);
  ExpectInvalidArgument(material.status());
  if (material.ok()) CHECK(material->ca == certificate);
}

}  // namespace paceline
