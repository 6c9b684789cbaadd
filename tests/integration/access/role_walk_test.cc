// Every method of every service, called by everybody, at processes with mutual
// TLS: exactly those who are allowed get through.

#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/rpc/channel.h"
#include "google/protobuf/empty.pb.h"
#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "protos/paceline/v1/cluster.pb.h"
#include "tests/common/security/eventually.h"
#include "tests/common/security/test_certificates.h"
#include "tests/integration/access/access_answer.h"
#include "tests/integration/access/access_callers.h"
#include "tests/integration/access/access_table.h"
#include "tests/integration/generic_call.h"
#include "tests/integration/process_cluster.h"

namespace paceline {
namespace {

const TestCertificates& Certificates() {
  static const auto& certificates = *new TestCertificates();
  return certificates;
}

std::shared_ptr<grpc::Channel> Dial(const std::string& address,
                                    const ClientSecurityOptions& credentials) {
  const auto security = MakeClientSecurity(credentials);
  EXPECT_TRUE(security.ok()) << security.status();
  return MakeChannel(address, ChannelProfile::kControl, absl::Seconds(60),
                     *security);
}

std::vector<std::string> SecurityFlagsOf(const std::string& client_auth) {
  const TlsFiles tls = Certificates().Server();
  return {"--tls-cert",        tls.cert,
          "--tls-key",         tls.key,
          "--tls-ca",          tls.ca,
          "--token-file",      Certificates().TokenFile(),
          "--tls-client-auth", client_auth};
}

// A coordinator and a parameter server, which shows it its own certificate.
class SecureCluster {
 public:
  SecureCluster(const std::string& client_auth, bool reflection)
      : client_auth_(client_auth),
        reflection_(reflection),
        cluster_(CoordinatorFlags()) {
    cluster_.Start("paceline-server", "s0", SecurityFlagsOf(client_auth));
    EXPECT_TRUE(Eventually([this] { return FindServer(); }));
  }

  const std::string& coordinator() const { return cluster_.address(); }
  const std::string& server() const { return server_; }

  AccessPlace CoordinatorPlace() const {
    return {absl::StrCat("coordinator, certificates ", client_auth_), true,
            reflection_, client_auth_ == "require"};
  }
  AccessPlace ServerPlace() const {
    return {absl::StrCat("parameter server, certificates ", client_auth_),
            false, false, client_auth_ == "require"};
  }

 private:
  std::vector<std::string> CoordinatorFlags() const {
    std::vector<std::string> flags = SecurityFlagsOf(client_auth_);
    flags.push_back(reflection_ ? "--reflection" : "--no-reflection");
    return flags;
  }

  bool FindServer() {
    const auto bytes = CallGenerically(
        Dial(coordinator(), {.tls = Certificates().Client(v1::ADMIN)}),
        "/paceline.v1.ClusterService/ListServers", "");
    v1::ListServersResponse servers;
    if (!bytes.ok() || !servers.ParseFromString(*bytes) ||
        servers.servers().empty()) {
      return false;
    }
    server_ = servers.servers(0).address();
    return true;
  }

  const std::string client_auth_;
  const bool reflection_;
  ProcessCluster cluster_;
  std::string server_;
};

bool IsReady(grpc::Channel& channel) {
  return channel.GetState(false) == GRPC_CHANNEL_READY;
}

// One caller, all methods. Returns how many calls were made.
int WalkAs(const AccessCaller& caller, const AccessPlace& place,
           const std::string& address) {
  SCOPED_TRACE(absl::StrCat(caller.name, " at ", place.name));
  const auto channel = Dial(address, caller.credentials);
  for (const AccessRow& row : AccessTable()) {
    const auto answer =
        CallGenerically(channel, row.method, "", caller.authorization);
    EXPECT_EQ(AnswerText(answer.status(), IsReady(*channel)),
              ExpectedAnswer(place, caller, row))
        << row.method << ": " << answer.status();
  }
  return static_cast<int>(AccessTable().size());
}

void Walk(const AccessPlace& place, const std::string& address) {
  int calls = 0;
  const auto callers = AccessCallers(Certificates());
  for (const AccessCaller& caller : callers) {
    calls += WalkAs(caller, place, address);
  }
  std::cout << place.name << ": " << AccessTable().size() << " methods by "
            << callers.size() << " callers, " << calls << " calls\n";
}

TEST(RoleWalkTest, WhereCertificatesAreRequired) {
  const SecureCluster cluster("require", false);
  Walk(cluster.CoordinatorPlace(), cluster.coordinator());
  Walk(cluster.ServerPlace(), cluster.server());
}

TEST(RoleWalkTest, WhereTokensDoToo) {
  const SecureCluster cluster("optional", true);
  Walk(cluster.CoordinatorPlace(), cluster.coordinator());
  Walk(cluster.ServerPlace(), cluster.server());
}

// The names in a ServerReflectionResponse, whose proto the system does not
// have: list_services_response = 6, its service = 1, its name = 1.
std::set<std::string> ServicesIn(const std::string& response) {
  const auto parts = [](const std::string& bytes, int number) {
    google::protobuf::Empty message;
    EXPECT_TRUE(message.ParseFromString(bytes));
    std::vector<std::string> found;
    const auto& fields = message.GetReflection()->GetUnknownFields(message);
    for (int i = 0; i < fields.field_count(); ++i) {
      const auto& field = fields.field(i);
      if (field.number() != number) continue;
      if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
        continue;
      found.push_back(field.length_delimited());
    }
    return found;
  };
  std::set<std::string> names;
  for (const std::string& list : parts(response, 6)) {
    for (const std::string& service : parts(list, 1)) {
      for (const std::string& name : parts(service, 1)) names.insert(name);
    }
  }
  return names;
}

// So that no service gets past the table by having no proto of ours.
TEST(RoleWalkTest, TheCoordinatorServesNothingElse) {
  const SecureCluster cluster("optional", true);
  const auto response = CallGenerically(
      Dial(cluster.coordinator(), {.tls = Certificates().OnlyCa()}),
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
      "\x3a\x01*");
  ASSERT_TRUE(response.ok()) << response.status();
  std::set<std::string> expected;
  for (const AccessRow& row : AccessTable()) {
    if (row.served_by == ServedBy::kParameterServer) continue;
    const std::string method = row.method;
    expected.insert(method.substr(1, method.rfind('/') - 1));
  }
  EXPECT_EQ(ServicesIn(*response), expected);
}

}  // namespace
}  // namespace paceline
