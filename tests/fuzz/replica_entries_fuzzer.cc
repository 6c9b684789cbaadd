// The entries of a primary's stream, decoded and replayed on a backup, which
// then becomes the primary.

#include "common/rpc/frame_codec.h"
#include "services/parameter_server/job_shard.h"
#include "services/parameter_server/replica_wire.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

void ExpectPromised(const absl::Status& status) {
  ExpectCode(status, {absl::StatusCode::kInvalidArgument,
                      absl::StatusCode::kFailedPrecondition,
                      absl::StatusCode::kResourceExhausted,
                      absl::StatusCode::kAborted, absl::StatusCode::kNotFound});
}

ShardConfig SmallConfig(uint8_t shape) {
  constexpr const char* kOptimizers[] = {"sgd:momentum=0.9", "adam", "sgd"};
  ShardConfig config;
  config.blocks = {
      {.id = 0, .tensor = "a", .offset = 0, .size = 4},
      {.id = 1, .tensor = "f", .size = 3, .kind = TensorKind::kFrozen},
      {.id = 7, .tensor = "s", .size = 2, .kind = TensorKind::kStatistic}};
  config.optimizer = *ParseOptimizerSpec(kOptimizers[shape % 3]);
  config.batch_size = 8;
  config.limits.max_open_rounds = 3;
  config.limits.max_incarnations = 4;
  config.limits.max_snapshots = 2;
  return config;
}

constexpr float kOnes[4] = {1, 1, 1, 1};

// As many as the block has.
Payload Ones(const BlockConfig& block) {
  return Payload::OfFloats(kOnes, block.size);
}

void PushTo(JobShard& job, int64_t iteration, bool round) {
  for (const BlockConfig& block : job.config().blocks) {
    if (block.kind == TensorKind::kFrozen) continue;
    CHECK(job.Push({.incarnation = 9,
                    .iteration = iteration,
                    .block = block.id,
                    .samples = 8,
                    .weight = 1,
                    .rate = round ? 0 : 0.1,
                    .round_plan = round,
                    .round = 1},
                   Ones(block), DType::kF32)
              .ok());
  }
}

// The whole life of a backup, as a primary tells it.
std::string Stream(uint8_t shape) {
  const auto primary = *JobShard::Create(SmallConfig(shape));
  for (const BlockConfig& block : primary->config().blocks) {
    CHECK(primary->SetBlock(block.id, Ones(block), DType::kF32).ok());
  }
  PushTo(*primary, 1, /*round=*/true);
  const uint64_t following = *primary->Replicate(1, false, [] {});
  for (uint32_t b = 0; primary->FillFurther(following, b); ++b) {
    PushTo(*primary, 2 + b, /*round=*/false);
  }
  CHECK(primary->Close(1, {1}, 0.1).ok());
  primary->LogCommand({.sequence = 2, .what = ClosingDone{1}});
  CHECK(primary->Snapshot(1).ok());
  primary->LogCommand({.sequence = 3, .what = SnapshotDone{1}});
  primary->LogCommand({.sequence = 4, .what = SnapshotReleased{1}});
  const auto fenced = primary->Fence(9);
  CHECK(fenced.ok());
  primary->LogCommand({.sequence = 5, .what = FenceDone{9, *fenced}});
  std::string stream(1, static_cast<char>(shape));
  while (const auto entry = primary->log().Take(following)) {
    for (const auto& message : ToWire(entry->entry, entry->acknowledge)) {
      grpc::Slice bytes;
      CHECK(message.DumpToSingleSlice(&bytes).ok());
      stream += FuzzText(
          {reinterpret_cast<const char*>(bytes.begin()), bytes.size()});
    }
  }
  return stream;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {Stream(0), Stream(1), Stream(2)};
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  ShardConfig config = SmallConfig(fuzz.Byte());
  config.backup = true;
  const std::shared_ptr<JobShard> job = *JobShard::Create(config);
  CHECK(job->BeginReplay([](const absl::Status&) {}).ok());
  ReplicaReader reader(job);
  while (!fuzz.empty()) {
    const absl::string_view bytes = fuzz.Text();
    const grpc::Slice slice(bytes.data(), bytes.size());
    const auto message =
        DecodeFrame<v1::ReplicaEntry>(grpc::ByteBuffer(&slice, 1));
    // A stream ends with its first fault; here what follows is tried, too.
    if (!message.ok()) continue;
    const auto entry = reader.Read(*message);
    ExpectInvalidArgument(entry.status());
    if (entry.ok() && entry->has_value()) ExpectPromised(job->Replay(**entry));
  }
  const ShardCounters counters = job->Counters();
  CHECK(counters.open_rounds <= 3 && counters.snapshots <= 2);
  if (job->BecomePrimary().ok()) {
    // What it was told is all there, and it does what a primary does.
    ExpectPromised(job->Close(int64_t{1} << 40, {1, 2}, 0.1).status());
    ExpectPromised(job->Snapshot(uint64_t{1} << 40));
    ExpectPromised(job->Fence(9).status());
    job->Pull({1, 8, absl::UnixEpoch(), 1}, 0,
              [](const absl::StatusOr<PulledBlocks>& pulled) {
                // It may have been told that this incarnation is dead.
                CHECK(absl::IsAborted(pulled.status()) ||
                      (pulled.ok() && pulled->blocks.size() == 3));
              });
  }
  job->Stop("the end");
}

}  // namespace paceline
