#include "tests/services/coordinator/run/job_run_testing.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace paceline {

v1::JobSpec SmallJob() {
  v1::JobSpec spec;
  spec.set_model("logreg");
  spec.set_data("synthetic:shapes");
  spec.set_paradigm("bsp");
  spec.set_optimizer("sgd");
  spec.set_learning_rate(0.1);
  spec.set_schedule("constant");
  spec.set_batch_size(10);
  spec.set_batching("even");
  spec.set_seed(1);
  spec.set_servers(2);
  spec.mutable_workers()->set_min(2);
  spec.mutable_stop()->set_epochs(1);
  spec.mutable_evaluation()->set_disabled(true);
  return spec;
}

JobRunTest::~JobRunTest() { EndRun(); }

void JobRunTest::EndRun() {
  if (std::exchange(started_, false)) {
    job_->Cancel(absl::CancelledError("the test is over"));
    over_->WaitForNotification();
  }
  // The servers' threads use the job, whose timer uses them.
  for (const auto& server : servers_) server->Stop();
  job_.reset();
  servers_.clear();
  workers_.clear();
  first_grants_.clear();
}

void JobRunTest::MakeJob() {
  setup_.job_name = "namespaces/test/jobs/small";
  ++setup_.run;
  setup_.plan = *ParseJob(spec_);
  setup_.find_evaluator = [this] {
    return EvaluatorKnown{.exists = evaluator_exists_.load()};
  };
  MakeServers(100);
  setup_.servers.clear();
  for (const auto& server : servers_) setup_.servers.push_back(server->Link());
  MakeObserver();
  job_ = std::make_shared<JobRun>(
      setup_, &clock_, observer_,
      std::make_shared<JobMetrics>(registry_, setup_.job_name));
  for (const auto& server : servers_) server->Serve(job_.get());
}

void JobRunTest::MakeServers(uint64_t first) {
  for (uint64_t i = 0; i < spec_.servers(); ++i) {
    servers_.push_back(
        std::make_unique<FakeJobServer>(first + i, absl::StrCat("s", i)));
  }
}

void JobRunTest::MakeObserver() {
  over_ = std::make_unique<absl::Notification>();
  setup_.over = [over = over_.get()] { over->Notify(); };
  observer_ = std::make_shared<RecordingObserver>();
}

absl::Status JobRunTest::Restart() {
  // What it writes as the test ends it is not written by one that dies.
  std::ifstream file(setup_.journal_file, std::ios::binary);
  const std::string journal{std::istreambuf_iterator<char>(file), {}};
  EndRun();
  files_.Write("run.journal", journal);
  MakeServers(200);
  MakeObserver();
  auto run = JobRun::FromJournal(
      setup_, &clock_, observer_,
      std::make_shared<JobMetrics>(registry_, setup_.job_name));
  if (!run.ok()) return run.status();
  job_ = *std::move(run);
  started_ = true;
  for (const auto& server : servers_) server->Serve(job_.get());
  return absl::OkStatus();
}

void JobRunTest::RunJob() {
  job_->Start();
  started_ = true;
}

const RunOutcome& JobRunTest::Outcome() {
  if (started_) {
    EXPECT_TRUE(over_->WaitForNotificationWithTimeout(4 * kLong));
    outcome_ = job_->outcome().value_or(RunOutcome{});
  }
  // They take what was sent to them to the end.
  for (const auto& server : servers_) server->Stop();
  return outcome_;
}

FakeWorker& JobRunTest::AddWorker(const std::string& name, bool evaluator) {
  workers_.push_back(
      std::make_unique<FakeWorker>(job_.get(), name, evaluator, session_));
  EXPECT_TRUE(workers_.back()->registered().ok());
  return *workers_.back();
}

void JobRunTest::Assemble() {
  MakeJob();
  for (const char* const name : {"w0", "w1"}) {
    AddWorker(name).Enter(SmallModel(40));
  }
  RunJob();
}

void JobRunTest::StartTraining() {
  using Kind = FakeWorker::Kind;
  Assemble();
  if (setup_.restore_from.empty() && spec_.initial_weights().empty()) {
    EXPECT_TRUE(worker(0).Next(Kind::kBegin).begin().initialize());
    EXPECT_TRUE(worker(0).SayInitialized().ok());
  } else {
    EXPECT_FALSE(worker(0).Next(Kind::kBegin).begin().initialize());
  }
  EXPECT_FALSE(worker(1).Next(Kind::kBegin).begin().initialize());
  for (size_t i = 0; i < 2; ++i) {
    first_grants_.push_back(worker(i).Next(Kind::kGrant).grant());
  }
  // The job has looked at the clock by then.
  AwaitPhase("training");
}

void JobRunTest::WorkToTheEnd() {
  std::vector<std::thread> threads;
  for (const auto& worker : workers_) {
    threads.emplace_back([&worker] { worker->Work(); });
  }
  for (std::thread& thread : threads) thread.join();
}

void JobRunTest::KeepCheckpoints() {
  setup_.checkpoint_root = checkpoints_.path();
}

v1::Checkpoint JobRunTest::AwaitCheckpoint(const std::string& id,
                                           v1::Checkpoint::State state) {
  v1::Checkpoint found;
  const auto is_wanted = [&](const v1::Checkpoint& checkpoint) {
    return checkpoint.name() == id && checkpoint.state() == state;
  };
  observer_->Await(absl::StrCat("checkpoint ", id), [&](const auto& history) {
    const auto it = std::find_if(history.checkpoints.begin(),
                                 history.checkpoints.end(), is_wanted);
    if (it == history.checkpoints.end()) return false;
    found = *it;
    return true;
  });
  return found;
}

nlohmann::json JobRunTest::Report() const {
  const std::string report = job_->Report();
  return report.empty() ? nlohmann::json() : nlohmann::json::parse(report);
}

void JobRunTest::AwaitPhase(const std::string& phase) {
  observer_->Await(phase, [&](const RunHistory& history) {
    return std::any_of(
        history.progress.begin(), history.progress.end(),
        [&](const auto& progress) { return progress.phase() == phase; });
  });
}

void JobRunTest::AwaitProgressBeyond(size_t told) {
  observer_->Await("progress", [&](const RunHistory& history) {
    return history.progress.size() > told;
  });
}

std::vector<double> JobRunTest::Metric(const std::string& name,
                                       const std::string& label) const {
  std::vector<double> values;
  for (const auto& family : registry_.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      if (!label.empty() &&
          std::none_of(metric.label.begin(), metric.label.end(),
                       [&](const auto& l) { return l.value == label; })) {
        continue;
      }
      values.push_back(family.type == prometheus::MetricType::Counter
                           ? metric.counter.value
                           : metric.gauge.value);
    }
  }
  return values;
}

void JobRunTest::AwaitDecision(const std::string& text) {
  observer_->Await(text, [&](const RunHistory& history) {
    return std::any_of(history.decisions.begin(), history.decisions.end(),
                       [&](const auto& decision) {
                         return absl::StartsWith(decision.text(), text);
                       });
  });
}

}  // namespace paceline
