#ifndef PACELINE_SERVICES_CLI_CERTIFICATES_ENSURE_CERTIFICATES_H_
#define PACELINE_SERVICES_CLI_CERTIFICATES_ENSURE_CERTIFICATES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/cli/certificates/certificate_store.h"

namespace paceline {

// One certificate that is asked for.
struct WantedCertificate {
  std::string name;  // The file's or secret's: "coordinator".
  // As in CertificateRequest; the first is who it stands for.
  std::vector<std::string> alternative_names;
};

// "NAME=ROLE/IDENTITY[,HOST...]", a HOST being a DNS name, perhaps with "*" for
// its first part, or an IP address:
// "coordinator=coordinator/coordinator,paceline.example.com,10.0.0.2".
// INVALID_ARGUMENT for anything else.
absl::StatusOr<WantedCertificate> ParseWantedCertificate(
    absl::string_view text);

// The name of the authority's own certificate and key in a store.
inline constexpr char kAuthorityName[] = "ca";

struct CertificateLifetimes {
  absl::Duration certificate = absl::Hours(24 * 365);
  // A certificate that ends within that time is exchanged.
  absl::Duration renew_before = absl::Hours(24 * 60);
  absl::Duration authority = absl::Hours(24 * 3650);
};

// Puts into the store whatever of `wanted` is not there yet, or is no good any
// more: it ends soon, has other names, or is another authority's. The authority
// itself is made if there is none. `tell` gets a line for each that was made.
//
// May be repeated: what is good stays as it is. No certificate outlives
// the authority. FAILED_PRECONDITION if that ends within `renew_before`; else
// the store's errors.
absl::Status EnsureCertificates(
    const std::vector<WantedCertificate>& wanted,
    const CertificateLifetimes& lifetimes, absl::Time now,
    CertificateStore& store,
    const std::function<void(absl::string_view)>& tell);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_CERTIFICATES_ENSURE_CERTIFICATES_H_
