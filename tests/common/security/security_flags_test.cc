#include "common/security/security_flags.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Sides = SecurityFlags::Sides;

// False if the command line is refused.
bool Parse(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // As CLI11 wants them.
  try {
    app.parse(words);
  } catch (const CLI::ParseError&) {
    return false;
  }
  return true;
}

TEST(SecurityFlagsTest, NothingIsPlaintextOnLoopback) {
  CLI::App app;
  const SecurityFlags flags(app, Sides::kBoth);
  ASSERT_TRUE(Parse(app, {}));
  const auto server = flags.Server();
  const auto client = flags.Client();
  ASSERT_TRUE(server.ok() && client.ok());
  EXPECT_TRUE(server->open());
  EXPECT_FALSE(server->allow_plaintext || client->allow_plaintext);
}

TEST(SecurityFlagsTest, BothSidesHaveOneCertificate) {
  const TestCertificates certificates;
  const TlsFiles files = certificates.Server();
  CLI::App app;
  const SecurityFlags flags(app, Sides::kBoth);
  ASSERT_TRUE(Parse(
      app, {"--tls-cert", files.cert, "--tls-key", files.key, "--tls-ca",
            files.ca, "--tls-client-auth=optional", "--token-file",
            certificates.TokenFile(), "--token", certificates.Token(v1::SERVER),
            "--tls-server-name", "coordinator"}));
  const auto server = flags.Server();
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(server->tls != nullptr && server->tokens != nullptr);
  EXPECT_FALSE(server->require_client_certificate);
  const auto client = flags.Client();
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(client->tls->has_identity() && client->token != nullptr);
  EXPECT_EQ(client->server_name, "coordinator");
}

TEST(SecurityFlagsTest, ErrorsNameTheFlag) {
  CLI::App app;
  const SecurityFlags flags(app, Sides::kBoth);
  ASSERT_TRUE(Parse(app, {"--tls-cert", "x.pem"}));
  EXPECT_THAT(std::string(flags.Server().status().message()),
              HasSubstr("--tls-cert needs --tls-key"));
  EXPECT_THAT(std::string(flags.Client().status().message()),
              HasSubstr("--tls-cert needs --tls-key"));
}

TEST(SecurityFlagsTest, AnEmptyValueIsNotTheSameAsNone) {
  for (const char* const flag :
       {"--tls-cert", "--tls-key", "--tls-ca", "--tls-client-auth",
        "--token-file", "--token", "--tls-server-name"}) {
    CLI::App app;
    const SecurityFlags flags(app, Sides::kBoth);
    EXPECT_FALSE(Parse(app, {flag, ""})) << flag;
  }
}

TEST(SecurityFlagsTest, ASideHasItsOwnFlagsAlone) {
  CLI::App server_app;
  const SecurityFlags server(server_app, Sides::kServer);
  EXPECT_THAT(server_app.help(), HasSubstr("--token-file"));
  EXPECT_THAT(server_app.help(), Not(HasSubstr("--tls-server-name")));
  CLI::App client_app;
  const SecurityFlags client(client_app, Sides::kClient);
  EXPECT_THAT(client_app.help(), HasSubstr("--token "));
  EXPECT_THAT(client_app.help(), Not(HasSubstr("--token-file")));
  EXPECT_THAT(client_app.help(), Not(HasSubstr("--tls-client-auth")));
}

}  // namespace
}  // namespace paceline
