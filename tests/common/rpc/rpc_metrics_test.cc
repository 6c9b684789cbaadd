#include "common/rpc/rpc_metrics.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/rpc/scripted_cluster.h"

namespace paceline {
namespace {

using testing::Contains;
using testing::Pair;

// By the values of the labels: "GetWorker OK".
std::map<std::string, double> CountsOf(const prometheus::Registry& registry,
                                       const std::string& name) {
  std::map<std::string, double> counts;
  for (const auto& family : registry.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      std::string labels;
      for (const auto& label : metric.label) {
        absl::StrAppend(&labels, labels.empty() ? "" : " ", label.value);
      }
      counts[labels] = family.type == prometheus::MetricType::Counter
                           ? metric.counter.value
                           : static_cast<double>(metric.histogram.sample_count);
    }
  }
  return counts;
}

TEST(RpcMetricsTest, CallsByMethodAndCode) {
  prometheus::Registry registry;
  RpcMetrics metrics(registry, {"paceline.v1.ClusterService"});
  {
    ListenOptions options;
    options.metrics = &metrics;
    const ScriptedCluster server(options, [](const std::string& name) {
      return name == "none" ? absl::NotFoundError("none") : absl::OkStatus();
    });
    const auto channel = server.Connect();
    EXPECT_TRUE(GetWorker(channel, "w0").ok());
    EXPECT_TRUE(GetWorker(channel, "w1").ok());
    EXPECT_TRUE(absl::IsNotFound(GetWorker(channel, "none")));
    EXPECT_TRUE(RawCall(channel, "/grpc.health.v1.Health/Check", "").ok());
  }  // All calls have ended.
  const auto started = CountsOf(registry, "paceline_grpc_server_started_total");
  EXPECT_THAT(started, Contains(Pair("ClusterService/GetWorker", 3)));
  EXPECT_THAT(started, Contains(Pair("ClusterService/ListWorkers", 0)));
  EXPECT_THAT(started, Contains(Pair("other", 1)));
  const auto handled = CountsOf(registry, "paceline_grpc_server_handled_total");
  EXPECT_THAT(handled, Contains(Pair("OK ClusterService/GetWorker", 2)));
  EXPECT_THAT(handled, Contains(Pair("NOT_FOUND ClusterService/GetWorker", 1)));
  EXPECT_THAT(handled, Contains(Pair("OK ClusterService/ListWorkers", 0)));
  EXPECT_THAT(CountsOf(registry, "paceline_grpc_server_handling_seconds"),
              Contains(Pair("ClusterService/GetWorker", 3)));
}

TEST(RpcMetricsTest, ACallWithoutAStatusIsCancelled) {
  prometheus::Registry registry;
  RpcMetrics metrics(registry, {"paceline.v1.ClusterService"});
  metrics.Began("/paceline.v1.ClusterService/GetWorker");
  EXPECT_THAT(CountsOf(registry, "paceline_grpc_server_handled_total"),
              Contains(Pair("CANCELLED ClusterService/GetWorker", 1)));
}

}  // namespace
}  // namespace paceline
