#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_JOB_FILTER_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_JOB_FILTER_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// Which jobs a list shows (AIP-160, with AND alone):
//
//   state = RUNNING AND labels.team = "vision" AND create_time > 2026-01-31
//
//   name, display_name, spec.model, spec.paradigm, labels.KEY   =  !=  :
//   labels                                                      :
//   state                                                       =  !=
//   create_time                                = != < <= > >=
//
// `:` is "contains"; `labels:KEY` and `labels.KEY:*` are "has the label". A job
// without the label differs from every value of it. `spec.paradigm = ssp` means
// what "ssp" means in a job, "ssp:s=3". A value is a word or stands in double
// quotes, where \" and \\ are what they usually are; so is a label's KEY. Times
// are as "2026-01-31T12:00:00Z" or "2026-01-31" (UTC). Thread-compatible.
class JobFilter {
 public:
  // INVALID_ARGUMENT (field "filter"), with what is wrong and where, for
  // anything else, and for more than 4096 bytes or 32 terms.
  static absl::StatusOr<JobFilter> Parse(absl::string_view text);

  bool Matches(const v1::Job& job) const;

 private:
  std::vector<std::function<bool(const v1::Job&)>> terms_;  // All must hold.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_JOB_FILTER_H_
