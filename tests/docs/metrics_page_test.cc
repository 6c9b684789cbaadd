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
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
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

Every process serves Prometheus' text format at `/metrics` (`--metrics`).

- Names end with their unit. What only counts up ends with `_total`.
- Timestamps are Unix times: `time() - x` is the age of what happened at `x`.
- The label `job_id` is a job's full name. Prometheus itself uses the label `job` for what it scrapes.
- The series of a job begin with its first run and end some time after its last run.
- Only the coordinator has series of single workers. It has them for at most 100 workers of a job, until they leave.
- The health of GPUs is in the metrics of NVIDIA's DCGM exporter.

This page is generated from the programs: `PACELINE_REWRITE=1 ctest --preset dev -R metrics_page_test`.
)";

struct Question {
  const char* text;
  const char* promql;
};

const Question kQuestions[] = {
    {"How fast does each job train, in samples per second?",
     "sum by (job_id) (rate(paceline_coordinator_samples_counted_total[1m]))"},
    {"Which share of its samples has each job trained?",
     "paceline_coordinator_samples / paceline_coordinator_samples_wanted"},
    {"How long has each job been without a push?",
     "time() - paceline_coordinator_last_push_timestamp_seconds"},
    {"Which share of the workers' time goes into waiting?",
     "sum by (job_id) (rate(paceline_coordinator_gate_wait_seconds_sum[5m])) / "
     "on (job_id) paceline_coordinator_workers"},
    {"Which five workers are the slowest, and on which GPUs?",
     "topk(5, paceline_coordinator_worker_straggler_score_ratio * on (job_id, "
     "worker) group_left (gpu_model, pool) paceline_coordinator_worker_info)"},
    {"How stale are pushes? Nine of ten are at most so many updates behind.",
     "histogram_quantile(0.9, sum by (job_id, le) "
     "(rate(paceline_coordinator_staleness_updates_bucket[5m])))"},
    {"Where does the time of all workers go?",
     "sum by (phase) (rate(paceline_worker_phase_seconds_sum[5m]))"},
    {"Why were workers lost in the last hour?",
     "sum by (job_id, reason) "
     "(increase(paceline_coordinator_workers_lost_total[1h])) > 0"},
    {"How many workers does each pool lack?",
     "paceline_coordinator_pool_workers_wanted"},
    {"How old is the newest checkpoint of each job?",
     "time() - paceline_coordinator_last_checkpoint_timestamp_seconds"},
};

std::string Questions() {
  std::string text =
      "\n## Questions, and their PromQL\n\n"
      "The dashboards and alerts of the chart ask more.\n";
  for (const Question& question : kQuestions) {
    absl::StrAppend(&text, "\n", question.text, "\n\n```promql\n",
                    question.promql, "\n```\n");
  }
  return text;
}

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

// With numbers as they could be, and such that the sentence is true.
Decision Example(DecisionKind kind) {
  const auto example = [kind](int64_t a, int64_t b, int64_t c) {
    return Decision{.kind = kind, .a = a, .b = b, .c = c};
  };
  constexpr int64_t kMillis = 1'000'000;  // Of nanoseconds.
  switch (kind) {
    case DecisionKind::kWithinBound:
    case DecisionKind::kCaughtUp:
    case DecisionKind::kLagsNoMore:
      return example(2, 3, 0);
    case DecisionKind::kGradientTaken:
      return example(2, 3, 1);
    case DecisionKind::kWeighed:
      return example(5, 166'667, 0);
    case DecisionKind::kAllowanceGranted:
      return example(5, 3, 20 * kMillis);
    case DecisionKind::kQuota:
      return example(4, 12 * kMillis, 0);
    case DecisionKind::kHandedOver:
    case DecisionKind::kAllowanceUsed:
      return example(0, 0, 0);
    case DecisionKind::kWaitForMerge:
      return example(2, 25 * kMillis, 0);
    case DecisionKind::kFloats:
      return example(30 * kMillis, 0, 0);
    case DecisionKind::kGroupsApplied:
      return example(2, 5, 1);
    case DecisionKind::kRegrouped:
      return example(3, 982, 40);
    case DecisionKind::kStraggler:
      return example(3160, 0, 0);
    case DecisionKind::kNoStraggler:
      return example(1120, 0, 0);
    case DecisionKind::kLost:
      return example(0, 19, 0);
    case DecisionKind::kRangeReturned:
      return example(1, 640, 672);
    case DecisionKind::kPartialPush:
    case DecisionKind::kBlocksRefused:
      return example(19, 4, 6);
    case DecisionKind::kPushDiscarded:
      return example(19, 0, 0);
    default:
      return example(5, 3, 8);
  }
}

std::string Reasons() {
  std::string text =
      "\n## Reasons of decisions\n\nThese are the values of the label `reason` "
      "of `paceline_coordinator_decisions_total`, each with an example\nof the "
      "sentence that people are told. Decisions about single pushes are "
      "counted and not recorded.\n\n"
      "| reason | example |\n| --- | --- |\n";
  for (const DecisionKind kind : DecisionKinds()) {
    absl::StrAppend(&text, "| `", NameOf(kind), "` | ", Render(Example(kind)),
                    " |\n");
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
  job.SetGradientNoise(1, 1);
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
  return absl::StrCat(kIntroduction, Questions(),
                      Table("Coordinator", cluster.Collect()),
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

// What they ask for is exported.
TEST(MetricsPageTest, QuestionsAreOfMetricsThatThereAre) {
  const std::string page = Page();
  for (const Question& question : kQuestions) {
    for (absl::string_view word :
         absl::StrSplit(question.promql, absl::ByAnyChar(" ()[],"))) {
      if (!absl::StartsWith(word, "paceline_")) continue;
      for (const char* part : {"_sum", "_bucket"}) {
        word = absl::StripSuffix(word, part);
      }
      EXPECT_TRUE(absl::StrContains(page, absl::StrCat("\n| `", word, "` | ")))
          << word;
    }
  }
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
