#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_FLEET_TESTING_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_FLEET_TESTING_H_

#include <prometheus/registry.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "services/coordinator/fleet/fleet.h"
#include "tests/services/coordinator/run/fake_worker.h"
#include "tests/services/coordinator/run/job_run_testing.h"
#include "tests/services/coordinator/run/manual_clock.h"
#include "tests/services/coordinator/run/recording_observer.h"

namespace paceline {

// One member's stream: what was sent, and how it was closed. Thread-safe.
template <class Command>
class RecordedStream {
 public:
  std::weak_ptr<OutgoingStream<Command>> Open() const { return end_; }
  std::vector<Command> Take() {
    absl::MutexLock lock(&end_->mu);
    return std::exchange(end_->commands, {});
  }
  // The kinds of what has come since the last time.
  std::vector<typename Command::KindCase> Kinds() {
    std::vector<typename Command::KindCase> kinds;
    for (const Command& command : Take()) kinds.push_back(command.kind_case());
    return kinds;
  }
  void AwaitSomething() {
    absl::MutexLock lock(&end_->mu);
    const auto some = [this]() ABSL_SHARED_LOCKS_REQUIRED(end_->mu) {
      return !end_->commands.empty();
    };
    EXPECT_TRUE(end_->mu.AwaitWithTimeout(absl::Condition(&some), kLong));
  }
  std::vector<absl::Status> closed() {
    absl::MutexLock lock(&end_->mu);
    return end_->closed;
  }

 private:
  // The coordinator's.
  struct End : OutgoingStream<Command> {
    void Send(Command command) override {
      absl::MutexLock lock(&mu);
      commands.push_back(std::move(command));
    }
    void Close(const absl::Status& status) override {
      absl::MutexLock lock(&mu);
      closed.push_back(status);
    }

    absl::Mutex mu;
    std::vector<Command> commands ABSL_GUARDED_BY(mu);
    std::vector<absl::Status> closed ABSL_GUARDED_BY(mu);
  };
  const std::shared_ptr<End> end_ = std::make_shared<End>();
};

using WorkerStream = RecordedStream<v1::WorkerCommand>;
using ServerStream = RecordedStream<v1::ServerCommand>;

inline v1::WorkerHello Worker(const std::string& name) {
  v1::WorkerHello hello;
  hello.set_name(name);
  return hello;
}

inline v1::WorkerHello Evaluator(const std::string& name) {
  v1::WorkerHello hello = Worker(name);
  hello.set_evaluator(true);
  return hello;
}

inline v1::ServerHello Server(const std::string& name) {
  v1::ServerHello hello;
  hello.set_name(name);
  hello.set_address(absl::StrCat(name, ":7000"));
  return hello;
}

inline v1::WorkerMessage Leaving(bool process = false) {
  v1::WorkerMessage message;
  message.mutable_leaving()->set_process(process);
  return message;
}

inline v1::WorkerMessage Heartbeat() {
  v1::WorkerMessage message;
  message.mutable_heartbeat();
  return message;
}

inline v1::WorkerMessage Ready() {
  v1::WorkerMessage message;
  *message.mutable_ready() = SmallModel(40);
  return message;
}

// A fleet with a lease of ten seconds of its own clock.
class FleetTest : public ::testing::Test {
 protected:
  uint64_t Come(WorkerStream& stream, const v1::WorkerHello& hello) {
    const auto member = fleet_.OnWorkerConnected(hello, stream.Open());
    EXPECT_TRUE(member.ok()) << member.status();
    return member.value_or(0);
  }
  uint64_t Come(ServerStream& stream, const std::string& name) {
    const auto member = fleet_.OnServerConnected(Server(name), stream.Open());
    EXPECT_TRUE(member.ok()) << member.status();
    return member.value_or(0);
  }

  // Leases pass in which the worker sends heartbeats.
  void Live(uint64_t worker, int leases) {
    for (int lease = 0; lease < leases; ++lease) {
      clock_.Advance(absl::Seconds(10));
      EXPECT_TRUE(fleet_.OnWorkerMessage(worker, Heartbeat()).ok());
      fleet_.EndSilent();
    }
  }

  // One of those servers, that is not run yet.
  std::shared_ptr<JobRun> AddRun(uint64_t number,
                                 std::vector<ServerLink> servers) {
    RunSetup setup;
    setup.job_name = absl::StrCat("namespaces/test/jobs/j", number);
    setup.run = number;
    v1::JobSpec spec = SmallJob();
    spec.mutable_workers()->set_min(1);
    setup.plan = *ParseJob(spec);
    setup.servers = std::move(servers);
    auto over = std::make_shared<absl::Notification>();
    setup.over = [over] { over->Notify(); };
    over_[number] = over;
    auto run = std::make_shared<JobRun>(
        setup, &clock_, std::make_shared<RecordingObserver>(),
        std::make_shared<JobMetrics>(registry_, setup.job_name));
    fleet_.AddRun(run);
    return run;
  }
  // On a server that does nothing.
  std::shared_ptr<JobRun> AddRun(uint64_t number) {
    if (idle_server_ == 0) idle_server_ = Come(idle_stream_, "idle");
    return AddRun(number, {{idle_server_, "idle", "idle:7000", {}}});
  }

  // Starts the run, if that was not done, and waits for its end.
  RunOutcome OutcomeOf(const std::shared_ptr<JobRun>& run, bool start = true) {
    if (start) run->Start();
    EXPECT_TRUE(
        over_.at(run->run())->WaitForNotificationWithTimeout(absl::Minutes(1)));
    return run->outcome().value_or(RunOutcome{});
  }

  // "w0 IDLE", by name.
  std::vector<std::string> States() const {
    std::vector<std::string> states;
    for (const FleetMember& member : fleet_.Members()) {
      states.push_back(absl::StrCat(
          member.worker.name(), " ",
          v1::Worker::State_Name(member.worker.state()),
          member.run == 0 ? "" : absl::StrCat(" in ", member.run)));
    }
    return states;
  }

  std::map<uint64_t, std::shared_ptr<absl::Notification>> over_;
  ManualClock clock_;
  prometheus::Registry registry_;
  int changes_ = 0;
  ServerStream idle_stream_;
  uint64_t idle_server_ = 0;
  Fleet fleet_{&clock_,
               {.lease = absl::Seconds(10), .changed = [this] { ++changes_; }}};
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_FLEET_FLEET_TESTING_H_
