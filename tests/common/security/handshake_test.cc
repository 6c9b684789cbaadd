// Who gets a connection, and as whom: real TLS between real processes' ends.

#include <string>

#include "common/rpc/grpc_status.h"
#include "common/security/identity.h"
#include "common/status_details.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/security/guarded_server.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::HasSubstr;

ServerSecurity ServerWith(const ServerSecurityOptions& options) {
  auto security = MakeServerSecurity(options);
  EXPECT_TRUE(security.ok()) << security.status();
  return *std::move(security);
}

// How it ends: an identity, a reason, or the name of a code.
std::string Outcome(GuardedServer& server, const ClientSecurity& security) {
  const auto who = GuardedClient(server.address(), security).WhoAmI();
  if (who.ok()) return *who;
  const std::string reason = ReasonOf(who.status());
  return reason.empty() ? absl::StatusCodeToString(who.status().code())
                        : reason;
}

struct Case {
  const char* name;
  TlsFiles tls;
  std::string token;
  const char* mutual;    // What a server says that requires certificates,
  const char* optional;  // one that takes tokens too,
  const char* tokens;    // and one that has no CA.
};

TEST(HandshakeTest, EveryCredentialAtEveryKindOfServer) {
  const TestCertificates& files = Certificates();
  const std::string token = files.Token(v1::VIEWER);
  const Case kCases[] = {
      {"admin", files.Client(v1::ADMIN), "", "admin/test", "admin/test",
       "NO_CREDENTIALS"},
      {"worker", files.Client(v1::WORKER), "", "worker/test", "worker/test",
       "NO_CREDENTIALS"},
      {"server", files.Server(), "", "server/server", "server/server",
       "NO_CREDENTIALS"},
      {"none", files.OnlyCa(), "", "UNAVAILABLE", "NO_CREDENTIALS",
       "NO_CREDENTIALS"},
      {"wrong CA", files.WrongAuthority(), "", "UNAVAILABLE", "UNAVAILABLE",
       "NO_CREDENTIALS"},
      {"wrong CA, good token", files.WrongAuthority(), token, "UNAVAILABLE",
       "UNAVAILABLE", "viewer/token"},
      {"expired", files.Expired(), "", "UNAVAILABLE", "UNAVAILABLE",
       "NO_CREDENTIALS"},
      {"without identity", files.WithoutIdentity(), "", "BAD_CERTIFICATE",
       "BAD_CERTIFICATE", "NO_CREDENTIALS"},
      {"token", files.OnlyCa(), token, "UNAVAILABLE", "viewer/token",
       "viewer/token"},
      {"wrong token", files.OnlyCa(), files.WrongToken(), "UNAVAILABLE",
       "BAD_TOKEN", "BAD_TOKEN"},
      {"token beside a certificate", files.Client(v1::ADMIN), token,
       "viewer/token", "viewer/token", "viewer/token"},
      {"wrong token beside a certificate", files.Client(v1::ADMIN),
       files.WrongToken(), "BAD_TOKEN", "BAD_TOKEN", "BAD_TOKEN"},
  };
  const TlsFiles server = files.Server();
  GuardedServer mutual(
      ServerWith({.tls = server, .token_file = files.TokenFile()}));
  GuardedServer optional(ServerWith({.tls = server,
                                     .tls_client_auth = "optional",
                                     .token_file = files.TokenFile()}));
  GuardedServer tokens(ServerWith(
      {.tls = {server.cert, server.key, ""}, .token_file = files.TokenFile()}));
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const ClientSecurity client = ClientWith(c.tls, c.token);
    EXPECT_EQ(Outcome(mutual, client), c.mutual);
    EXPECT_EQ(Outcome(optional, client), c.optional);
    EXPECT_EQ(Outcome(tokens, client), c.tokens);
  }
}

TEST(HandshakeTest, AServerWithoutTokensKnowsNoToken) {
  GuardedServer server(ServerWith({.tls = Certificates().Server()}));
  EXPECT_EQ(Outcome(server, ClientWith(Certificates().Client(v1::ADMIN),
                                       Certificates().Token(v1::ADMIN))),
            "BAD_TOKEN");
}

TEST(HandshakeTest, AClientRefusesAServerThatIsNotTheOneItDials) {
  const TestCertificates& files = Certificates();
  TlsFiles wrong = files.WrongAuthority();
  wrong.ca = files.folder().Path("ca.pem");
  TlsFiles expired = files.Expired();
  TlsFiles other = files.Client(v1::ADMIN);  // For no address at all.
  const ClientSecurity client = ClientWith(files.Client(v1::ADMIN));
  for (const TlsFiles& tls : {wrong, expired, other}) {
    GuardedServer server(ServerWith({.tls = tls}));
    EXPECT_EQ(Outcome(server, client), "UNAVAILABLE") << tls.cert;
  }
}

TEST(HandshakeTest, TheServersNameMayBeGiven) {
  GuardedServer server(ServerWith({.tls = Certificates().Server()}));
  ClientSecurity client = ClientWith(Certificates().Client(v1::ADMIN));
  client.server_name = "localhost";
  EXPECT_EQ(Outcome(server, client), "admin/test");
  client.server_name = "elsewhere";
  EXPECT_EQ(Outcome(server, client), "UNAVAILABLE");
}

TEST(HandshakeTest, PlaintextAndTlsDoNotMeet) {
  GuardedServer tls(ServerWith({.tls = Certificates().Server()}));
  GuardedServer plain{ServerSecurity()};
  EXPECT_EQ(Outcome(tls, ClientSecurity()), "UNAVAILABLE");
  EXPECT_EQ(Outcome(plain, ClientWith(Certificates().Client(v1::ADMIN))),
            "UNAVAILABLE");
}

TEST(HandshakeTest, PlaintextOnLoopback) {
  const TestCertificates& files = Certificates();
  GuardedServer open{ServerSecurity()};
  GuardedServer tokens(ServerWith({.token_file = files.TokenFile()}));
  EXPECT_EQ(Outcome(open, ClientSecurity()), "local");
  EXPECT_EQ(Outcome(open, ClientWith({}, files.WrongToken())), "local");
  EXPECT_EQ(Outcome(tokens, ClientSecurity()), "NO_CREDENTIALS");
  EXPECT_EQ(Outcome(tokens, ClientWith({}, files.WrongToken())), "BAD_TOKEN");
  EXPECT_EQ(Outcome(tokens, ClientWith({}, files.Token(v1::WORKER))),
            "worker/token");
}

// What is plaintext and not loopback is refused before anything is sent.
TEST(HandshakeTest, AClientDoesNotCallOthersInPlaintext) {
  ClientSecurity client = ClientWith({}, Certificates().Token(v1::ADMIN));
  GuardedClient refused("192.0.2.1:7070", client);
  const absl::Status status = refused.WhoAmI().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--insecure-plaintext"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.Join()));
}

}  // namespace
}  // namespace paceline
