#ifndef PACELINE_SERVICES_CLI_CERTIFICATES_WANTED_CERTIFICATE_H_
#define PACELINE_SERVICES_CLI_CERTIFICATES_WANTED_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace paceline {

// One certificate that is asked for.
struct WantedCertificate {
  std::string name;  // Of the file or secret: "coordinator".
  // As in CertificateRequest; the first is who it stands for.
  std::vector<std::string> alternative_names;
};

// "NAME=ROLE/IDENTITY[,HOST...]", a HOST being a DNS name, perhaps with "*" for
// its first part, or an IP address:
// "coordinator=server/coordinator,paceline.example.com,10.0.0.2".
// INVALID_ARGUMENT for anything else.
absl::StatusOr<WantedCertificate> ParseWantedCertificate(
    absl::string_view text);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_CERTIFICATES_WANTED_CERTIFICATE_H_
