#include "services/cli/kubernetes/kubernetes_release.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

json Service(const json& status) {
  return {{"kind", "Service"},
          {"metadata", {{"name", "train-paceline-coordinator"}}},
          {"spec",
           {{"ports",
             {{{"name", "metrics"}, {"port", 9090}},
              {{"name", "grpc"}, {"port", 7071}}}}}},
          {"status", status}};
}

json Coordinator(const char* volume) {
  const json spec = {{"volumes", {{{"name", "store"}}, {{"name", volume}}}}};
  return {{"kind", "StatefulSet"}, {"spec", {{"template", {{"spec", spec}}}}}};
}

TEST(KubernetesReleaseTest, HowItIsReached) {
  struct Case {
    json status;
    const char* volume;
    std::string host;
    bool tls;
  };
  const std::vector<Case> cases = {
      {json::object(), "tls", "", true},
      {json::object(), "scratch", "", false},
      {{{"loadBalancer", json::object()}}, "tls", "", true},
      {{{"loadBalancer", {{"ingress", {{{"ip", "10.1.2.3"}}}}}}},
       "tls",
       "10.1.2.3",
       true},
      {{{"loadBalancer",
         {{"ingress", {{{"hostname", "a.elb.example"}, {"ip", "10.1.2.3"}}}}}}},
       "tls",
       "a.elb.example",
       true},
      {{{"loadBalancer", {{"ingress", "not a list"}}}}, "tls", "", true}};
  for (const Case& one : cases) {
    const json objects = {
        {"items", {Service(one.status), Coordinator(one.volume)}}};
    const auto release = ReadRelease(objects);
    ASSERT_TRUE(release.ok()) << release.status();
    EXPECT_EQ(release->service, "train-paceline-coordinator");
    EXPECT_EQ(release->port, 7071);
    EXPECT_EQ(release->host, one.host);
    EXPECT_EQ(release->tls, one.tls);
    EXPECT_EQ(release->admin_secret, "train-paceline-tls-admin");
  }
}

// Of two coordinators each has a service without an address, for its name.
TEST(KubernetesReleaseTest, WhoeverOfTwoLeads) {
  json service = Service(json::object());
  service["spec"]["clusterIP"] = "10.96.0.7";
  json one = Service(json::object());
  one["metadata"]["name"] = "train-paceline-coordinator-0";
  one["spec"]["clusterIP"] = "None";
  json second = one;
  second["metadata"]["name"] = "train-paceline-coordinator-second-0";
  const std::vector<json> orders = {{service, one, second, Coordinator("tls")},
                                    {one, second, service, Coordinator("tls")}};
  for (const json& items : orders) {
    const auto release = ReadRelease({{"items", items}});
    ASSERT_TRUE(release.ok()) << release.status();
    EXPECT_EQ(release->service, "train-paceline-coordinator");
    EXPECT_EQ(release->admin_secret, "train-paceline-tls-admin");
  }
  EXPECT_TRUE(absl::IsNotFound(
      ReadRelease({{"items", {one, second, Coordinator("tls")}}}).status()));
}

TEST(KubernetesReleaseTest, WithoutACoordinator) {
  json nameless = Service(json::object());
  nameless["metadata"] = "of another type";
  json metrics_alone = Service(json::object());
  metrics_alone["spec"]["ports"].erase(1);
  for (const json& objects :
       std::vector<json>{json::object(),
                         {{"items", json::array()}},
                         {{"items", "no list"}},
                         {{"items", {nameless}}},
                         {{"items", {metrics_alone}}},
                         {{"items", {Coordinator("tls")}}}}) {
    EXPECT_TRUE(absl::IsNotFound(ReadRelease(objects).status())) << objects;
  }
}

TEST(KubernetesReleaseTest, ACertificateHasThreeTexts) {
  json secret = {
      {"data",
       {{"tls.crt", "Q0VSVA=="}, {"tls.key", "S0VZ"}, {"ca.crt", "Q0E="}}}};
  const auto texts = ReadCertificate(secret);
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_THAT(*texts, UnorderedElementsAre(Pair("tls.crt", "CERT"),
                                           Pair("tls.key", "KEY"),
                                           Pair("ca.crt", "CA")));
  for (const json& wrong : std::vector<json>{nullptr, 7, "", "***"}) {
    secret["data"]["tls.key"] = wrong;
    const absl::Status status = ReadCertificate(secret).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << wrong;
    EXPECT_THAT(status.message(), HasSubstr("no tls.key"));
  }
  EXPECT_FALSE(ReadCertificate(json::object()).ok());
}

}  // namespace
}  // namespace paceline
