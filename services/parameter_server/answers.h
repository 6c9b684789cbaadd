#ifndef PACELINE_SERVICES_PARAMETER_SERVER_ANSWERS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_ANSWERS_H_

#include <cstdint>
#include <functional>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "protos/paceline/v1/fleet.pb.h"
#include "services/parameter_server/shard.h"

namespace paceline {

// What a server says to the coordinator about its shards. Nothing is said
// between two sessions, and what a new one may not know is said again.
//
// Thread-safe. Its lock is the last of all: logs call back with others held.
class Answers {
 public:
  // Takes an answer; may be called from any thread, and must not block.
  using Send = std::function<void(v1::ServerMessage)>;

  // From now on they go to `send`, with what was said last of the shards'
  // copies; null: to nobody.
  void GoTo(Send send);
  // The shard is not hosted any more; or none of the run is.
  void Forget(const ShardId& id);
  void ForgetRun(uint64_t run);

  void Tell(const ShardId& id, v1::ServerMessage message);
  // How the shard's copy of that epoch is, here or at the backup
  // (BackupReport).
  void TellBackup(const ShardId& id, uint64_t epoch,
                  const absl::Status& status);

 private:
  absl::Mutex mu_;
  Send send_ ABSL_GUARDED_BY(mu_);
  std::map<ShardId, v1::ServerMessage> of_copies_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_ANSWERS_H_
