#include "common/security/security.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

class SecurityTest : public testing::Test {
 protected:
  const TestCertificates certificates_;
  const TlsFiles files_ = certificates_.Server();
  const std::string tokens_ = certificates_.TokenFile();
  const std::string token_ = certificates_.Token(v1::ADMIN);
  const std::string none_ = certificates_.folder().Path("none");
};

TEST_F(SecurityTest, WhatAServerMayBeTold) {
  const struct {
    ServerSecurityOptions options;
    bool open, tls, requires_certificate, tokens, plaintext;
  } kCases[] = {
      {{}, true, false, false, false, false},
      {{.insecure_plaintext = true}, true, false, false, false, true},
      {{.token_file = tokens_}, false, false, false, true, false},
      {{.token_file = tokens_, .insecure_plaintext = true},
       false,
       false,
       false,
       true,
       true},
      {{.tls = files_}, false, true, true, false, false},
      {{.tls = files_, .tls_client_auth = "require", .token_file = tokens_},
       false,
       true,
       true,
       true,
       false},
      {{.tls = files_, .tls_client_auth = "optional", .token_file = tokens_},
       false,
       true,
       false,
       true,
       false},
      {{.tls = {files_.cert, files_.key, ""}, .token_file = tokens_},
       false,
       true,
       false,
       true,
       false},
  };
  for (const auto& c : kCases) {
    const auto security = MakeServerSecurity(c.options);
    ASSERT_TRUE(security.ok()) << security.status();
    EXPECT_EQ(security->open(), c.open);
    EXPECT_EQ(security->tls != nullptr, c.tls);
    EXPECT_EQ(security->require_client_certificate, c.requires_certificate);
    EXPECT_EQ(security->tokens != nullptr, c.tokens);
    EXPECT_EQ(security->allow_plaintext, c.plaintext);
  }
}

TEST_F(SecurityTest, WhatAServerIsToldInVain) {
  const struct {
    ServerSecurityOptions options;
    absl::StatusCode code;
    const char* says;
  } kCases[] = {
      {{.tls = {files_.cert, "", ""}},
       absl::StatusCode::kInvalidArgument,
       "--tls-cert needs --tls-key"},
      {{.tls = {"", files_.key, ""}},
       absl::StatusCode::kInvalidArgument,
       "--tls-key needs --tls-cert"},
      {{.tls = {"", "", files_.ca}},
       absl::StatusCode::kInvalidArgument,
       "--tls-ca needs --tls-cert"},
      {{.tls = {files_.cert, files_.key, ""}},
       absl::StatusCode::kInvalidArgument,
       "--tls-ca or --token-file"},
      {{.tls = {files_.cert, files_.key, ""},
        .tls_client_auth = "require",
        .token_file = tokens_},
       absl::StatusCode::kInvalidArgument,
       "--tls-client-auth needs --tls-ca"},
      {{.tls_client_auth = "optional"},
       absl::StatusCode::kInvalidArgument,
       "--tls-client-auth needs --tls-ca"},
      {{.tls = files_, .tls_client_auth = "maybe"},
       absl::StatusCode::kInvalidArgument,
       "require or optional, not 'maybe'"},
      {{.tls = files_, .insecure_plaintext = true},
       absl::StatusCode::kInvalidArgument,
       "--insecure-plaintext contradicts"},
      {{.tls = {none_, files_.key, files_.ca}},
       absl::StatusCode::kNotFound,
       "--tls-cert"},
      {{.token_file = none_}, absl::StatusCode::kNotFound, "--token-file"},
      {{.token_file = token_}, absl::StatusCode::kInvalidArgument, "line 1"},
  };
  for (const auto& c : kCases) {
    const auto security = MakeServerSecurity(c.options);
    EXPECT_EQ(security.status().code(), c.code) << security.status();
    EXPECT_THAT(std::string(security.status().message()), HasSubstr(c.says));
  }
}

