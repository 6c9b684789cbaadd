#include "common/security/tls_files.h"

#include <string>

#include "absl/time/clock.h"
#include "common/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

constexpr char kDamaged[] =
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
constexpr char kLocked[] =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";

std::string ReadBack(const std::string& path) {
  std::string text;
  FILE* const file = std::fopen(path.c_str(), "rb");
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST(ReadTlsFilesTest, ReadsWhatIsNamed) {
  const TestCertificates certificates;
  const auto all = ReadTlsFiles(certificates.Server());
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->identity, HasSubstr("PRIVATE KEY"));
  EXPECT_THAT(all->identity, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_EQ(all->ca, certificates.authority().pem());
  EXPECT_GT(all->expires, absl::Now() + absl::Minutes(50));
  EXPECT_LT(all->expires, absl::Now() + absl::Minutes(70));
  const auto ca = ReadTlsFiles(certificates.OnlyCa());
  ASSERT_TRUE(ca.ok());
  EXPECT_EQ(ca->identity, "");
  EXPECT_EQ(ca->expires, absl::InfiniteFuture());
}

TEST(ReadTlsFilesTest, AnExpiredCertificateIsForThePeersToRefuse) {
  const TestCertificates certificates;
  const auto expired = ReadTlsFiles(certificates.Expired());
  ASSERT_TRUE(expired.ok()) << expired.status();
  EXPECT_LT(expired->expires, absl::Now());
}

TEST(ReadTlsFilesTest, SaysWhatIsWrongAndWhere) {
  const TestCertificates certificates;
  const TestFolder& folder = certificates.folder();
  const TlsFiles good = certificates.Server();
  const std::string cert = ReadBack(good.cert);
  const std::string none = folder.Path("none");
  const std::string empty = folder.Write("empty", "");
  const std::string garbage = folder.Write("garbage", "no PEM\n");
  const std::string cut = folder.Write("cut", cert.substr(0, cert.size() / 2));
  const std::string chain = folder.Write("chain", cert + kDamaged);
  const std::string locked = folder.Write("locked", kLocked);
  const std::string other = certificates.Client(v1::ADMIN).key;
  const struct {
    TlsFiles files;
    absl::StatusCode code;
    std::string says;
  } kCases[] = {
      {{none, good.key, good.ca}, absl::StatusCode::kNotFound, none},
      {{good.cert, none, good.ca}, absl::StatusCode::kNotFound, none},
      {{good.cert, good.key, none}, absl::StatusCode::kNotFound, none},
      {{empty, good.key, ""}, absl::StatusCode::kInvalidArgument, empty},
      {{good.cert, empty, ""}, absl::StatusCode::kInvalidArgument, empty},
      {{"", "", empty}, absl::StatusCode::kInvalidArgument, empty},
      {{garbage, good.key, ""},
       absl::StatusCode::kInvalidArgument,
       garbage + ": no certificate"},
      {{good.cert, garbage, ""},
       absl::StatusCode::kInvalidArgument,
       garbage + ": no private key"},
      {{"", "", garbage},
       absl::StatusCode::kInvalidArgument,
       garbage + ": no certificate"},
      {{cut, good.key, ""},
       absl::StatusCode::kInvalidArgument,
       cut + ": a damaged certificate"},
      {{chain, good.key, ""},
       absl::StatusCode::kInvalidArgument,
       chain + ": a damaged certificate"},
      {{"", "", chain},
       absl::StatusCode::kInvalidArgument,
       chain + ": a damaged certificate"},
      {{good.key, good.cert, ""},
       absl::StatusCode::kInvalidArgument,
       good.key + ": no certificate"},
      {{good.cert, locked, ""},
       absl::StatusCode::kInvalidArgument,
       "without a passphrase"},
      {{good.cert, other, ""},
       absl::StatusCode::kInvalidArgument,
       other + ": the key is not that of the certificate in " + good.cert},
  };
  for (const auto& c : kCases) {
    const auto material = ReadTlsFiles(c.files);
    EXPECT_EQ(material.status().code(), c.code) << material.status();
    EXPECT_THAT(std::string(material.status().message()), HasSubstr(c.says));
  }
}

TEST(ReadTlsFilesTest, DamagedFilesAreRefusedNotFatal) {
  const TestCertificates certificates;
  const TlsFiles good = certificates.Server();
  const std::string cert = ReadBack(good.cert);
  const std::string key = ReadBack(good.key);
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    std::string bad_cert = cert;
    std::string bad_key = key;
    bad_cert[rng.Below(cert.size())] = static_cast<char>(rng.Below(256));
    bad_key.erase(rng.Below(key.size()), rng.Below(20));
    const TlsFiles files = {certificates.folder().Write("bad.pem", bad_cert),
                            certificates.folder().Write("bad.key", bad_key),
                            certificates.folder().Path("bad.pem")};
    for (const TlsFiles& mixed :
         {files, TlsFiles{files.cert, good.key, good.ca},
          TlsFiles{good.cert, files.key, files.ca}}) {
      const auto material = ReadTlsFiles(mixed);
      if (!material.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(material.status()));
      }
    }
  }
}

}  // namespace
}  // namespace paceline
