// What one iteration costs beyond computing: one worker, 60,000 parameters in
// ten tensors, loopback, a coordinator and a server as in a real job. The
// worker computes nothing; an iteration is grant, pull, push, acknowledgement,
// PushDone and the way to the next grant. With a backup, a second server has
// the push before it is acknowledged; with a journal, the coordinator has
// written the report down before it grants anything. With `ahead` the weights
// are asked for behind the push and taken as they come, as a worker does for a
// program whose next grant it foretells. Time of the processor is all threads'.
//
// Of the parts, `grant_ms` is from the acknowledgement to the grant,
// `weights_ms` from the grant to the weights, `push_ms` the rest. `first_ms` is
// from the end of a backward pass to the first weights of the next iteration.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/check.h"
#include "common/clock.h"
#include "services/worker/control_stream.h"
#include "services/worker/grant_forecast.h"
#include "services/worker/parameter_client.h"
#include "tests/integration/local_cluster.h"

namespace paceline {
namespace {

constexpr int kTensors = 10;
constexpr int64_t kTensorFloats = 6'000;

struct Arrays {
  std::vector<float> weights = std::vector<float>(kTensors * kTensorFloats);
  std::vector<float> gradient = std::vector<float>(kTensors * kTensorFloats);
};

// Of some iterations, in milliseconds.
struct Times {
  std::vector<double> all;
  std::vector<double> grant;
  std::vector<double> weights;
  std::vector<double> push;
  std::vector<double> first;
};

double At(std::vector<double>& times, double share) {
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(share * static_cast<double>(times.size()))];
}

// A worker that is driven iteration by iteration.
class IdleWorker {
 public:
  IdleWorker(const std::string& address, bool ahead)
      : ahead_(ahead),
        control_(std::make_shared<CoordinatorAddresses>(address), Hello()) {
    Next();  // Registered.
    const v1::Assignment assignment = Next().assign();
    v1::WorkerMessage ready;
    ready.mutable_ready()->set_train_samples(1'000'000);
    for (int i = 0; i < kTensors; ++i) {
      v1::TensorSpec& tensor = *ready.mutable_ready()->add_tensors();
      tensor.set_name("t" + std::to_string(i));
      tensor.add_shape(kTensorFloats);
      tensor.set_size(kTensorFloats);
    }
    control_.Send(std::move(ready));
    const v1::WorkerCommand begin = Next();
    TensorArrays view;
    for (int i = 0; i < kTensors; ++i) {
      view.parameters.push_back(absl::MakeSpan(arrays_->weights)
                                    .subspan(i * kTensorFloats, kTensorFloats));
      view.gradients.push_back(
          BytesOf(absl::MakeSpan(arrays_->gradient)
                      .subspan(i * kTensorFloats, kTensorFloats)));
    }
    view.owner = arrays_;
    auto client = ParameterClient::Connect(
        begin.begin(), view,
        {.incarnation = assignment.incarnation(),
         .lease = absl::Milliseconds(assignment.lease_ms()),
         .run = assignment.run()});
    CHECK(client.ok());
    parameters_ = *std::move(client);
    CHECK(parameters_->SetAll().ok());
    v1::WorkerMessage initialized;
    initialized.mutable_initialized();
    control_.Send(std::move(initialized));
  }

