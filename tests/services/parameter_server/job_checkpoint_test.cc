#include "services/parameter_server/job_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/match.h"
#include "common/checkpoint/checkpoint_tools.h"
#include "tests/services/parameter_server/checkpoint_testing.h"
#include "tests/services/worker/data/scratch_folder.h"

namespace paceline {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using testing::IsEmpty;

// Saved with 2 servers; restored with others, cut otherwise. Everything is
// equal, and stays equal over the next update, to the bit.
TEST(JobCheckpointTest, RestoredTrainingGoesOnAsIfNothingHadHappened) {
  for (const char* optimizer :
       {"sgd", "sgd:momentum=0.9,nesterov=true,weight_decay=0.01",
        "sgd:momentum=0.9,nesterov=true,delay=4", "adam",
        "adamw:weight_decay=0.1"}) {
    const ScratchFolder scratch;
    ServerFleet original(2, 32, optimizer);
    original.Initialize();
    for (uint64_t seed = 1; seed <= 3; ++seed) original.PushAll(seed);
    ASSERT_TRUE(original.Save(scratch.path() + "/saved").ok());
    const auto saved = original.Read();
    EXPECT_EQ(saved.steps.at("fc"), 3u);
    original.PushAll(/*seed=*/50);
    const auto next = original.Read();
    for (const size_t servers : {1, 2, 3, 5}) {
      for (const uint64_t block_size : {7, 32, 1000}) {
        SCOPED_TRACE(absl::StrCat(optimizer, " ", servers, " ", block_size));
        ServerFleet restored(servers, block_size, optimizer);
        const absl::Status status = restored.Restore(scratch.path() + "/saved");
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_EQ(restored.Read(), saved);
        restored.PushAll(/*seed=*/50);
        EXPECT_EQ(restored.Read(), next);
      }
    }
  }
}

TEST(JobCheckpointTest, ExportsAreEqualHoweverItWasSaved) {
  const ScratchFolder scratch;
  ServerFleet original(2, 32, "adam");
  original.Initialize();
  original.PushAll(1);
  const std::string saved = scratch.path() + "/saved";
  ASSERT_TRUE(original.Save(saved).ok());
  const auto want = ExportCheckpoint(saved, scratch.path() + "/a.safetensors");
  ASSERT_TRUE(want.ok()) << want.status();
  for (const size_t servers : {1, 3, 5}) {
    ServerFleet restored(servers, 10 + servers, "adam");
    ASSERT_TRUE(restored.Restore(saved).ok());
    const std::string again = absl::StrCat(scratch.path(), "/", servers);
    ASSERT_TRUE(restored.Save(again).ok());
    const auto report = VerifyCheckpoint(again);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_THAT(report->problems, IsEmpty());
    const auto got = ExportCheckpoint(again, again + ".safetensors");
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->sha256, want->sha256);
    EXPECT_EQ(scratch.Read(absl::StrCat(servers, ".safetensors")),
              scratch.Read("a.safetensors"));
  }
}

TEST(JobCheckpointTest, RefusesWhatIsNotThisJobs) {
  const ScratchFolder scratch;
  ServerFleet original(2, 32, "sgd:momentum=0.9");
  original.Initialize();
  const std::string saved = scratch.path() + "/saved";
  ASSERT_TRUE(original.Save(saved).ok());

  ServerFleet adam(1, 32, "adam");
  absl::Status status = adam.Restore(saved);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("it has [momentum] beside the weights, adam needs [m, "
                        "v]"));

  ShardConfig config;
  config.batch_size = 1;
  config.optimizer = *ParseOptimizerSpec("sgd:momentum=0.9");
  config.blocks = {{.id = 1, .tensor = "fc", .offset = 99, .size = 2}};
  auto larger = *JobShard::Create(config);
  EXPECT_EQ(RestoreJob(*larger, saved, NeverCancelled).code(),
            StatusCode::kFailedPrecondition);
  config.blocks[0].tensor = "another";
  auto another = *JobShard::Create(config);
  status = RestoreJob(*another, saved, NeverCancelled);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("of another model"));

  ServerFleet same(1, 32, "sgd:momentum=0.9");
  EXPECT_EQ(same.Restore(scratch.path() + "/nothing").code(),
            StatusCode::kNotFound);
  EXPECT_EQ(RestoreJob(same.shard(0), saved, [] { return true; }).code(),
            StatusCode::kCancelled);
  EXPECT_TRUE(same.Restore(saved).ok()) << "nothing of that has spoiled it";
}

