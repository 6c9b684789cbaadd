#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rng.h"
#include "tests/common/seed_count.h"
#include "tests/services/parameter_server/job_shard_testing.h"

// A shard's backup is filled, follows, and takes over.

namespace paceline {
namespace {

constexpr uint32_t kBlocks = 4;
constexpr uint64_t kWorkers = 3;

// Trained, a statistic, averaged, and frozen blocks.
ShardConfig MixedConfig(absl::string_view optimizer) {
  ShardConfig config = SmallConfig(kBlocks, optimizer);
  config.blocks[1].tensor = "stat";
  config.blocks[1].kind = TensorKind::kStatistic;
  config.blocks[1].tuning.momentum = 0.1;
  config.blocks[2].tensor = "mean";
  config.blocks[2].kind = TensorKind::kAveraged;
  config.blocks[3].tensor = "fixed";
  config.blocks[3].kind = TensorKind::kFrozen;
  return config;
}

std::unique_ptr<JobShard> MakeBackup(ShardConfig config) {
  config.backup = true;
  auto backup = JobShard::Create(config);
  EXPECT_TRUE(backup.ok()) << backup.status();
  EXPECT_TRUE((*backup)->BeginReplay([](const absl::Status&) {}).ok());
  return *std::move(backup);
}

// Weights, optimizer and steps of all blocks, bit by bit.
std::string Bits(JobShard& shard) {
  std::string bits;
  const PulledBlocks pulled = PullNow(shard);
  for (const PulledBlock& block : pulled.blocks) {
    const BlockState& state = *block.state;
    absl::StrAppend(&bits, block.id, " ", state.steps(), " ");
    for (int i = -1; i < state.slots(); ++i) {
      const float* floats = i < 0 ? state.weights() : state.slot(i);
      bits.append(reinterpret_cast<const char*>(floats),
                  state.size() * sizeof(float));
    }
  }
  return bits;
}

// A primary and whoever takes from its log.
class Pair {
 public:
  explicit Pair(const ShardConfig& config)
      : primary_(MakeShard(config)), backup_(MakeBackup(config)) {}

  JobShard& primary() { return *primary_; }
  JobShard& backup() { return *backup_; }
  bool complete() const { return complete_; }

  void Begin(uint64_t sequence, bool hold = false) {
    const auto following = primary_->Replicate(sequence, hold, [] {});
    ASSERT_TRUE(following.ok()) << following.status();
    following_ = *following;
    filling_ = true;
  }
  // Has the next block, if any, follow what waits to go over.
  void Fill() {
    if (filling_) filling_ = primary_->FillFurther(following_, filled_++);
  }
  // Lets up to `most` entries go over.
  void Deliver(int most = 1 << 30) {
    for (int i = 0; i < most; ++i) {
      auto entry = primary_->log().Take(following_);
      while (filling_ && !entry.has_value()) {
        Fill();
        entry = primary_->log().Take(following_);
      }
      if (!entry.has_value()) return;
      const absl::Status replayed = backup_->Replay(entry->entry);
      ASSERT_TRUE(replayed.ok()) << replayed;
      ++delivered_;
      if (!entry->acknowledge) continue;
      const auto complete =
          primary_->log().Acknowledged(following_, delivered_);
      ASSERT_TRUE(complete.ok()) << complete.status();
      complete_ = complete_ || *complete;
    }
  }

 private:
  const std::unique_ptr<JobShard> primary_;
  const std::unique_ptr<JobShard> backup_;
  uint64_t following_ = 0;
  bool filling_ = false;
  uint32_t filled_ = 0;  // Blocks.
  uint64_t delivered_ = 0;
  bool complete_ = false;
};

// Draws what happens to a shard; the same for the same seed.
class Life {
 public:
  Life(uint64_t seed, JobShard* shard) : rng_(seed), shard_(shard) {}

  uint64_t sequence() const { return sequence_; }

