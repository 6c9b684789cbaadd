// What the metrics cost: of one iteration, in all processes that it touches
// (coordinator, parameter server, worker), of one report of progress, and of
// one scrape, of a job with 64 workers. The series are the real ones; what is
// recorded is what the sync core put out for pushes of 64 workers, recorded as
// JobRun, ParameterService and Trainer do.

#include <benchmark/benchmark.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <time.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/metrics/process_metrics.h"
#include "common/metrics/series.h"
#include "common/overloaded.h"
#include "common/rpc/rpc_metrics.h"
#include "services/coordinator/coordinator_metrics.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "services/parameter_server/server_metrics.h"
#include "services/worker/worker_metrics.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

constexpr uint32_t kWorkers = 64;
constexpr int kBlocks = 10;  // Of the model, on one server.
constexpr size_t kBlockBytes = 24'000;
constexpr absl::Duration kIteration = absl::Milliseconds(1);
constexpr absl::Duration kScrapeInterval = absl::Seconds(15);

std::string NameOf(uint32_t worker) { return absl::StrCat("worker-", worker); }

// What this thread has computed; the time that others took its core is not in
// it.
absl::Duration ThreadCpu() {
  timespec time = {};
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return absl::DurationFromTimespec(time);
}

// Runs `once` as often as the benchmark wants; the counter says what share of
// `whole` it takes, in percent.
template <class Function>
void Measure(benchmark::State& state, absl::Duration whole, const char* counter,
             Function once) {
  const absl::Duration began = ThreadCpu();
  for (auto _ : state) once();
  state.counters[counter] = 100 *
                            absl::FDivDuration(ThreadCpu() - began, whole) /
                            static_cast<double>(state.iterations());
}

// What the core puts out for pushes of 64 workers, push by push, in turns.
std::vector<std::vector<Output>> OutputsOf(const char* paradigm, int pushes) {
  SyncOptions options;
  options.train_samples = 1 << 30;
  options.epochs = 1 << 10;
  options.lease = absl::Hours(1000);
  auto policy = MakePolicy(paradigm);
  CHECK(policy.ok());
  SyncCore core(options, *std::move(policy));
  std::vector<NewMember> workers;
  for (uint32_t i = 1; i <= kWorkers; ++i) workers.push_back({WorkerId{i}});
  absl::Time now = absl::UnixEpoch();
  std::vector<std::vector<Output>> all(1);
  core.Start(now, workers, all[0]);
  std::vector<Grant> open;
  std::vector<Grant> next;
  const auto collect = [&] {
    for (const Output& output : all.back()) {
      if (const auto* grant = std::get_if<Grant>(&output)) {
        next.push_back(*grant);
      }
    }
  };
  collect();
  all.clear();  // A start is no iteration.
  for (int push = 0; push < pushes; ++push) {
    if (open.empty()) std::swap(open, next);
    const Grant grant = open.back();
    open.pop_back();
    now += kIteration / kWorkers;
    const PushReport report = {grant.iteration, grant.range.size(), kBlocks, 0,
                               false};
    CHECK(core.PushDone(now, grant.worker, report, all.emplace_back()).ok());
    collect();
  }
  return all;
}

// The coordinator's part: what JobRun does about a report and its outputs.
class CoordinatorPart {
 public:
  void Push(const v1::PushDone& report, const std::vector<Output>& outputs) {
    job_.gate_wait_seconds->Observe(report.seconds().wait());
    job_.blocks_refused->Increment(report.blocks_refused());
    for (const Output& output : outputs) {
      std::visit(
          Overloaded{[&](const Grant& grant) { Count(grant); },
                     [&](const PushCounted& push) { Count(push); },
                     [&](const CloseCommand&) { CountClosing(); },
                     [&](const Recorded& recorded) {
                       job_.decisions.at(recorded.decision.kind)->Increment();
                     },
                     [](const auto&) {}},
          output);
    }
  }

