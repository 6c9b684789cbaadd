// A worker and two parameter servers, and streams that break between them: at
// every frame of one exchange after the other, and at random. Gradients are
// integers and the updates plain SGD at rate 1, so each weight shows how often
// each push went into it.

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/lane/shared_memory.h"
#include "common/rng.h"
#include "services/parameter_server/parameter_service.h"
#include "services/worker/parameter_client.h"
#include "tests/common/seed_count.h"
#include "tests/integration/frame_relay.h"

namespace paceline {
namespace {

using Fate = FrameRelay::Fate;

constexpr uint64_t kRun = 3;
constexpr uint64_t kIncarnation = 77;
constexpr uint32_t kBatch = 4;
constexpr size_t kSize = 6;
constexpr float kStart = 100;
constexpr float kRubbish = 1e6;  // What no server may take.
constexpr absl::Duration kLease = absl::Seconds(10);

// Block by block of one server.
struct ParameterServer {
  explicit ParameterServer(const std::vector<uint32_t>& blocks)
      : service(&shard, &Clock::Real(), &metrics, &streams, nullptr,
                lanes.get()) {
    ShardConfig config;
    for (const uint32_t block : blocks) {
      config.blocks.push_back({.id = block,
                               .tensor = absl::StrCat("t", block),
                               .offset = 0,
                               .size = kSize});
    }
    config.optimizer = *ParseOptimizerSpec("sgd");
    config.batch_size = kBatch;
    shard.ShareWeights();
    EXPECT_TRUE(shard.Configure(kRun, config).ok());
    auto listens = Listen("127.0.0.1:0", ChannelProfile::kBulk, {}, {&service});
    EXPECT_TRUE(listens.ok()) << listens.status();
    listening = *std::move(listens);
  }
  ~ParameterServer() {
    shard.Stop("the test is over");
    streams.CloseAll(absl::UnavailableError("the test is over"));
    listening.server->Shutdown(
        absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    listening.server->Wait();
    EXPECT_TRUE(streams.AwaitEmpty(absl::Seconds(10)));
  }
  JobShard& job() { return **shard.Job(kRun); }

  prometheus::Registry registry;
  ServerMetrics metrics{registry};
  Shard shard;
  StreamRegistry streams;
  const std::unique_ptr<LaneDoor> lanes = *LaneDoor::Open();
  ParameterService service;
  ListeningServer listening;
};

struct Arrays {
  absl::Span<float> gradient(size_t tensor) const {
    return {reinterpret_cast<float*>(gradients->data()) + tensor * kSize,
            kSize};
  }

