#include "services/cli/certificates/ensure_certificates.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/security/certificate_authority.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kDay = absl::Hours(24);

class MemoryStore : public CertificateStore {
 public:
  absl::StatusOr<Texts> Get(const std::string& name) override {
    if (!fault.ok()) return fault;
    const auto found = kept.find(name);
    if (found == kept.end()) return absl::NotFoundError(name);
    return found->second;
  }
  absl::Status Put(const std::string& name, const Texts& texts) override {
    kept[name] = texts;
    return absl::OkStatus();
  }
  std::string PlaceOf(const std::string& name) const override {
    return absl::StrCat("memory ", name);
  }

  std::map<std::string, Texts> kept;
  absl::Status fault;
};

class EnsureCertificatesTest : public testing::Test {
 protected:
  // What it tells, or the error.
  std::vector<std::string> Ensure(absl::Time now) {
    std::vector<std::string> told;
    const absl::Status status = EnsureCertificates(
        wanted_, lifetimes_, now, store_,
        [&](absl::string_view line) { told.emplace_back(line); });
    if (!status.ok()) told.push_back(status.ToString());
    return told;
  }

  std::vector<WantedCertificate> wanted_ = {
      {"w0", {"URI:paceline://worker/w0"}},
      {"s0", {"URI:paceline://server/s0", "DNS:s0.lab"}}};
  CertificateLifetimes lifetimes_;
  MemoryStore store_;
};

TEST_F(EnsureCertificatesTest, OnceAndThenTheyStay) {
  EXPECT_THAT(Ensure(kNow),
              ElementsAre("memory ca: a new authority, until 2037-01-12",
                          "memory w0: issued until 2028-01-15, it is new",
                          "memory s0: issued until 2028-01-15, it is new"));
  const auto authority = CertificateAuthority::Load(
      {store_.kept["ca"]["tls.crt"], store_.kept["ca"]["tls.key"]});
  ASSERT_TRUE(authority.ok()) << authority.status();
  for (const WantedCertificate& one : wanted_) {
    auto& kept = store_.kept[one.name];
    EXPECT_EQ(kept["ca.crt"], authority->pair().certificate);
    const absl::Status good =
        authority->Check({kept["tls.crt"], kept["tls.key"]},
                         {"", one.alternative_names, kNow, kNow + 365 * kDay});
    EXPECT_TRUE(good.ok()) << good;
  }
  const auto before = store_.kept;
  EXPECT_THAT(Ensure(kNow), IsEmpty());
  EXPECT_THAT(Ensure(kNow + 300 * kDay), IsEmpty());
  EXPECT_EQ(store_.kept, before);
}

TEST_F(EnsureCertificatesTest, WhatEndsSoonIsExchanged) {
  Ensure(kNow);
  EXPECT_THAT(Ensure(kNow + 306 * kDay),
              ElementsAre(HasSubstr("memory w0: issued until 2028-11-16, the "
                                    "one before: it ends at 2028-01-15"),
                          HasSubstr("memory s0: issued")));
}

TEST_F(EnsureCertificatesTest, OneWithAnotherHostIsExchangedAlone) {
  Ensure(kNow);
  wanted_[1].alternative_names[1] = "DNS:s0.elsewhere";
  EXPECT_THAT(Ensure(kNow), ElementsAre(HasSubstr("memory s0: issued")));
}

TEST_F(EnsureCertificatesTest, WithoutTheirAuthorityAllAreExchanged) {
  Ensure(kNow);
  store_.kept.erase("ca");
  EXPECT_THAT(Ensure(kNow), ElementsAre(HasSubstr("a new authority"),
                                        HasSubstr("another CA's"),
                                        HasSubstr("another CA's")));
}

TEST_F(EnsureCertificatesTest, DamageIsMended) {
  Ensure(kNow);
  store_.kept["w0"]["tls.key"] = "";
  store_.kept["s0"].erase("ca.crt");
  EXPECT_THAT(Ensure(kNow), ElementsAre(HasSubstr("read the private key"),
                                        HasSubstr("authority's was missing")));
}

// It would be everybody's end, so nobody makes another one unasked.
TEST_F(EnsureCertificatesTest, ADamagedAuthorityStays) {
  Ensure(kNow);
  store_.kept["ca"]["tls.key"] = "";
  EXPECT_THAT(Ensure(kNow), ElementsAre(HasSubstr("INVALID_ARGUMENT: memory "
                                                  "ca: cannot read")));
}

TEST_F(EnsureCertificatesTest, AnAuthorityThatEndsTooSoonIssuesNothing) {
  Ensure(kNow);
  EXPECT_THAT(Ensure(kNow + 3300 * kDay),
              ElementsAre(HasSubstr("memory w0: issued until 2037-01-12"),
                          HasSubstr("memory s0: issued until 2037-01-12")));
  EXPECT_THAT(Ensure(kNow + 3500 * kDay), IsEmpty());
  EXPECT_THAT(Ensure(kNow + 3600 * kDay),
              ElementsAre(HasSubstr("FAILED_PRECONDITION: memory ca ends at "
                                    "2037-01-12")));
}

TEST_F(EnsureCertificatesTest, AStoreThatFails) {
  store_.fault = absl::UnavailableError("not now");
  EXPECT_THAT(Ensure(kNow), ElementsAre("UNAVAILABLE: not now"));
  EXPECT_THAT(store_.kept, IsEmpty());
}

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
