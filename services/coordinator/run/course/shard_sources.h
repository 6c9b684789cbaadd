#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SHARD_SOURCES_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SHARD_SOURCES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/coordinator/run/course/checkpoint_writing.h"
#include "services/coordinator/run/course/copy_book.h"
#include "services/coordinator/sync/core/types.h"

namespace paceline {

// From where the weights of a shard come back that was lost with its server:
// from the freshest of the copies that workers have, or from the last
// checkpoint, if that has as much, for it has the optimizer's state, too.
// Thread-compatible.
class ShardSources {
 public:
  using Checkpoint = std::optional<CheckpointWriting::Order>;

  // `began_from`: the folder of the checkpoint from which the run began; empty:
  // from none.
  explicit ShardSources(std::string began_from)
      : began_from_(std::move(began_from)) {}

  CopyBook& copies() { return copies_; }

  // Chooses one for the shard. Gives the folder of a checkpoint, or none if
  // FillerOf() has the weights. Nothing: nobody has any.
  std::optional<std::string> Choose(int shard, const Checkpoint& saved);
  // Another worker than the one that is gone. False: there is none.
  bool ChooseNext(int shard);
  void Forget(int shard) { fillers_.erase(shard); }

  // The worker that is to fill the shard, if one is; the shards of one.
  std::optional<WorkerId> FillerOf(int shard) const;
  std::vector<int> FilledBy(WorkerId worker) const;

  // From what a shard goes on, and what it lacks then, for people.
  // REQUIRES: the worker has a copy.
  std::string TextOf(WorkerId worker, const std::string& name) const;
  // `counted`: samples, so far.
  std::string TextOf(const Checkpoint& saved, int64_t counted) const;

 private:
  const std::string began_from_;
  CopyBook copies_;
  std::map<int, WorkerId> fillers_;  // By shard.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_SHARD_SOURCES_H_
