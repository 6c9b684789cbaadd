#ifndef PACELINE_SERVICES_PARAMETER_SERVER_COORDINATOR_LINK_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_COORDINATOR_LINK_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/mailbox.h"
#include "common/rpc/client_stream.h"
#include "protos/paceline/v1/fleet.grpc.pb.h"
#include "services/parameter_server/command_runner.h"

namespace paceline {

// The parameter server's control stream: registers with the coordinator,
// carries out its commands in order and answers them, keeps its lease.
// Thread-compatible.
class CoordinatorLink {
 public:
  struct Options {
    std::string coordinator;  // "host:port"
    std::string name;         // "s0"
    std::string address;      // Of the parameter service.
  };
  // All outlive the link. `each_turn` is called about ten times a second,
  // with the lease once it is known.
  CoordinatorLink(const Options& options, CommandRunner* runner,
                  std::function<void(absl::Duration lease)> each_turn);

  // Serves until the job ends: OK on the coordinator's `stop`, UNAVAILABLE if
  // it cannot be reached or falls silent for a lease, otherwise the error that
  // made a command fail (told to the coordinator too). Called once.
  absl::Status Run();

  // Makes Run() return soon.
  void Stop();

 private:
  using Stream = ClientStream<v1::ServerMessage, v1::ServerCommand>;

  void Connect();
  absl::Status Obey(const v1::ServerCommand& command);
  // Housekeeping and heartbeat, when they are due.
  void TakeTurn();

  const Options options_;
  CommandRunner* const runner_;
  const std::function<void(absl::Duration)> each_turn_;
  const Clock& clock_ = Clock::Real();
  Mailbox<v1::ServerCommand> commands_;
  absl::Duration lease_ = absl::Seconds(10);  // Until the coordinator says.
  absl::Time last_heard_;
  absl::Time last_sent_;
  absl::Time next_turn_ = absl::InfinitePast();
  bool stopped_ = false;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Fleet::Stub> stub_;
  std::unique_ptr<Stream> stream_;  // Last: its reactions use the above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_COORDINATOR_LINK_H_
