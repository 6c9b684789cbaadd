#ifndef PACELINE_COMMON_SECURITY_TLS_FILES_H_
#define PACELINE_COMMON_SECURITY_TLS_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace paceline {

// Where a process finds what TLS needs, as PEM. An empty path: not used.
struct TlsFiles {
  std::string cert;  // The own certificate, then those that lead to the CA.
  std::string key;   // Its private key, without a passphrase.
  std::string ca;    // Whom the peers' certificates must come from.
};

// What the files say, checked.
struct TlsMaterial {
  std::string identity;  // Key and certificates in one text; empty: none.
  std::string ca;        // Empty: none.
  // When the own certificate ends; InfiniteFuture() if there is none.
  absl::Time expires = absl::InfiniteFuture();

  // By what is used: `expires` follows from the certificate.
  friend bool operator==(const TlsMaterial& a, const TlsMaterial& b) {
    return a.identity == b.identity && a.ca == b.ca;
  }
};

// Reads the files that are named. The errors of ReadSmallFile(), and
//   INVALID_ARGUMENT  one of them is not what it should be, or the key is not
//                     that of the certificate.
// An expired certificate is no error here: the peers refuse it, by their clock.
// REQUIRES: `cert` and `key` are both given or both empty.
absl::StatusOr<TlsMaterial> ReadTlsFiles(const TlsFiles& files);

}  // namespace paceline

#endif  // PACELINE_COMMON_SECURITY_TLS_FILES_H_