  void Iterate(Times& times) {
    const absl::Time began = Clock::Real().Now();
    const v1::WorkerCommand command = Next();
    const absl::Time granted = Clock::Real().Now();
    CHECK(command.has_grant());
    const v1::Grant& grant = command.grant();
    const bool fits = forecast_.Take(grant);
    if (!fits || !asked_) first_.reset();
    CHECK((fits && asked_ ? parameters_->AwaitAhead(NoteFirst())
                          : parameters_->Pull(grant.closing(), /*keep=*/false,
                                              NoteFirst()))
              .ok());
    const absl::Time pulled = Clock::Real().Now();
    times.first.push_back(absl::ToDoubleMilliseconds(*first_ - computed_));
    v1::PushBlock push;
    push.set_iteration(grant.iteration());
    push.set_samples(grant.range().end() - grant.range().begin());
    push.set_weight(1);
    if (grant.plan().has_round()) {
      push.set_round(grant.plan().round());
    } else {
      push.set_immediate_rate(grant.plan().immediate_rate());
    }
    computed_ = Clock::Real().Now();
    first_.reset();
    parameters_->BeginPush(push);
    parameters_->PushTensors(0, kTensors);
    const auto taken = [&](const PushResult&) {
      v1::WorkerMessage done;
      done.mutable_push_done()->set_iteration(grant.iteration());
      done.mutable_push_done()->set_samples(push.samples());
      control_.Send(std::move(done));
      if (asked_) parameters_->DeliverAhead(NoteFirst());
    };
    const std::optional<int64_t> next =
        ahead_ ? forecast_.Closing() : std::nullopt;
    asked_ = next.has_value();
    CHECK(parameters_->FinishPush(taken, next).ok());
    const absl::Time pushed = Clock::Real().Now();
    times.grant.push_back(absl::ToDoubleMilliseconds(granted - began));
    times.weights.push_back(absl::ToDoubleMilliseconds(pulled - granted));
    times.push.push_back(absl::ToDoubleMilliseconds(pushed - pulled));
    times.all.push_back(absl::ToDoubleMilliseconds(pushed - began));
  }

 private:
  static v1::WorkerHello Hello() {
    v1::WorkerHello hello;
    hello.set_name("w0");
    return hello;
  }
  std::function<void(size_t)> NoteFirst() {
    return [this](size_t) {
      if (!first_.has_value()) first_ = Clock::Real().Now();
    };
  }
  v1::WorkerCommand Next() {
    auto command = control_.Next(absl::Seconds(30));
    CHECK(command.ok());
    return *std::move(command);
  }

  const bool ahead_;
  ControlStream control_;
  std::shared_ptr<Arrays> arrays_ = std::make_shared<Arrays>();
  std::unique_ptr<ParameterClient> parameters_;
  GrantForecast forecast_;
  bool asked_ = false;
  absl::Time computed_ = Clock::Real().Now();
  std::optional<absl::Time> first_;  // Of the weights of the next iteration.
};

void BM_IterationOverhead(benchmark::State& state, const char* paradigm) {
  const auto replicas = static_cast<uint32_t>(state.range(0));
  const bool journal = state.range(1) != 0;
  const bool ahead = state.range(2) != 0;
  v1::JobSpec job = SmallJob(paradigm, /*workers=*/1);
  job.mutable_stop()->set_epochs(1000);
  job.set_servers(1);
  job.set_replicas(replicas);
  LocalCluster cluster(/*servers=*/1 + replicas, journal);
  std::thread run([&] { cluster.Run(job).IgnoreError(); });
  Times times;
  {
    IdleWorker worker(cluster.address(), ahead);
    // The first one includes the start of the job; a backup is filled beside
    // the next ones.
    Times first;
    for (int i = 0; i < 100; ++i) worker.Iterate(first);
    for (auto _ : state) worker.Iterate(times);
  }
  cluster.Cancel();
  run.join();
  state.counters["median_ms"] = At(times.all, 0.5);
  state.counters["p99_ms"] = At(times.all, 0.99);
  state.counters["grant_ms"] = At(times.grant, 0.5);
  state.counters["weights_ms"] = At(times.weights, 0.5);
  state.counters["push_ms"] = At(times.push, 0.5);
  state.counters["first_ms"] = At(times.first, 0.5);
  state.counters["first_p99_ms"] = At(times.first, 0.99);
}
BENCHMARK_CAPTURE(BM_IterationOverhead, asp, "asp")
    ->ArgNames({"replicas", "journal", "ahead"})
    ->ArgsProduct({{0, 1}, {0, 1}, {0}})  // It has no closings.
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(BM_IterationOverhead, bsp, "bsp")
    ->ArgNames({"replicas", "journal", "ahead"})
    ->ArgsProduct({{0, 1}, {0, 1}, {0, 1}})
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace paceline
