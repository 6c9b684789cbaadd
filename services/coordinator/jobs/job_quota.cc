#include "services/coordinator/jobs/job_quota.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/jobs/job_state.h"

namespace paceline {
namespace {

constexpr uint64_t kParameterBytes = 4;
constexpr char kWait[] = "; wait for one to end or cancel one";

// What the others of the namespace take.
struct Taken {
  uint64_t jobs = 0;
  uint64_t parameter_bytes = 0;
};

// Its backups take as much as it does.
uint64_t BytesOf(const v1::Job& job, int64_t parameters) {
  return static_cast<uint64_t>(parameters) * kParameterBytes *
         (1 + job.spec().replicas());
}

Taken Sum(absl::Span<const v1::Job* const> jobs, const v1::Job& but) {
  Taken taken;
  for (const v1::Job* const job : jobs) {
    if (HasEnded(job->state()) || job->name() == but.name()) continue;
    ++taken.jobs;
    const int64_t parameters = job->progress().parameters();
    if (parameters > 0) {
      taken.parameter_bytes += BytesOf(*job, parameters);
    }
  }
  return taken;
}

// "namespace:NAMESPACE".
std::string Subject(const v1::Job& job) {
  const std::vector<std::string> parts = absl::StrSplit(job.name(), '/');
  return absl::StrCat("namespace:", parts.size() > 1 ? parts[1] : "");
}

}  // namespace

absl::Status CheckJobQuota(const v1::Quota& quota,
                           absl::Span<const v1::Job* const> jobs,
                           const v1::Job& job) {
  const Taken taken = Sum(jobs, job);
  if (quota.jobs() > 0 && taken.jobs >= quota.jobs()) {
    return QuotaExceeded(
        Subject(job),
        absl::StrCat(taken.jobs, " jobs have not ended and ", quota.jobs(),
                     " may be; wait for one or cancel one"));
  }
  PACELINE_RETURN_IF_ERROR(CheckWorkerQuota(quota, job));
  // At least one parameter more.
  if (quota.parameter_bytes() == 0 ||
      taken.parameter_bytes + kParameterBytes <= quota.parameter_bytes()) {
    return absl::OkStatus();
  }
  return QuotaExceeded(
      Subject(job),
      absl::StrCat("the parameters of other jobs take ", taken.parameter_bytes,
                   " of ", quota.parameter_bytes(), " bytes", kWait));
}

absl::Status CheckWorkerQuota(const v1::Quota& quota, const v1::Job& job) {
  const uint32_t least = job.spec().workers().min();
  if (quota.workers() == 0 || least <= quota.workers()) return absl::OkStatus();
  return QuotaExceeded(
      Subject(job),
      absl::StrCat("the job needs ", least, " workers and ", quota.workers(),
                   " may be had; lower spec.workers.min"));
}

absl::Status CheckParameterQuota(const v1::Quota& quota,
                                 absl::Span<const v1::Job* const> jobs,
                                 const v1::Job& job, int64_t parameters) {
  if (quota.parameter_bytes() == 0 || parameters <= 0) return absl::OkStatus();
  const uint64_t taken = Sum(jobs, job).parameter_bytes;
  const uint64_t wanted = BytesOf(job, parameters);
  if (wanted > quota.parameter_bytes()) {
    return QuotaExceeded(Subject(job),
                         absl::StrCat("the job's parameters take ", wanted,
                                      " bytes and ", quota.parameter_bytes(),
                                      " may be had; choose a smaller model"));
  }
  if (taken + wanted <= quota.parameter_bytes()) return absl::OkStatus();
  return QuotaExceeded(Subject(job),
                       absl::StrCat("the job's parameters take ", wanted,
                                    " bytes and those of other jobs ", taken,
                                    " of ", quota.parameter_bytes(), kWait));
}

}  // namespace paceline
