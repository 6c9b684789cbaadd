#include "common/object_store/key_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

constexpr char kProfiles[] =
    "# of two people\n"
    "[default]\n"
    "aws_access_key_id = ONE\n"
    "AWS_SECRET_ACCESS_KEY=first=secret\n"
    "region = eu-west-1\n"
    "\n"
    "[ team ]\r\n"
    "aws_access_key_id = TWO\r\n"
    "aws_secret_access_key = second\r\n"
    "aws_session_token = token\r\n"
    "[empty]\n"
    "aws_access_key_id = THREE\n";

TEST(CredentialsFileTest, HasAKeyForEachProfile) {
  EXPECT_EQ(*ParseCredentialsFile(kProfiles, "default"),
            (AccessKey{"ONE", "first=secret", ""}));
  EXPECT_EQ(*ParseCredentialsFile(kProfiles, "team"),
            (AccessKey{"TWO", "second", "token"}));
}

TEST(CredentialsFileTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(ParseCredentialsFile(kProfiles, "other").status(),
            absl::NotFoundError("it has no profile [other]"));
  EXPECT_THAT(
      std::string(ParseCredentialsFile(kProfiles, "empty").status().message()),
      HasSubstr("lacks aws_access_key_id or aws_secret_access_key"));
}

TEST(LentKeyTest, IsReadWithItsEnd) {
  const auto lent = ParseLentKey(
      "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
      "<Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S"
      "</SecretAccessKey><SessionToken>T</SessionToken><Expiration>"
      "2030-01-01T00:00:00Z</Expiration></Credentials>"
      "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  ASSERT_TRUE(lent.ok()) << lent.status();
  EXPECT_EQ(lent->key, (AccessKey{"A", "S", "T"}));
  EXPECT_EQ(lent->until, absl::FromUnixSeconds(1893456000));
  EXPECT_EQ(ParseLentKey("<a/>").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ParseLentKey("").status().code(), absl::StatusCode::kDataLoss);
}

class KeySourceTest : public ::testing::Test {
 protected:
  KeySource Source(std::map<std::string, std::string> values) {
    return KeySource(
        [values](const std::string& name) {
          const auto found = values.find(name);
          return found == values.end() ? "" : found->second;
        },
        {}, &caller_);
  }

  std::string WriteFile(absl::string_view text) {
    std::string path = absl::StrCat(::testing::TempDir(), "/credentials");
    std::ofstream(path) << text;
    return path;
  }

  WebCaller caller_{""};
};

TEST_F(KeySourceTest, TheEnvironmentComesFirst) {
  KeySource source = Source({{"AWS_ACCESS_KEY_ID", "A"},
                             {"AWS_SECRET_ACCESS_KEY", "S"},
                             {"AWS_SESSION_TOKEN", "T"},
                             {"AWS_SHARED_CREDENTIALS_FILE", "/none"}});
  EXPECT_EQ(*source.Get(), (AccessKey{"A", "S", "T"}));
  EXPECT_EQ(source.origin(), "the environment (AWS_ACCESS_KEY_ID)");
  // It cannot change.
  EXPECT_FALSE(source.Refused({"A", "S", "T"}));
}

TEST_F(KeySourceTest, AFileThatChangedIsReadAgainOnceItsKeyIsRefused) {
  const std::string file = WriteFile(kProfiles);
  KeySource source =
      Source({{"AWS_SHARED_CREDENTIALS_FILE", file}, {"AWS_PROFILE", "team"}});
  EXPECT_EQ(source.Get()->id, "TWO");
  EXPECT_EQ(source.origin(), file + " [team]");
  WriteFile("[team]\naws_access_key_id=NEW\naws_secret_access_key=new\n");
  EXPECT_EQ(source.Get()->id, "TWO");
  EXPECT_TRUE(source.Refused(*source.Get()));
  EXPECT_EQ(source.Get()->id, "NEW");
}

TEST_F(KeySourceTest, WithoutAnySaysWhatToSet) {
  for (const auto& values : std::vector<std::map<std::string, std::string>>{
           {{"HOME", "/nowhere"}},
           {{"AWS_ACCESS_KEY_ID", "A"}},
           {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token"}},
           {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere/token"},
            {"AWS_ROLE_ARN", "role"}}}) {
    const auto key = Source(values).Get();
    EXPECT_EQ(key.status().code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(key.status().message()),
                HasSubstr("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
  }
}

}  // namespace
}  // namespace paceline
