#include "tests/services/coordinator/job_run_testing.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

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
  spec.set_epochs(1);
  spec.set_seed(1);
  spec.set_workers(2);
  spec.set_servers(2);
  spec.set_lease_ms(10'000);
  return spec;
}

JobRunTest::~JobRunTest() {
  if (running_.joinable()) {
    job_->Cancel(absl::CancelledError("the test is over"));
    running_.join();
  }
  // The servers' threads use the job, whose timer uses them.
  for (const auto& server : servers_) server->Stop();
  job_.reset();
}

void JobRunTest::MakeJob() {
  auto job =
      JobRun::Create(spec_, /*entropy=*/7, &clock_, &reporter_, &metrics_);
  ASSERT_TRUE(job.ok()) << job.status();
  job_ = *std::move(job);
}

void JobRunTest::RunJob() {
  running_ = std::thread([this] { outcome_ = job_->Run(); });
}

const absl::Status& JobRunTest::Outcome() {
  if (running_.joinable()) running_.join();
  // They take what was sent to them to the end.
  for (const auto& server : servers_) server->Stop();
  return outcome_;
}

FakeWorker& JobRunTest::AddWorker(const std::string& name, bool evaluator) {
  workers_.push_back(std::make_unique<FakeWorker>(job_.get(), name, evaluator));
  EXPECT_TRUE(workers_.back()->registered().ok());
  return *workers_.back();
}

FakeServer& JobRunTest::AddServer(const std::string& name) {
  servers_.push_back(std::make_unique<FakeServer>(job_.get(), name));
  EXPECT_TRUE(servers_.back()->registered().ok());
  return *servers_.back();
}

void JobRunTest::Assemble() {
  MakeJob();
  AddServer("s0");
  AddServer("s1");
  for (const char* const name : {"w0", "w1"}) {
    AddWorker(name).Enter(SmallModel(40));
  }
  RunJob();
}

void JobRunTest::StartTraining() {
  using Kind = FakeWorker::Kind;
  Assemble();
  EXPECT_TRUE(worker(0).Next(Kind::kBegin).begin().initialize());
  EXPECT_TRUE(worker(0).SayInitialized().ok());
  EXPECT_FALSE(worker(1).Next(Kind::kBegin).begin().initialize());
  for (size_t i = 0; i < 2; ++i) {
    first_grants_.push_back(worker(i).Next(Kind::kGrant).grant());
  }
  // The job has looked at the clock by then.
  AwaitReport("progress", "state", "training");
}

void JobRunTest::WorkToTheEnd() {
  std::vector<std::thread> threads;
  for (const auto& worker : workers_) {
    threads.emplace_back([&worker] { worker->Work(); });
  }
  for (std::thread& thread : threads) thread.join();
}

std::vector<nlohmann::ordered_json> JobRunTest::Reports(
    const std::string& event) {
  // Leaves the position alone, at which the reporter goes on to write.
  std::string text;
  char piece[4096];
  ssize_t size;
  while ((size = pread(fileno(reports_.get()), piece, sizeof(piece),
                       static_cast<off_t>(text.size()))) > 0) {
    text.append(piece, static_cast<size_t>(size));
  }
  text.resize(text.rfind('\n') + 1);  // Without a line that is being written.
  std::vector<nlohmann::ordered_json> reports;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    auto report = nlohmann::ordered_json::parse(line);
    if (report["event"] == event) reports.push_back(std::move(report));
  }
  return reports;
}

void JobRunTest::AwaitReport(const std::string& event, const std::string& field,
                             const std::string& value) {
  const absl::Time deadline = Clock::Real().Now() + kLong;
  while (Clock::Real().Now() < deadline) {
    for (const auto& report : Reports(event)) {
      if (absl::StartsWith(report[field].get<std::string>(), value)) return;
    }
    std::this_thread::yield();
  }
  ADD_FAILURE() << "no " << event << " said " << value;
}

}  // namespace paceline