  void Step() {
    const uint64_t what = rng_.Below(20);
    if (what < 14) return PushSomething();
    if (what < 17) return Close();
    if (what < 18) return Fence();
    if (what < 19) return Snapshot();
    Command({.sequence = ++sequence_, .what = {}});
  }
  // The next block of a worker's iteration, by the plan of that.
  void PushSomething() {
    Worker& worker = workers_[rng_.Below(kWorkers)];
    if (worker.fenced) {
      worker = {.incarnation = next_incarnation_++, .fenced = false};
    }
    if (worker.next == 0) {
      ++worker.iteration;
      worker.round = rng_.Chance(1, 2) ? next_round_ : 0;
    }
    const uint32_t block = 10 + worker.next;
    PushBlock push =
        worker.round > 0
            ? RoundPush(worker.incarnation, worker.iteration, block,
                        worker.round)
            : PlainPush(worker.incarnation, worker.iteration, block);
    push.rate = worker.round > 0 ? 0 : 0.05 + 0.1 * rng_.Unit();
    push.rated_at = static_cast<int64_t>(rng_.Below(100));
    if (rng_.Chance(1, 3)) push.momentum = 0.9 * rng_.Unit();
    push.weight = 0.5F + static_cast<float>(rng_.Unit());
    const float value = rng_.Chance(1, 30)
                            ? std::numeric_limits<float>::infinity()
                            : static_cast<float>(rng_.Unit()) - 0.5F;
    worker.last = push;
    worker.value = value;
    if (rng_.Chance(1, 4)) {
      EXPECT_TRUE(PushInt8(push, value).ok());
    } else {
      EXPECT_TRUE(Push(*shard_, push, value).ok());
    }
    worker.next = (worker.next + 1) % (kBlocks - 1);  // None for the frozen.
  }
  absl::StatusOr<PushOutcome> PushInt8(const PushBlock& push, float value) {
    std::vector<float> gradient(kTestBlockSize, value);
    gradient[1] /= 3;
    std::string bytes(EncodedSize(DType::kInt8, kTestBlockSize), '\0');
    ConvertFromF32(DType::kInt8, gradient.data(), kTestBlockSize, bytes.data());
    return shard_->Push(push, Payload(bytes), DType::kInt8);
  }
  void Close() {
    std::optional<double> momentum;
    if (rng_.Chance(1, 3)) momentum = 0.9 * rng_.Unit();
    EXPECT_TRUE(
        shard_->Close(++closing_, {next_round_++}, 0.05, momentum).ok());
    Command({.sequence = ++sequence_, .what = ClosingDone{closing_}});
  }
  void Fence() {
    Worker& worker = workers_[rng_.Below(kWorkers)];
    if (worker.fenced || worker.iteration == 0) return;
    worker.fenced = true;
    const auto answer = shard_->Fence(worker.incarnation);
    ASSERT_TRUE(answer.ok());
    fenced_.emplace_back(worker.incarnation, *answer);
    Command({.sequence = ++sequence_,
             .what = FenceDone{worker.incarnation, *answer}});
  }
  void Snapshot() {
    EXPECT_TRUE(shard_->Snapshot(++snapshot_).ok());
    Command({.sequence = ++sequence_, .what = SnapshotDone{snapshot_}});
  }
  void Command(const CommandEntry& entry) { shard_->LogCommand(entry); }

  // Whoever took over answers as the one before would have.
  void ExpectKnown(JobShard& shard) {
    for (const auto& [incarnation, answer] : fenced_) {
      const auto again = shard.Fence(incarnation);
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(again->iteration, answer.iteration);
      EXPECT_EQ(again->blocks_taken, answer.blocks_taken);
    }
    for (const Worker& worker : workers_) {
      if (worker.fenced || worker.iteration == 0) continue;
      // Repeated, the last block changes nothing, and both say the same of it.
      const auto here = Push(shard, worker.last, worker.value);
      const auto there = Push(*shard_, worker.last, worker.value);
      ASSERT_TRUE(here.ok() && there.ok()) << here.status() << there.status();
      EXPECT_EQ(here->complete, there->complete);
      EXPECT_EQ(here->refused, there->refused);
    }
  }
  // What is open is drained alike.
  void CloseBoth(JobShard& other) {
    const std::vector<uint64_t> rounds = {next_round_};
    EXPECT_TRUE(shard_->Close(closing_ + 1, rounds, 0.05).ok());
    EXPECT_TRUE(other.Close(closing_ + 1, rounds, 0.05).ok());
  }

