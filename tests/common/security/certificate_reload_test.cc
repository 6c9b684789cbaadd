// Certificates and tokens that change under a server that runs.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_details.h"
#include "gtest/gtest.h"
#include "tests/common/security/eventually.h"
#include "tests/common/security/guarded_server.h"
#include "tests/common/security/log_capture.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

constexpr absl::Duration kOften = absl::Milliseconds(20);

class ReloadTest : public testing::Test {
 protected:
  ServerSecurity Server(const ServerSecurityOptions& from) {
    ServerSecurityOptions options = from;
    options.reload_interval = kOften;
    auto security = MakeServerSecurity(options);
    EXPECT_TRUE(security.ok()) << security.status();
    return *std::move(security);
  }

  ClientSecurity Client(const TlsFiles& tls) {
    ClientSecurityOptions options;
    options.tls = tls;
    options.reload_interval = kOften;
    auto security = MakeClientSecurity(options);
    EXPECT_TRUE(security.ok()) << security.status();
    return *std::move(security);
  }

  // Over a connection of its own: an open one goes on with what it has.
  absl::StatusOr<std::string> WhoAmI(const GuardedServer& server,
                                     const ClientSecurity& security) {
    return GuardedClient(server.address(), security).WhoAmI();
  }

  void Put(const std::string& name, const KeyPair& issued) {
    folder_.Write(name + ".pem", issued.certificate);
    folder_.Write(name + ".key", issued.key);
  }

  TlsFiles Files(const std::string& name, const std::string& ca) {
    return {folder_.Path(name + ".pem"), folder_.Path(name + ".key"),
            folder_.Path(ca)};
  }

  const TestFolder folder_;
  const TestAuthority first_{"first CA"};
  const TestAuthority second_{"second CA"};
  const TestAuthority::Request server_{.common_name = "server",
                                       .names = {"IP:127.0.0.1"}};
  const TestAuthority::Request admin_{.common_name = "admin",
                                      .names = {"URI:paceline://admin/a"}};
};

TEST_F(ReloadTest, ARunningServerTakesANewCertificate) {
  Put("server", first_.Issue(server_));
  Put("admin", first_.Issue(admin_));
  folder_.Write("both.pem", first_.pem() + second_.pem());
  folder_.Write("second.pem", second_.pem());
  GuardedServer server(Server({.tls = Files("server", "both.pem")}));
  const ClientSecurity trusts_both = Client(Files("admin", "both.pem"));
  const ClientSecurity trusts_second = Client(Files("admin", "second.pem"));
  GuardedClient stays(server.address(), trusts_both);
  EXPECT_EQ(stays.WhoAmI().value_or("refused"), "admin/a");
  EXPECT_TRUE(absl::IsUnavailable(WhoAmI(server, trusts_second).status()));

  Put("server", second_.Issue(server_));
  EXPECT_TRUE(Eventually([&] { return WhoAmI(server, trusts_second).ok(); }));
  EXPECT_EQ(WhoAmI(server, trusts_both).value_or("refused"), "admin/a");
  EXPECT_TRUE(stays.WhoAmI().ok());
}

TEST_F(ReloadTest, ARunningServerTakesANewAuthority) {
  Put("server", first_.Issue(server_));
  Put("old", first_.Issue(admin_));
  Put("new", second_.Issue(admin_));
  folder_.Write("first.pem", first_.pem());
  folder_.Write("clients.pem", first_.pem());
  GuardedServer server(Server({.tls = Files("server", "clients.pem")}));
  const ClientSecurity old_admin = Client(Files("old", "first.pem"));
  const ClientSecurity new_admin = Client(Files("new", "first.pem"));
  EXPECT_TRUE(WhoAmI(server, old_admin).ok());
  EXPECT_FALSE(WhoAmI(server, new_admin).ok());

  folder_.Write("clients.pem", second_.pem());
  EXPECT_TRUE(Eventually([&] { return WhoAmI(server, new_admin).ok(); }));
  EXPECT_FALSE(WhoAmI(server, old_admin).ok());
}

TEST_F(ReloadTest, AClientTakesANewCertificateForItsNextConnection) {
  Put("server", first_.Issue(server_));
  Put("client", first_.Issue(admin_));
  folder_.Write("first.pem", first_.pem());
  GuardedServer server(Server({.tls = Files("server", "first.pem")}));
  const ClientSecurity client = Client(Files("client", "first.pem"));
  EXPECT_EQ(WhoAmI(server, client).value_or("refused"), "admin/a");

  TestAuthority::Request viewer = admin_;
  viewer.names = {"URI:paceline://viewer/v"};
  Put("client", first_.Issue(viewer));
  EXPECT_TRUE(Eventually([&] {
    return WhoAmI(server, client).value_or("refused") == "viewer/v";
  }));
}

TEST_F(ReloadTest, BadFilesChangeNothing) {
  const KeyPair good = first_.Issue(server_);
  Put("server", good);
  Put("admin", first_.Issue(admin_));
  folder_.Write("first.pem", first_.pem());
  GuardedServer server(Server({.tls = Files("server", "first.pem")}));
  const ClientSecurity admin = Client(Files("admin", "first.pem"));
  const KeyPair other = first_.Issue(server_);
  const KeyPair kBad[] = {
      {"", good.key},
      {good.certificate, "no key"},
      {good.certificate.substr(0, 200), good.key},
      {other.certificate, good.key},  // As between two renames.
  };
  for (const KeyPair& bad : kBad) {
    const LogCapture log;
    Put("server", bad);
    EXPECT_TRUE(Eventually([&] { return log.Count("cannot be used") >= 1; }));
    // For longer than gRPC takes to notice what it is handed.
    const absl::Time until = absl::Now() + absl::Milliseconds(1200);
    while (absl::Now() < until) {
      ASSERT_EQ(WhoAmI(server, admin).value_or("refused"), "admin/a");
    }
  }
  // The other half comes: both are used.
  folder_.Write("second.pem", second_.pem());
  Put("server", second_.Issue(server_));
  const ClientSecurity trusts_second = Client(Files("admin", "second.pem"));
  EXPECT_TRUE(Eventually([&] { return WhoAmI(server, trusts_second).ok(); }));
}

TEST_F(ReloadTest, AnExpiredCertificateIsWarnedOf) {
  TestAuthority::Request expired = server_;
  expired.valid_from = -absl::Hours(2);
  expired.valid_until = -absl::Hours(1);
  Put("server", first_.Issue(expired));
  folder_.Write("first.pem", first_.pem());
  const LogCapture log;
  const ServerSecurity security = Server({.tls = Files("server", "first.pem")});
  EXPECT_EQ(log.Count("has expired"), 1);
}

TEST_F(ReloadTest, ATokenIsTakenBackWithoutARestart) {
  const TestCertificates certificates;
  GuardedServer server(Server({.token_file = certificates.TokenFile()}));
  const auto security =
      MakeClientSecurity({.token_file = certificates.Token(v1::ADMIN)});
  ASSERT_TRUE(security.ok());
  GuardedClient stays(server.address(), *security);
  EXPECT_TRUE(stays.WhoAmI().ok());
  certificates.folder().Write(
      "tokens", absl::StrCat("x viewer sha256:", Sha256Hex("another"), "\n"));
  EXPECT_TRUE(Eventually([&] { return !stays.WhoAmI().ok(); }));
  EXPECT_EQ(ReasonOf(stays.WhoAmI().status()), "BAD_TOKEN");
}

}  // namespace
}  // namespace paceline
