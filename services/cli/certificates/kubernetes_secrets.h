#ifndef PACELINE_SERVICES_CLI_CERTIFICATES_KUBERNETES_SECRETS_H_
#define PACELINE_SERVICES_CLI_CERTIFICATES_KUBERNETES_SECRETS_H_

#include <map>
#include <string>
#include <utility>

#include "common/kubernetes/kubernetes_api.h"
#include "services/cli/certificates/certificate_store.h"

namespace paceline {

// Certificates as the secrets of one namespace, PREFIX-NAME each, through the
// API server: of type kubernetes.io/tls.
//
// Besides those of CertificateStore the errors are those of KubernetesApi. The
// account needs get, create and update of secrets, and list and delete for
// RemoveAll.
class KubernetesSecrets : public CertificateStore {
 public:
  struct Options {
    KubernetesApi::Options api;
    std::string prefix;
    std::map<std::string, std::string> labels;  // What is put gets them.
  };

  explicit KubernetesSecrets(Options options)
      : options_(std::move(options)), api_(options_.api) {}

  absl::StatusOr<Texts> Get(const std::string& name) override;
  absl::Status Put(const std::string& name, const Texts& texts) override;
  std::string PlaceOf(const std::string& name) const override;

  // INVALID_ARGUMENT for a prefix or labels that Kubernetes would not take, or
  // would take for something else in a selector.  To be asked first.
  static absl::Status Check(const Options& options);

  // Deletes all secrets that have the labels of the options; how many those
  // were. INVALID_ARGUMENT without labels: those would be everybody's.
  absl::StatusOr<int> RemoveAll();

 private:
  std::string Folder() const;

  const Options options_;
  KubernetesApi api_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_CERTIFICATES_KUBERNETES_SECRETS_H_
