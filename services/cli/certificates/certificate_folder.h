#ifndef PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_FOLDER_H_
#define PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_FOLDER_H_

#include <string>

#include "services/cli/certificates/certificate_store.h"

namespace paceline {

// A folder with one of its own for each name: FOLDER/worker/tls.key. What is
// secret is its owner's alone. Files are written beside and renamed one by one,
// which those who watch them expect (docs/security.md).
class CertificateFolder : public CertificateStore {
 public:
  // Made when something is put into it.
  explicit CertificateFolder(std::string path);

  absl::StatusOr<Texts> Get(const std::string& name) override;
  absl::Status Put(const std::string& name, const Texts& texts) override;
  std::string PlaceOf(const std::string& name) const override;

 private:
  const std::string path_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_FOLDER_H_
