#ifndef PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_STORE_H_
#define PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_STORE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace paceline {

// Where certificates are kept. Not thread-safe; one program at a time.
class CertificateStore {
 public:
  // PEM texts by what they are, called as Kubernetes does.
  using Texts = std::map<std::string, std::string>;
  static constexpr char kCertificate[] = "tls.crt";
  static constexpr char kKey[] = "tls.key";
  static constexpr char kAuthority[] =
      "ca.crt";  // The authority's certificate.

  virtual ~CertificateStore() = default;

  // NOT_FOUND if nothing is kept under that name.
  virtual absl::StatusOr<Texts> Get(const std::string& name) = 0;
  // All of it at once where that can be had; what was there is replaced.
  virtual absl::Status Put(const std::string& name, const Texts& texts) = 0;
  // "secret paceline-worker", for people.
  virtual std::string PlaceOf(const std::string& name) const = 0;
};

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

#endif  // PACELINE_SERVICES_CLI_CERTIFICATES_CERTIFICATE_STORE_H_