 private:
  struct Worker {
    uint64_t incarnation = 0;
    int64_t iteration = 0;
    uint32_t next = 0;   // Block.
    uint64_t round = 0;  // 0: immediate.
    bool fenced = true;  // None yet.
    PushBlock last = {};
    float value = 0;
  };

  Rng rng_;
  JobShard* const shard_;
  Worker workers_[kWorkers];
  uint64_t next_incarnation_ = 1;
  uint64_t next_round_ = 1;
  int64_t closing_ = 0;
  uint64_t sequence_ = 1;
  uint64_t snapshot_ = 0;
  std::vector<std::pair<uint64_t, FencedPush>> fenced_;
};

class ReplicaLifeTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ReplicaLifeTest, WhoTakesOverHasTheBitsAndTheMemoryOfTheOneBefore) {
  const Seeds seeds(500);
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Pair pair(MixedConfig(GetParam()));
    Life life(seed, &pair.primary());
    Rng pace(DeriveSeed(seed, 7));
    const uint64_t before = pace.Below(60);
    for (uint64_t i = 0; i < before; ++i) life.Step();
    pair.Begin(life.sequence());
    for (uint64_t i = 0; i < 60; ++i) {
      life.Step();
      if (pace.Chance(1, 8)) pair.Fill();
      if (pace.Chance(1, 2)) pair.Deliver(static_cast<int>(pace.Below(6)));
    }
    ASSERT_NO_FATAL_FAILURE(pair.Deliver());
    ASSERT_TRUE(pair.complete());
    const auto sequence = pair.backup().BecomePrimary();
    ASSERT_TRUE(sequence.ok()) << sequence.status();
    EXPECT_EQ(*sequence, life.sequence());
    ASSERT_EQ(Bits(pair.backup()), Bits(pair.primary()));
    life.ExpectKnown(pair.backup());
    life.CloseBoth(pair.backup());
    ASSERT_EQ(Bits(pair.backup()), Bits(pair.primary()));
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, ReplicaLifeTest,
                         ::testing::Values("sgd", "sgd:momentum=0.9",
                                           "sgd:momentum=0.9,nesterov=true,"
                                           "delay=3",
                                           "sgd:momentum=0.9,nesterov=true,"
                                           "correction=heloco",
                                           "adam"));

class ReplicaTest : public ::testing::Test {
 protected:
  Pair pair_{SmallConfig(2)};
};

TEST_F(ReplicaTest, ABackupServesNobody) {
  EXPECT_FALSE(pair_.backup().serving());
  EXPECT_TRUE(pair_.primary().serving());
}

TEST_F(ReplicaTest, AnIncompleteOneCannotTakeOver) {
  EXPECT_TRUE(
      absl::IsFailedPrecondition(pair_.backup().BecomePrimary().status()));
  pair_.Begin(1);
  pair_.Deliver(2);
  EXPECT_TRUE(
      absl::IsFailedPrecondition(pair_.backup().BecomePrimary().status()));
  pair_.Deliver();
  EXPECT_TRUE(pair_.backup().BecomePrimary().ok());
}

TEST_F(ReplicaTest, WhoHasTakenOverTakesNothingOfTheOneBefore) {
  pair_.Begin(1);
  pair_.Deliver();
  ASSERT_TRUE(pair_.backup().BecomePrimary().ok());
  EXPECT_TRUE(absl::IsAborted(pair_.backup().Replay(CommandEntry{})));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      pair_.backup().BeginReplay([](const absl::Status&) {})));
}

