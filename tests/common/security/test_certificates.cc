#include "tests/common/security/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/security/identity.h"

namespace paceline {
namespace {

struct Free {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

template <class Write>
std::string ToPem(const Write& write) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  CHECK(write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, size);
}

Key NewKey() {
  Key key(EVP_EC_gen("P-256"));
  CHECK(key != nullptr);
  return key;
}

void Extend(X509* certificate, X509* issuer, int nid,
            const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  CHECK(extension != nullptr);
  CHECK(X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

// All but the extensions and the signature.
Certificate Blank(const TestAuthority::Request& request, EVP_PKEY* key) {
  Certificate certificate(X509_new());
  X509* const x = certificate.get();
  CHECK(X509_set_version(x, X509_VERSION_3) == 1);
  uint32_t serial = 0;
  CHECK(RAND_bytes(reinterpret_cast<uint8_t*>(&serial), sizeof(serial)) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(x), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(x),
                  absl::ToInt64Seconds(request.valid_from));
  X509_gmtime_adj(X509_getm_notAfter(x),
                  absl::ToInt64Seconds(request.valid_until));
  X509_NAME_add_entry_by_txt(
      X509_get_subject_name(x), "CN", MBSTRING_UTF8,
      reinterpret_cast<const uint8_t*>(request.common_name.c_str()), -1, -1, 0);
  CHECK(X509_set_pubkey(x, key) == 1);
  return certificate;
}

std::string CertificatePem(X509* x) {
  return ToPem([x](BIO* bio) { return PEM_write_bio_X509(bio, x); });
}

std::string TokenText(v1::Role role) {
  return absl::StrCat("the-token-of-", RoleName(role));
}

}  // namespace

struct TestAuthority::Keys {
  Key key;
  Certificate certificate;
};

TestAuthority::TestAuthority(const std::string& common_name)
    : keys_(std::make_unique<Keys>()) {
  Request request;
  request.common_name = common_name;
  keys_->key = NewKey();
  keys_->certificate = Blank(request, keys_->key.get());
  X509* const x = keys_->certificate.get();
  CHECK(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1);
  Extend(x, x, NID_basic_constraints, "critical,CA:TRUE");
  Extend(x, x, NID_key_usage, "critical,keyCertSign,cRLSign");
  Extend(x, x, NID_subject_key_identifier, "hash");
  CHECK(X509_sign(x, keys_->key.get(), EVP_sha256()) != 0);
  pem_ = CertificatePem(x);
}

TestAuthority::~TestAuthority() = default;

TestAuthority::Issued TestAuthority::Issue(const Request& request) const {
  const Key key = NewKey();
  const Certificate certificate = Blank(request, key.get());
  X509* const x = certificate.get();
  X509* const issuer = keys_->certificate.get();
  CHECK(X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1);
  Extend(x, issuer, NID_basic_constraints, "critical,CA:FALSE");
  Extend(x, issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  if (!request.names.empty()) {
    Extend(x, issuer, NID_subject_alt_name, absl::StrJoin(request.names, ","));
  }
  CHECK(X509_sign(x, keys_->key.get(), EVP_sha256()) != 0);
  return {CertificatePem(x), ToPem([&key](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0,
                                            nullptr, nullptr);
          })};
}

TestCertificates::TestCertificates() {
  folder_.Write("ca.pem", authority_.pem());
  TestAuthority::Request request;
  request.names = {"IP:127.0.0.1", "DNS:localhost",
                   "URI:paceline://server/server"};
  Put("server", authority_, request);
  request.names = {"URI:paceline://admin/test"};
  Put("wrong-authority", TestAuthority("another CA"), request);
  request.valid_from = -absl::Hours(2);
  request.valid_until = -absl::Hours(1);
  Put("expired", authority_, request);
  request = {};
  Put("without-identity", authority_, request);
  std::string tokens = "# One for each role.\n";
  for (const v1::Role role : kRoles) {
    const std::string name(RoleName(role));
    request.names = {absl::StrCat("URI:paceline://", name, "/test")};
    Put(absl::StrCat("client-", name), authority_, request);
    folder_.Write(absl::StrCat("token-", name), TokenText(role) + "\n");
    absl::StrAppend(&tokens, "token ", name,
                    " sha256:", Sha256Hex(TokenText(role)), "\n");
  }
  folder_.Write("tokens", tokens);
  folder_.Write("token-wrong", "the-token-of-nobody\n");
}

void TestCertificates::Put(const std::string& name,
                           const TestAuthority& authority,
                           const TestAuthority::Request& request) const {
  const TestAuthority::Issued issued = authority.Issue(request);
  folder_.Write(name + ".pem", issued.cert);
  folder_.Write(name + ".key", issued.key);
}

TlsFiles TestCertificates::Named(const std::string& name) const {
  return {folder_.Path(name + ".pem"), folder_.Path(name + ".key"),
          folder_.Path("ca.pem")};
}

TlsFiles TestCertificates::Server() const { return Named("server"); }

TlsFiles TestCertificates::Client(v1::Role role) const {
  return Named(absl::StrCat("client-", RoleName(role)));
}

TlsFiles TestCertificates::WrongAuthority() const {
  return Named("wrong-authority");
}

TlsFiles TestCertificates::Expired() const { return Named("expired"); }

TlsFiles TestCertificates::WithoutIdentity() const {
  return Named("without-identity");
}

TlsFiles TestCertificates::OnlyCa() const {
  return {"", "", folder_.Path("ca.pem")};
}

std::string TestCertificates::TokenFile() const {
  return folder_.Path("tokens");
}

std::string TestCertificates::Token(v1::Role role) const {
  return folder_.Path(absl::StrCat("token-", RoleName(role)));
}

std::string TestCertificates::WrongToken() const {
  return folder_.Path("token-wrong");
}

std::string Sha256Hex(const std::string& text) {
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

}  // namespace paceline
