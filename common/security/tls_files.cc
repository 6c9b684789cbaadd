#include "common/security/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/security/openssl_types.h"
#include "common/security/small_file.h"
#include "common/status.h"

namespace paceline {
namespace {

// Whoever starts a service is not there to type a passphrase.
int NoPassphrase(char*, int, int, void*) { return 0; }

// All certificates of the text.
absl::StatusOr<std::vector<OpensslPtr<X509>>> ParseCertificates(
    const std::string& pem, const std::string& path) {
  const OpensslPtr<BIO> bio = BioOf(pem);
  std::vector<OpensslPtr<X509>> certificates;
  ERR_clear_error();
  while (X509* const next =
             PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(next);
  }
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (certificates.empty() || !at_end) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", at_end ? "no" : "a damaged",
                     " certificate (PEM, BEGIN CERTIFICATE) is in it"));
  }
  return certificates;
}

absl::StatusOr<OpensslPtr<EVP_PKEY>> ParseKey(const std::string& pem,
                                              const std::string& path) {
  const OpensslPtr<BIO> bio = BioOf(pem);
  OpensslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": no private key (PEM, without a passphrase) is in it"));
  }
  return key;
}

absl::Status ReadIdentity(const TlsFiles& files, TlsMaterial& material) {
  PACELINE_ASSIGN_OR_RETURN(const std::string cert, ReadSmallFile(files.cert));
  PACELINE_ASSIGN_OR_RETURN(const std::string pem, ReadSmallFile(files.key));
  PACELINE_ASSIGN_OR_RETURN(const auto chain,
                            ParseCertificates(cert, files.cert));
  PACELINE_ASSIGN_OR_RETURN(const auto key, ParseKey(pem, files.key));
  const bool match = X509_check_private_key(chain[0].get(), key.get()) == 1;
  ERR_clear_error();
  if (!match) {
    return absl::InvalidArgumentError(absl::StrCat(
        files.key, ": the key is not that of the certificate in ", files.cert));
  }
  material.identity = absl::StrCat(pem, "\n", cert);
  material.expires =
      TimeOf(X509_get0_notAfter(chain[0].get())).value_or(material.expires);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files) {
  CHECK(files.cert.empty() == files.key.empty());
  TlsMaterial material;
  if (!files.cert.empty()) {
    PACELINE_RETURN_IF_ERROR(ReadIdentity(files, material));
  }
  if (!files.ca.empty()) {
    PACELINE_ASSIGN_OR_RETURN(material.ca, ReadSmallFile(files.ca));
    PACELINE_RETURN_IF_ERROR(ParseCertificates(material.ca, files.ca).status());
  }
  return material;
}

}  // namespace paceline