// Of a job with another optimizer, and whatever it had learned.
TEST(JobCheckpointTest, InitialWeightsAreTheWeightsAlone) {
  const ScratchFolder scratch;
  ServerFleet original(3, 32, "sgd:momentum=0.9");
  original.Initialize();
  original.PushAll(/*seed=*/7);
  const std::string saved = scratch.path() + "/saved";
  ASSERT_TRUE(original.Save(saved).ok());
  const auto want = original.Read();

  ServerFleet fresh(2, 100, "adam");
  for (int i = 0; i < 2; ++i) {
    const absl::Status status =
        SetInitialWeights(fresh.shard(i), saved, NeverCancelled);
    ASSERT_TRUE(status.ok()) << status;
  }
  const auto got = fresh.Read();
  for (const auto& [name, floats] : got.floats) {
    if (absl::EndsWith(name, " -1")) {
      EXPECT_EQ(floats, want.floats.at(name)) << name;
    } else {
      EXPECT_THAT(floats, ::testing::Each(0.0f)) << name;
    }
  }
  for (const auto& [tensor, steps] : got.steps) EXPECT_EQ(steps, 0u) << tensor;
  EXPECT_EQ(SetInitialWeights(fresh.shard(0), scratch.path() + "/nothing",
                              NeverCancelled)
                .code(),
            StatusCode::kNotFound);
}

TEST(JobCheckpointTest, StartingValuesComeTooLateAfterARestoration) {
  const ScratchFolder scratch;
  ServerFleet original(1, 1000, "sgd");
  original.Initialize();
  ASSERT_TRUE(original.Save(scratch.path() + "/saved").ok());
  ServerFleet restored(1, 1000, "sgd");
  ASSERT_TRUE(restored.Restore(scratch.path() + "/saved").ok());
  const std::vector<float> zeros(21);
  EXPECT_EQ(restored.shard(0)
                .SetBlock(0, Payload::OfFloats(zeros.data(), 21), DType::kF32)
                .code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(restored.Restore(scratch.path() + "/saved").code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(restored.Read(), original.Read());
}

// Statistics have no slots, whatever the optimizer; a finite model alone is
// worth keeping.
TEST(JobCheckpointTest, ADivergedModelIsNotSaved) {
  const ScratchFolder scratch;
  ServerFleet fleet(1, 1000, "sgd");
  fleet.Initialize();
  const std::vector<float> huge(100, std::numeric_limits<float>::max());
  for (int64_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(fleet.shard(0)
                    .Push({.incarnation = 1,
                           .iteration = i,
                           .block = fleet.blocks().back().id,
                           .samples = 4,
                           .rate = 1},
                          Payload::OfFloats(huge.data(), 100), DType::kF32)
                    .ok());
  }
  const absl::Status status = fleet.Save(scratch.path() + "/saved");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has diverged"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path() + "/saved"));
}

TEST(JobCheckpointTest, SlotNamesAreThoseOfTheRule) {
  for (const char* text :
       {"sgd", "sgd:momentum=0.5", "sgd:momentum=0.5,nesterov=true,delay=2",
        "adam", "adamw"}) {
    const OptimizerSpec spec = *ParseOptimizerSpec(text);
    const UpdateRule rule(spec, 1, RoundStrength::kLinear);
    EXPECT_EQ(OptimizerSlotNames(spec).size(),
              static_cast<size_t>(rule.Slots(TensorKind::kTrained)));
  }
}

TEST(JobShardRestoreTest, BlocksMustFit) {
  ShardConfig config;
  config.batch_size = 1;
  config.optimizer = *ParseOptimizerSpec("sgd:momentum=0.9");
  config.blocks = {{.id = 3, .tensor = "a", .offset = 0, .size = 2}};
  const auto shard = *JobShard::Create(config);
  const auto state = [](size_t size, int slots, float value) {
    auto made = std::make_shared<BlockState>(size, slots);
    std::fill_n(made->weights(), size, value);
    for (int k = 0; k < slots; ++k) std::fill_n(made->slot(k), size, value);
    return made;
  };
  EXPECT_EQ(shard->RestoreBlock(4, state(2, 1, 0)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(shard->RestoreBlock(3, state(3, 1, 0)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(shard->RestoreBlock(3, state(2, 2, 0)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(
      shard
          ->RestoreBlock(3, state(2, 1, std::numeric_limits<float>::infinity()))
          .code(),
      StatusCode::kInvalidArgument);
  EXPECT_EQ(shard->Snapshot(1).code(), StatusCode::kFailedPrecondition)
      << "it is not initialized";
  EXPECT_EQ(shard->TakeBlocks().status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(shard->RestoreBlock(3, state(2, 1, 5)).ok());
  EXPECT_TRUE(shard->Snapshot(1).ok());
}

}  // namespace
}  // namespace paceline
