#include "services/coordinator/jobs/job_check.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job/job_plan.h"
#include "common/status.h"
#include "services/coordinator/jobs/request_check.h"

namespace paceline {
namespace {

constexpr size_t kDisplayNameMax = 255;  // Characters.
constexpr size_t kLabelsMax = 64;
constexpr size_t kLabelMax = 63;  // Characters of a key, and of a value.
constexpr size_t kAnnotationBytesMax = 64 * 1024;

void CheckLabels(absl::string_view field, const v1::Job& job,
                 FieldChecks& checks) {
  if (job.labels().size() > kLabelsMax) {
    checks.Add(field, absl::StrCat("are ", job.labels().size(), "; at most ",
                                   kLabelsMax, " are allowed"));
    return;
  }
  for (const auto& [key, value] : job.labels()) {
    if (key.empty()) checks.Add(field, "a key must not be empty");
    if (Characters(key) > kLabelMax) {
      checks.Add(field, absl::StrCat("the key ", Quoted(key), " has more than ",
                                     kLabelMax, " characters"));
    }
    if (Characters(value) > kLabelMax) {
      checks.Add(field,
                 absl::StrCat("the value of ", Quoted(key), " has more than ",
                              kLabelMax, " characters"));
    }
  }
}

void CheckAnnotations(absl::string_view field, const v1::Job& job,
                      FieldChecks& checks) {
  size_t bytes = 0;
  for (const auto& [key, value] : job.annotations()) {
    if (key.empty()) checks.Add(field, "a key must not be empty");
    bytes += key.size() + value.size();
  }
  if (bytes > kAnnotationBytesMax) {
    checks.Add(field, absl::StrCat("have ", bytes, " bytes; at most ",
                                   kAnnotationBytesMax, " are allowed"));
  }
}

}  // namespace

v1::JobSpec CheckJob(absl::string_view prefix, const v1::Job& job,
                     FieldChecks& checks) {
  checks.NoMoreCharacters(FieldPath(prefix, "display_name"), job.display_name(),
                          kDisplayNameMax);
  CheckLabels(FieldPath(prefix, "labels"), job, checks);
  CheckAnnotations(FieldPath(prefix, "annotations"), job, checks);
  const std::string path = FieldPath(prefix, "spec");
  if (job.has_spec()) return ParseJob(path, job.spec(), checks).spec;
  checks.Add(path, "is required");
  return {};
}

absl::StatusOr<v1::Job> CheckCreate(const v1::CreateJobRequest& request,
                                    Rng& ids) {
  FieldChecks checks;
  const auto name_space = ParseNamespaceName("parent", request.parent());
  checks.TakeAll(name_space.status());
  if (!request.job_id().empty()) {
    checks.TakeAll(CheckId("job_id", request.job_id()));
  }
  CheckRequestId(request.request_id(), checks);
  v1::JobSpec spec;
  if (request.has_job()) {
    spec = CheckJob("job", request.job(), checks);
  } else {
    checks.Add("job", "is required");
  }
  PACELINE_RETURN_IF_ERROR(checks.status());

  const JobName name = {*name_space, request.job_id().empty()
                                         ? DrawId("job", ids)
                                         : request.job_id()};
  v1::Job job;
  job.set_name(name.Format());
  job.set_display_name(request.job().display_name());
  *job.mutable_labels() = request.job().labels();
  *job.mutable_annotations() = request.job().annotations();
  *job.mutable_spec() = std::move(spec);
  job.set_state(v1::Job::PENDING);
  return job;
}

absl::Status CheckEtag(const v1::Job& current, absl::string_view etag) {
  if (etag.empty() || etag == current.etag()) return absl::OkStatus();
  return EtagMismatch(kJobType, current.name());
}

}  // namespace paceline