  std::vector<std::vector<float>> weights{3, std::vector<float>(kSize)};
  const std::shared_ptr<SharedMemory> gradients =
      *SharedMemory::Create("gradients", 3 * kSize * sizeof(float));
};

// Where servers read gradients: where they lie, or copied by the worker.
enum class Gradients : uint8_t { kReferredTo, kCopied };

// Tensors 0 and 2 lie at the server behind the first relay, 1 behind the other.
class Exchanges {
 public:
  Exchanges(FrameRelay::FateOf first, FrameRelay::FateOf second,
            Gradients gradients = Gradients::kReferredTo)
      : first_relay_(first_.listening.address, std::move(first)),
        second_relay_(second_.listening.address, std::move(second)) {
    v1::BeginJob begin;
    for (const FrameRelay* relay : {&first_relay_, &second_relay_}) {
      begin.add_shards()->set_address(relay->address());
    }
    TensorArrays arrays;
    for (uint32_t tensor = 0; tensor < 3; ++tensor) {
      v1::Block& block = *begin.mutable_shards(tensor % 2)->add_blocks();
      block.set_id(tensor);
      block.set_tensor(tensor);
      block.set_size(kSize);
      arrays.parameters.push_back(absl::MakeSpan(arrays_->weights[tensor]));
      arrays.gradients.push_back(BytesOf(arrays_->gradient(tensor)));
    }
    arrays.owner = arrays_;
    if (gradients == Gradients::kReferredTo) {
      arrays.shared_gradients = arrays_->gradients;
    }
    auto client = ParameterClient::Connect(
        begin, std::move(arrays),
        {.incarnation = kIncarnation, .lease = kLease, .run = kRun});
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  absl::Status SetAll() {
    Fill(arrays_->weights, kStart);
    return client_->SetAll();
  }

  // Every element that a pull brings, tensor by tensor.
  absl::StatusOr<std::vector<float>> Pull(int64_t closing, bool keep = false) {
    Fill(arrays_->weights, -1);
    std::vector<size_t> told;
    const auto pulled = client_->Pull(
        closing, keep, [&](size_t tensor) { told.push_back(tensor); });
    if (!pulled.ok()) return pulled.status();
    EXPECT_EQ(pulled->bytes, 3 * kSize * sizeof(float));
    std::ranges::sort(told);
    EXPECT_EQ(told, (std::vector<size_t>{0, 1, 2})) << "each once";
    std::vector<float> values;
    for (const auto& tensor : arrays_->weights) {
      values.push_back(tensor[0]);
      EXPECT_EQ(std::ranges::count(tensor, tensor[0]), kSize) << "torn";
    }
    return values;
  }

  // Round 0: at once.
  absl::Status Push(int64_t iteration, float gradient, uint64_t round) {
    v1::PushBlock header;
    header.set_iteration(iteration);
    header.set_samples(kBatch);
    header.set_weight(1);
    if (round > 0) {
      header.set_round(round);
    } else {
      header.set_immediate_rate(1);
    }
    client_->BeginPush(header);
    for (size_t tensor = 3; tensor-- > 0;) {
      std::ranges::fill(arrays_->gradient(tensor), gradient);
      client_->PushTensors(tensor, tensor + 1);
    }
    const auto pushed = client_->FinishPush();
    if (!pushed.ok()) return pushed.status();
    EXPECT_EQ(pushed->blocks, 3u);
    EXPECT_EQ(pushed->blocks_refused, 0u);
    for (size_t tensor = 0; tensor < 3; ++tensor) {
      std::ranges::fill(arrays_->gradient(tensor), kRubbish);
    }
    return absl::OkStatus();
  }

  // Closes the round at both, once a pull waits for that.
  void CloseWhenAsked(int64_t closing, uint64_t round) {
    const absl::Time deadline = Clock::Real().Now() + kLease;
    while (first_.job().Counters().parked_pulls == 0 &&
           Clock::Real().Now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(first_.job().Close(closing, {round}, 1).ok());
    EXPECT_TRUE(second_.job().Close(closing, {round}, 1).ok());
  }

  // What the first server has read out of shared memory.
  double lane_bytes() { return first_.metrics.lane_bytes.Value(); }

  FrameRelay& first() { return first_relay_; }
  FrameRelay& second() { return second_relay_; }

 private:
  static void Fill(std::vector<std::vector<float>>& tensors, float value) {
    for (auto& tensor : tensors) std::ranges::fill(tensor, value);
  }

  const std::shared_ptr<Arrays> arrays_ = std::make_shared<Arrays>();
  ParameterServer first_{{0, 2}};
  ParameterServer second_{{1}};
  FrameRelay first_relay_;
  FrameRelay second_relay_;
  std::unique_ptr<ParameterClient> client_;
};

Fate Pass(int /*frame*/) { return Fate::kPass; }

// Starting weights, a push at once, one for a round, and the pull that waits
// for its closing.
void RunScript(Exchanges& exchanges) {
  const auto all = [](float value) { return std::vector<float>(3, value); };
  ASSERT_TRUE(exchanges.SetAll().ok());
  auto pulled = exchanges.Pull(0);
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(*pulled, all(kStart));
  ASSERT_TRUE(exchanges.Push(1, 1, 0).ok());
  pulled = exchanges.Pull(0, /*keep=*/true);
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(*pulled, all(kStart - 1));
  ASSERT_TRUE(exchanges.Push(2, 2, 7).ok());
  std::thread closing([&] { exchanges.CloseWhenAsked(1, 7); });
  pulled = exchanges.Pull(1);
  closing.join();
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(*pulled, all(kStart - 3));
}

TEST(ParameterRedialTest, AStreamMayBreakAtAnyFrame) {
  int frames = 0;
  {
    Exchanges whole(Pass, Pass);
    RunScript(whole);
    EXPECT_EQ(whole.first().streams(), 1);
    frames = whole.first().frames();
    // Both pushes, of two tensors.
    EXPECT_GE(whole.lane_bytes(), 4 * kSize * sizeof(float));
  }
  ASSERT_GT(frames, 15);
  for (const Fate fate : {Fate::kLost, Fate::kLast, Fate::kHalfKnown}) {
    for (int at = 1; at <= frames; ++at) {
      SCOPED_TRACE(absl::StrCat("fate ", fate, " at frame ", at));
      Exchanges broken(
          [=](int frame) { return frame == at ? fate : Fate::kPass; }, Pass,
          at % 2 == 0 ? Gradients::kCopied : Gradients::kReferredTo);
      RunScript(broken);
      if (HasFatalFailure()) return;
      // The last frame's break comes when nothing is open any more.
      EXPECT_LE(broken.first().streams(), 2);
      EXPECT_EQ(broken.second().streams(), 1) << "the other one's";
    }
  }
}

// Any frame of both, one in thirty of them, again and again.
void RunRandomly(uint64_t seed) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  const auto random = [](uint64_t number) {
    return [number](int frame) {
      Rng rng(number * 1'000'003 + static_cast<uint64_t>(frame));
      return rng.Chance(1, 30) ? static_cast<Fate>(1 + rng.Below(3))
                               : Fate::kPass;
    };
  };
  Exchanges exchanges(
      random(2 * seed), random(2 * seed + 1),
      seed % 4 == 0 ? Gradients::kCopied : Gradients::kReferredTo);
  ASSERT_TRUE(exchanges.SetAll().ok());
  float pushed = 0;
  for (int64_t iteration = 1; iteration <= 30; ++iteration) {
    const auto pulled = exchanges.Pull(0, /*keep=*/iteration % 2 == 0);
    ASSERT_TRUE(pulled.ok()) << pulled.status();
    ASSERT_EQ(*pulled, std::vector<float>(3, kStart - pushed)) << iteration;
    const auto gradient = static_cast<float>(1 + iteration % 5);
    const absl::Status taken = exchanges.Push(iteration, gradient, 0);
    ASSERT_TRUE(taken.ok()) << taken;
    pushed += gradient;
  }
  const auto pulled = exchanges.Pull(0);
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(*pulled, std::vector<float>(3, kStart - pushed));
  EXPECT_GT(exchanges.first().streams() + exchanges.second().streams(), 3);
}

TEST(ParameterRedialTest, EveryPushCountsOnceWhateverBreaks) {
  const Seeds seeds(SeedCount(20));
  for (uint64_t seed = seeds.first; seed < seeds.end(); ++seed) {
    RunRandomly(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace paceline