 private:
  void Count(const Grant& grant) {
    job_.grants->Increment();
    job_.samples_granted->Increment(grant.range.size());
  }
  void Count(const PushCounted& push) {
    job_.pushes->Increment();
    job_.version->Set(static_cast<double>(push.version));
    job_.samples_counted->Increment(push.samples);
    job_.gap->Observe(static_cast<double>(push.gap));
    job_.staleness->Observe(static_cast<double>(push.staleness));
    job_.last_push_timestamp_seconds->Set(
        absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  }
  void CountClosing() {
    job_.closings->Increment();
    const absl::Time now = Clock::Real().Now();
    if (last_close_.has_value()) {
      job_.round_seconds->Observe(absl::ToDoubleSeconds(now - *last_close_));
    }
    last_close_ = now;
  }

  prometheus::Registry registry_;
  JobMetrics job_{registry_, "namespaces/default/jobs/j"};
  std::optional<absl::Time> last_close_;
};

// A server's part: ParameterService and CommandRunner, of all the blocks.
class ServerPart {
 public:
  void Iterate(bool closes) {
    const absl::Time asked = Clock::Real().Now();
    for (int block = 0; block < kBlocks; ++block) {
      server_.pushed_blocks.Increment();
      server_.push_bytes.Increment(kBlockBytes);
    }
    server_.refused_blocks.Increment(0);
    if (closes) {
      server_.closings.Increment();
      server_.closing_seconds.Observe(Since(asked));
    }
    server_.pull_seconds.Observe(Since(asked));
    server_.pulls.Increment();
    for (int block = 0; block < kBlocks; ++block) {
      server_.pull_bytes.Increment(kBlockBytes);
    }
  }

 private:
  static double Since(absl::Time began) {
    return absl::ToDoubleSeconds(Clock::Real().Now() - began);
  }

  prometheus::Registry registry_;
  ServerMetrics server_{registry_};
};

v1::PushDone Report() {
  v1::PushDone report;
  report.set_samples(32);
  report.set_blocks(kBlocks);
  report.set_push_bytes(kBlocks * kBlockBytes);
  report.set_pull_bytes(kBlocks * kBlockBytes);
  report.set_loss(0.7);
  v1::PhaseSeconds& seconds = *report.mutable_seconds();
  seconds.set_load(0.0001);
  seconds.set_compute(0.0007);
  seconds.set_push(0.0001);
  seconds.set_wait(0.00005);
  seconds.set_pull(0.00005);
  return report;
}

// Everything that one iteration records anywhere.
class AllParts {
 public:
  explicit AllParts(const char* paradigm)
      : outputs_(OutputsOf(paradigm, 4096)) {}

  void Iterate() {
    const std::vector<Output>& outputs = outputs_[next_];
    next_ = (next_ + 1) % outputs_.size();
    coordinator_.Push(report_, outputs);
    server_.Iterate(
        std::any_of(outputs.begin(), outputs.end(), [](const Output& output) {
          return std::holds_alternative<CloseCommand>(output);
        }));
    worker_.Observe(report_);
  }
  void IterateCoordinator() {
    coordinator_.Push(report_, outputs_[next_]);
    next_ = (next_ + 1) % outputs_.size();
  }

