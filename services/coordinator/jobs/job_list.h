#ifndef PACELINE_SERVICES_COORDINATOR_JOBS_JOB_LIST_H_
#define PACELINE_SERVICES_COORDINATOR_JOBS_JOB_LIST_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/security/namespaces.h"
#include "protos/paceline/v1/jobs.pb.h"

namespace paceline {

// The order of a list of jobs (AIP-132): "create_time", "update_time", "name",
// "state", "accuracy", each with " desc" or not, separated by commas; what is
// equal in all of them is by name. A job without an accuracy, or with one that
// is no number, counts as less than all others. Default "create_time desc".
// Thread-compatible.
class JobOrder {
 public:
  // INVALID_ARGUMENT (field "order_by") for anything else.
  static absl::StatusOr<JobOrder> Parse(absl::string_view text);

  // Whether `a` comes before `b`: a total order of jobs by their names.
  bool Before(const v1::Job& a, const v1::Job& b) const;

  // A job with those fields of `job` alone that Before() looks at.
  static v1::Job KeyOf(const v1::Job& job);

 private:
  enum class Field : uint8_t {
    kCreateTime,
    kUpdateTime,
    kName,
    kState,
    kAccuracy
  };
  struct Part {
    Field field;
    bool descending;
  };
  static int Compare(Field field, const v1::Job& a, const v1::Job& b);

  std::vector<Part> parts_;
};

// The page of `jobs`, which are all that there are and in any order, that the
// request asks for and the caller may see; its cost is linear in the jobs. A
// job that changes between two pages may move from the one to the other, others
// are not affected. INVALID_ARGUMENT, with every field that is wrong: parent,
// page_size, page_token, filter, order_by.
absl::StatusOr<v1::ListJobsResponse> ListJobs(
    const v1::ListJobsRequest& request, absl::Span<const v1::Job* const> jobs,
    const Namespaces& visible);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_JOBS_JOB_LIST_H_
