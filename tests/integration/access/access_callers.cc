#include "tests/integration/access/access_callers.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/security/identity.h"

namespace paceline {
namespace {

using Connects = AccessCaller::Connects;

std::string TokenText(const TestCertificates& files, v1::Role role) {
  std::ifstream file(files.Token(role));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return std::string(absl::StripAsciiWhitespace(text));
}

// A certificate, or the lack of one, without any token.
AccessCaller ByCertificate(std::string name, TlsFiles tls, Connects connects,
                           v1::Role role, std::string reason = "") {
  AccessCaller caller;
  caller.name = std::move(name);
  caller.credentials.tls = std::move(tls);
  caller.connects = connects;
  caller.role = role;
  caller.reason = std::move(reason);
  return caller;
}

// An admin's certificate, and metadata that spoil it.
AccessCaller Spoilt(const TestCertificates& files, std::string name,
                    std::vector<std::string> authorization) {
  AccessCaller caller =
      ByCertificate(std::move(name), files.Client(v1::ADMIN), Connects::kAlways,
                    v1::ROLE_UNSPECIFIED, "BAD_TOKEN");
  caller.authorization = std::move(authorization);
  return caller;
}

void AddCertificates(const TestCertificates& files,
                     std::vector<AccessCaller>& callers) {
  constexpr v1::Role kNobody = v1::ROLE_UNSPECIFIED;
  for (const v1::Role role : kRoles) {
    callers.push_back(
        ByCertificate(absl::StrCat("certificate: ", RoleName(role)),
                      files.Client(role), Connects::kAlways, role));
  }
  for (const v1::Role role : kBoundRoles) {
    callers.push_back(
        ByCertificate(absl::StrCat("bound certificate: ", RoleName(role)),
                      files.BoundClient(role), Connects::kAlways, role));
    callers.back().bound = true;
  }
  callers.push_back(ByCertificate("nothing", files.OnlyCa(),
                                  Connects::kUnlessRequired, kNobody,
                                  "NO_CREDENTIALS"));
  callers.push_back(ByCertificate("certificate without a name",
                                  files.WithoutIdentity(), Connects::kAlways,
                                  kNobody, "BAD_CERTIFICATE"));
  callers.push_back(ByCertificate("certificate of another CA",
                                  files.WrongAuthority(), Connects::kNever,
                                  kNobody));
  callers.push_back(ByCertificate("expired certificate", files.Expired(),
                                  Connects::kNever, kNobody));
  AccessCaller plaintext;
  plaintext.name = "no TLS";
  plaintext.connects = Connects::kNever;
  callers.push_back(plaintext);
}

void AddTokens(const TestCertificates& files,
               std::vector<AccessCaller>& callers) {
  for (const v1::Role role : kRoles) {
    AccessCaller caller =
        ByCertificate(absl::StrCat("token: ", RoleName(role)), files.OnlyCa(),
                      Connects::kUnlessRequired, role);
    caller.credentials.token_file = files.Token(role);
    callers.push_back(caller);
  }
  for (const v1::Role role : kBoundRoles) {
    // Beside a certificate that is not bound: the token counts.
    AccessCaller caller =
        ByCertificate(absl::StrCat("bound token: ", RoleName(role)),
                      files.Client(role), Connects::kAlways, role);
    caller.credentials.token_file = files.BoundToken(role);
    caller.bound = true;
    callers.push_back(caller);
  }
  // The token counts, whatever the certificate would allow.
  AccessCaller both =
      ByCertificate("token of a viewer, certificate of an admin",
                    files.Client(v1::ADMIN), Connects::kAlways, v1::VIEWER);
  both.credentials.token_file = files.Token(v1::VIEWER);
  callers.push_back(both);
  AccessCaller unknown =
      ByCertificate("unknown token", files.OnlyCa(), Connects::kUnlessRequired,
                    v1::ROLE_UNSPECIFIED, "BAD_TOKEN");
  unknown.credentials.token_file = files.WrongToken();
  callers.push_back(unknown);
  AccessCaller expired =
      ByCertificate("token of an admin, expired certificate", files.Expired(),
                    Connects::kNever, v1::ROLE_UNSPECIFIED);
  expired.credentials.token_file = files.Token(v1::ADMIN);
  callers.push_back(expired);
}

}  // namespace

std::vector<AccessCaller> AccessCallers(const TestCertificates& files) {
  std::vector<AccessCaller> callers;
  AddCertificates(files, callers);
  AddTokens(files, callers);
  const std::string token = TokenText(files, v1::ADMIN);
  callers.push_back(Spoilt(files, "unknown token, certificate of an admin",
                           {"Bearer nobody"}));
  callers.push_back(Spoilt(files, "empty metadata", {""}));
  callers.push_back(Spoilt(files, "a token without a scheme", {token}));
  callers.push_back(
      Spoilt(files, "a token with another scheme", {"Basic " + token}));
  callers.push_back(Spoilt(files, "a scheme without a token", {"Bearer "}));
  callers.push_back(
      Spoilt(files, "two tokens", {"Bearer " + token, "Bearer " + token}));
  return callers;
}

}  // namespace paceline
