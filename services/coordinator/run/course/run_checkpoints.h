#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_CHECKPOINTS_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_CHECKPOINTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/coordinator/run/course/checkpoint_writing.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/coordinator/run/course/result_saving.h"
#include "services/coordinator/run/course/run_messages.h"
#include "services/coordinator/run/course/server_commands.h"
#include "services/coordinator/run/course/shard_map.h"
#include "services/coordinator/sync/core/sync_core.h"

namespace paceline {

// The checkpoints of a run, one at a time: those of its interval and those that
// somebody orders, while it trains; and at its end, or when it is to pause, the
// result, which is tried until one attempt succeeds. It appends to `outputs`
// what is to be done. Thread-compatible.
class RunCheckpoints {
 public:
  // One call of the course, and the training as it is then.
  struct Moment {
    absl::Time now;
    std::vector<RunOutput>& outputs;
    SyncCore* core;
    ServerCommands* commands;
    double seconds;  // Of training.
    const ShardMap* shards;
  };

  explicit RunCheckpoints(const CourseOptions& options);

  // Whether there is a folder for them.
  bool kept() const { return !folders_.front().empty(); }
  // The next one of the interval is due an interval from now on.
  void SetInterval(absl::Time now, absl::Duration interval);
  absl::Time next_due() const { return next_due_; }
  // Begins what was ordered, or else what is due, for which it sets when the
  // one after it is. One that would have no sample more than the last is left
  // out: that must stay whole. REQUIRES: the servers are told of it before any
  // closing that is announced.
  void BeginWanted(const Moment& moment, absl::Duration interval);
  void BeginOrdered(const Moment& moment);  // That alone.
  // The errors of the input WriteCheckpoint, of a run that trains or, with
  // `of_result`, saves what it has trained. While a closing is announced the
  // checkpoint waits for it, and BeginWanted() begins it.
  absl::Status Order(const Moment& moment, const WriteCheckpoint& order,
                     bool of_result);

  // Begins the next attempt to save the result, once one is due and what was
  // begun before is over; `kind` is for its name.
  void SaveResult(const Moment& moment, absl::string_view kind);
  bool saved() const { return result_.saved(); }
  // The training goes on, and what it comes to is the result: what is written
  // just now is a checkpoint like others.
  void TrainOn(const Moment& moment, absl::Duration interval);
  // Time is short: the next attempt is due.
  void Hurry(absl::Time now) { result_.TryNow(now); }
  // When SaveResult() has something to do.
  absl::Time next_try() const;
  // The result could not be saved so far, or takes long, and that was told.
  bool delayed() const { return delayed_; }
  // Why the last attempt failed; OK if none has.
  const absl::Status& failure() const { return result_.failure(); }

  // What servers and the coordinator say of the one that is written.
  void CommandDone(uint64_t sequence, int64_t version) {
    writing_.CommandDone(sequence, version);
  }
  void Written(const Moment& moment, const ServerWrote& wrote, bool of_result);
  void ManifestWritten(const Moment& moment,
                       const paceline::ManifestWritten& written);
  void FilesRemoved(const paceline::FilesRemoved& removed) {
    removing_.erase(removed.directory);
  }
  // Another server is the shard's primary: what the one before was still
  // writing will not come, unless the other one is told to write it.
  void ShardMoved(const Moment& moment, int shard, bool of_result);
  // Another life of the coordinator goes on: what was asked of the one before
  // is asked again, and what servers have told it will not come.
  void Restarted(const Moment& moment, bool of_result);
  // Goes on with the one that is written, or gives it up. `of_result` as above.
  void Look(const Moment& moment, bool of_result);
  // The run ends: nothing is written any more.
  void Abort(const Moment& moment, const absl::Status& why);
  // The id of the one that is being written; empty: there is none.
  std::string writing_id() const {
    if (ordered_.has_value()) return ordered_->id;
    return writing_.idle() ? "" : writing_.order().id;
  }
  // The last one that was written, if any.
  const std::optional<CheckpointWriting::Order>& last_written() const {
    return writing_.last_written();
  }

 private:
  void BeginDue(const Moment& moment, absl::Duration interval);
  void Begin(const Moment& moment, const std::string& id,
             const std::string& folder);
  const std::string& FolderOf(const WriteCheckpoint& order) const;
  // The shard's server has begun to write, and nobody hears how that ends.
  void WriterLost(const Moment& moment, int shard, absl::string_view why);
  void End(const Moment& moment, const absl::Status& written);
  void AttemptFailed(const Moment& moment, const absl::Status& why,
                     const std::string& id);
  void AttemptSucceeded(const Moment& moment, const std::string& id);
  // Says, once for each, that the one that is written takes long.
  void TellSlow(const Moment& moment);
  std::string Id(const Moment& moment, absl::string_view kind) const;
  // Who has not written its part.
  std::string StillWriting(const Moment& moment) const;

  // What the one that is written is to be.
  enum class Purpose : uint8_t {
    kOther,
    kResult,         // An attempt of the folders' turn.
    kOrderedResult,  // One that somebody has asked for.
  };

  const uint16_t run_;
  const absl::Duration lease_;
  std::vector<std::string> folders_;  // At least one, which may be empty.
  CheckpointWriting writing_;
  std::optional<WriteCheckpoint> ordered_;  // It waits to be begun.
  Purpose purpose_ = Purpose::kOther;
  absl::Time next_due_ = absl::InfiniteFuture();
  std::string last_interval_id_;  // Of the last one begun by its interval.
  ResultSaving result_;
  bool delayed_ = false;
  std::string slow_id_;    // Told of as slow.
  std::string failed_id_;  // Of the last attempt of the folders' turn.
  // Those whose files somebody may still write: no other has their names.
  int left_behind_ = 0;
  // Folders of those whose files are being removed, and so long the next
  // attempt beside them waits for that. Then it takes another name.
  std::map<std::string, absl::Time> removing_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RUN_CHECKPOINTS_H_
