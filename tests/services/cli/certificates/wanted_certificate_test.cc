#include "services/cli/certificates/wanted_certificate.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(WantedCertificateTest, IdentityAndHosts) {
  const auto wanted = ParseWantedCertificate(
      "s0=server/s0,s0.lab,*.servers.ns.svc,10.0.0.2,::1");
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  EXPECT_EQ(wanted->name, "s0");
  EXPECT_THAT(wanted->alternative_names,
              ElementsAre("URI:paceline://server/s0", "DNS:s0.lab",
                          "DNS:*.servers.ns.svc", "IP:10.0.0.2", "IP:::1"));
  const auto alone = ParseWantedCertificate("alice=admin/alice");
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->alternative_names,
              ElementsAre("URI:paceline://admin/alice"));
}

TEST(WantedCertificateTest, WhatIsWrong) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "there is no ="},
      {"w0", "there is no ="},
      {"=worker/w0", "small letters"},
      {"W0=worker/w0", "small letters"},
      {"../w0=worker/w0", "small letters"},
      {absl::StrCat(std::string(64, 'w'), "=worker/w0"), "small letters"},
      {"ca=worker/w0", "the authority's own"},
      {"w0=", "paceline://"},
      {"w0=worker", "paceline://"},
      {"w0=boss/w0", "boss"},
      {"w0=worker/w 0", "w 0"},
      {"w0=worker/w0,", "\"\" is neither"},
      {"w0=worker/w0,a b", "\"a b\" is neither"},
      {"w0=worker/w0,a..b", "neither"},
      {"w0=worker/w0,-a", "neither"},
      {"w0=worker/w0,300.1.1.1", "neither"},
      {"w0=worker/w0,a.*.b", "neither"},
      {"w0=worker/w0,URI:paceline://admin/me", "neither"},
  };
  for (const auto& [text, error] : cases) {
    const auto wanted = ParseWantedCertificate(text);
    EXPECT_TRUE(absl::IsInvalidArgument(wanted.status())) << text;
    EXPECT_THAT(std::string(wanted.status().message()), HasSubstr(error));
    EXPECT_THAT(std::string(wanted.status().message()),
                HasSubstr("want NAME=ROLE/IDENTITY"));
  }
}

}  // namespace
}  // namespace paceline
