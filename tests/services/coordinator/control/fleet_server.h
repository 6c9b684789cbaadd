#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_FLEET_SERVER_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_FLEET_SERVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/coordinator/fleet/fleet.h"
#include "tests/services/coordinator/run/fake_stream.h"

namespace paceline {

// A parameter server without a stream, on a thread of its own: it does what
// any job's run commands. Of a checkpoint it writes files that are there, but
// hold no weights.
class FleetServer {
 public:
  FleetServer(Fleet* fleet, const std::string& name, uint64_t max_bytes = 0);
  FleetServer(Fleet* fleet, v1::ServerHello hello);
  ~FleetServer() { Stop(); }
  // Says nothing any more.
  void Stop();

  // From now on checkpoints are written only after WriteHeld().
  void HoldCheckpoints();
  void WriteHeld();
  // Returns when it has said of a checkpoint that its part is written.
  void AwaitWritten();
  // From now on those below `folder` fail, with this.
  void FailCheckpoints(const absl::Status& why,
                       const std::string& folder = "/");

  // The last command to host a job, once there were so many.
  v1::HostJob AwaitHost(size_t commands);
  // Returns when it was told that a paradigm makes it hold so many bytes.
  void AwaitRuleBytes(uint64_t bytes);
  // Returns when the last run that it hosts is over.
  void AwaitUnhost();
  // Says that it is about to go.
  void Leave();
  // The stream breaks.
  void Break() { fleet_->OnServerDisconnected(member_); }

 private:
  void Run();
  void Obey(const v1::ServerCommand& command);
  void Write(const v1::ServerCommand& command);
  void Say(const v1::ServerMessage& message);

  Fleet* const fleet_;
  uint64_t member_ = 0;
  const std::shared_ptr<FakeStream<v1::ServerCommand>> stream_ =
      std::make_shared<FakeStream<v1::ServerCommand>>();
  absl::Mutex mu_;
  std::vector<v1::HostJob> hosts_ ABSL_GUARDED_BY(mu_);
  std::optional<uint64_t> rule_bytes_ ABSL_GUARDED_BY(mu_);
  bool wrote_ ABSL_GUARDED_BY(mu_) = false;
  size_t unhosted_ ABSL_GUARDED_BY(mu_) = 0;
  bool hold_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<v1::ServerCommand> held_ ABSL_GUARDED_BY(mu_);
  absl::Status fail_ ABSL_GUARDED_BY(mu_);
  std::string fail_below_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_CONTROL_FLEET_SERVER_H_
