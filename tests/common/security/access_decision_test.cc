#include "common/security/access_decision.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using Token = ShownCredentials::Token;

constexpr char kMethod[] = "/paceline.v1.JobService/GetJob";

ShownCredentials Nothing() {
  ShownCredentials shown;
  shown.local = true;
  return shown;
}

ShownCredentials WithCertificate(std::vector<std::string> uris) {
  ShownCredentials shown;
  shown.certificate = true;
  shown.certificate_uris = std::move(uris);
  return shown;
}

ShownCredentials WithToken(ShownCredentials shown, v1::Role role) {
  shown.token = Token::kRight;
  shown.token_identity = {role, "token"};
  return shown;
}

ShownCredentials WithWrongToken(ShownCredentials shown) {
  shown.token = Token::kWrong;
  return shown;
}

struct Case {
  const char* name;
  ShownCredentials shown;
  const char* who;     // Admitted as; empty if not.
  const char* reason;  // Of the refusal, where the role is not the matter.
};

// Everything that a call may show; the certificate's role is `role`, and so is
// the token's.
std::vector<Case> Cases(v1::Role role) {
  const std::string uri = absl::StrCat("paceline://", RoleName(role), "/cert");
  const ShownCredentials cert = WithCertificate({uri});
  const auto other = role == v1::ADMIN ? v1::VIEWER : v1::ADMIN;
  return {
      {"nothing", Nothing(), "", "NO_CREDENTIALS"},
      {"certificate", cert, "cert", ""},
      {"certificate with foreign names too",
       WithCertificate({"https://example.com", uri, "spiffe://a/b"}), "cert",
       ""},
      {"certificate without a name", WithCertificate({}), "",
       "BAD_CERTIFICATE"},
      {"certificate with a foreign name",
       WithCertificate({"spiffe://cluster/admin"}), "", "BAD_CERTIFICATE"},
      {"certificate with a malformed name",
       WithCertificate({"paceline://root/x"}), "", "BAD_CERTIFICATE"},
      {"certificate with two names",
       WithCertificate({uri, "paceline://admin/x"}), "", "BAD_CERTIFICATE"},
      {"certificate with a good and a malformed name",
       WithCertificate({uri, "paceline://root/x"}), "", "BAD_CERTIFICATE"},
      {"token", WithToken(Nothing(), role), "token", ""},
      {"wrong token", WithWrongToken(Nothing()), "", "BAD_TOKEN"},
      {"token beside a certificate of another role",
       WithToken(WithCertificate(
                     {absl::StrCat("paceline://", RoleName(other), "/cert")}),
                 role),
       "token", ""},
      {"token beside a bad certificate",
       WithToken(WithCertificate({"paceline://root/x"}), role), "token", ""},
      {"wrong token beside a good certificate", WithWrongToken(cert), "",
       "BAD_TOKEN"},
  };
}

// All sets of roles that a method could name.
std::vector<std::vector<v1::Role>> RoleSets() {
  std::vector<std::vector<v1::Role>> sets;
  for (int bits = 0; bits < 16; ++bits) {
    auto& set = sets.emplace_back();
    for (int i = 0; i < 4; ++i) {
      if (bits >> i & 1) set.push_back(kRoles[i]);
    }
  }
  return sets;
}

TEST(DecideAccessTest, WithACheckEveryRoleGetsWhatTheMethodSays) {
  for (const v1::Role role : kRoles) {
    for (const Case& c : Cases(role)) {
      for (const auto& allowed : RoleSets()) {
        SCOPED_TRACE(absl::StrCat(c.name, " as ", RoleName(role), ", ",
                                  allowed.size(), " roles allowed"));
        const auto admission = DecideAccess(false, c.shown, allowed, kMethod);
        const bool names_role =
            std::find(allowed.begin(), allowed.end(), role) != allowed.end();
        if (allowed.empty()) {
          EXPECT_TRUE(absl::IsPermissionDenied(admission.status()));
          EXPECT_EQ(ReasonOf(admission.status()), "METHOD_WITHOUT_ROLES");
        } else if (*c.reason != '\0') {
          EXPECT_TRUE(absl::IsUnauthenticated(admission.status()));
          EXPECT_EQ(ReasonOf(admission.status()), c.reason);
        } else if (!names_role) {
          EXPECT_TRUE(absl::IsPermissionDenied(admission.status()));
          EXPECT_EQ(ReasonOf(admission.status()), "ROLE_NOT_ALLOWED");
        } else {
          ASSERT_TRUE(admission.ok()) << admission.status();
          EXPECT_EQ(admission->role, role);
          EXPECT_EQ(admission->identity,
                    absl::StrCat(RoleName(role), "/", c.who));
        }
      }
    }
  }
}

TEST(DecideAccessTest, WithoutACheckEverybodyMayDoWhatAnybodyMay) {
  for (const Case& c : Cases(v1::VIEWER)) {
    for (const auto& allowed : RoleSets()) {
      const auto admission = DecideAccess(true, c.shown, allowed, kMethod);
      if (allowed.empty()) {
        EXPECT_EQ(ReasonOf(admission.status()), "METHOD_WITHOUT_ROLES");
        continue;
      }
      ASSERT_TRUE(admission.ok()) << c.name;
      EXPECT_EQ(admission->role, v1::ADMIN);
      EXPECT_EQ(admission->identity, c.shown.local ? "local" : "anyone");
    }
  }
}

TEST(DecideAccessTest, WhoHasShownAnIdentityIsKnownWhereItIsRefusedToo) {
  Admission known;
  EXPECT_FALSE(DecideAccess(false, WithToken(Nothing(), v1::VIEWER),
                            {v1::ADMIN}, kMethod, &known)
                   .ok());
  EXPECT_EQ(known.identity, "viewer/token");
  EXPECT_EQ(known.role, v1::VIEWER);
  known = {};
  EXPECT_FALSE(DecideAccess(false, WithWrongToken(Nothing()), {v1::ADMIN},
                            kMethod, &known)
                   .ok());
  EXPECT_EQ(known.identity, "");
}

TEST(DecideAccessTest, ARefusalSaysWhoMayAndWhatIsMissing) {
  const auto refused = DecideAccess(false, WithToken(Nothing(), v1::VIEWER),
                                    {v1::ADMIN, v1::WORKER}, kMethod);
  EXPECT_EQ(refused.status().message(),
            "viewer/token may not call /paceline.v1.JobService/GetJob: that "
            "takes admin, worker");
  EXPECT_THAT(std::string(DecideAccess(false, Nothing(), {v1::ADMIN}, kMethod)
                              .status()
                              .message()),
              HasSubstr("authorization: Bearer"));
}

}  // namespace
}  // namespace paceline
