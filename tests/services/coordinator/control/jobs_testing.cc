#include "tests/services/coordinator/control/jobs_testing.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "services/coordinator/run/journal/journal_files.h"
#include "services/coordinator/store/sqlite_database.h"
#include "tests/common/security/eventually.h"
#include "tests/services/coordinator/control/patience.h"

namespace paceline {

void JobsTest::Start() {
  store_ = OpenStore(StorePath(), {.busy_timeout = absl::Milliseconds(1)});
  journal_ = std::make_unique<JobJournal>(
      history_store_ != nullptr ? history_store_ : store_.get(),
      journal_options_);
  registry_ = std::make_unique<prometheus::Registry>();
  options_.checkpoint_root =
      keeps_checkpoints_ ? directory_.Path("checkpoints") : "";
  ++options_.entropy;
  auto jobs = Jobs::Create(options_, &clock_, store_.get(), journal_.get(),
                           registry_.get());
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  CHECK(jobs.ok());
  jobs_ = *std::move(jobs);
}

void JobsTest::End() {
  ReleaseStore();
  // Their threads use the fleet, which uses their streams.
  for (const auto& server : servers_) server->Stop();
  for (const auto& worker : workers_) worker->Stop();
  jobs_.reset();
  servers_.clear();
  workers_.clear();
  journal_.reset();
  store_.reset();
}

void JobsTest::KeepJournals() {
  options_.journal_root = directory_.Path("runs");
  std::filesystem::create_directories(options_.journal_root);
}

void JobsTest::Restart() {
  End();
  Start();
}

FleetServer& JobsTest::AddServer(const std::string& name, uint64_t max_bytes) {
  servers_.push_back(
      std::make_unique<FleetServer>(&jobs_->fleet(), name, max_bytes));
  return *servers_.back();
}

FleetServer& JobsTest::AddServer(const v1::ServerHello& hello) {
  servers_.push_back(std::make_unique<FleetServer>(&jobs_->fleet(), hello));
  return *servers_.back();
}

FleetWorker& JobsTest::AddWorker(const std::string& name, bool evaluator) {
  workers_.push_back(
      std::make_unique<FleetWorker>(&jobs_->fleet(), name, evaluator));
  return *workers_.back();
}

FleetWorker& JobsTest::AddWorker(const v1::WorkerHello& hello) {
  workers_.push_back(std::make_unique<FleetWorker>(&jobs_->fleet(), hello));
  return *workers_.back();
}

void JobsTest::AddMembers() {
  AddServer("s0");
  AddWorker("w0");
}

v1::CreateJobRequest JobsTest::Request(const std::string& id) {
  v1::CreateJobRequest request;
  request.set_parent("namespaces/test");
  request.set_job_id(id);
  v1::JobSpec& spec = *request.mutable_job()->mutable_spec();
  spec.set_model("logreg");
  spec.set_data("synthetic:shapes");
  spec.set_paradigm("asp");
  spec.set_batch_size(10);
  spec.set_servers(1);
  spec.mutable_workers()->set_min(1);
  spec.mutable_stop()->set_epochs(1'000'000);
  spec.mutable_evaluation()->set_disabled(true);
  return request;
}

std::string JobsTest::Create(const v1::CreateJobRequest& request) {
  const auto job = jobs_->CreateJob(request, "test");
  EXPECT_TRUE(job.ok()) << job.status();
  return job.ok() ? job->name() : "";
}

v1::Job JobsTest::Get(const std::string& name) {
  v1::GetJobRequest request;
  request.set_name(name);
  const auto job = jobs_->GetJob(request);
  EXPECT_TRUE(job.ok()) << job.status();
  return job.value_or(v1::Job());
}

std::unique_ptr<JobWatcher> JobsTest::Watch(const std::string& name) {
  v1::WatchJobRequest request;
  request.set_name(name);
  auto events = jobs_->WatchJob(request);
  EXPECT_TRUE(events.ok()) << events.status();
  return std::make_unique<JobWatcher>(*std::move(events));
}

void JobsTest::AwaitTraining(const std::string& job) {
  constexpr char kTraining[] = "training";
  const auto watcher = Watch(job);
  // It is RUNNING a moment before.
  const v1::Job running = watcher->AwaitState(v1::Job::RUNNING);
  if (running.progress().phase() == kTraining) return;
  watcher->Await(kTraining, [&](const v1::WatchJobResponse& response) {
    return response.progress().phase() == kTraining;
  });
}

std::string JobsTest::Run(const std::string& id) {
  const std::string job = Create(id);
  AwaitTraining(job);
  return job;
}

std::string JobsTest::BeginCheckpoint(const std::string& job,
                                      const std::string& id) {
  v1::CreateCheckpointRequest request;
  request.set_parent(job);
  request.set_checkpoint_id(id);
  const auto begun = jobs_->CreateCheckpoint(request, "test");
  EXPECT_TRUE(begun.ok()) << begun.status();
  return begun.ok() ? begun->name() : "";
}

std::string JobsTest::SaveCheckpoint(const std::string& job,
                                     const std::string& id) {
  const auto watcher = Watch(job);
  const std::string name = BeginCheckpoint(job, id);
  EXPECT_EQ(watcher->AwaitCheckpoint(v1::Checkpoint::READY).name(), name);
  return name;
}

absl::StatusOr<v1::Job> JobsTest::Pause(const std::string& job) {
  v1::PauseJobRequest request;
  request.set_name(job);
  return jobs_->PauseJob(request, "test");
}

absl::StatusOr<v1::Job> JobsTest::Resume(const std::string& job) {
  v1::ResumeJobRequest request;
  request.set_name(job);
  return jobs_->ResumeJob(request, "test");
}

absl::StatusOr<v1::Job> JobsTest::Cancel(const std::string& job) {
  v1::CancelJobRequest request;
  request.set_name(job);
  return jobs_->CancelJob(request, "test");
}

absl::StatusOr<v1::Job> JobsTest::Restore(const std::string& job,
                                          const std::string& checkpoint) {
  v1::RestoreJobRequest request;
  request.set_name(job);
  request.set_checkpoint(checkpoint);
  return jobs_->RestoreJob(request, "test");
}

void JobsTest::AwaitTurn() {
  // A job that nobody can work for is told so at the end of a turn.
  v1::CreateJobRequest request = Request(absl::StrCat("turn-", ++turns_));
  request.mutable_job()->mutable_spec()->mutable_workers()->set_min(1000);
  const std::string job = Create(request);
  AwaitLook(job);
  EXPECT_TRUE(Cancel(job).ok());
}

void JobsTest::AwaitLook(const std::string& job) {
  Watch(job)->Await("a turn", [](const v1::WatchJobResponse& response) {
    return response.has_job() &&
           response.job().state_reason() != "waits for workers";
  });
}

void JobsTest::HoldStore() {
  auto holder = Database::Open(StorePath());
  CHECK(holder.ok());
  holder_ = std::make_unique<Database>(*std::move(holder));
  const absl::Status held =
      holder_->Execute("PRAGMA busy_timeout = 30000; BEGIN IMMEDIATE");
  CHECK(held.ok());
}

void JobsTest::ReleaseStore() { holder_.reset(); }

double JobsTest::Metric(const std::string& name) {
  for (const prometheus::MetricFamily& family : registry_->Collect()) {
    if (family.name != name) continue;
    const prometheus::ClientMetric& metric = family.metric.at(0);
    return family.type == prometheus::MetricType::Counter ? metric.counter.value
                                                          : metric.gauge.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

Exposition JobsTest::AwaitScrape(
    const std::string& what,
    const std::function<bool(const Exposition&)>& wanted) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (true) {
    Exposition scrape = Scrape();
    if (wanted(scrape)) return scrape;
    if (absl::Now() >= deadline) {
      ADD_FAILURE() << "never: " << what;
      return scrape;
    }
    AwaitTurn();
  }
}

v1::Job JobsTest::Stored(const std::string& name) {
  const auto jobs = store_->LoadJobs();
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  for (const v1::Job& job : *jobs) {
    if (job.name() == name) return job;
  }
  return {};
}

std::string JobsTest::JournalOf(const std::string& job) {
  return JournalFile(options_.journal_root, Get(job).uid());
}

void JobsTest::AwaitSamples(const std::string& job, int64_t samples) {
  EXPECT_TRUE(
      Eventually([&] { return Get(job).progress().samples() >= samples; }));
}

}  // namespace paceline