 private:
  const std::vector<std::vector<Output>> outputs_;
  const v1::PushDone report_ = Report();
  size_t next_ = 0;
  CoordinatorPart coordinator_;
  ServerPart server_;
  prometheus::Registry registry_;
  WorkerMetrics worker_{registry_};
};

void BM_Coordinator(benchmark::State& state, const char* paradigm) {
  AllParts parts(paradigm);
  Measure(state, kIteration, "percent_of_1ms",
          [&] { parts.IterateCoordinator(); });
}

void BM_AllProcesses(benchmark::State& state, const char* paradigm) {
  AllParts parts(paradigm);
  Measure(state, kIteration, "percent_of_1ms", [&] { parts.Iterate(); });
}

// The same between iterations that compute for 1 ms on 8 MiB, after which
// neither the series nor the code are in the near caches. Reading the CPU clock
// is counted with the metrics.
void BM_BesideComputing(benchmark::State& state, const char* paradigm) {
  constexpr size_t kSlice = 16'384;
  AllParts parts(paradigm);
  std::vector<float> weights(size_t{2} << 20, 1.0F);
  size_t at = 0;
  std::vector<double> micros;
  absl::Duration metrics;
  absl::Duration whole;
  for (auto _ : state) {
    const absl::Duration began = ThreadCpu();
    absl::Duration computed = began;
    while (computed - began < kIteration) {
      for (size_t i = at; i < at + kSlice; ++i) {
        weights[i] = 0.999F * weights[i] + 0.001F;
      }
      at = (at + kSlice) % weights.size();
      benchmark::ClobberMemory();
      computed = ThreadCpu();
    }
    parts.Iterate();
    const absl::Duration ended = ThreadCpu();
    metrics += ended - computed;
    whole += ended - began;
    micros.push_back(absl::ToDoubleMicroseconds(ended - computed));
  }
  std::sort(micros.begin(), micros.end());
  state.counters["median_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
  state.counters["percent"] = 100 * absl::FDivDuration(metrics, whole);
}

#define PACELINE_OF_PARADIGMS(function)        \
  BENCHMARK_CAPTURE(function, asp, "asp");     \
  BENCHMARK_CAPTURE(function, bsp, "bsp");     \
  BENCHMARK_CAPTURE(function, ssp, "ssp:s=3"); \
  BENCHMARK_CAPTURE(function, dssp, "dssp:lower=3,upper=15")

PACELINE_OF_PARADIGMS(BM_Coordinator);
PACELINE_OF_PARADIGMS(BM_AllProcesses);
PACELINE_OF_PARADIGMS(BM_BesideComputing);

void BM_Server(benchmark::State& state) {
  ServerPart server;
  Measure(state, kIteration, "percent_of_1ms",
          [&] { server.Iterate(/*closes=*/true); });
}
BENCHMARK(BM_Server);

void BM_Worker(benchmark::State& state) {
  prometheus::Registry registry;
  WorkerMetrics worker(registry);
  const v1::PushDone report = Report();
  Measure(state, kIteration, "percent_of_1ms", [&] { worker.Observe(report); });
}
BENCHMARK(BM_Worker);

// JobRun::ExportProgress(), once a second.
void ExportProgress(JobMetrics& job) {
  job.workers->Set(kWorkers);
  job.samples->Set(1);
  job.samples_wanted->Set(2);
  job.SetLoss(0.7);
  job.SetParadigm("ssp:s=3");
  job.checkpoint_interval_seconds->Set(600);
  job.SetThreshold(3);
  job.SetGroups(std::nullopt);
  std::set<std::string> names;
  for (uint32_t i = 0; i < kWorkers; ++i) names.insert(NameOf(i));
  job.KeepWorkers(names);
  for (const std::string& name : names) {
    JobMetrics::Worker* const worker =
        job.OfWorker(name, "default", "NVIDIA H100 PCIe");
    worker->samples_per_second->Set(1234.5);
    worker->straggler_score->Set(1.01);
    worker->straggler->Set(0);
    worker->gap->Set(2);
    worker->batch->Set(32);
    worker->lag->Set(63);
  }
}

void BM_Progress(benchmark::State& state) {
  prometheus::Registry registry;
  JobMetrics job(registry, "namespaces/default/jobs/j");
  Measure(state, absl::Seconds(1), "percent_of_1s",
          [&] { ExportProgress(job); });
}
BENCHMARK(BM_Progress)->Unit(benchmark::kMicrosecond);

// Collected, written and compressed, as the metrics port does it.
void BM_Scrape(benchmark::State& state) {
  prometheus::Registry registry;
  ExportBuild(registry, "1.2.3");
  CoordinatorMetrics coordinator(registry);
  coordinator.SetPoolDemand({{"default", kWorkers}});
  const RpcMetrics calls(registry,
                         {"paceline.v1.Fleet", "paceline.v1.JobService",
                          "paceline.v1.ClusterService"});
  JobMetrics job(registry, "namespaces/default/jobs/j");
  ExportProgress(job);
  const ProcessMetrics process;
  size_t bytes = 0;
  size_t compressed = 0;
  std::vector<Bytef> out;
  Measure(state, kScrapeInterval, "percent_of_15s", [&] {
    auto families = registry.Collect();
    for (auto& family : process.Collect()) {
      families.push_back(std::move(family));
    }
    const std::string text = prometheus::TextSerializer().Serialize(families);
    bytes = text.size();
    out.resize(compressBound(bytes));
    uLongf size = out.size();
    CHECK(compress(out.data(), &size,
                   reinterpret_cast<const Bytef*>(text.data()), bytes) == Z_OK);
    compressed = size;
  });
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["compressed_bytes"] = static_cast<double>(compressed);
}
BENCHMARK(BM_Scrape)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace paceline
