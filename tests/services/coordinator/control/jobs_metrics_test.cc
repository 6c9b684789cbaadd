// What a coordinator exports of a large run, and what is left of it.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/metrics/process_metrics.h"
#include "common/metrics/series.h"
#include "common/rpc/rpc_metrics.h"
#include "gmock/gmock.h"
#include "tests/services/coordinator/control/jobs_testing.h"

namespace paceline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kWorkers = 64;
constexpr size_t kMost = 100;
constexpr char kPerWorker[] = "paceline_coordinator_worker_";
constexpr char kInfo[] = "paceline_coordinator_worker_info";
// The one that is made last of a worker.
constexpr char kLast[] = "paceline_coordinator_worker_lag_updates";

std::string NameOf(int worker) { return absl::StrCat("w", worker); }

// The command's exit code; -1 if it did not exit.
int Shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class JobsMetricsTest : public JobsTest {
 protected:
  // One server, 64 workers of 8 pools and 5 GPU models, and what main() adds
  // to the registry.
  void StartCluster() {
    options_.lease = absl::Hours(1);  // Nobody says that they live.
    Start();
    ExportBuild(registry(), "1.2.3");
    calls_ = std::make_unique<RpcMetrics>(
        registry(),
        std::vector<std::string>{"paceline.v1.Fleet", "paceline.v1.JobService",
                                 "paceline.v1.ClusterService"});
    AddServer("s0");
    for (int i = 0; i < kWorkers; ++i) AddWorkerOf(NameOf(i), i % 8, i % 5);
  }

  FleetWorker& AddWorkerOf(const std::string& name, int pool, int gpu_model) {
    v1::WorkerHello hello;
    hello.set_name(name);
    hello.set_pool(absl::StrCat("pool-", pool));
    hello.set_gpu_model(absl::StrCat("GPU \"", gpu_model, "\""));
    return AddWorker(hello);
  }

  // All of them have pushed, and the run has told of them.
  std::string RunWithAll() {
    v1::CreateJobRequest request = Request("large");
    request.mutable_job()->mutable_spec()->mutable_workers()->set_min(kWorkers);
    const std::string job = Create(request);
    AwaitTraining(job);
    for (int i = 0; i < kWorkers; ++i) worker(i).Push(2);
    AwaitScrape("the pushes", [](const Exposition& scrape) {
      return scrape.Sum("paceline_coordinator_pushes_total") == 2 * kWorkers;
    });
    for (const char* const paradigm : {"bsp", "ssp:s=3", "cgp", "saps"}) {
      v1::SwitchParadigmRequest change;
      change.set_name(job);
      change.set_paradigm(paradigm);
      EXPECT_TRUE(jobs().SwitchParadigm(change, "test").ok());
    }
    AwaitWorkers(kWorkers);
    return job;
  }

  // Seconds pass until so many workers are told of; none after that.
  Exposition AwaitWorkers(size_t workers) {
    return AwaitScrape(absl::StrCat(workers, " workers"),
                       [&](const Exposition& scrape) {
                         if (scrape.SeriesOf(kLast) == workers &&
                             scrape.SeriesOf(kInfo) == workers) {
                           return true;
                         }
                         clock_.Advance(absl::Seconds(1));
                         return false;
                       });
  }

  std::unique_ptr<RpcMetrics> calls_;
};

TEST_F(JobsMetricsTest, ARunOf64WorkersHasAtMost100ValuesOfEachLabel) {
  StartCluster();
  RunWithAll();
  const Exposition scrape = Scrape();
  EXPECT_EQ(scrape.ValuesOf(kInfo, "worker").size(), kWorkers);
  EXPECT_EQ(scrape.ValuesOf(kInfo, "pool").size(), 8u);
  EXPECT_EQ(scrape.ValuesOf(kInfo, "gpu_model").size(), 5u);
  EXPECT_EQ(scrape.SeriesOf("paceline_coordinator_paradigm_switches_total"),
            4u);
  EXPECT_GT(scrape.Names().size(), 50u);
  for (const std::string& name : scrape.Names()) {
    SCOPED_TRACE(name);
    const auto labels = scrape.LabelsOf(name);
    for (const auto& [label, values] : labels) {
      EXPECT_LE(values.size(), kMost) << label;
    }
    // A histogram's are its buckets times its label's values.
    if (labels.contains("le")) continue;
    EXPECT_LE(scrape.SeriesOf(name), kMost);
  }
}

