// How fast a shard takes gradients, beside a plain fused loop over the same
// bytes in the same run. "GB/s" counts the gradient's bytes alone. The model
// has 100 MB, so weights come from main memory.
//
// Gradients: `cold` ones come from main memory too, each block's its own; `hot`
// ones lie in cache as they do just after the transport has written them.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/check.h"
#include "services/parameter_server/job_shard.h"
#include "tests/bench/plain_update.h"

namespace paceline {
namespace {

constexpr uint32_t kBlocks = 96;
constexpr uint32_t kSize = kBlockElementsMax;
constexpr uint32_t kBatchSize = 32;
constexpr double kRate = 1e-6;

enum Gradients { kHot = 0, kCold = 1 };

// 100 MB of small numbers.
const std::vector<float>& Gradient() {
  static const std::vector<float> gradient = [] {
    std::vector<float> values(size_t{kBlocks} * kSize);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i % 1024) * 1e-3f;
    }
    return values;
  }();
  return gradient;
}

const float* GradientOf(uint32_t block, int64_t gradients) {
  return Gradient().data() +
         (gradients == kCold ? size_t{block} * kSize : size_t{0});
}

std::unique_ptr<JobShard> MakeShard(absl::string_view optimizer) {
  ShardConfig config;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    config.blocks.push_back({.id = block,
                             .tensor = "weights",
                             .offset = uint64_t{block} * kSize,
                             .size = kSize});
  }
  config.optimizer = *ParseOptimizerSpec(optimizer);
  config.batch_size = kBatchSize;
  auto shard = *JobShard::Create(std::move(config));
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const Payload initial = Payload::OfFloats(GradientOf(block, kCold), kSize);
    CHECK(shard->SetBlock(block, initial, DType::kF32).ok());
  }
  return shard;
}

// Pushes every block once.
void PushAll(JobShard& shard, int64_t iteration, int64_t gradients,
             PushBlock push) {
  push.incarnation = 1;
  push.iteration = iteration;
  push.samples = kBatchSize;
  push.rate = kRate;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    push.block = block;
    CHECK(shard
              .Push(push,
                    Payload::OfFloats(GradientOf(block, gradients), kSize),
                    DType::kF32)
              .ok());
  }
}

// The same with the plain loop; `velocity` is empty without momentum.
void PlainAll(std::vector<float>& weights, std::vector<float>& velocity,
              int64_t gradients) {
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const size_t first = size_t{block} * kSize;
    const float* gradient = GradientOf(block, gradients);
    if (velocity.empty()) {
      PlainSgd(&weights[first], gradient, kRate, kSize);
    } else {
      PlainMomentum(&weights[first], &velocity[first], gradient, 0.9f, kRate,
                    kSize);
    }
  }
}

void SetGradientBytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * int64_t{kBlocks} * kSize *
                          sizeof(float));
}

void BM_PlainSgd(benchmark::State& state) {
  std::vector<float> weights = Gradient();
  std::vector<float> none;
  for (auto _ : state) PlainAll(weights, none, state.range(0));
  benchmark::DoNotOptimize(weights.data());
  SetGradientBytes(state);
}
BENCHMARK(BM_PlainSgd)->ArgName("cold")->Arg(kHot)->Arg(kCold);

void Push(benchmark::State& state, absl::string_view optimizer) {
  const auto shard = MakeShard(optimizer);
  int64_t iteration = 0;
  for (auto _ : state) PushAll(*shard, ++iteration, state.range(0), {});
  SetGradientBytes(state);
}

void BM_PushSgd(benchmark::State& state) { Push(state, "sgd"); }
BENCHMARK(BM_PushSgd)->ArgName("cold")->Arg(kHot)->Arg(kCold);

void BM_PlainMomentum(benchmark::State& state) {
  std::vector<float> weights = Gradient();
  std::vector<float> velocity(weights.size());
  for (auto _ : state) PlainAll(weights, velocity, state.range(0));
  benchmark::DoNotOptimize(weights.data());
  SetGradientBytes(state);
}
BENCHMARK(BM_PlainMomentum)->ArgName("cold")->Arg(kHot)->Arg(kCold);

void BM_PushMomentum(benchmark::State& state) {
  Push(state, "sgd:momentum=0.9");
}
BENCHMARK(BM_PushMomentum)->ArgName("cold")->Arg(kHot)->Arg(kCold);

