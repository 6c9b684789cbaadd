#include "tests/services/coordinator/sync/core/simulated_run.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "common/overloaded.h"
#include "common/rng.h"
#include "services/simulator/virtual_cluster.h"
#include "tests/services/coordinator/sync/core/drawn_wishes.h"
#include "tests/services/coordinator/sync/core/history_checker.h"
#include "tests/services/coordinator/sync/core/simulated_paradigms.h"
#include "tests/services/simulator/falling_loss.h"

namespace paceline {
namespace {

constexpr Nanos kMillisecond = 1'000'000;
constexpr Nanos kSecond = 1000 * kMillisecond;
constexpr Nanos kFaultsFor = 40 * kSecond;

class Counter : public ClusterObserver {
 public:
  explicit Counter(SimulatedRuns* runs) : runs_(*runs) {}

  void Decided(Nanos /*at*/, const RunOutput& output) override {
    std::visit(
        Overloaded{
            [&](const Evicted& o) { ++runs_.losses[o.reason]; },
            [&](const Recorded& o) { ++runs_.decisions[o.decision.kind]; },
            [&](const Switched&) { ++runs_.switches; },
            [&](const SwitchSettled&) { ++runs_.settled; }, [](const auto&) {}},
        output);
  }

 private:
  SimulatedRuns& runs_;
};

Faults FaultsOf() {
  Faults faults;
  faults.pushing = 5 * kMillisecond;
  faults.commanding = 15 * kMillisecond;
  faults.messages = 15 * kMillisecond;
  faults.message_held = 50;
  faults.held = 3 * kSecond;
  faults.member_dies = 8;
  faults.member_freezes = 5;
  faults.member_leaves = 4;
  faults.worker_stuck = 15;
  faults.push_short = 125;
  faults.push_empty = 10;
  faults.push_discarded = 25;
  faults.block_refused = 25;
  faults.report_repeated = 33;
  faults.fence_repeated = 100;
  faults.pause = 10;
  faults.until = kFaultsFor;
  return faults;
}

}  // namespace

ClusterSpec FaultySpec(uint64_t seed, const std::string& paradigm) {
  Rng rng(seed);
  Rng loaders(DeriveSeed(seed, 1));
  ClusterSpec spec;
  spec.seed = seed;
  spec.whole_run = true;
  spec.faults = FaultsOf();
  spec.end = 3600 * kSecond;  // Far more than any run takes.
  // Now and then more workers than there are rounds, and work for them.
  const bool crowd = rng.Chance(1, 12);
  spec.train_samples =
      static_cast<uint32_t>((crowd ? 100 : 20) + rng.Below(180));
  spec.servers = static_cast<int>(1 + rng.Below(3));
  for (int server = 0; server < spec.servers; ++server) {
    // Some server hosts something.
    const auto blocks = static_cast<uint32_t>(rng.Below(4));
    spec.server_blocks.push_back(server == 0 ? blocks + 1 : blocks);
  }
  CourseOptions& run = spec.run;
  run.paradigm = *ParseParadigm(paradigm);
  run.batch_size = static_cast<uint32_t>(1 + rng.Below(crowd ? 2 : 8));
  run.evaluate = true;
  run.eval_every = static_cast<int64_t>(10 + rng.Below(40));
  run.checkpoint_root = "/checkpoints";
  run.waits_for_workers = true;
  run.restored = true;
  // A part of a batch, all of it, or as if nothing were said.
  spec.micro_batch =
      static_cast<uint32_t>(loaders.Below(1 + uint64_t{run.batch_size}));
  RunSettings& settings = spec.settings;
  settings.stop.epochs = static_cast<int64_t>(1 + rng.Below(3));
  if (rng.Chance(1, 3)) settings.batching = Batching::kBalanced;
  const uint64_t beginners = crowd ? 35 + rng.Below(15) : 1 + rng.Below(6);
  settings.workers_min = (beginners + 1) / 2;
  const uint64_t joiners = rng.Below(6);
  for (uint64_t i = 0; i < beginners + joiners; ++i) {
    WorkerSpec& worker = spec.workers.emplace_back();
    worker.name = absl::StrCat("w", i);
    worker.device.iteration =
        static_cast<Nanos>(!crowd && rng.Chance(1, 3) ? 1000 + rng.Below(4000)
                                                      : 50 + rng.Below(300)) *
        kMillisecond;
    worker.device.jitter.kind = Jitter::Kind::kExponential;
    worker.wishes = DrawWishes(loaders, run.batch_size);
    if (i < beginners) continue;
    spec.changes.push_back({MembershipChange::Kind::kJoin, i,
                            static_cast<Nanos>(rng.Below(kFaultsFor))});
  }
  return spec;
}

void SimulatedRuns::Run(const ClusterSpec& spec, ClusterObserver* observer) {
  HistoryChecker checker(spec, &SimulatedBounds());
  Counter counter(this);
  FallingLoss falling;
  VirtualCluster(&spec, {&checker, &counter, &falling, observer}).Run();
  verdict = checker.Verdict();
  points = checker.points();
}

}  // namespace paceline
