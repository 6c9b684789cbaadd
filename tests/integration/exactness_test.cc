// Whatever the paradigm, and whoever dies: every gradient reaches every weight
// once. Workers are real processes with integer gradients (integer_worker.h);
// a weight is the sum of what was applied to it.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/common/test_paths.h"
#include "tests/integration/integer_worker.h"
#include "tests/integration/local_cluster.h"

namespace paceline {
namespace {

constexpr uint32_t kTrainSamples = 32 * 60;
constexpr uint32_t kEpochs = 2;
constexpr uint32_t kBatch = 32;
constexpr uint32_t kServers = 2;

// Two blocks of one tensor and a small one, over two servers.
const std::vector<int64_t> kTensors = {300'000, 7};

// A worker process; gone, whatever became of it, when this is.
class Process {
 public:
  Process(const std::string& address, const std::string& name,
          const std::string& step) {
    std::vector<std::string> words = {ProgramPath("integer_worker"), address,
                                      name, std::to_string(kTrainSamples),
                                      step};
    for (const int64_t size : kTensors) words.push_back(std::to_string(size));
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      execv(argv[0], argv.data());
      _exit(127);
    }
  }
  ~Process() {
    kill(pid_, SIGKILL);
    kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void Signal(int signal) const { kill(pid_, signal); }

 private:
  pid_t pid_;
};

// What every weight must be after all samples were applied once, at rate 1.
double ExpectedWeight() {
  double sum = 0;
  for (uint32_t begin = 0; begin < kTrainSamples; begin += kBatch) {
    sum += IntegerWorker::GradientAt(begin);
  }
  return -sum * kEpochs;
}

v1::JobSpec IntegerJob(const std::string& paradigm) {
  v1::JobSpec job = SmallJob(paradigm, /*workers=*/4);
  job.set_learning_rate(1);
  job.mutable_stop()->set_epochs(kEpochs);
  return job;
}

// Blocks that lost workers had pushed in part, and that count twice for it.
int PartialPushes(const LocalCluster& cluster) {
  int partial = 0;
  for (const v1::Decision& decision : cluster.decisions()) {
    partial += absl::StrContains(decision.text(), "blocks");
  }
  return partial;
}

void ExpectEverythingAppliedOnce(const LocalCluster& cluster) {
  ASSERT_FALSE(cluster.result().is_null());
  EXPECT_EQ(cluster.result()["samples"], kTrainSamples * kEpochs);
  const auto weights = cluster.FinalWeights();
  ASSERT_TRUE(weights.ok()) << weights.status();
  // A push that a death cut in two is dealt again; its blocks that had arrived
  // count twice, at most four each, and every such push is on record.
  const double slack = 4.0 * PartialPushes(cluster);
  double highest = weights->front().front();
  for (const auto& tensor : *weights) {
    const auto [low, high] = std::minmax_element(tensor.begin(), tensor.end());
    EXPECT_LE(*high, ExpectedWeight() + 0.01);
    EXPECT_NEAR(*low, ExpectedWeight(), 0.01 + slack);
    highest = std::max<double>(highest, *high);
  }
  // Never every block, or the whole push had been taken, and counted.
  EXPECT_NEAR(highest, ExpectedWeight(), 0.01);
}

class ExactnessTest : public testing::TestWithParam<const char*> {};

TEST_P(ExactnessTest, AddsUpWithoutLosses) {
  LocalCluster cluster(kServers);
  std::vector<std::unique_ptr<Process>> workers;
  for (const char* step : {"1ms", "1ms", "2ms", "5ms"}) {
    workers.push_back(std::make_unique<Process>(
        cluster.address(), absl::StrCat("w", workers.size()), step));
  }
  const absl::Status outcome = cluster.Run(IntegerJob(GetParam()));
  ASSERT_TRUE(outcome.ok()) << outcome;
  EXPECT_EQ(PartialPushes(cluster), 0);
  ExpectEverythingAppliedOnce(cluster);
}

// Kills or stops w3 once it has computed for a while.
void RunAndSignal(LocalCluster& cluster, const v1::JobSpec& job, int signal,
                  bool wake) {
  // So that there is time to stop it before all is computed.
  const int slower = wake ? 3 : 1;
  std::vector<std::unique_ptr<Process>> workers;
  for (const int step : {20, 20, 30, 50}) {
    workers.push_back(std::make_unique<Process>(
        cluster.address(), absl::StrCat("w", workers.size()),
        absl::StrCat(slower * step, "ms")));
  }
  auto outcome =
      std::async(std::launch::async, [&] { return cluster.Run(job); });
  EXPECT_TRUE(cluster.Await(
      [](const v1::WatchJobResponse& event) {
        return event.progress().samples() > kTrainSamples / 4;
      },
      absl::Minutes(1)));
  workers[3]->Signal(signal);
  if (wake) {
    EXPECT_TRUE(cluster.Await(
        [](const v1::WatchJobResponse& event) {
          return event.decision().worker() == "w3" &&
                 absl::StartsWith(event.decision().text(), "lost");
        },
        absl::Minutes(1)));
    workers[3]->Signal(SIGCONT);
  }
  EXPECT_TRUE(outcome.get().ok());
}

TEST_P(ExactnessTest, AddsUpWhenAWorkerIsKilled) {
  LocalCluster cluster(kServers);
  RunAndSignal(cluster, IntegerJob(GetParam()), SIGKILL, /*wake=*/false);
  ExpectEverythingAppliedOnce(cluster);
}

TEST_P(ExactnessTest, AddsUpWhenAWorkerWakesAfterItsLease) {
  LocalCluster cluster(kServers);
  RunAndSignal(cluster, IntegerJob(GetParam()), SIGSTOP, /*wake=*/true);
  ExpectEverythingAppliedOnce(cluster);
}

// A running job goes through every kind of paradigm and loses nothing.
TEST(SwitchExactnessTest, AddsUpOverSwitches) {
  v1::JobSpec job = IntegerJob("bsp");
  const std::vector<std::string> paradigms = {"ssp:s=1",
                                              "asp",
                                              "dssp:lower=1,upper=4",
                                              "saps:s=2",
                                              "cgp:warmup_rounds=1",
                                              "bsp:steal=true,pieces=4",
                                              "bsp",
                                              "ssp:s=0",
                                              "saps:mode=damp,s=1000",
                                              "bsp"};
  for (size_t i = 0; i < paradigms.size(); ++i) {
    v1::PlannedSwitch& planned = *job.add_switches();
    planned.set_samples(static_cast<int64_t>((i + 1) * kTrainSamples * kEpochs /
                                             (paradigms.size() + 2)));
    planned.set_paradigm(paradigms[i]);
  }
  LocalCluster cluster(kServers);
  std::vector<std::unique_ptr<Process>> workers;
  for (const char* step : {"2ms", "2ms", "4ms", "12ms"}) {
    workers.push_back(std::make_unique<Process>(
        cluster.address(), absl::StrCat("w", workers.size()), step));
  }
  const absl::Status outcome = cluster.Run(job);
  ASSERT_TRUE(outcome.ok()) << outcome;
  EXPECT_EQ(PartialPushes(cluster), 0);
  ExpectEverythingAppliedOnce(cluster);
  const auto switches = cluster.result()["switches"];
  ASSERT_EQ(switches.size(), paradigms.size());
  for (const auto& done : switches) {
    EXPECT_FALSE(done["took_seconds"].is_null()) << done;
  }
}

INSTANTIATE_TEST_SUITE_P(Paradigms, ExactnessTest,
                         testing::Values("bsp", "bsp:steal=true",
                                         "bsp:steal=true,fill=true", "asp",
                                         "ssp:s=3", "dssp:lower=3,upper=15",
                                         "dssp:mode=bounded", "saps:s=3",
                                         "saps:mode=damp,s=1000", "ksync:k=2",
                                         "abs:pieces=8", "elastic:r=5"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::erase_if(name, [](char c) {
                             return !isalnum(static_cast<unsigned char>(c));
                           });
                           return name;
                         });

}  // namespace
}  // namespace paceline
