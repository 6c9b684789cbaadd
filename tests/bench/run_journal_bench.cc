// What the journal of a run costs: a push through a whole run without one and
// with one, from the worker's message to its next grant, and how many events
// another life of the coordinator takes in a second. Members have no streams.

#include <benchmark/benchmark.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/job/job_plan.h"
#include "services/coordinator/job_metrics.h"
#include "services/coordinator/run/job_run.h"
#include "tests/common/test_folder.h"
#include "tests/services/coordinator/run/silent_observer.h"

namespace paceline {
namespace {

// Answers commands at once: what is sent is sent without a lock.
class Server : public ServerPeer {
 public:
  void Send(v1::ServerCommand command) override {
    if (command.sequence() == 0) return;
    v1::ServerMessage message;
    message.set_run(command.run());
    message.mutable_done()->set_sequence(command.sequence());
    run->OnServerMessage(1, message).IgnoreError();
  }
  void Close(const absl::Status&) override {}

  JobRun* run = nullptr;
};

// Keeps the last grant.
class Worker : public WorkerPeer {
 public:
  void Send(v1::WorkerCommand command) override {
    if (command.has_begin()) begun = true;
    if (command.has_grant()) grant = command.grant();
  }
  void Close(const absl::Status&) override {}

  bool begun = false;
  v1::Grant grant;
};

v1::JobSpec Job(int workers) {
  v1::JobSpec spec;
  spec.set_model("logreg");
  spec.set_data("synthetic:shapes");
  spec.set_paradigm("asp");
  spec.set_optimizer("sgd");
  spec.set_learning_rate(0.1);
  spec.set_schedule("constant");
  spec.set_batch_size(10);
  spec.set_batching("even");
  spec.set_seed(1);
  spec.set_servers(1);
  spec.mutable_workers()->set_min(workers);
  spec.mutable_stop()->set_epochs(1'000'000);
  spec.mutable_evaluation()->set_disabled(true);
  return spec;
}

// A run that trains, of some workers who push in turn.
class Training {
 public:
  Training(int workers, const std::string& journal) {
    setup_.job_name = "namespaces/bench/jobs/one";
    setup_.run = 1;
    setup_.plan = *ParseJob(Job(workers));
    setup_.lease = absl::Hours(1);
    setup_.servers = {{1, "s0", "s0:1", server_}};
    setup_.journal_file = journal;
    run_ =
        std::make_shared<JobRun>(setup_, &Clock::Real(), observer_, metrics_);
    server_->run = run_.get();
    run_->Start();
    for (int i = 0; i < workers; ++i) Join(i);
    while (!workers_[0]->begun) std::this_thread::yield();
    v1::WorkerMessage initialized;
    initialized.mutable_initialized();
    Say(0, initialized);
    for (const auto& worker : workers_) {
      while (worker->grant.iteration() == 0) std::this_thread::yield();
    }
  }

  void Push() {
    Worker& worker = *workers_[next_];
    v1::WorkerMessage message;
    v1::PushDone& done = *message.mutable_push_done();
    done.set_iteration(worker.grant.iteration());
    done.set_samples(worker.grant.range().end() - worker.grant.range().begin());
    done.set_blocks(1);
    done.set_loss(1);
    Say(next_, message);
    next_ = (next_ + 1) % workers_.size();
  }

  // Another life takes all of it again.
  std::shared_ptr<JobRun> GoOn() {
    auto run = JobRun::FromJournal(setup_, &Clock::Real(), observer_, metrics_);
    CHECK(run.ok());
    return *std::move(run);
  }

 private:
  void Join(int i) {
    workers_.push_back(std::make_shared<Worker>());
    const WorkerId id = run_->NextWorker();
    v1::WorkerHello hello;
    hello.set_name(absl::StrCat("w", i));
    CHECK(
        run_->OnWorkerConnected(
                std::make_shared<RunSession>(run_, id, workers_.back()), hello)
            .ok());
    ids_.push_back(id);
    v1::WorkerMessage message;
    v1::WorkerReady& ready = *message.mutable_ready();
    v1::TensorSpec& tensor = *ready.add_tensors();
    tensor.set_name("weights");
    tensor.add_shape(10);
    tensor.set_size(10);
    ready.set_train_samples(60'000);
    Say(i, message);
  }
  void Say(size_t worker, const v1::WorkerMessage& message) {
    CHECK(run_->OnWorkerMessage(ids_[worker], message).ok());
  }

  RunSetup setup_;
  prometheus::Registry registry_;
  std::shared_ptr<SilentObserver> observer_ =
      std::make_shared<SilentObserver>();
  std::shared_ptr<JobMetrics> metrics_ =
      std::make_shared<JobMetrics>(registry_, "namespaces/bench/jobs/one");
  std::shared_ptr<Server> server_ = std::make_shared<Server>();
  std::vector<std::shared_ptr<Worker>> workers_;
  std::vector<WorkerId> ids_;
  std::shared_ptr<JobRun> run_;
  size_t next_ = 0;
};

void BM_Push(benchmark::State& state) {
  const TestFolder folder;
  Training training(static_cast<int>(state.range(1)),
                    state.range(0) == 0 ? "" : folder.Path("journal"));
  for (auto _ : state) training.Push();
  if (state.range(0) == 0) return;
  state.counters["bytes"] = benchmark::Counter(
      static_cast<double>(std::filesystem::file_size(folder.Path("journal"))) /
      static_cast<double>(state.iterations()));
}
BENCHMARK(BM_Push)
    ->ArgNames({"journal", "workers"})
    ->ArgsProduct({{0, 1}, {4, 1000}})
    ->Unit(benchmark::kMicrosecond);

void BM_Replay(benchmark::State& state) {
  const TestFolder folder;
  Training training(4, folder.Path("journal"));
  const int64_t pushes = 100'000;
  for (int64_t i = 0; i < pushes; ++i) training.Push();
  for (auto _ : state) {
    std::filesystem::copy(folder.Path("journal"), folder.Path("kept"),
                          std::filesystem::copy_options::overwrite_existing);
    const std::shared_ptr<JobRun> run = training.GoOn();
    state.PauseTiming();
    std::filesystem::rename(folder.Path("kept"), folder.Path("journal"));
    state.ResumeTiming();
  }
  state.counters["events_per_second"] =
      benchmark::Counter(static_cast<double>(pushes * state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Replay)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace paceline
