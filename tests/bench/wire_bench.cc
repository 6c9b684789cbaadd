// Push and pull of a 100 MB model through one parameter server on loopback, or
// through shared memory, beside a raw TCP stream and a copy of the same bytes
// in the same run: what counts is the ratio, because machines are noisy. All
// take turns within every iteration. With a backup, a push is acknowledged once
// a second server in the same process has it.

#include <benchmark/benchmark.h>
#include <prometheus/registry.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/lane/lane_door.h"
#include "common/rpc/channel.h"
#include "services/parameter_server/parameter_service.h"
#include "services/parameter_server/replica_stream.h"
#include "services/parameter_server/replication_service.h"
#include "services/worker/parameter_client.h"
#include "tests/bench/raw_tcp.h"

namespace paceline {
namespace {

constexpr uint64_t kRun = 1;
constexpr int64_t kBlockFloats = 1 << 18;
constexpr int64_t kBlocks = 100;

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
  std::vector<float> weights = std::vector<float>(kBlockFloats * kBlocks);
  std::vector<float> gradient = std::vector<float>(kBlockFloats * kBlocks, 1);
  std::vector<char> packed;  // The same as a model has it for the wire.
};

std::unique_ptr<ParameterClient> Connect(
    const Server& server, DType wire, bool lane,
    const std::shared_ptr<Arrays>& arrays) {
  arrays->packed.resize(EncodedSize(HeldAs(wire), arrays->gradient.size()));
  v1::BeginJob begin;
  v1::Shard& shard = *begin.add_shards();
  shard.set_address(server.listening.address);
  for (uint32_t i = 0; i < kBlocks; ++i) {
    v1::Block& block = *shard.add_blocks();
    block.set_id(i);
    block.set_offset(i * kBlockFloats);
    block.set_size(kBlockFloats);
  }
  auto client = ParameterClient::Connect(
      begin,
      {{absl::MakeSpan(arrays->weights)},
       {{arrays->packed.data(), arrays->packed.size()}},
       arrays},
      {.incarnation = 1,
       .wire = wire,
       .lease = absl::Seconds(30),
       .run = kRun,
       .share_memory = lane});
  CHECK(client.ok());
  CHECK((*client)->SetAll().ok());
  return *std::move(client);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

// CPU time of all threads.
double CpuSeconds() {
  rusage used = {};
  CHECK(getrusage(RUSAGE_SELF, &used) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// What is measured in turn, so that all see the same moments of the machine.
class Series {
 public:
  template <class Work>
  void Measure(const Work& work) {
    const absl::Time began = Clock::Real().Now();
    const double cpu = CpuSeconds();
    work();
    cpu_.push_back(CpuSeconds() - cpu);
    seconds_.push_back(absl::ToDoubleSeconds(Clock::Real().Now() - began));
  }
  double seconds() const { return Median(seconds_); }
  // A clock of whole ticks: the mean of many.
  double cpu() const {
    return std::accumulate(cpu_.begin(), cpu_.end(), 0.0) /
           static_cast<double>(cpu_.size());
  }

 private:
  std::vector<double> seconds_;
  std::vector<double> cpu_;
};

void BM_Wire(benchmark::State& state) {
  const auto wire = static_cast<DType>(state.range(0));
  constexpr size_t kFloats = kBlockFloats * kBlocks;
  const auto pushed = static_cast<double>(EncodedSize(wire, kFloats));
  const auto pulled = static_cast<double>(EncodedSize(PulledAs(wire), kFloats));
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
  Series pushes, pulls, raws, copies;
  for (auto _ : state) {
    push.set_iteration(push.iteration() + 1);
    pushes.Measure([&] {
      client->BeginPush(push);
      // As a model does it before it says that a tensor is ready.
      ConvertFromF32(HeldAs(wire), arrays->gradient.data(),
                     arrays->gradient.size(), arrays->packed.data());
      client->PushTensor(0);
      CHECK(client->FinishPush().ok());
    });
    pulls.Measure([&] { CHECK(client->Pull(0).ok()); });
    raws.Measure([&] { RawTcpSeconds(static_cast<size_t>(pushed)); });
    copies.Measure([&] {
      std::memcpy(arrays->weights.data(), arrays->gradient.data(),
                  static_cast<size_t>(pushed));
      benchmark::DoNotOptimize(arrays->weights.data());
    });
  }
  state.SetLabel(absl::StrCat(DTypeName(wire), lane ? ", shared memory" : "",
                              replicas ? ", a backup" : ""));
  state.counters["push_GBps"] = pushed / pushes.seconds() / 1e9;
  state.counters["pull_GBps"] = pulled / pulls.seconds() / 1e9;
  state.counters["raw_tcp_GBps"] = pushed / raws.seconds() / 1e9;
  state.counters["memcpy_GBps"] = pushed / copies.seconds() / 1e9;
  state.counters["push_ratio"] = raws.seconds() / pushes.seconds();
  state.counters["pull_ratio"] =
      raws.seconds() / pulls.seconds() * pulled / pushed;
  state.counters["push_cpu_s_per_GB"] = 1e9 * pushes.cpu() / pushed;
  state.counters["pull_cpu_s_per_GB"] = 1e9 * pulls.cpu() / pulled;
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

}  // namespace
}  // namespace paceline