// One that is turned: each push opposes the one before.
void PushByTurns(benchmark::State& state, absl::string_view optimizer) {
  const auto shard = MakeShard(optimizer);
  std::vector<float> opposite = Gradient();
  for (float& value : opposite) value = -value;
  PushBlock push{.incarnation = 1, .samples = kBatchSize, .rate = kRate};
  for (auto _ : state) {
    const bool odd = ++push.iteration % 2 == 1;
    for (push.block = 0; push.block < kBlocks; ++push.block) {
      const float* gradient = GradientOf(push.block, kCold);
      if (odd) gradient = &opposite[size_t{push.block} * kSize];
      CHECK(shard->Push(push, Payload::OfFloats(gradient, kSize), DType::kF32)
                .ok());
    }
  }
  SetGradientBytes(state);
}
void BM_PushNesterov(benchmark::State& state) {
  PushByTurns(state, "sgd:momentum=0.9,nesterov=true");
}
BENCHMARK(BM_PushNesterov);
void BM_PushHeloco(benchmark::State& state) {
  PushByTurns(state, "sgd:momentum=0.9,nesterov=true,correction=heloco");
}
BENCHMARK(BM_PushHeloco);

void BM_PushAdam(benchmark::State& state) { Push(state, "adam"); }
BENCHMARK(BM_PushAdam)->ArgName("cold")->Arg(kHot);

// One worker's push into a round and its closing.
void BM_PushRoundAndClose(benchmark::State& state) {
  const auto shard = MakeShard("sgd");
  int64_t iteration = 0;
  for (auto _ : state) {
    const uint64_t round = static_cast<uint64_t>(++iteration);
    PushAll(*shard, iteration, state.range(0),
            {.round_plan = true, .round = round});
    CHECK(shard->Close(iteration, {round}, kRate).ok());
  }
  SetGradientBytes(state);
}
BENCHMARK(BM_PushRoundAndClose)->ArgName("cold")->Arg(kHot);

// A push while a pull holds every block: each update writes a new block.
void BM_PushWhileHeld(benchmark::State& state) {
  const auto shard = MakeShard("sgd");
  int64_t iteration = 0;
  PulledBlocks held;
  for (auto _ : state) {
    shard->Pull({}, 0, [&](absl::StatusOr<PulledBlocks> pulled) {
      held = *std::move(pulled);
    });
    PushAll(*shard, ++iteration, state.range(0), {});
  }
  SetGradientBytes(state);
}
BENCHMARK(BM_PushWhileHeld)->ArgName("cold")->Arg(kHot);

// Both in turn, so that what else the machine does falls on both: `ratio` is
// the shard's speed over the plain loop's.
void BM_PushOverPlain(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const auto shard = MakeShard("sgd");
  std::vector<float> weights = Gradient();
  std::vector<float> none;
  Clock::duration plain{0}, pushed{0};
  int64_t iteration = 0;
  for (auto _ : state) {
    const auto begin = Clock::now();
    PlainAll(weights, none, state.range(0));
    const auto middle = Clock::now();
    PushAll(*shard, ++iteration, state.range(0), {});
    plain += middle - begin;
    pushed += Clock::now() - middle;
  }
  benchmark::DoNotOptimize(weights.data());
  state.counters["ratio"] = std::chrono::duration<double>(plain).count() /
                            std::chrono::duration<double>(pushed).count();
}
BENCHMARK(BM_PushOverPlain)->ArgName("cold")->Arg(kHot)->Arg(kCold);

// What the norm of the gradients costs beside the look for values that are not
// finite, whose place it takes: `share` of the time of a push with momentum.
void BM_NormShare(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const auto dtype = static_cast<DType>(state.range(0));
  const auto shard = MakeShard("sgd:momentum=0.9");
  std::vector<char> bytes(EncodedSize(dtype, kSize));
  ConvertFromF32(dtype, GradientOf(0, kHot), kSize, bytes.data());
  const Payload gradient(absl::string_view(bytes.data(), bytes.size()));
  Clock::duration look{0}, norm{0}, pushed{0};
  int64_t iteration = 0;
  for (auto _ : state) {
    PushBlock push{.incarnation = 1,
                   .iteration = ++iteration,
                   .samples = kBatchSize,
                   .rate = kRate};
    for (push.block = 0; push.block < kBlocks; ++push.block) {
      const auto begin = Clock::now();
      benchmark::DoNotOptimize(gradient.AllFinite(dtype));
      const auto looked = Clock::now();
      benchmark::DoNotOptimize(gradient.SquareSum(dtype));
      const auto summed = Clock::now();
      CHECK(shard->Push(push, gradient, dtype).ok());
      look += looked - begin;
      norm += summed - looked;
      pushed += Clock::now() - summed;
    }
  }
  const auto seconds = [](Clock::duration of) {
    return std::chrono::duration<double>(of).count();
  };
  state.counters["share"] = (seconds(norm) - seconds(look)) / seconds(pushed);
  state.counters["look"] = seconds(look) / seconds(pushed);
}
BENCHMARK(BM_NormShare)
    ->ArgName("dtype")
    ->Arg(static_cast<int64_t>(DType::kF32))
    ->Arg(static_cast<int64_t>(DType::kBF16))
    ->Arg(static_cast<int64_t>(DType::kF16))
    ->Arg(static_cast<int64_t>(DType::kInt8));

}  // namespace
}  // namespace paceline