TEST_F(ReplicaTest, ItsStreamIsEndedThen) {
  auto config = SmallConfig(1);
  config.backup = true;
  const auto backup = *JobShard::Create(config);
  absl::Status ended;
  ASSERT_TRUE(
      backup->BeginReplay([&](const absl::Status& why) { ended = why; }).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      backup->BeginReplay([](const absl::Status&) {})))
      << "it is followed once";
  const auto state = std::make_shared<BlockState>(kTestBlockSize, 0);
  std::fill_n(state->weights(), kTestBlockSize, 2.0F);
  ASSERT_TRUE(backup->Replay(BaseEntry{.sequence = 9, .fenced = {}}).ok());
  ASSERT_TRUE(backup->Replay(StateEntry{10, state, {}}).ok());
  ASSERT_TRUE(backup->Replay(FilledEntry{}).ok());
  EXPECT_TRUE(ended.ok());
  EXPECT_EQ(*backup->BecomePrimary(), 9u);
  EXPECT_TRUE(absl::IsAborted(ended));
}

TEST_F(ReplicaTest, TheLogHasTheWiresBytes) {
  JobShard& primary = pair_.primary();
  const auto following = primary.Replicate(1, /*hold=*/false, [] {});
  ASSERT_TRUE(following.ok());
  for (uint32_t block = 0; primary.FillFurther(*following, block); ++block) {
  }
  while (primary.log().Take(*following).has_value()) {
  }
  std::string bytes(EncodedSize(DType::kInt8, kTestBlockSize), '\0');
  const std::vector<float> gradient = {1, 0.3f, -0.2f, 0, 0.7f};
  ConvertFromF32(DType::kInt8, gradient.data(), kTestBlockSize, bytes.data());
  ASSERT_TRUE(
      primary.Push(PlainPush(5, 1, 10), Payload(bytes), DType::kInt8).ok());
  const auto entry = primary.log().Take(*following);
  ASSERT_TRUE(entry.has_value());
  const auto* const push = std::get_if<PushEntry>(&entry->entry);
  ASSERT_NE(push, nullptr);
  EXPECT_EQ(push->dtype, DType::kInt8);
  ASSERT_EQ(push->payload.slices().size(), 1u);
  EXPECT_EQ(push->payload.slices().front(), bytes);
}

TEST_F(ReplicaTest, ACompensatedGradientIsTakenAsItWasApplied) {
  JobShard& primary = pair_.primary();
  PullResult pulled;
  primary.PullAndKeep(
      {.incarnation = 5, .deadline = absl::InfiniteFuture(), .request = 1}, 0,
      pulled.callback());
  ASSERT_TRUE(Push(primary, PlainPush(6, 1, 10), 3).ok());
  pair_.Begin(1);
  pair_.Deliver();
  PushBlock push = PlainPush(5, 1, 10);
  push.compensation.lambda = 0.5f;
  ASSERT_TRUE(Push(primary, push, 2).ok());
  pair_.Deliver();
  ASSERT_TRUE(pair_.backup().BecomePrimary().ok());
  EXPECT_EQ(Bits(pair_.backup()), Bits(primary));
}

// The running mean stays at the primary; what it does to gradients does not.
TEST_F(ReplicaTest, SoIsAnAdaptivelyCompensatedOne) {
  JobShard& primary = pair_.primary();
  pair_.Begin(1);
  for (int64_t iteration = 1; iteration <= 3; ++iteration) {
    PullResult pulled;
    primary.PullAndKeep({.incarnation = 5,
                         .deadline = absl::InfiniteFuture(),
                         .request = static_cast<uint64_t>(iteration)},
                        0, pulled.callback());
    ASSERT_TRUE(Push(primary, PlainPush(6, iteration, 10), 3).ok());
    PushBlock push = PlainPush(5, iteration, 10);
    push.compensation = {.lambda = 2, .memory = 0.95f};
    ASSERT_TRUE(Push(primary, push, 0.7f * static_cast<float>(iteration)).ok());
    pair_.Deliver();
  }
  ASSERT_TRUE(pair_.backup().BecomePrimary().ok());
  EXPECT_EQ(Bits(pair_.backup()), Bits(primary));
}

