// A small run in which somebody dies at each place, one place after the other:
// before each thing that a member or a server does, after each thing that the
// coordinator is told.

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/simulator/virtual_cluster.h"
#include "tests/services/coordinator/run/course/run_checker.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/simulator/falling_loss.h"

namespace paceline {
namespace {

constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1000 * kMillisecond;
// Nobody dies at some: an evaluator that goes is not missed, and a coordinator
// that has not begun to train begins anew. After so many the run is over.
constexpr int kPlacesWithout = 40;

// Two epochs of three iterations, of three unlike workers on two servers.
ClusterSpec SpecOf(const std::string& paradigm) {
  ClusterSpec spec;
  spec.whole_run = true;
  spec.faults.coming = 10 * kMillisecond;
  spec.faults.loading = 10 * kMillisecond;
  spec.faults.initializing = 5 * kMillisecond;
  spec.faults.evaluating = 5 * kMillisecond;
  spec.faults.pushing = 5 * kMillisecond;
  spec.faults.commanding = 10 * kMillisecond;
  spec.faults.writing = 10 * kMillisecond;
  spec.faults.until = 1;  // Whoever is needed comes again.
  spec.end = 3600 * kSecond;
  spec.servers = 2;
  spec.server_blocks.assign(spec.servers, 2);
  spec.train_samples = 24;
  CourseOptions& run = spec.run;
  run.paradigm = *ParseParadigm(paradigm);
  run.batch_size = 8;
  run.evaluate = true;
  run.eval_every = 24;
  run.checkpoint_root = "/checkpoints";
  spec.micro_batch = 4;
  spec.settings.workers_min = 1;
  spec.settings.stop.epochs = 2;
  for (const int milliseconds : {10, 13, 40}) {
    WorkerSpec& worker = spec.workers.emplace_back();
    worker.name = absl::StrCat("w", milliseconds);
    worker.device.iteration = milliseconds * kMillisecond;
    worker.link.latency = kMillisecond;
    worker.wishes.extends = true;
  }
  return spec;
}

// Counts who has died.
class Deaths : public ClusterObserver {
 public:
  void Given(Nanos /*at*/, const RunInput& input) override {
    if (std::holds_alternative<CoordinatorRestarted>(input) ||
        std::holds_alternative<ServerLinkChanged>(input) ||
        std::holds_alternative<MemberGone>(input)) {
      ++all_;
    }
  }
  void Decided(Nanos at, const RunOutput& output) override {
    if (const auto* const evicted = std::get_if<Evicted>(&output)) {
      if (evicted->reason == LossReason::kLeaseEnded) ++all_;
      ++evicted_;
    }
    if (std::holds_alternative<RunEnded>(output)) ended_ = at;
  }

  int all() const { return all_; }
  int evicted() const { return evicted_; }  // Workers.
  Nanos ended() const { return ended_; }

 private:
  int all_ = 0;
  int evicted_ = 0;
  Nanos ended_ = 0;
};

// Runs it to its end, and says who died.
Deaths RunWhole(const ClusterSpec& spec) {
  RunChecker checker;
  checker.Begin(spec.train_samples, spec.start, /*checkpoints=*/true,
                /*limited=*/false,
                absl::ToInt64Nanoseconds(spec.run.lease) + kSecond);
  HistoryChecker history(spec);
  Deaths deaths;
  FallingLoss losses;
  const SimulationResult result =
      VirtualCluster(&spec, {&checker, &history, &deaths, &losses}).Run();
  EXPECT_EQ(checker.violation(), "");
  EXPECT_TRUE(result.complete) << "it does not end";
  EXPECT_TRUE(checker.outcome().status.ok()) << checker.outcome().status;
  EXPECT_EQ(history.Verdict(), "");
  return deaths;
}

class CourseBoundaryTest : public ::testing::TestWithParam<const char*> {};

// Lets somebody die at the first place, at the second, and so on, until the run
// has no more of them. `dies_at` is in `spec`. Gives how often somebody died.
template <class Check>
int DieEverywhere(const ClusterSpec& spec, int64_t& dies_at, Check check) {
  int deaths = 0;
  int without = 0;
  for (dies_at = 1; without < kPlacesWithout; ++dies_at) {
    SCOPED_TRACE(absl::StrCat("at place ", dies_at));
    const Deaths deaths_here = RunWhole(spec);
    const int died = deaths_here.all();
    check(deaths_here);
    if (::testing::Test::HasFailure()) break;
    deaths += died;
    without = died > 0 ? 0 : without + 1;
  }
  return deaths;
}

void Anything(const Deaths&) {}

TEST_P(CourseBoundaryTest, TheCoordinatorDies) {
  ClusterSpec spec = SpecOf(GetParam());
  EXPECT_GT(DieEverywhere(spec, spec.faults.coordinator_dies_at, Anything), 20);
}

TEST_P(CourseBoundaryTest, AMemberDies) {
  ClusterSpec spec = SpecOf(GetParam());
  EXPECT_GT(DieEverywhere(spec, spec.faults.member_dies_at, Anything), 20);
}

// The primary of a shard or its backup, as one process often is both: of what
// it was told, before it acts; of what it has on its way to its backup, before
// that has it, and before it knows that.
TEST_P(CourseBoundaryTest, AServerDies) {
  ClusterSpec spec = SpecOf(GetParam());
  spec.servers = 3;
  spec.server_blocks.assign(spec.servers, 2);
  spec.run.replicas = 1;
  spec.faults.replicating = kMillisecond;
  spec.faults.commanding = 2 * kMillisecond;
  spec.settings.stop.epochs = 4;
  const Nanos calm = RunWhole(spec).ended();
  Nanos longest = 0;
  const auto costs_seconds_and_nobody = [&](const Deaths& deaths) {
    longest = std::max(longest, deaths.ended() - calm);
    EXPECT_EQ(deaths.evicted(), 0);
  };
  EXPECT_GT(
      DieEverywhere(spec, spec.faults.server_dies_at, costs_seconds_and_nobody),
      200);
  EXPECT_LT(longest, 3 * kSecond);
}

INSTANTIATE_TEST_SUITE_P(
    Paradigms, CourseBoundaryTest,
    ::testing::Values("bsp", "bsp:steal=true", "bsp:steal=true,fill=true",
                      "asp", "ssp:s=1", "dssp:lower=0,upper=2",
                      "cgp:warmup_rounds=1", "saps:s=1", "saps:sync_every=4",
                      "ksync:k=auto,k0=1", "kbatchsync:k=2", "kbatchasync:k=2",
                      "abs", "elastic", "psp:beta=1,s=1",
                      "syncswitch:at=0.5,straggler=leave"),
    [](const auto& paradigm) {
      const std::string text = paradigm.param;
      return absl::StrCat(text.substr(0, text.find(':')), "_", paradigm.index);
    });

}  // namespace
}  // namespace paceline
