#include "tests/common/security/test_certificates.h"

#include <openssl/sha.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/security/identity.h"

namespace paceline {
namespace {

CertificateRequest FromNow(const TestAuthority::Request& request) {
  const absl::Time now = absl::Now();
  return {request.common_name, request.names, now + request.valid_from,
          now + request.valid_until};
}

CertificateAuthority NewAuthority(const std::string& common_name) {
  TestAuthority::Request request;
  request.common_name = common_name;
  auto authority = CertificateAuthority::Create(FromNow(request));
  CHECK(authority.ok());
  return *std::move(authority);
}

std::string TokenText(v1::Role role) {
  return absl::StrCat("the-token-of-", RoleName(role));
}

}  // namespace

TestAuthority::TestAuthority(const std::string& common_name)
    : authority_(NewAuthority(common_name)) {}

KeyPair TestAuthority::Issue(const Request& request) const {
  auto issued = authority_.Issue(FromNow(request));
  CHECK(issued.ok());
  return *std::move(issued);
}

TestCertificates::TestCertificates() {
  folder_.Write("ca.pem", authority_.pem());
  TestAuthority::Request request;
  request.names = {"IP:127.0.0.1", "DNS:localhost",
                   "URI:paceline://server/server"};
  Put("server", authority_, request);
  request.names = {"URI:paceline://admin/test"};
  Put("wrong-authority", TestAuthority("another CA"), request);
  request.valid_from = -absl::Hours(2);
  request.valid_until = -absl::Hours(1);
  Put("expired", authority_, request);
  request = {};
  Put("without-identity", authority_, request);
  std::string tokens = "# One for each role.\n";
  for (const v1::Role role : kRoles) {
    const std::string name(RoleName(role));
    request.names = {absl::StrCat("URI:paceline://", name, "/test")};
    Put(absl::StrCat("client-", name), authority_, request);
    folder_.Write(absl::StrCat("token-", name), TokenText(role) + "\n");
    absl::StrAppend(&tokens, "token ", name,
                    " sha256:", Sha256Hex(TokenText(role)), "\n");
  }
  for (const v1::Role role : kBoundRoles) {
    const std::string name = absl::StrCat("bound-", RoleName(role));
    const std::string bound = absl::StrCat(RoleName(role), "@vision+speech");
    request.names = {absl::StrCat("URI:paceline://", bound, "/test")};
    Put(absl::StrCat("client-", name), authority_, request);
    const std::string token = absl::StrCat("the-bound-", TokenText(role));
    folder_.Write(absl::StrCat("token-", name), token + "\n");
    absl::StrAppend(&tokens, "token ", bound, " sha256:", Sha256Hex(token),
                    "\n");
  }
  folder_.Write("tokens", tokens);
  folder_.Write("token-wrong", "the-token-of-nobody\n");
}

void TestCertificates::Put(const std::string& name,
                           const TestAuthority& authority,
                           const TestAuthority::Request& request) const {
  const KeyPair issued = authority.Issue(request);
  folder_.Write(name + ".pem", issued.certificate);
  folder_.Write(name + ".key", issued.key);
}

TlsFiles TestCertificates::Named(const std::string& name) const {
  return {folder_.Path(name + ".pem"), folder_.Path(name + ".key"),
          folder_.Path("ca.pem")};
}

TlsFiles TestCertificates::Server() const { return Named("server"); }

TlsFiles TestCertificates::Client(v1::Role role) const {
  return Named(absl::StrCat("client-", RoleName(role)));
}

TlsFiles TestCertificates::BoundClient(v1::Role role) const {
  return Named(absl::StrCat("client-bound-", RoleName(role)));
}

std::string TestCertificates::BoundToken(v1::Role role) const {
  return folder_.Path(absl::StrCat("token-bound-", RoleName(role)));
}

TlsFiles TestCertificates::WrongAuthority() const {
  return Named("wrong-authority");
}

TlsFiles TestCertificates::Expired() const { return Named("expired"); }

TlsFiles TestCertificates::WithoutIdentity() const {
  return Named("without-identity");
}

TlsFiles TestCertificates::OnlyCa() const {
  return {"", "", folder_.Path("ca.pem")};
}

std::string TestCertificates::TokenFile() const {
  return folder_.Path("tokens");
}

std::string TestCertificates::Token(v1::Role role) const {
  return folder_.Path(absl::StrCat("token-", RoleName(role)));
}

std::string TestCertificates::WrongToken() const {
  return folder_.Path("token-wrong");
}

std::string Sha256Hex(const std::string& text) {
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

}  // namespace paceline
