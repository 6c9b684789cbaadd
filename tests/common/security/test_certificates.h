#ifndef PACELINE_TESTS_COMMON_SECURITY_TEST_CERTIFICATES_H_
#define PACELINE_TESTS_COMMON_SECURITY_TEST_CERTIFICATES_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/security/certificate_authority.h"
#include "common/security/tls_files.h"
#include "protos/paceline/v1/access.pb.h"
#include "tests/common/test_folder.h"

namespace paceline {

// A certificate authority for tests, with a key of its own.
class TestAuthority {
 public:
  // What is asked for in a certificate.
  struct Request {
    std::string common_name = "test";
    // As OpenSSL writes them: "URI:paceline://admin/alice", "IP:127.0.0.1".
    std::vector<std::string> names;
    absl::Duration valid_from = -absl::Hours(1);  // From now.
    absl::Duration valid_until = absl::Hours(1);
  };
  explicit TestAuthority(const std::string& common_name);

  KeyPair Issue(const Request& request) const;

  const std::string& pem() const { return authority_.pair().certificate; }

 private:
  CertificateAuthority authority_;
};

// What a cluster needs, in files: a server's certificate for 127.0.0.1 and
// localhost, a client's for every role, and what must be refused; tokens alike.
class TestCertificates {
 public:
  TestCertificates();

  const TestFolder& folder() const { return folder_; }
  const TestAuthority& authority() const { return authority_; }

  // Named paceline://server/server; also a client, as parameter servers are.
  TlsFiles Server() const;
  // The client's certificate paceline://ROLE/NAME, NAME being "test".
  TlsFiles Client(v1::Role role) const;
  // Of an authority that the servers do not know; it says it is an admin.
  TlsFiles WrongAuthority() const;
  TlsFiles Expired() const;          // An admin's.
  TlsFiles WithoutIdentity() const;  // No URI name at all.
  TlsFiles OnlyCa() const;           // No certificate.

  // Of a role that is bound to the namespaces speech and vision.
  TlsFiles BoundClient(v1::Role role) const;
  std::string BoundToken(v1::Role role) const;

  // The server's token file: one token for each role, the name being "token",
  // and one for each that can be bound.
  std::string TokenFile() const;
  // The file of a client's own token.
  std::string Token(v1::Role role) const;
  std::string WrongToken() const;

 private:
  TlsFiles Named(const std::string& name) const;
  void Put(const std::string& name, const TestAuthority& authority,
           const TestAuthority::Request& request) const;

  TestFolder folder_;
  TestAuthority authority_{"paceline test CA"};
};

// Those of a whole test program.
inline const TestCertificates& Certificates() {
  static const auto& certificates = *new TestCertificates();
  return certificates;
}

// The four that somebody can have.
inline constexpr v1::Role kRoles[] = {v1::VIEWER, v1::WORKER, v1::SERVER,
                                      v1::ADMIN};

// Those that can be bound to namespaces.
inline constexpr v1::Role kBoundRoles[] = {v1::VIEWER, v1::ADMIN};

// The 64 hexadecimal digits of its SHA-256.
std::string Sha256Hex(const std::string& text);

}  // namespace paceline

#endif  // PACELINE_TESTS_COMMON_SECURITY_TEST_CERTIFICATES_H_
