#include <stdlib.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/security/security.h"
#include "common/security/small_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/certificates/certificate_commands.h"
#include "tests/common/test_folder.h"
#include "tests/services/cli/admin/run_command.h"

namespace paceline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class CertificateCommandTest : public testing::Test {
 protected:
  CertificateCommandTest() {
    command_.add_more = &AddCertificateCommands;
    unsetenv("KUBERNETES_SERVICE_HOST");  // CI may run in a pod.
  }

  CommandRunner::Outcome Ensure(const std::string& more) {
    return command_.Run(absl::StrCat("certificate ensure --directory ",
                                     folder_.Path("tls"), " ", more));
  }

  const TestFolder folder_;
  CommandRunner command_;
};

TEST_F(CertificateCommandTest, AFolderOfThem) {
  const auto first =
      Ensure("coordinator=coordinator/coordinator,localhost w0=worker/w0");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out,
              AllOf(HasSubstr("/tls/ca: a new authority"),
                    HasSubstr("/tls/coordinator: issued until 2028-01-15"),
                    HasSubstr("/tls/w0: issued until")));
  const auto key = ReadSmallFile(folder_.Path("tls/w0/tls.key"));
  ASSERT_TRUE(key.ok()) << key.status();
  const auto again =
      Ensure("coordinator=coordinator/coordinator,localhost w0=worker/w0");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, IsEmpty());
  EXPECT_EQ(*ReadSmallFile(folder_.Path("tls/w0/tls.key")), *key);
  const auto shorter = Ensure("w0=worker/w0 --days 7 --renew-before-days 6");
  EXPECT_THAT(shorter.out, IsEmpty()) << "what it has lasts longer";
}

TEST_F(CertificateCommandTest, WhatIsWrongIsSaid) {
  const std::pair<std::string, const char*> cases[] = {
      {"w0=boss/w0", "boss"},
      {"w0=worker/w0 --days 0", "--days"},
      {"w0=worker/w0 --days 60", "--renew-before-days: must be less"},
      {"w0=worker/w0 --days 4000", "--days"},
      {"w0=worker/w0 w0=worker/w1", "w0 is asked for twice"},
      {"w0=worker/w0 --label a=b", "--label is for secrets"},
      {"w0=worker/w0 --kubernetes-secrets p", "either --directory or"},
      {"", "CERTIFICATE is required"},
  };
  for (const auto& [more, error] : cases) {
    const auto outcome = Ensure(more);
    EXPECT_EQ(outcome.code, 2) << more;
    EXPECT_THAT(outcome.err, HasSubstr(error)) << more;
  }
  const auto nowhere = command_.Run("certificate ensure w0=worker/w0");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("either --directory or"));
}

TEST_F(CertificateCommandTest, SecretsNeedAPod) {
  for (const char* const line :
       {"certificate ensure w0=worker/w0 --kubernetes-secrets p",
        "certificate remove-secrets --label a=b"}) {
    const auto outcome = command_.Run(line);
    EXPECT_EQ(outcome.code, 4) << line;
    EXPECT_THAT(outcome.err, HasSubstr("this is no pod"));
  }
}

}  // namespace
}  // namespace paceline