TEST_F(SecurityTest, WhatAClientMayBeTold) {
  const ClientSecurityOptions kCases[] = {
      {},
      {.insecure_plaintext = true},
      {.token_file = token_},
      {.tls = certificates_.OnlyCa()},
      {.tls = certificates_.OnlyCa(), .token_file = token_},
      {.tls = files_, .tls_server_name = "coordinator", .token_file = token_},
  };
  for (const ClientSecurityOptions& options : kCases) {
    const auto security = MakeClientSecurity(options);
    ASSERT_TRUE(security.ok()) << security.status();
    EXPECT_EQ(security->tls != nullptr, !options.tls.ca.empty());
    EXPECT_EQ(security->token != nullptr, !options.token_file.empty());
    EXPECT_EQ(security->server_name, options.tls_server_name);
    EXPECT_EQ(security->allow_plaintext, options.insecure_plaintext);
  }
}

TEST_F(SecurityTest, WhatAClientIsToldInVain) {
  const struct {
    ClientSecurityOptions options;
    absl::StatusCode code;
    const char* says;
  } kCases[] = {
      {{.tls = {files_.cert, "", files_.ca}},
       absl::StatusCode::kInvalidArgument,
       "--tls-cert needs --tls-key"},
      {{.tls = {"", files_.key, files_.ca}},
       absl::StatusCode::kInvalidArgument,
       "--tls-key needs --tls-cert"},
      {{.tls = {files_.cert, files_.key, ""}},
       absl::StatusCode::kInvalidArgument,
       "--tls-cert needs --tls-ca"},
      {{.tls_server_name = "x"},
       absl::StatusCode::kInvalidArgument,
       "--tls-server-name needs --tls-ca"},
      {{.tls = files_, .insecure_plaintext = true},
       absl::StatusCode::kInvalidArgument,
       "--insecure-plaintext contradicts"},
      {{.tls = {"", "", none_}}, absl::StatusCode::kNotFound, "--tls-ca"},
      {{.token_file = none_}, absl::StatusCode::kNotFound, "the token file"},
      {{.token_file = tokens_}, absl::StatusCode::kInvalidArgument, "one word"},
  };
  for (const auto& c : kCases) {
    const auto security = MakeClientSecurity(c.options);
    EXPECT_EQ(security.status().code(), c.code) << security.status();
    EXPECT_THAT(std::string(security.status().message()), HasSubstr(c.says));
  }
}

// gRPC would take it for 34463.
TEST_F(SecurityTest, APortThatIsNoneIsRefused) {
  for (const bool plaintext : {false, true}) {
    ServerSecurity server;
    ClientSecurity client;
    server.allow_plaintext = client.allow_plaintext = plaintext;
    const absl::Status listen = CheckListenAddress("127.0.0.1:99999", server);
    const absl::Status dial = CheckDialAddress("127.0.0.1:99999", client);
    for (const absl::Status& status : {listen, dial}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status));
      EXPECT_THAT(std::string(status.message()), HasSubstr("from 0 to 65535"));
    }
  }
}

TEST_F(SecurityTest, PlaintextStaysOnThisMachineUnlessAskedFor) {
  ServerSecurity server;
  ClientSecurity client;
  EXPECT_TRUE(CheckListenAddress("127.0.0.1:0", server).ok());
  EXPECT_TRUE(CheckDialAddress("localhost:1", client).ok());
  for (const char* const address : {"0.0.0.0:0", "[::]:0", "10.0.0.1:7070"}) {
    const absl::Status listen = CheckListenAddress(address, server);
    EXPECT_TRUE(absl::IsInvalidArgument(listen));
    EXPECT_THAT(std::string(listen.message()),
                HasSubstr("--insecure-plaintext"));
    const absl::Status dial = CheckDialAddress(address, client);
    EXPECT_TRUE(absl::IsInvalidArgument(dial));
    EXPECT_THAT(std::string(dial.message()), HasSubstr("--insecure-plaintext"));
  }
  server.allow_plaintext = true;
  client.allow_plaintext = true;
  EXPECT_TRUE(CheckListenAddress("0.0.0.0:0", server).ok());
  EXPECT_TRUE(CheckDialAddress("10.0.0.1:7070", client).ok());
  const auto tls_server = MakeServerSecurity({.tls = files_});
  const auto tls_client = MakeClientSecurity({.tls = files_});
  ASSERT_TRUE(tls_server.ok() && tls_client.ok());
  EXPECT_TRUE(CheckListenAddress("0.0.0.0:0", *tls_server).ok());
  EXPECT_TRUE(CheckDialAddress("10.0.0.1:7070", *tls_client).ok());
}

}  // namespace
}  // namespace paceline
