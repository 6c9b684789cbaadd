// How fast a server saves and restores 100 MB of weights: the whole of it, its
// digest by itself, and the same bytes written and flushed by a plain loop in
// the same run, which is what the disk gives. "bytes_per_second" counts the
// weights' bytes; real time, because flushing is waiting.
//
// BM_PushWhileSaving says what a checkpoint costs the training beside it:
// pushes of the whole model on one thread, with and without one checkpoint
// after the other on another. At one checkpoint every 30 s the cost is that
// ratio for the seconds that one takes.

#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/manifest.h"
#include "common/safetensors/sha256.h"
#include "services/parameter_server/job_checkpoint.h"
#include "services/parameter_server/job_shard.h"
#include "tests/common/test_folder.h"

namespace paceline {
namespace {

constexpr uint32_t kBlocks = 96;
constexpr uint32_t kSize = kBlockElementsMax;
constexpr int64_t kBytes = int64_t{kBlocks} * kSize * sizeof(float);

// Below the folder that the benchmark runs in: that of tests may be memory.
struct ScratchFolder : TestFolder {
  ScratchFolder() : TestFolder(".") {}
};

const std::vector<float>& Values() {
  static const std::vector<float> values = [] {
    std::vector<float> made(size_t{kBlocks} * kSize);
    for (size_t i = 0; i < made.size(); ++i) {
      made[i] = static_cast<float>(i % 1024) * 1e-3f;
    }
    return made;
  }();
  return values;
}

Payload BlockPayload(uint32_t block) {
  return Payload::OfFloats(Values().data() + size_t{block} * kSize, kSize);
}

ShardConfig Config() {
  ShardConfig config;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    config.blocks.push_back({.id = block,
                             .tensor = "weights",
                             .offset = uint64_t{block} * kSize,
                             .size = kSize});
  }
  config.batch_size = 32;
  return config;
}

std::unique_ptr<JobShard> MakeShard() {
  auto shard = *JobShard::Create(Config());
  for (uint32_t block = 0; block < kBlocks; ++block) {
    CHECK(shard->SetBlock(block, BlockPayload(block), DType::kF32).ok());
  }
  return shard;
}

// References, then the file: as a server does it.
WrittenFile Save(JobShard& shard, const std::string& path) {
  auto blocks = shard.TakeBlocks();
  CHECK(blocks.ok());
  auto written =
      WriteSnapshot(shard.config(), *blocks, path, [] { return false; });
  CHECK(written.ok());
  return *std::move(written);
}

void BM_Save(benchmark::State& state) {
  const ScratchFolder folder;
  const auto shard = MakeShard();
  for (auto _ : state) Save(*shard, folder.path() + "/a.safetensors");
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_Save)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Digest(benchmark::State& state) {
  for (auto _ : state) {
    Sha256 sha256;
    sha256.Update({reinterpret_cast<const char*>(Values().data()),
                   static_cast<size_t>(kBytes)});
    benchmark::DoNotOptimize(sha256.HexDigest());
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_Digest)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_PlainWriteAndFlush(benchmark::State& state) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/plain";
  for (auto _ : state) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    for (uint32_t block = 0; block < kBlocks; ++block) {
      const size_t bytes = kSize * sizeof(float);
      CHECK(write(fd, Values().data() + size_t{block} * kSize, bytes) ==
            static_cast<ssize_t>(bytes));
    }
    CHECK(fsync(fd) == 0);
    close(fd);
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_PlainWriteAndFlush)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Restore(benchmark::State& state) {
  const ScratchFolder folder;
  CheckpointManifest manifest;
  manifest.tensors = {{.name = "weights",
                       .shape = {int64_t{kBlocks} * kSize},
                       .kind = TensorKind::kTrained}};
  for (uint32_t i = 0; i < kBlocks; ++i) {
    manifest.blocks.push_back({i, 0, uint64_t{i} * kSize, kSize, 0});
  }
  const std::string file = ShardFileName(0, 1);
  const WrittenFile written =
      Save(*MakeShard(), absl::StrCat(folder.path(), "/", file));
  manifest.files = {{file, written.bytes, written.sha256}};
  CHECK(WriteManifest(folder.path(), manifest).ok());
  for (auto _ : state) {
    auto shard = *JobShard::Create(Config());
    CHECK(RestoreJob(*shard, folder.path(), [] { return false; }).ok());
  }
  state.SetBytesProcessed(state.iterations() * kBytes);
}
BENCHMARK(BM_Restore)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_PushWhileSaving(benchmark::State& state) {
  const ScratchFolder folder;
  const auto shard = MakeShard();
  std::atomic<bool> done = state.range(0) == 0;
  std::atomic<int64_t> saved = 0;
  std::thread saver([&] {
    while (!done.load()) {
      Save(*shard, folder.path() + "/a.safetensors");
      saved.fetch_add(1);
    }
  });
  int64_t iteration = 0;
  for (auto _ : state) {
    ++iteration;
    for (uint32_t block = 0; block < kBlocks; ++block) {
      CHECK(shard
                ->Push({.incarnation = 1,
                        .iteration = iteration,
                        .block = block,
                        .samples = 32,
                        .rate = 1e-6},
                       BlockPayload(block), DType::kF32)
                .ok());
    }
  }
  done.store(true);
  saver.join();
  state.SetBytesProcessed(state.iterations() * kBytes);
  state.counters["saved"] = static_cast<double>(saved.load());
}
BENCHMARK(BM_PushWhileSaving)
    ->ArgName("saving")
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace paceline
