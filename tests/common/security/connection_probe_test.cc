// What a client can find out about a handshake that gRPC only calls failed.

#include "common/security/connection_probe.h"

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/status_details.h"
#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "tests/common/loopback_socket.h"
#include "tests/common/security/guarded_server.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Minutes(1);

ServerSecurity ServerWith(const TlsFiles& tls,
                          const std::string& client_auth = "") {
  auto security =
      MakeServerSecurity({.tls = tls, .tls_client_auth = client_auth});
  EXPECT_TRUE(security.ok()) << security.status();
  return *std::move(security);
}

class ConnectionProbeTest : public ::testing::Test {
 protected:
  const TestCertificates& files_ = Certificates();
  GuardedServer mutual_{ServerWith(files_.Server())};
  GuardedServer optional_{ServerWith(files_.Server(), "optional")};
  GuardedServer plain_{ServerSecurity()};

  static absl::Status Probe(const GuardedServer& server,
                            const ClientSecurity& client) {
    return ProbeConnection(server.address(), client, kLong);
  }
};

TEST_F(ConnectionProbeTest, NothingIsWrongWithGoodCredentials) {
  const ClientSecurity good = ClientWith(files_.Client(v1::ADMIN));
  EXPECT_EQ(Probe(mutual_, good), absl::OkStatus());
  EXPECT_EQ(Probe(optional_, good), absl::OkStatus());
  EXPECT_EQ(Probe(plain_, {}), absl::OkStatus());
  // What a token may make good is for the server to say.
  EXPECT_EQ(Probe(optional_, ClientWith(files_.OnlyCa())), absl::OkStatus());
}

TEST_F(ConnectionProbeTest, NoCertificateWhereOneIsWanted) {
  const absl::Status status = Probe(mutual_, ClientWith(files_.OnlyCa()));
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_EQ(ReasonOf(status), "NO_CREDENTIALS");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(mutual_.address()), HasSubstr("--tls-cert"),
                    HasSubstr("--tls-key")));
}

TEST_F(ConnectionProbeTest, ACertificateThatIsNotTaken) {
  const TlsFiles stranger = files_.WrongAuthority();
  for (const GuardedServer* server : {&mutual_, &optional_}) {
    const absl::Status other = Probe(*server, ClientWith(stranger));
    EXPECT_EQ(ReasonOf(other), "BAD_CERTIFICATE") << other;
    EXPECT_THAT(std::string(other.message()),
                AllOf(HasSubstr(stranger.cert), HasSubstr("authority")));
    const absl::Status old = Probe(*server, ClientWith(files_.Expired()));
    EXPECT_EQ(ReasonOf(old), "BAD_CERTIFICATE") << old;
    EXPECT_THAT(std::string(old.message()), HasSubstr("has expired"));
  }
}

TEST_F(ConnectionProbeTest, AServerOfAnotherAuthority) {
  const std::string ca = files_.folder().Write(
      "probe-other-ca.pem", TestAuthority("another CA").pem());
  const absl::Status status = Probe(mutual_, ClientWith({.ca = ca}));
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_EQ(ReasonOf(status), "SERVER_NOT_TRUSTED");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("paceline test CA"), HasSubstr(ca)));
}

TEST_F(ConnectionProbeTest, AServerOfAnotherName) {
  ClientSecurity client = ClientWith(files_.Client(v1::ADMIN));
  client.server_name = "localhost";
  EXPECT_EQ(Probe(mutual_, client), absl::OkStatus());
  client.server_name = "elsewhere";
  const absl::Status status = Probe(mutual_, client);
  EXPECT_EQ(ReasonOf(status), "SERVER_NOT_TRUSTED") << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("localhost"), HasSubstr("127.0.0.1"),
                    HasSubstr("--tls-server-name")));
}

TEST_F(ConnectionProbeTest, AServerWhoseCertificateHasExpired) {
  const KeyPair old = files_.authority().Issue(
      {.names = {"URI:paceline://server/s0", "IP:127.0.0.1"},
       .valid_until = -absl::Minutes(1)});
  const GuardedServer server(ServerWith(
      {.cert = files_.folder().Write("probe-old.pem", old.certificate),
       .key = files_.folder().Write("probe-old.key", old.key),
       .ca = files_.Server().ca}));
  const absl::Status status =
      Probe(server, ClientWith(files_.Client(v1::ADMIN)));
  EXPECT_EQ(ReasonOf(status), "SERVER_NOT_TRUSTED") << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has expired"));
}

TEST_F(ConnectionProbeTest, AServerWithAClientsCertificate) {
  const GuardedServer server(ServerWith(files_.Client(v1::ADMIN)));
  const absl::Status status =
      Probe(server, ClientWith(files_.Client(v1::ADMIN)));
  EXPECT_EQ(ReasonOf(status), "SERVER_NOT_TRUSTED") << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no server's"));
}

TEST_F(ConnectionProbeTest, TlsHereAndNoneThere) {
  const absl::Status plain = Probe(plain_, ClientWith(files_.OnlyCa()));
  EXPECT_TRUE(absl::IsFailedPrecondition(plain)) << plain;
  EXPECT_EQ(ReasonOf(plain), "NO_TLS");
  const absl::Status tls = Probe(mutual_, {});
  EXPECT_TRUE(absl::IsUnauthenticated(tls)) << tls;
  EXPECT_THAT(std::string(tls.message()), HasSubstr("--tls-ca"));
}

TEST_F(ConnectionProbeTest, NothingIsKnownOfWhoDoesNotAnswer) {
  LoopbackSocket listener;
  for (const ClientSecurity& client :
       {ClientSecurity(), ClientWith(files_.Client(v1::ADMIN))}) {
    // Nobody ever says a word.
    EXPECT_EQ(
        ProbeConnection(listener.address(), client, absl::Milliseconds(50)),
        absl::OkStatus());
  }
  const std::string gone = listener.address();
  listener.Close();
  EXPECT_EQ(ProbeConnection(gone, ClientWith(files_.OnlyCa()), kLong),
            absl::OkStatus());
}

TEST_F(ConnectionProbeTest, NothingIsKnownOfWhoHangsUp) {
  LoopbackSocket listener;
  std::thread hangs_up([&] { listener.Accept(); });
  EXPECT_EQ(
      ProbeConnection(listener.address(), ClientWith(files_.OnlyCa()), kLong),
      absl::OkStatus());
  hangs_up.join();
}

TEST_F(ConnectionProbeTest, AddressesThatAreNone) {
  for (const char* address :
       {"", "host", "unix:/tmp/x:1", ":1", "[::1:1", "127.0.0.1:no-port"}) {
    EXPECT_EQ(ProbeConnection(address, ClientWith(files_.OnlyCa()), kLong),
              absl::OkStatus())
        << address;
  }
}

}  // namespace
}  // namespace paceline
