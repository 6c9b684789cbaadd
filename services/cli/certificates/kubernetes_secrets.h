#ifndef PACELINE_SERVICES_CLI_CERTIFICATES_KUBERNETES_SECRETS_H_
#define PACELINE_SERVICES_CLI_CERTIFICATES_KUBERNETES_SECRETS_H_

#include <map>
#include <memory>
#include <string>

#include "services/cli/certificates/certificate_store.h"

namespace httplib {
class Client;
}

namespace paceline {

// Certificates as the secrets of one namespace, PREFIX-NAME each, through the
// API server: of type kubernetes.io/tls.
//
// Besides those of CertificateStore the errors are UNAVAILABLE (no answer
// within 10 s, or the server's fault), UNAUTHENTICATED, PERMISSION_DENIED (the
// account lacks a role: get, create and update of secrets, and list and delete
// for RemoveAll), ABORTED (somebody else has changed the secret meanwhile) and
// INTERNAL (an answer that is none).
class KubernetesSecrets : public CertificateStore {
 public:
  struct Options {
    std::string api;      // "https://10.96.0.1:443"
    std::string ca_file;  // The API server's; empty: plain HTTP, for tests.
    std::string token;    // The account that asks has it.
    std::string name_space;
    std::string prefix;
    std::map<std::string, std::string> labels;  // What is put gets them.
  };

  // The options of the pod that this process runs in, by its service account.
  // FAILED_PRECONDITION if it runs in none.
  static absl::StatusOr<Options> OfThisPod();

  explicit KubernetesSecrets(Options options);
  ~KubernetesSecrets() override;

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
  const std::unique_ptr<httplib::Client> client_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_CERTIFICATES_KUBERNETES_SECRETS_H_
