#ifndef PACELINE_SERVICES_COORDINATOR_FLEET_JOB_TROUBLE_H_
#define PACELINE_SERVICES_COORDINATOR_FLEET_JOB_TROUBLE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace paceline {

// What went wrong with one worker in one job: whether it may be given to that
// job again. A built-in model that fails would fail again. A program dies of
// much that has nothing to do with its next life, as somebody's kill; but one
// that dies each time before it has done anything would do so for ever.
// Thread-compatible.
class JobTrouble {
 public:
  // A program may fail so often in a row, having done nothing in between.
  static constexpr int kInARow = 5;
  // Bytes of what is kept of a reason.
  static constexpr size_t kWhyMax = 1024;

  // It is not to be given to the job again.
  void MakeUnfit(absl::string_view why);

  // A worker with a program has said in that run that it cannot go on, when
  // `done`, which only grows while the run lasts, was what it had brought
  // about. It is unfit at once if `why` says that trying again is of no use:
  // INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND, UNIMPLEMENTED,
  // PERMISSION_DENIED.
  void ProgramFailed(uint64_t run, int64_t done, const absl::Status& why);

  bool unfit() const { return unfit_; }
  // Of the last failure, for people.
  const std::string& why() const { return why_; }

 private:
  bool unfit_ = false;
  std::string why_;
  int in_a_row_ = 0;
  uint64_t run_ = 0;  // Of the last failure,
  int64_t done_ = 0;  // which came when so much was done.
};

// Why a member is unfit, for each job that it is unfit for, from what happened
// to it in each.
std::map<std::string, std::string> UnfitFor(
    const std::map<std::string, JobTrouble>& troubles);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FLEET_JOB_TROUBLE_H_
