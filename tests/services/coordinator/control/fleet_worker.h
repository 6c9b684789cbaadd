#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_FLEET_WORKER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_FLEET_WORKER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/mailbox.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/fleet/fleet.h"
#include "tests/services/coordinator/run/fake_stream.h"

namespace paceline {

// A worker or evaluator without a stream, on a thread of its own: it takes
// part in every job that it is assigned to and leaves when it is told to. Of
// 40 training samples; it pushes only as often as the test lets it.
class FleetWorker {
 public:
  FleetWorker(Fleet* fleet, const std::string& name, bool evaluator = false);
  FleetWorker(Fleet* fleet, const v1::WorkerHello& hello);
  ~FleetWorker() { Stop(); }
  // Says nothing any more.
  void Stop();

  // It may push so many more times.
  void Push(int pushes);
  void PushOn() { Push(1'000'000'000); }

  // From now on no loss of it is finite.
  void PushNothingFinite();
  // Its loss stays what it was at first, where it falls else.
  void LearnNothing();

  // Its program dies, for this reason, after so many pushes of each life: it
  // says `failed` in place of `ready`, or to the grant after them.
  void FailEachTime(const absl::Status& why, int pushes);
  void FailNoMore();
  // It is assigned to a job once more.
  void AwaitAssigned();

  // The reason of the next `stop`.
  std::string AwaitStop();
  // The status with which the coordinator closes the stream.
  absl::Status AwaitClosed();
  void Heartbeat();
  // The stream breaks.
  void Break() { fleet_->OnWorkerDisconnected(member_); }

 private:
  struct Text {
    std::string reason;
  };

  void Run();
  void Obey(const v1::WorkerCommand& command);
  void PushWhatIsHeld();
  // The program is dead, and it has said so.
  bool Died();
  void Say(const v1::WorkerMessage& message);

  Fleet* const fleet_;
  uint64_t member_ = 0;
  const std::shared_ptr<FakeStream<v1::WorkerCommand>> stream_ =
      std::make_shared<FakeStream<v1::WorkerCommand>>();
  Mailbox<Text> stops_;
  Mailbox<Text> assigned_;
  absl::Mutex mu_;
  int pushes_ ABSL_GUARDED_BY(mu_) = 0;
  bool not_finite_ ABSL_GUARDED_BY(mu_) = false;
  bool learns_ ABSL_GUARDED_BY(mu_) = true;
  absl::Status death_ ABSL_GUARDED_BY(mu_);
  int pushes_of_a_life_ ABSL_GUARDED_BY(mu_) = 0;
  int pushes_left_ ABSL_GUARDED_BY(mu_) = 0;  // Of this life.
  std::deque<v1::Grant> held_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_FLEET_WORKER_H_
