#include "common/security/certificate_authority.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

CertificateRequest Request(std::vector<std::string> names = {
                               "URI:paceline://worker/w0", "DNS:w0.lab"}) {
  return {"w0", std::move(names), kNow, kNow + absl::Hours(24)};
}

CertificateAuthority NewAuthority() {
  auto made =
      CertificateAuthority::Create({"CA", {}, kNow, kNow + absl::Hours(240)});
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

TEST(CertificateAuthorityTest, WhatItIssuesIsGood) {
  const CertificateAuthority authority = NewAuthority();
  EXPECT_EQ(authority.valid_until(), kNow + absl::Hours(240));
  const auto issued = authority.Issue(Request());
  ASSERT_TRUE(issued.ok()) << issued.status();
  EXPECT_THAT(issued->certificate, StartsWith("-----BEGIN CERTIFICATE-----"));
  EXPECT_THAT(issued->key, StartsWith("-----BEGIN PRIVATE KEY-----"));
  EXPECT_TRUE(authority.Check(*issued, Request()).ok());
  const auto again = authority.Issue(Request());
  EXPECT_NE(again->key, issued->key);
}

TEST(CertificateAuthorityTest, ItCanBeKept) {
  const CertificateAuthority authority = NewAuthority();
  const auto loaded = CertificateAuthority::Load(authority.pair());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->valid_until(), authority.valid_until());
  EXPECT_TRUE(authority.Check(*loaded->Issue(Request()), Request()).ok());
  EXPECT_TRUE(loaded->Check(*authority.Issue(Request()), Request()).ok());
}

TEST(CertificateAuthorityTest, WhatCannotServe) {
  const CertificateAuthority authority = NewAuthority();
  const KeyPair good = *authority.Issue(Request());
  const KeyPair other = *authority.Issue(Request());
  CertificateRequest longer = Request();
  longer.valid_until += absl::Seconds(1);
  CertificateRequest earlier = Request();
  earlier.valid_from -= absl::Seconds(1);
  struct Case {
    KeyPair issued;
    CertificateRequest wanted;
    std::string error;
  };
  const Case cases[] = {
      {*NewAuthority().Issue(Request()), Request(), "another CA's"},
      {good, Request({"URI:paceline://worker/w1"}), "other names"},
      {good, Request({"URI:paceline://worker/w0"}), "other names"},
      {good, longer, "it ends at 2027-01-16"},
      {good, earlier, "not valid yet"},
      {{good.certificate, other.key}, Request(), "use the private key"},
      {{"", good.key}, Request(), "read the certificate"},
      {{good.certificate, "-----BEGIN"}, Request(), "read the private key"},
  };
  for (const Case& c : cases) {
    const absl::Status status = authority.Check(c.issued, c.wanted);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.error));
  }
}

TEST(CertificateAuthorityTest, WhatIsNoAuthority) {
  const CertificateAuthority authority = NewAuthority();
  const auto leaf = CertificateAuthority::Load(*authority.Issue(Request()));
  EXPECT_TRUE(absl::IsInvalidArgument(leaf.status())) << leaf.status();
  EXPECT_THAT(std::string(leaf.status().message()), HasSubstr("not a CA's"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      CertificateAuthority::Load({"rubbish", "rubbish"}).status()));
}

TEST(CertificateAuthorityTest, NamesThatCannotBe) {
  const CertificateAuthority authority = NewAuthority();
  for (const char* const name :
       {"URI:a,DNS:evil.example", "IP:300.1.1.1", "COLOUR:red", "plain"}) {
    const auto issued = authority.Issue(Request({name}));
    EXPECT_TRUE(absl::IsInvalidArgument(issued.status()))
        << name << ": " << issued.status();
  }
}

}  // namespace
}  // namespace paceline
