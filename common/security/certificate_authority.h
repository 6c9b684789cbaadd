#ifndef PACELINE_COMMON_SECURITY_CERTIFICATE_AUTHORITY_H_
#define PACELINE_COMMON_SECURITY_CERTIFICATE_AUTHORITY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/security/openssl_types.h"

namespace paceline {

// A certificate and its private key, both as PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

// What is asked for in a certificate.
struct CertificateRequest {
  std::string common_name;
  // The subjectAltName as OpenSSL writes it: "URI:paceline://admin/alice",
  // "DNS:localhost", "IP:127.0.0.1".
  std::vector<std::string> names;
  absl::Time valid_from;
  absl::Time valid_until;
};

// Issues the certificates of a cluster: P-256 keys, each good for servers and
// for clients. Thread-safe.
class CertificateAuthority {
 public:
  // With a new key, and a certificate that it signs itself; of the request the
  // names do not count. INTERNAL if OpenSSL fails.
  static absl::StatusOr<CertificateAuthority> Create(
      const CertificateRequest& request);
  // INVALID_ARGUMENT if that is no CA's certificate with its key.
  static absl::StatusOr<CertificateAuthority> Load(const KeyPair& pair);

  // INVALID_ARGUMENT for names that cannot be.
  absl::StatusOr<KeyPair> Issue(const CertificateRequest& request) const;

  // Why `issued` cannot serve for `request`: FAILED_PRECONDITION. It must be
  // this authority's, with its key, have those names and no others, and be
  // valid from `valid_from` to `valid_until` of the request at least.
  absl::Status Check(const KeyPair& issued,
                     const CertificateRequest& request) const;

  const KeyPair& pair() const { return pair_; }
  absl::Time valid_until() const;

 private:
  CertificateAuthority(OpensslPtr<X509> certificate, OpensslPtr<EVP_PKEY> key,
                       KeyPair pair)
      : certificate_(std::move(certificate)),
        key_(std::move(key)),
        pair_(std::move(pair)) {}

  OpensslPtr<X509> certificate_;
  OpensslPtr<EVP_PKEY> key_;
  KeyPair pair_;
};

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_CERTIFICATE_AUTHORITY_H_
