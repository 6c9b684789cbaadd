#ifndef PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_CALLERS_H_
#define PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_CALLERS_H_

#include <string>
#include <vector>

#include "common/security/security.h"
#include "protos/paceline/v1/access.pb.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {

// Somebody who dials a server with TLS.
struct AccessCaller {
  // Whether the handshake succeeds.
  enum class Connects {
    kAlways,
    kUnlessRequired,  // Not where a certificate is required: it has none.
    kNever,
  };

  std::string name;
  ClientSecurityOptions credentials;
  // Values of that metadata, as they are; a client of ours would not send them.
  std::vector<std::string> authorization;
  Connects connects = Connects::kAlways;
  // As which the server takes it; ROLE_UNSPECIFIED: it does not, for `reason`.
  v1::Role role = v1::ROLE_UNSPECIFIED;
  std::string reason;
  bool bound = false;  // Its role is, to namespaces.
};

// One of every kind: all roles by certificate and by token, and all that is
// wrong with either.
std::vector<AccessCaller> AccessCallers(const TestCertificates& files);

}  // namespace paceline

#endif  // PACELINE_TESTS_INTEGRATION_ACCESS_ACCESS_CALLERS_H_
