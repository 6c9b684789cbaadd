#ifndef PACELINE_SERVICES_CLI_KUBERNETES_KUBERNETES_RELEASE_H_
#define PACELINE_SERVICES_CLI_KUBERNETES_KUBERNETES_RELEASE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/cli/certificates/certificate_store.h"

namespace paceline {

// How to reach the coordinator of one release of the chart. Pure.
struct KubernetesRelease {
  std::string service;  // Of the coordinator.
  int64_t port = 0;     // Of its API, at the service.
  std::string host;     // Of the service's load balancer; empty: it has none.
  bool tls = false;
  std::string admin_secret;  // As the chart names it. It has a certificate.
};

// The selector of the objects that ReadRelease() wants.
std::string ReleaseSelector(absl::string_view release);

// From a list of the services and stateful sets that the selector finds.
// NOT_FOUND if there is no coordinator among them.
absl::StatusOr<KubernetesRelease> ReadRelease(const nlohmann::json& objects);

// What a secret has of a certificate, its key and its authority.
// FAILED_PRECONDITION if one of the three is missing.
absl::StatusOr<CertificateStore::Texts> ReadCertificate(
    const nlohmann::json& secret);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_KUBERNETES_KUBERNETES_RELEASE_H_
