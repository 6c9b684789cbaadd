// What always holds of a run, whatever dies and whoever gives orders, over
// thousands of seeds. PACELINE_SEEDS=100000 tries so many of each kind of day,
// and PACELINE_FIRST_SEED=7 begins with that one.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "gtest/gtest.h"
#include "services/simulator/virtual_cluster.h"
#include "tests/common/seed_count.h"
#include "tests/services/coordinator/run/course/run_checker.h"
#include "tests/services/coordinator/sync/core/drawn_wishes.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/simulator/falling_loss.h"

namespace paceline {
namespace {

constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1000 * kMillisecond;

std::vector<ParadigmSpec> Paradigms() {
  std::vector<ParadigmSpec> paradigms;
  for (const char* text :
       {"bsp", "bsp:steal=true", "bsp:steal=true,fill=true", "asp", "ssp:s=2",
        "dssp:lower=1,upper=4", "cgp", "saps", "ksync:k=2", "kbatchsync:k=auto",
        "kbatchasync:k=2", "abs", "elastic", "psp:beta=1,s=2",
        "syncswitch:at=0.3,straggler=leave", "saps:sync_every=7",
        "syncswitch:at=0.6,straggler=drop"}) {
    paradigms.push_back(*ParseParadigm(text));
  }
  return paradigms;
}

void AddWorkers(Rng& rng, Rng& loaders, ClusterSpec& spec) {
  for (uint64_t i = spec.settings.workers_min + rng.Below(3); i > 0; --i) {
    WorkerSpec& worker = spec.workers.emplace_back();
    worker.name = absl::StrCat("w", i);
    worker.device.iteration =
        static_cast<Nanos>(10 + rng.Below(200)) * kMillisecond;
    worker.device.jitter.kind = Jitter::Kind::kExponential;
    worker.link.latency = static_cast<Nanos>(rng.Below(10)) * kMillisecond;
    worker.wishes = DrawWishes(loaders, spec.run.batch_size);
  }
}

// One worker has another iteration in flight.
void AddInFlight(ClusterSpec& spec) {
  WorkerSpec other = spec.workers[0];
  other.name += ".2";
  other.of = 0;
  spec.workers.push_back(other);
}

// A small job among a few workers, servers and people; all that `faults` does
// not say is drawn from the seed.
ClusterSpec SpecOf(uint64_t seed, const Faults& faults) {
  Rng rng(seed);
  Rng loaders(DeriveSeed(seed, 1));
  ClusterSpec spec;
  spec.seed = seed;
  spec.whole_run = true;
  spec.faults = faults;
  spec.faults.paradigms = Paradigms();
  spec.faults.coming = 3 * kSecond;
  spec.faults.loading = 2 * kSecond;
  spec.faults.initializing = kSecond / 2;
  spec.faults.evaluating = kSecond;
  spec.faults.pushing = 5 * kMillisecond;
  spec.faults.commanding = 10 * kMillisecond;
  spec.faults.writing = 300 * kMillisecond;
  spec.faults.replicating = 20 * kMillisecond;
  spec.faults.push_short = 125;
  spec.faults.until = 300 * kSecond;
  spec.end = 12 * 3600 * kSecond;  // Far more than any run takes.
  spec.servers = static_cast<int>(1 + rng.Below(3));
  if (faults.server_dies > 0) spec.servers = 3;
  spec.server_blocks.assign(spec.servers, 2);
  spec.train_samples = static_cast<uint32_t>(40 + rng.Below(100));
  CourseOptions& run = spec.run;
  run.replicas = faults.server_dies > 0 ? 1 : 0;
  run.paradigm = spec.faults.paradigms[seed % spec.faults.paradigms.size()];
  run.batch_size = static_cast<uint32_t>(4 + rng.Below(12));
  // A part of a batch, all of it, or as if nothing were said.
  spec.micro_batch =
      static_cast<uint32_t>(loaders.Below(1 + uint64_t{run.batch_size}));
  run.evaluate = rng.Chance(2, 3);
  run.eval_every = static_cast<int64_t>(20 + rng.Below(40));
  run.defer_evaluation = rng.Chance(1, 3);
  run.evaluation_share = seed % 4 == 0 ? 0.1 : 0;
  if (rng.Chance(3, 4)) run.checkpoint_root = "/checkpoints";
  if (!run.checkpoint_root.empty() && seed % 3 == 0) {
    run.checkpoint_fallbacks = {"/fallback"};
  }
  RunSettings& settings = spec.settings;
  settings.workers_min = 1 + rng.Below(2);
  settings.stop.epochs = static_cast<int64_t>(1 + rng.Below(3));
  if (rng.Chance(1, 8)) settings.stop.seconds = 5;
  if (rng.Chance(1, 4)) settings.checkpoint_interval = absl::Seconds(2);
  if (rng.Chance(1, 4)) {
    run.restored = true;
    spec.start = {.version = 7, .seconds = 3};
    spec.start.position.next_begin = spec.train_samples / 2;
    spec.start.position.open = {{0, 1, 4}};
  }
  AddWorkers(rng, loaders, spec);
  if (seed % 3 == 0) AddInFlight(spec);
  return spec;
}

struct Day {
  const char* name;
  Faults faults;
};

std::vector<Day> Days() {
  return {{"Quiet", {}},
          {"MembersDie",
           {.member_dies = 20,
            .member_freezes = 5,
            .member_leaves = 5,
            .member_cannot = 100}},
          {"Orders",
           {.member_dies = 5,
            .pause = 75,
            .resume = 75,
            .update = 75,
            .checkpoint = 75,
            .change = 75,
            .cancel = 5}},
          {"Disks",
           {.snapshot_refused = 200,
            .checkpoint_fails = 300,
            .pause = 75,
            .update = 75,
            .checkpoint = 75,
            .change = 75}},
          {"FullDisks",
           {.full = 90 * kSecond,
            .member_dies = 3,
            .checkpoint_fails = 50,
            .disk_full = 30,
            .pause = 75,
            .resume = 75,
            .checkpoint = 75,
            .cancel = 1}},
          {"Messages",
           {.messages = 20 * kMillisecond,
            .held = kSecond,
            .message_held = 50,
            .member_dies = 5,
            .push_empty = 10,
            .push_discarded = 20,
            .worker_not_finite = 100,
            .report_repeated = 50,
            .fence_repeated = 100}},
          {"Servers", {.member_dies = 5, .server_lost = 20, .server_hangs = 1}},
          {"Restarts",
           {.messages = 20 * kMillisecond,
            .member_dies = 10,
            .coordinator_dies = 100,
            .snapshot_refused = 100,
            .checkpoint_fails = 50,
            .pause = 30,
            .resume = 50,
            .update = 30,
            .checkpoint = 75,
            .change = 50}}};
}

std::vector<Day> AllDays() {
  std::vector<Day> days = Days();
  days.push_back({"ServersWithBackups",
                  {.messages = 20 * kMillisecond,
                   .held = kSecond,
                   .message_held = 20,
                   .member_dies = 5,
                   .member_freezes = 2,
                   .fence_repeated = 50,
                   .server_dies = 5,
                   .snapshot_refused = 50,
                   .checkpoint_fails = 50,
                   .pause = 30,
                   .resume = 50,
                   .update = 30,
                   .checkpoint = 75,
                   .change = 50}});
  days.push_back({"Everything",
                  {.member_dies = 10,
                   .member_freezes = 3,
                   .member_leaves = 3,
                   .member_cannot = 50,
                   .server_lost = 3,
                   .coordinator_dies = 10,
                   .server_hangs = 1,
                   .snapshot_refused = 100,
                   .checkpoint_fails = 100,
                   .pause = 50,
                   .resume = 50,
                   .update = 50,
                   .checkpoint = 50,
                   .change = 50,
                   .cancel = 5}});
  return days;
}

class CourseRandomTest : public ::testing::TestWithParam<Day> {};

TEST_P(CourseRandomTest, KeepsWhatAlwaysHolds) {
  uint64_t finished = 0;
  const Seeds seeds(SeedCount(1500));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    const ClusterSpec spec = SpecOf(seed, GetParam().faults);
    RunChecker checker;
    checker.Begin(spec.train_samples, spec.start,
                  !spec.run.checkpoint_root.empty(),
                  /*limited=*/spec.settings.stop.seconds > 0,
                  // It looks twice a second for those whose lease has ended.
                  absl::ToInt64Nanoseconds(spec.run.lease) + kSecond);
    HistoryChecker history(spec);
    FallingLoss losses;
    const SimulationResult result =
        VirtualCluster(&spec, {&checker, &history, &losses}).Run();
    ASSERT_EQ(checker.violation(), "")
        << "seed " << seed << " under " << result.paradigm;
    ASSERT_TRUE(result.complete)
        << "it does not end: seed " << seed << " under " << result.paradigm;
    const RunOutcome& outcome = checker.outcome();
    // Of a run that failed, servers may lack the last commands.
    const bool whole = history.finished() && outcome.status.ok();
    ASSERT_EQ(whole ? history.Verdict() : history.violation(), "")
        << "seed " << seed << " under " << result.paradigm;
    finished += outcome.status.ok() && !outcome.paused ? 1 : 0;
  }
  EXPECT_TRUE(seeds.count < 100 || finished > seeds.count / 3)
      << "only " << finished << " runs have come to their end: proves little";
}

INSTANTIATE_TEST_SUITE_P(Days, CourseRandomTest, ::testing::ValuesIn(AllDays()),
                         [](const auto& day) {
                           return std::string(day.param.name);
                         });

}  // namespace
}  // namespace paceline