TEST_F(ReplicaTest, SnapshotsFromBeforeItHasEverythingAreNotThere) {
  ASSERT_TRUE(pair_.primary().Snapshot(1).ok());
  pair_.Begin(1);
  for (uint64_t snapshot = 2; snapshot <= 3; ++snapshot) {
    ASSERT_TRUE(pair_.primary().Snapshot(snapshot).ok());
    pair_.primary().LogCommand(
        {.sequence = snapshot, .what = SnapshotDone{snapshot}});
    pair_.Deliver();
  }
  ASSERT_TRUE(pair_.backup().BecomePrimary().ok());
  for (uint64_t snapshot = 1; snapshot <= 3; ++snapshot) {
    PullResult pulled;
    pair_.backup().PullSnapshot({.deadline = absl::InfiniteFuture()}, snapshot,
                                pulled.callback());
    EXPECT_EQ(pulled.status().code(), snapshot == 3
                                          ? absl::StatusCode::kOk
                                          : absl::StatusCode::kNotFound)
        << snapshot;
  }
}

// What is pushed for it is in the block when that follows.
TEST_F(ReplicaTest, ABlockThatIsNotThereYetCostsTheLogNothing) {
  pair_.Begin(1);
  ASSERT_TRUE(Push(pair_.primary(), PlainPush(6, 1, 10), 3).ok());
  ASSERT_TRUE(Push(pair_.primary(), PlainPush(6, 1, 11), 3).ok());
  EXPECT_EQ(pair_.primary().log().lag(), 1u) << "only what there is beside it";
  pair_.Fill();
  ASSERT_TRUE(Push(pair_.primary(), PlainPush(6, 2, 10), 3).ok());
  ASSERT_TRUE(Push(pair_.primary(), PlainPush(6, 2, 11), 3).ok());
  EXPECT_EQ(pair_.primary().log().lag(), 3u);
  pair_.Deliver();
  ASSERT_TRUE(pair_.backup().BecomePrimary().ok());
  EXPECT_EQ(Bits(pair_.backup()), Bits(pair_.primary()));
}

struct Nonsense {
  const char* name;
  ReplicaEntry entry;
};

class ReplicaNonsenseTest : public ::testing::TestWithParam<Nonsense> {};

TEST_P(ReplicaNonsenseTest, IsRefusedAndNothingElse) {
  Pair pair(SmallConfig(2));
  EXPECT_FALSE(pair.backup().Replay(GetParam().entry).ok());
}

std::shared_ptr<BlockState> StateOf(size_t size, int slots) {
  return std::make_shared<BlockState>(size, slots);
}

PushEntry PushOf(uint32_t block, uint32_t samples) {
  return {.incarnation = 1,
          .iteration = 1,
          .block = block,
          .samples = samples,
          .payload = {},
          .owner = {}};
}

INSTANTIATE_TEST_SUITE_P(
    All, ReplicaNonsenseTest,
    ::testing::Values(
        Nonsense{"UnknownBlock",
                 StateEntry{99, StateOf(kTestBlockSize, 0), {}}},
        Nonsense{"OtherSize", StateEntry{10, StateOf(3, 0), {}}},
        Nonsense{"OtherSlots", StateEntry{10, StateOf(kTestBlockSize, 1), {}}},
        Nonsense{"FilledTooEarly", FilledEntry{}},
        Nonsense{"PushBeforeItsState", PushOf(10, 4)},
        Nonsense{"PushOfNoSamples", PushOf(10, 0)},
        Nonsense{"PushToNobody", PushOf(99, 4)},
        Nonsense{"DrainBeforeItsState", DrainEntry{10, {1}, 0.1}},
        Nonsense{"DrainAtNoRate", DrainEntry{10, {1}, -1}},
        Nonsense{
            "SumOfAnotherSize",
            SumEntry{
                .block = 10, .round = 1, .samples = 1, .size = 3, .sum = {}}}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

}  // namespace
}  // namespace paceline
