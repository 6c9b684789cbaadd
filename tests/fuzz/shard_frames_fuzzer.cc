// The frames of a worker's stream, decoded and done to a hosted job.

#include "common/rpc/frame_batch.h"
#include "common/rpc/wire_format.h"
#include "services/parameter_server/from_wire.h"
#include "services/parameter_server/job_shard.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_message.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

void ExpectPromised(const absl::Status& status) {
  ExpectCode(status,
             {absl::StatusCode::kInvalidArgument,
              absl::StatusCode::kFailedPrecondition,
              absl::StatusCode::kResourceExhausted, absl::StatusCode::kAborted,
              absl::StatusCode::kNotFound, absl::StatusCode::kUnavailable});
}

ShardConfig SmallConfig(uint8_t shape) {
  constexpr const char* kOptimizers[] = {"sgd:momentum=0.9,nesterov=true",
                                         "adam", "adamw:weight_decay=0.1",
                                         "sgd"};
  ShardConfig config;
  config.blocks = {
      {.id = 0, .tensor = "a", .offset = 0, .size = 4},
      {.id = 1, .tensor = "a", .offset = 4, .size = 3},
      {.id = 7, .tensor = "s", .size = 2, .kind = TensorKind::kStatistic}};
  config.optimizer = *ParseOptimizerSpec(kOptimizers[shape % 4]);
  config.round_strength = static_cast<RoundStrength>(shape / 4 % 4);
  config.batch_size = 8;
  config.limits.max_open_rounds = 3;
  config.limits.max_incarnations = 4;
  config.limits.max_parked_pulls = 4;
  config.limits.max_snapshots = 2;
  return config;
}

void ExpectPulled(const absl::StatusOr<PulledBlocks>& pulled) {
  ExpectPromised(pulled.status());
  if (pulled.ok()) CHECK(pulled->blocks.size() == 3);
}

void Pull(JobShard& job, const v1::Pull& pull, uint64_t incarnation) {
  const Puller puller{1, incarnation, absl::UnixEpoch() + absl::Seconds(1),
                      pull.request()};
  if (pull.what_case() == v1::Pull::kSnapshot) {
    job.PullSnapshot(puller, static_cast<uint64_t>(pull.snapshot()),
                     ExpectPulled);
  } else if (pull.keep()) {
    job.PullAndKeep(puller, pull.closing(), ExpectPulled);
  } else {
    job.Pull(puller, pull.closing(), ExpectPulled);
  }
}

void Take(JobShard& job, const ReceivedFrame& frame, uint64_t incarnation) {
  const v1::Frame& header = frame.header;
  if (header.has_set_block()) {
    ExpectPromised(
        job.SetBlock(header.set_block().block(), frame.payload, DType::kF32));
  } else if (header.has_pull()) {
    Pull(job, header.pull(), incarnation);
  } else if (header.has_push_block()) {
    const auto dtype = FromWire(header.push_block().format());
    if (!dtype.ok()) return;
    ExpectPromised(job.Push(PushFromWire(header.push_block(), incarnation),
                            frame.payload, *dtype)
                       .status());
  }
}

void Receive(JobShard& job, absl::string_view bytes, uint64_t incarnation) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  ExpectInvalidArgument(
      TakeFrames(grpc::ByteBuffer(&slice, 1), [&](const ReceivedFrame& frame) {
        Take(job, frame, incarnation);
        return absl::OkStatus();
      }));
}

void Command(JobShard& job, uint8_t what, int64_t number) {
  const std::vector<uint64_t> rounds = {1, what % 4u};
  if (what % 4 == 0) {
    ExpectPromised(job.Close(number, rounds, 0.1).status());
  } else if (what % 4 == 1) {
    ExpectPromised(job.Fence(what / 4).status());
  } else if (what % 4 == 2) {
    ExpectCode(job.Snapshot(what / 4 % 2),
               {absl::StatusCode::kFailedPrecondition,
                absl::StatusCode::kAlreadyExists,
                absl::StatusCode::kResourceExhausted});
  } else {
    job.ReleaseSnapshot(what / 4 % 2);
  }
}

std::string Frame(const char* text, const std::string& payload) {
  v1::Frame frame;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &frame));
  frame.set_payload(payload);
  return '\x01' + FuzzText(frame.SerializeAsString());
}

std::string Floats(size_t count) {
  std::string bytes;
  while (bytes.size() < 4 * count) bytes += std::string("\0\0\x80\x3f", 4);
  return bytes;
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string set = Frame("set_block { block: 0 }", Floats(4)) +
                          Frame("set_block { block: 1 }", Floats(3)) +
                          Frame("set_block { block: 7 }", Floats(2));
  const std::string pushes =
      Frame(
          "push_block { iteration: 1 block: 0 samples: 8 weight: 1 "
          "immediate_rate: 0.1 format: FP32 compensation: 0.04 "
          "compensation_memory: 0.95 }",
          Floats(4)) +
      Frame(
          "push_block { iteration: 1 block: 1 samples: 8 weight: 1 "
          "round: 1 format: FP16 }",
          "\0\x3c\0\x3c\0\x7c") +
      Frame(
          "push_block { iteration: 1 block: 7 samples: 8 weight: 0.5 "
          "round: 1 format: BF16 }",
          "\x80\x3f\x80\x3f") +
      Frame(
          "push_block { iteration: 2 block: 0 samples: 8 weight: 1 "
          "immediate_rate: 0.1 format: INT8 compensation: 0.04 }",
          std::string("\0\0\x80\x3f\x7f\x81\0\x01", 8));
  const std::string pulls =
      Frame("pull { request: 1 closing: 1 format: FP32 keep: true }", "") +
      Frame("pull { request: 1 snapshot: 1 format: FP16 }", "");
  const std::string commands("\0\x00\x00\x06\x00\x05\x00\x07", 8);
  std::vector<std::string> seeds;
  for (const char shape : {'\0', '\1', '\2', '\x0b'}) {
    seeds.push_back(std::string(1, shape) + set + pulls + pushes + commands +
                    pulls + pushes);
  }
  return seeds;
}

void FuzzOne(absl::string_view input) {
  FuzzInput fuzz(input);
  const auto job = *JobShard::Create(SmallConfig(fuzz.Byte()));
  int64_t commands = 0;
  while (!fuzz.empty()) {
    const uint8_t what = fuzz.Byte();
    if (what == 0) {
      Command(*job, fuzz.Byte(), ++commands);
    } else if (what == 255) {
      job->ExpirePulls(absl::UnixEpoch() + absl::Seconds(2));
    } else {
      Receive(*job, fuzz.Text(), what);
    }
  }
  const ShardCounters counters = job->Counters();
  CHECK(counters.open_rounds <= 3 && counters.parked_pulls <= 4);
  CHECK(counters.snapshots <= 2);
  job->Stop("the end");
}

}  // namespace paceline
