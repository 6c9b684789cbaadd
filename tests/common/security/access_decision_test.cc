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
constexpr v1::Role kAdmins[] = {v1::ADMIN};

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
        const auto admission = DecideAccess(false, c.shown, {kMethod, allowed});
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
      const auto admission = DecideAccess(true, c.shown, {kMethod, allowed});
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
                            {kMethod, kAdmins}, &known)
                   .ok());
  EXPECT_EQ(known.identity, "viewer/token");
  EXPECT_EQ(known.role, v1::VIEWER);
  known = {};
  EXPECT_FALSE(
      DecideAccess(false, WithWrongToken(Nothing()), {kMethod, kAdmins}, &known)
          .ok());
  EXPECT_EQ(known.identity, "");
}

TEST(DecideAccessTest, ARefusalSaysWhoMayAndWhatIsMissing) {
  constexpr v1::Role kOthers[] = {v1::ADMIN, v1::WORKER};
  const auto refused =
      DecideAccess(false, WithToken(Nothing(), v1::VIEWER), {kMethod, kOthers});
  EXPECT_EQ(refused.status().message(),
            "viewer/token may not call /paceline.v1.JobService/GetJob: that "
            "takes admin, worker");
  EXPECT_THAT(std::string(DecideAccess(false, Nothing(), {kMethod, kAdmins})
                              .status()
                              .message()),
              HasSubstr("authorization: Bearer"));
}

// What a request may name, and its namespace; "-": all of them; empty: none.
struct Named {
  const char* resource;
  const char* name_space;
};
constexpr Named kNamed[] = {
    {"", ""},
    {"workers/w0", ""},
    {"nonsense", ""},
    {"namespaces/", ""},
    {"namespaces/-", "-"},
    {"namespaces/-/jobs/a", "-"},
    {"namespaces/vision", "vision"},
    {"namespaces/vision/jobs/a", "vision"},
    {"namespaces/vision/jobs/a/checkpoints/c", "vision"},
    {"namespaces/speech/jobs/a", "speech"},
    {"namespaces/vision2/jobs/a", "vision2"},
    {"namespaces/other/jobs/vision", "other"},
};

constexpr v1::Reach kReaches[] = {v1::REACH_UNSPECIFIED, v1::ONE_NAMESPACE,
                                  v1::OWN_PART};

// Written out, apart from how it is decided.
bool MayReach(const std::string& bound, v1::Reach reach,
              const std::string& name_space) {
  if (bound.empty()) return true;
  if (reach == v1::REACH_UNSPECIFIED) return false;
  const bool its = name_space == "vision" ||
                   (name_space == "speech" && bound == "speech+vision");
  if (reach == v1::ONE_NAMESPACE) return its;
  return its || name_space.empty() || name_space == "-";
}

// Roles, methods, namespaces, and both kinds of credentials.
TEST(DecideAccessTest, ARoleThatIsBoundIsGoodInItsNamespacesAlone) {
  int decided = 0;
  for (const v1::Role role : {v1::VIEWER, v1::ADMIN}) {
    for (const std::string bound : {"", "vision", "speech+vision"}) {
      const std::string word =
          absl::StrCat(RoleName(role), bound.empty() ? "" : "@", bound);
      ShownCredentials token = Nothing();
      token.token = Token::kRight;
      token.token_identity = *ParseBoundRole(word, "x");
      for (const ShownCredentials& shown :
           {token,
            WithCertificate({absl::StrCat("paceline://", word, "/x")})}) {
        for (const auto& allowed : RoleSets()) {
          for (const v1::Reach reach : kReaches) {
            for (const Named& named : kNamed) {
              ++decided;
              SCOPED_TRACE(absl::StrCat(word, ", ", v1::Reach_Name(reach), ", ",
                                        named.resource));
              const auto admission = DecideAccess(
                  false, shown, {kMethod, allowed, reach, named.resource});
              const bool names_role = std::find(allowed.begin(), allowed.end(),
                                                role) != allowed.end();
              const bool may =
                  names_role && MayReach(bound, reach, named.name_space);
              ASSERT_EQ(admission.ok(), may) << admission.status();
              if (may) {
                EXPECT_EQ(admission->identity, word + "/x");
                EXPECT_EQ(admission->namespaces.Text(), bound);
              } else {
                EXPECT_TRUE(absl::IsPermissionDenied(admission.status()));
                EXPECT_EQ(ReasonOf(admission.status()),
                          allowed.empty() ? "METHOD_WITHOUT_ROLES"
                          : names_role    ? "NAMESPACE_NOT_ALLOWED"
                                          : "ROLE_NOT_ALLOWED");
              }
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(decided, 2 * 3 * 2 * 16 * 3 * 12);
}

TEST(DecideAccessTest, ARefusalNamesRoleAndNamespace) {
  const ShownCredentials shown =
      WithCertificate({"paceline://admin@speech+vision/x"});
  const auto message = [&](v1::Reach reach, const char* resource) {
    return std::string(
        DecideAccess(false, shown, {kMethod, kAdmins, reach, resource})
            .status()
            .message());
  };
  EXPECT_EQ(message(v1::ONE_NAMESPACE, "namespaces/other/jobs/a"),
            "admin@speech+vision/x may not call "
            "/paceline.v1.JobService/GetJob in namespace other: its role "
            "admin is bound to namespace speech, vision");
  EXPECT_THAT(message(v1::ONE_NAMESPACE, ""),
              HasSubstr("about what it does not name by its namespace"));
  EXPECT_THAT(message(v1::REACH_UNSPECIFIED, "workers/w0"),
              HasSubstr("which reaches the whole cluster"));
  // The caller's own text is short and printable.
  const std::string wild =
      "namespaces/" + std::string(1'000, '\x1b') + "/jobs/a";
  const std::string said = message(v1::ONE_NAMESPACE, wild.c_str());
  EXPECT_LT(said.size(), 500u);
  EXPECT_EQ(said.find('\x1b'), std::string::npos);
}

// Who cannot be told apart is an administrator everywhere, as ever.
TEST(DecideAccessTest, WithoutACheckNobodyIsBound) {
  for (const v1::Reach reach : kReaches) {
    const auto admission =
        DecideAccess(true, WithCertificate({"paceline://viewer@vision/x"}),
                     {kMethod, kAdmins, reach, "namespaces/other/jobs/a"});
    ASSERT_TRUE(admission.ok()) << admission.status();
    EXPECT_TRUE(admission->namespaces.all());
  }
}

}  // namespace
}  // namespace paceline
