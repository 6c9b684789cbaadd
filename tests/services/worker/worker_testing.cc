#include "tests/services/worker/worker_testing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "gtest/gtest.h"

namespace paceline {
namespace {

std::string BigEndian(uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

constexpr uint32_t kImages = 64;
constexpr char kImageFile[] = "train-images-idx3-ubyte";

}  // namespace

RunningWorker::RunningWorker(const std::string& coordinator, bool evaluator,
                             absl::Duration patience, const TaskHost& host,
                             ComputationSource* source, const PaceSpec& pace) {
  Worker::Options options;
  options.coordinator = coordinator;
  options.hello.set_name("w0");
  options.hello.set_evaluator(evaluator);
  options.hello.set_pool("fast");
  options.host = host;
  options.source = source;
  options.pace = pace;
  options.host.data.anywhere = true;  // Where tests have their folders.
  options.patience = patience;
  options.registration = [this](const absl::Status& status) {
    absl::MutexLock lock(&mu_);
    registrations_.push_back(status);
  };
  worker_.emplace(options, &metrics_);
  thread_ = std::thread([this] {
    status_ = worker_->Run();
    ended_.Notify();
  });
}

RunningWorker::~RunningWorker() {
  worker_->Drop();
  thread_.join();
}

std::vector<absl::Status> RunningWorker::Registrations() const {
  absl::MutexLock lock(&mu_);
  return registrations_;
}

absl::Status RunningWorker::AwaitEnd() {
  if (!ended_.WaitForNotificationWithTimeout(kTestPatience)) {
    return absl::DeadlineExceededError("the worker does not end");
  }
  return status_;
}

double RunningWorker::Metric(const std::string& name,
                             const std::string& label) const {
  for (const auto& family : registry_->Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      if (metric.label.empty() != label.empty()) continue;
      if (!label.empty() && metric.label[0].value != label) continue;
      return metric.counter.value + metric.gauge.value;
    }
  }
  ADD_FAILURE() << "no series " << name << " " << label;
  return -1;
}

v1::Assignment AssignmentOf(uint64_t run, const std::string& data) {
  v1::Assignment assignment;
  assignment.set_run(run);
  assignment.set_incarnation(1000 + run);
  assignment.set_job_name(absl::StrCat("namespaces/test/jobs/j", run));
  assignment.set_lease_ms(10'000);
  v1::JobSpec& job = *assignment.mutable_job();
  job.set_model("logreg");
  job.set_data(data);
  job.set_batch_size(32);
  job.set_wire(v1::FP32);
  job.set_seed(run);
  return assignment;
}

void BeginJob(FakeSession& session, FakeParameters& parameters, uint64_t run) {
  session.Assign(AssignmentOf(run));
  const auto ready = session.Expect(v1::WorkerMessage::kReady);
  v1::WorkerCommand begin;
  *begin.mutable_begin() = parameters.Begin(ready.ready(), true);
  session.Send(std::move(begin));
  session.Expect(v1::WorkerMessage::kInitialized);
  const v1::StreamHello hello = parameters.NextHello();
  EXPECT_EQ(hello.run(), run);
  EXPECT_EQ(hello.incarnation(), 1000 + run);
}

SlowData::SlowData() {
  CHECK(mkfifo(folder_.Path(kImageFile).c_str(), 0600) == 0);
  std::ofstream labels(folder_.Path("train-labels-idx1-ubyte"));
  labels << BigEndian(0x801) << BigEndian(kImages);
  for (uint32_t i = 0; i < kImages; ++i) labels << static_cast<char>(i % 10);
}

SlowData::~SlowData() {
  if (pipe_ >= 0) close(pipe_);
}

std::string SlowData::spec() const { return "mnist:" + folder_.path(); }

void SlowData::AwaitLoading() {
  // Waits for a reader.
  pipe_ = open(folder_.Path(kImageFile).c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(pipe_, 0);
}

void SlowData::Finish(bool well) {
  std::string bytes = "no images";
  if (well) {
    bytes = absl::StrCat(BigEndian(0x803), BigEndian(kImages), BigEndian(28),
                         BigEndian(28), std::string(kImages * 28 * 28, 'x'));
  }
  EXPECT_EQ(write(pipe_, bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  close(pipe_);
  pipe_ = -1;
}

}  // namespace paceline
