#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RESULT_SAVING_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RESULT_SAVING_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace paceline {

// What a run that trains no more has trained is saved, try by try, until one
// succeeds: when the next one is due, and in which folder. The folders take
// turns; once all have failed the next turn waits, longer each time.
// Thread-compatible.
class ResultSaving {
 public:
  // REQUIRES: there is a folder.
  explicit ResultSaving(size_t folders) : folders_(folders) {}

  // When to try, unless one is in hand: at once, at first.
  absl::Time next_try() const { return next_; }
  // The index of the folder that it is for.
  size_t folder() const { return folder_; }
  // The next turn begins at once, and those after it come quickly again: time
  // is short, or somebody looks.
  void TryNow(absl::Time now);

  // One has begun, in that folder, or in one that somebody has named.
  void Begin() { ++tries_; }
  // It has failed. One that was not of the folders' turn leaves that alone.
  void Failed(absl::Time now, const absl::Status& why, bool of_turn);
  void Succeeded() { saved_ = true; }

  bool saved() const { return saved_; }
  int tries() const { return tries_; }
  // Why the last one failed; OK if none has.
  const absl::Status& failure() const { return failure_; }

 private:
  size_t folders_;
  size_t folder_ = 0;
  int tries_ = 0;
  bool saved_ = false;
  absl::Time next_ = absl::InfinitePast();
  absl::Duration delay_ = absl::ZeroDuration();  // After the last turn.
  absl::Status failure_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_RESULT_SAVING_H_