TEST_F(JobsMetricsTest, WhoLeavesTakesTheirSeriesAlong) {
  StartCluster();
  const std::string job = RunWithAll();
  // 20 break down, 4 are sent away.
  std::set<std::string> left;
  for (int i = 0; i < 20; ++i) worker(i).Break();
  for (int i = 20; i < 24; ++i) {
    ASSERT_TRUE(jobs().fleet().SetDraining(NameOf(i), true).ok());
    worker(i).AwaitStop();
  }
  for (int i = 24; i < kWorkers; ++i) left.insert(NameOf(i));
  const Exposition scrape = AwaitWorkers(left.size());
  int told = 0;
  for (const std::string& name : scrape.Names()) {
    if (!absl::StartsWith(name, kPerWorker)) continue;
    ++told;
    EXPECT_EQ(scrape.ValuesOf(name, "worker"), left) << name;
    EXPECT_EQ(scrape.SeriesOf(name), left.size()) << name;
  }
  EXPECT_GE(told, 7);
  EXPECT_EQ(scrape.Sum("paceline_coordinator_workers"), left.size());
  ASSERT_TRUE(Cancel(job).ok());
  AwaitWorkers(0);
  for (const std::string& name : Scrape().Names()) {
    EXPECT_FALSE(absl::StartsWith(name, kPerWorker)) << name;
  }
}

// Between two reports of progress one process goes and another one comes.
TEST_F(JobsMetricsTest, WhoComesBackFromElsewhereIsThereOnce) {
  options_.lease = absl::Hours(1);
  Start();
  AddServer("s0");
  FleetWorker& first = AddWorkerOf("w0", 0, 0);
  AddWorkerOf("w1", 0, 0);
  v1::CreateJobRequest request = Request("small");
  request.mutable_job()->mutable_spec()->mutable_workers()->set_min(2);
  AwaitTraining(Create(request));
  AwaitWorkers(2);
  first.Break();
  AddWorkerOf("w0", 7, 3);
  AwaitScrape("another w0", [](const Exposition& scrape) {
    return scrape.Sum("paceline_coordinator_workers_joined_total") == 3;
  });
  const Exposition scrape =
      AwaitScrape("its pool", [&](const Exposition& later) {
        clock_.Advance(absl::Seconds(1));
        return later.ValuesOf(kInfo, "pool").contains("pool-7");
      });
  EXPECT_EQ(scrape.SeriesOf(kInfo), 2u);
  EXPECT_THAT(scrape.ValuesOf(kInfo, "pool"), ElementsAre("pool-0", "pool-7"));
  EXPECT_THAT(scrape.ValuesOf(kInfo, "gpu_model"),
              ElementsAre("GPU \"0\"", "GPU \"3\""));
  EXPECT_THAT(scrape.ValuesOf(kLast, "worker"), ElementsAre("w0", "w1"));
}

TEST_F(JobsMetricsTest, PromtoolFindsNoFault) {
  if (Shell("promtool --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "there is no promtool";
  }
  StartCluster();
  RunWithAll();
  std::vector<prometheus::MetricFamily> families = registry().Collect();
  for (auto& family : ProcessMetrics().Collect()) {
    families.push_back(std::move(family));
  }
  const TestFolder directory;
  const std::string scrape = directory.Path("scrape.txt");
  const std::string verdict = directory.Path("verdict.txt");
  std::ofstream(scrape) << Exposition(families).text();
  EXPECT_EQ(Shell(absl::StrCat("promtool check metrics <'", scrape, "' >'",
                               verdict, "' 2>&1")),
            0);
  std::ifstream said(verdict);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(said), {}), IsEmpty());
}

}  // namespace
}  // namespace paceline
