// Push and pull of a 100 MB model through one parameter server on loopback, or
// through shared memory, beside what the machine can do without gRPC
// (wire_ceilings.h), raw streams and a copy of the same bytes in the same run:
// what counts is the ratio, because machines are noisy. All take turns within
// every iteration. With a backup, a push is acknowledged once a second server
// in the same process has it.

#include <benchmark/benchmark.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/lane/shared_memory.h"
#include "common/rpc/channel.h"
#include "services/parameter_server/parameter_service.h"
#include "services/parameter_server/replica_stream.h"
#include "services/parameter_server/replication_service.h"
#include "services/worker/parameter_client.h"
#include "tests/bench/raw_stream.h"
#include "tests/bench/turns.h"
#include "tests/bench/wire_ceilings.h"

namespace paceline {
namespace {

constexpr uint64_t kRun = 1;
constexpr int64_t kBlockFloats = 1 << 18;
constexpr int64_t kBlocks = 100;
constexpr size_t kFloats = kBlockFloats * kBlocks;

// One server that hosts the whole model, as its main() wires it.
struct Server {
  explicit Server(bool backup = false)
      : metrics(registry),
        guard({}, {}, &Clock::Real(), &accounts),
        service(&shard, &Clock::Real(), &metrics, &streams, &guard,
                lanes.get()),
        replication(&shard, &streams, &guard) {
    ShardConfig config;
    config.backup = backup;
    config.batch_size = 1;
    for (uint32_t i = 0; i < kBlocks; ++i) {
      config.blocks.push_back({i, "weights", uint64_t{i} * kBlockFloats,
                               static_cast<uint32_t>(kBlockFloats)});
    }
    shard.ShareWeights();
    CHECK(shard.Configure(kRun, config).ok());
    ListenOptions options;
    options.accounts = &accounts;
    auto listens = Listen("127.0.0.1:0", ChannelProfile::kBulk, {},
                          {&service, &replication}, options);
    CHECK(listens.ok());
    listening = *std::move(listens);
  }
  ~Server() {
    shard.Stop("done");
    streams.CloseAll(absl::UnavailableError("done"));
    listening.server->Shutdown(
        absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    listening.server->Wait();
    CHECK(streams.AwaitEmpty(absl::Seconds(10)));
  }

  prometheus::Registry registry;
  ServerMetrics metrics;
  Shard shard;
  StreamRegistry streams;
  ConnectionAccounts accounts;
  CallGuard guard;
  const std::unique_ptr<LaneDoor> lanes = *LaneDoor::Open();
  ParameterService service;
  ReplicationService replication;
  ListeningServer listening;
};

// Returns when the backup has everything.
std::unique_ptr<ReplicaStream> Replicate(Server& primary,
                                         const Server& backup) {
  absl::Notification filled;
  ReplicaStream::Options options{
      .address = backup.listening.address,
      .lease = absl::Seconds(30),
      .dial =
          [](const std::string& address, absl::Duration liveness) {
            return MakeChannel(address, ChannelProfile::kBulk, liveness);
          },
      .report =
          [&filled, once = false](const absl::Status& status) mutable {
            // The end of the stream, when the benchmark has ended, comes later.
            if (std::exchange(once, true)) return;
            CHECK(status.ok());
            filled.Notify();
          }};
  options.hello.set_run(kRun);
  auto stream = std::make_unique<ReplicaStream>(
      std::move(options), *primary.shard.Job(kRun), /*sequence=*/1,
      &primary.metrics);
  filled.WaitForNotification();
  return stream;
}

struct Arrays {
  std::vector<float> weights = std::vector<float>(kFloats);
  // Where a program has it.
  std::shared_ptr<SharedMemory> memory =
      *SharedMemory::Create("gradients", kFloats * sizeof(float));
  const absl::Span<float> gradient = {reinterpret_cast<float*>(memory->data()),
                                      kFloats};
};

std::unique_ptr<ParameterClient> Connect(const Server& server, DType wire,
                                         bool lane,
                                         const std::shared_ptr<Arrays>& arrays,
                                         uint32_t connections = 1) {
  std::ranges::fill(arrays->gradient, 1.0f);
  v1::BeginJob begin;
  v1::Shard& shard = *begin.add_shards();
  shard.set_address(server.listening.address);
  shard.set_connections(connections);
  for (uint32_t i = 0; i < kBlocks; ++i) {
    v1::Block& block = *shard.add_blocks();
    block.set_id(i);
    block.set_offset(i * kBlockFloats);
    block.set_size(kBlockFloats);
  }
  auto client = ParameterClient::Connect(begin,
                                         {{absl::MakeSpan(arrays->weights)},
                                          {BytesOf(arrays->gradient)},
                                          arrays,
                                          {},
                                          /*unconverted=*/true,
                                          arrays->memory},
                                         {.incarnation = connections,
                                          .wire = wire,
                                          .lease = absl::Seconds(30),
                                          .run = kRun,
                                          .share_memory = lane});
  CHECK(client.ok());
  CHECK((*client)->SetAll().ok());
  return *std::move(client);
}

// What takes its turn in each iteration.
struct Measured {
  Turns push, pull;
  // Without gRPC: what a receiving thread reaches that also checks and applies,
  // or copies into the model's array.
  Turns push_ceiling, pull_ceiling;
  Turns raw_tcp, raw_tcp_cold, raw_unix, copy;
};

// What does not depend on our code.
void MeasureMachine(WireCeilings& ceilings, DType wire, size_t bytes,
                    Arrays& arrays, Measured& measured) {
  static RawStream tcp = RawStream::Tcp();
  static RawStream local = RawStream::Unix();
  measured.push_ceiling.Measure([&] { ceilings.Push(wire, arrays.gradient); });
  measured.pull_ceiling.Measure(
      [&] { ceilings.Pull(PulledAs(wire), absl::MakeSpan(arrays.weights)); });
  measured.raw_tcp.Measure([&] { tcp.SendHot(bytes); });
  measured.raw_tcp_cold.Measure(
      [&] { ceilings.Copy(arrays.gradient, absl::MakeSpan(arrays.weights)); });
  measured.raw_unix.Measure([&] { local.SendHot(bytes); });
  measured.copy.Measure([&] {
    std::memcpy(arrays.weights.data(), arrays.gradient.data(), bytes);
    benchmark::DoNotOptimize(arrays.weights.data());
  });
}

void Report(const Measured& measured, DType wire, benchmark::State& state) {
  const auto pushed = static_cast<double>(EncodedSize(wire, kFloats));
  const auto pulled = static_cast<double>(EncodedSize(PulledAs(wire), kFloats));
  measured.push.Report("push", pushed, state);
  measured.pull.Report("pull", pulled, state);
  measured.push_ceiling.Report("push_ceiling", pushed, state);
  measured.pull_ceiling.Report("pull_ceiling", pulled, state);
  measured.raw_tcp.Report("raw_tcp", pushed, state);
  measured.raw_tcp_cold.Report("raw_tcp_cold", 4.0 * kFloats, state);
  measured.raw_unix.Report("raw_unix", pushed, state);
  measured.copy.Report("memcpy", pushed, state);
  ReportRatio("push_of_ceiling",
              measured.push.SpeedBeside(measured.push_ceiling), state);
  ReportRatio("pull_of_ceiling",
              measured.pull.SpeedBeside(measured.pull_ceiling), state);
  ReportRatio("push_ratio", measured.push.SpeedBeside(measured.raw_tcp), state);
  std::vector<double> pulls = measured.pull.SpeedBeside(measured.raw_tcp);
  for (double& ratio : pulls) ratio *= pulled / pushed;
  ReportRatio("pull_ratio", std::move(pulls), state);
}

void BM_Wire(benchmark::State& state) {
  const auto wire = static_cast<DType>(state.range(0));
  const bool replicas = state.range(1) > 0;
  const bool lane = state.range(2) > 0;
  Server server;
  Server backup(/*backup=*/true);
  const auto arrays = std::make_shared<Arrays>();
  const auto client = Connect(server, wire, lane, arrays);
  const auto stream = replicas ? Replicate(server, backup) : nullptr;
  v1::PushBlock push;
  push.set_samples(1);
  push.set_weight(1);
  push.set_immediate_rate(1e-6);
  WireCeilings ceilings(kFloats);
  Measured measured;
  for (auto _ : state) {
    push.set_iteration(push.iteration() + 1);
    measured.push.Measure([&] {
      client->BeginPush(push);
      client->PushTensors(0, 1);
      CHECK(client->FinishPush().ok());
    });
    measured.pull.Measure([&] { CHECK(client->Pull(0).ok()); });
    MeasureMachine(ceilings, wire, EncodedSize(wire, kFloats), *arrays,
                   measured);
  }
  state.SetLabel(absl::StrCat(DTypeName(wire), lane ? ", shared memory" : "",
                              replicas ? ", a backup" : ""));
  Report(measured, wire, state);
}
BENCHMARK(BM_Wire)
    ->ArgsProduct({{static_cast<int>(DType::kF32),
                    static_cast<int>(DType::kBF16),
                    static_cast<int>(DType::kInt8)},
                   {0, 1},
                   {0, 1}})
    ->ArgNames({"dtype", "replicas", "lane"})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

// FP32 over one, two and four connections, which take turns, beside raw TCP
// over one.
void BM_Connections(benchmark::State& state) {
  Server server;
  const auto arrays = std::make_shared<Arrays>();
  struct Way {
    uint32_t connections;
    std::unique_ptr<ParameterClient> client = nullptr;
    Turns push = {}, pull = {};
  };
  std::vector<Way> ways;
  for (const uint32_t connections : {1, 2, 4}) {
    ways.push_back({connections, Connect(server, DType::kF32, /*lane=*/false,
                                         arrays, connections)});
  }
  v1::PushBlock push;
  push.set_samples(1);
  push.set_weight(1);
  push.set_immediate_rate(1e-6);
  RawStream tcp = RawStream::Tcp();
  Turns raw_tcp;
  constexpr size_t kBytes = kFloats * sizeof(float);
  for (auto _ : state) {
    push.set_iteration(push.iteration() + 1);
    for (Way& way : ways) {
      way.push.Measure([&] {
        way.client->BeginPush(push);
        way.client->PushTensors(0, 1);
        CHECK(way.client->FinishPush().ok());
      });
      way.pull.Measure([&] { CHECK(way.client->Pull(0).ok()); });
    }
    raw_tcp.Measure([&] { tcp.SendHot(kBytes); });
  }
  for (const Way& way : ways) {
    const std::string of = absl::StrCat("_", way.connections);
    way.push.Report("push" + of, kBytes, state);
    way.pull.Report("pull" + of, kBytes, state);
    if (way.connections == 1) continue;
    ReportRatio(absl::StrCat("push", of, "_of_1"),
                way.push.SpeedBeside(ways.front().push), state);
    ReportRatio(absl::StrCat("pull", of, "_of_1"),
                way.pull.SpeedBeside(ways.front().pull), state);
  }
  raw_tcp.Report("raw_tcp", kBytes, state);
}
BENCHMARK(BM_Connections)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace paceline
