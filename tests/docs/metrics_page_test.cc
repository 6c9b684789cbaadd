// docs/metrics.md is what the programs export. With PACELINE_REWRITE=1 it is
// written anew.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/metrics/process_metrics.h"
#include "common/metrics/series.h"
#include "common/rpc/connection_report.h"
#include "common/rpc/rpc_metrics.h"
#include "common/security/certificate_watch.h"
#include "gtest/gtest.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/fleet/fleet_metrics.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/leadership/leadership_metrics.h"
#include "services/parameter_server/server_metrics.h"
#include "services/worker/worker_metrics.h"
#include "tests/common/security/test_certificates.h"

namespace paceline {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

const char kPath[] = "docs/metrics.md";

const char kIntroduction[] =
    R"(# Metrics

Every process serves Prometheus' text format at `/metrics` (`--metrics`). Names end with their unit; what
counts up ends with `_total`; timestamps are Unix times, so that an age is `time() - x`. The label `job_id` is
a job's full name (`job` is Prometheus' own, of what it scrapes); a job's series begin with its first run and
end some time after its last. Series of single workers are on the coordinator only, for at most 100 workers of
a job, and end when the worker leaves. GPU health is the DCGM exporter's.

This page is generated from the programs: `PACELINE_REWRITE=1 ctest --preset dev -R metrics_page_test`.
)";

std::string TypeOf(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    default:
      return "untyped";
  }
}

std::string LabelsOf(const MetricFamily& family) {
  std::set<std::string> names;
  for (const auto& metric : family.metric) {
    for (const auto& label : metric.label) {
      names.insert(absl::StrCat("`", label.name, "`"));
    }
  }
  return absl::StrJoin(names, ", ");
}

std::string BucketsOf(const MetricFamily& family) {
  if (family.type != MetricType::Histogram) return "";
  const auto& buckets = family.metric.at(0).histogram.bucket;
  // The last one is infinity.
  return absl::StrCat(" Buckets: ", buckets.front().upper_bound, " to ",
                      buckets.at(buckets.size() - 2).upper_bound, ".");
}

std::string Table(const std::string& title,
                  std::vector<MetricFamily> families) {
  std::string text =
      absl::StrCat("\n## ", title,
                   "\n\n| metric | type | labels | what it is |\n"
                   "| --- | --- | --- | --- |\n");
  std::sort(families.begin(), families.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const MetricFamily& family : families) {
    absl::StrAppend(&text, "| `", family.name, "` | ", TypeOf(family.type),
                    " | ", LabelsOf(family), " | ",
                    absl::StrReplaceAll(family.help, {{"|", "\\|"}}),
                    BucketsOf(family), " |\n");
  }
  return text;
}

std::string Reasons() {
  std::string text =
      "\n## Reasons of decisions\n\nThe label `reason` of "
      "`paceline_coordinator_decisions_total`, and what it means in words, "
      "with "
      "numbers left at 0.\nThose about single pushes are counted and not "
      "recorded.\n\n"
      "| reason | sentence |\n| --- | --- |\n";
  for (const DecisionKind kind : DecisionKinds()) {
    absl::StrAppend(&text, "| `", NameOf(kind), "` | ",
                    Render(Decision{.kind = kind}), " |\n");
  }
  return text;
}

std::string Page() {
  prometheus::Registry cluster;
  CoordinatorMetrics coordinator(cluster);
  coordinator.SetPoolDemand({{"lab", 1}});
  const FleetMetrics fleet(cluster);
  const LeadershipMetrics leadership(cluster);
  const RpcMetrics calls(cluster, {"paceline.v1.JobService"});
  prometheus::Registry of_job;
  JobMetrics job(of_job, "namespaces/default/jobs/j");
  job.OfWorker("w0", "lab", "A100");
  job.SetParadigm("bsp");
  job.SetThreshold(0);
  job.SetGroups(1);
  job.SetAccuracy(1);
  job.SetLoss(0);
  job.SetMetrics({{"perplexity", 20}});
  job.Switched("bsp", "asp");
  prometheus::Registry of_server;
  const ServerMetrics server(of_server);
  prometheus::Registry of_worker;
  const WorkerMetrics worker(of_worker);
  prometheus::Registry of_port;
  const ConnectionReport connections(of_port);
  prometheus::Registry of_build;
  ExportBuild(of_build, "0");
  const TestCertificates certificates;
  const auto watch =
      CertificateWatch::Open(certificates.Server(), absl::Hours(1));
  EXPECT_TRUE(watch.ok()) << watch.status();
  std::vector<MetricFamily> everywhere = ProcessMetrics().Collect();
  for (MetricFamily& family : CertificateMetrics(*watch).Collect()) {
    everywhere.push_back(std::move(family));
  }
  for (MetricFamily& family : of_build.Collect()) {
    everywhere.push_back(std::move(family));
  }
  return absl::StrCat(kIntroduction, Table("Coordinator", cluster.Collect()),
                      Table("Coordinator: of each job", of_job.Collect()),
                      Table("Parameter server", of_server.Collect()),
                      Table("Coordinator and parameter server: the gRPC port",
                            of_port.Collect()),
                      Table("Worker", of_worker.Collect()),
                      Table("Every process", std::move(everywhere)), Reasons());
}

TEST(MetricsPageTest, IsWhatTheProgramsExport) {
  const std::string page = Page();
  if (std::getenv("PACELINE_REWRITE") != nullptr) {
    std::ofstream(kPath) << page;
  }
  std::ifstream file(kPath);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(written, page)
      << "write it anew with PACELINE_REWRITE=1 and read what has changed";
}

// What promtool's linter and our conventions ask of names.
TEST(MetricsPageTest, NamesAreWellFormed) {
  prometheus::Registry registry;
  const CoordinatorMetrics coordinator(registry);
  const LeadershipMetrics leadership(registry);
  JobMetrics job(registry, "j");
  const ServerMetrics server(registry);
  const ConnectionReport connections(registry);
  const WorkerMetrics worker(registry);
  for (const MetricFamily& family : registry.Collect()) {
    SCOPED_TRACE(family.name);
    EXPECT_TRUE(absl::StartsWith(family.name, "paceline_"));
    EXPECT_EQ(absl::EndsWith(family.name, "_total"),
              family.type == MetricType::Counter);
    EXPECT_FALSE(family.help.empty());
    EXPECT_EQ(family.help.back(), '.');
    EXPECT_LE(family.metric.size(), 100u);
  }
}

}  // namespace
}  // namespace paceline
