#ifndef PACELINE_SERVICES_COORDINATOR_STANDBY_FORMER_LEADER_H_
#define PACELINE_SERVICES_COORDINATOR_STANDBY_FORMER_LEADER_H_

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "protos/paceline/v1/standby.pb.h"

namespace paceline {

// Tells the coordinator that led before, should it run again, that it leads no
// more: where coordinators share no record, it would not know. A thread of its
// own, for as long as this object is there.
class FormerLeader {
 public:
  // `hello` has the term in which this coordinator leads. `connect` makes a
  // channel to the other one, for each attempt.
  FormerLeader(v1::StandbyHello hello,
               std::function<std::shared_ptr<grpc::Channel>()> connect);
  ~FormerLeader();
  FormerLeader(const FormerLeader&) = delete;
  FormerLeader& operator=(const FormerLeader&) = delete;

 private:
  void Tell();

  const v1::StandbyHello hello_;
  const std::function<std::shared_ptr<grpc::Channel>()> connect_;
  absl::Notification ending_;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_STANDBY_FORMER_LEADER_H_
