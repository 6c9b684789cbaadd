#ifndef PACELINE_COMMON_SECURITY_OPENSSL_TYPES_H_
#define PACELINE_COMMON_SECURITY_OPENSSL_TYPES_H_

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/check.h"

namespace paceline {

struct OpensslFree {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
};

// An owned object of OpenSSL.
template <class T>
using OpensslPtr = std::unique_ptr<T, OpensslFree>;

// Reads `text`, which outlives it.
inline OpensslPtr<BIO> BioOf(const std::string& text) {
  OpensslPtr<BIO> bio(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  CHECK(bio != nullptr);
  return bio;
}

// Nothing for what is no time.
inline std::optional<absl::Time> TimeOf(const ASN1_TIME* time) {
  std::tm utc = {};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return std::nullopt;
  return absl::FromTM(utc, absl::UTCTimeZone());
}

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_OPENSSL_TYPES_H_
