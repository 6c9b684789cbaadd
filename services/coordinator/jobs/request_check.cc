#include "services/coordinator/jobs/request_check.h"

#include <cstddef>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/checkpoint/manifest.h"
#include "common/job/paradigm_spec.h"
#include "common/object_store/s3_uri.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr size_t kReasonMax = 255;  // Characters.
constexpr size_t kEtagMax = 255;
constexpr PageSizes kCheckpointPages = {.usual = 50, .most = 1000};

bool IsUuid(absl::string_view text) {
  constexpr absl::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kForm.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool fits =
        kForm[i] == '-' ? text[i] == '-' : absl::ascii_isxdigit(text[i]);
    if (!fits) return false;
  }
  return true;
}

// `read` is ReadPage or ReadSequencePage; `what` names the list.
template <typename Page, typename Request>
absl::StatusOr<JobPage<Page>> CheckJobList(
    absl::string_view what, const Request& request,
    absl::StatusOr<Page> (*read)(absl::string_view, int32_t, absl::string_view,
                                 PageSizes),
    PageSizes sizes = {}) {
  FieldChecks checks;
  const auto job = ParseJobName("parent", request.parent());
  const auto page = read(absl::StrCat(what, "\n", request.parent()),
                         request.page_size(), request.page_token(), sizes);
  checks.TakeAll(job.status());
  checks.TakeAll(page.status());
  PACELINE_RETURN_IF_ERROR(checks.status());
  return JobPage<Page>{*job, *page};
}

void CheckParadigm(absl::string_view paradigm, FieldChecks& checks) {
  if (paradigm.empty()) {
    checks.Add("paradigm", "is required, as \"ssp:s=3\"");
  } else if (paradigm.size() > kTextMax) {
    checks.NotLonger("paradigm", paradigm, kTextMax);
  } else {
    checks.Take("paradigm", ParseParadigmChoice(paradigm).status());
  }
}

absl::StatusOr<JobName> CheckJobFields(absl::string_view name,
                                       absl::string_view etag,
                                       absl::string_view request_id,
                                       FieldChecks& checks) {
  auto job = ParseJobName("name", name);
  checks.TakeAll(job.status());
  checks.NotLonger("etag", etag, kEtagMax);
  CheckRequestId(request_id, checks);
  return job;
}

}  // namespace

void CheckRequestId(absl::string_view request_id, FieldChecks& checks) {
  if (request_id.empty() || IsUuid(request_id)) return;
  checks.Add("request_id",
             absl::StrCat("is ", Quoted(request_id),
                          "; must be a UUID, as "
                          "\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""));
}

absl::StatusOr<JobName> CheckJobRequest(absl::string_view name,
                                        absl::string_view etag,
                                        absl::string_view request_id) {
  FieldChecks checks;
  const auto job = CheckJobFields(name, etag, request_id, checks);
  PACELINE_RETURN_IF_ERROR(checks.status());
  return job;
}

absl::StatusOr<JobName> CheckWatch(const v1::WatchJobRequest& request) {
  FieldChecks checks;
  const auto job = ParseJobName("name", request.name());
  checks.TakeAll(job.status());
  checks.NotLonger("resume_token", request.resume_token(), kTextMax);
  PACELINE_RETURN_IF_ERROR(checks.status());
  return job;
}

absl::StatusOr<ParadigmSwitch> CheckSwitch(
    const v1::SwitchParadigmRequest& request) {
  FieldChecks checks;
  const auto job = CheckJobFields(request.name(), request.etag(),
                                  request.request_id(), checks);
  CheckParadigm(request.paradigm(), checks);
  checks.NoMoreCharacters("reason", request.reason(), kReasonMax);
  PACELINE_RETURN_IF_ERROR(checks.status());
  ParadigmSwitch wanted;
  wanted.job = *job;
  PACELINE_ASSIGN_OR_RETURN(const ParadigmChoice choice,
                            ParseParadigmChoice(request.paradigm()));
  wanted.automatic = choice.automatic;
  wanted.spec = choice.paradigm;
  wanted.paradigm = FormatParadigm(wanted.spec);
  return wanted;
}

absl::StatusOr<JobRestore> CheckRestore(const v1::RestoreJobRequest& request) {
  FieldChecks checks;
  const auto job = CheckJobFields(request.name(), request.etag(),
                                  request.request_id(), checks);
  JobRestore restore;
  if (!request.checkpoint().empty()) {
    const auto checkpoint =
        ParseCheckpointName("checkpoint", request.checkpoint());
    checks.TakeAll(checkpoint.status());
    if (checkpoint.ok()) restore.checkpoint = *checkpoint;
    if (checkpoint.ok() && job.ok() && !(checkpoint->job == *job)) {
      checks.Add("checkpoint",
                 absl::StrCat("is of another job, ", checkpoint->job.Format(),
                              "; name one of this job's, or none for the "
                              "newest"));
    }
  }
  PACELINE_RETURN_IF_ERROR(checks.status());
  restore.job = *job;
  return restore;
}

absl::StatusOr<CheckpointName> CheckCreateCheckpoint(
    const v1::CreateCheckpointRequest& request, Rng& ids) {
  FieldChecks checks;
  const auto job = ParseJobName("parent", request.parent());
  checks.TakeAll(job.status());
  if (!request.checkpoint_id().empty()) {
    checks.TakeAll(CheckId("checkpoint_id", request.checkpoint_id()));
  }
  CheckRequestId(request.request_id(), checks);
  const std::string& directory = request.directory();
  checks.NotLonger("directory", directory, kTextMax);
  if (!directory.empty() && !CheckCheckpointPath(directory).ok()) {
    checks.Add("directory",
               absl::StrCat("is ", Quoted(directory),
                            "; must be an absolute path or s3://BUCKET/PREFIX, "
                            "as coordinator and parameter servers see it"));
  }
  PACELINE_RETURN_IF_ERROR(checks.status());
  return CheckpointName{*job, request.checkpoint_id().empty()
                                  ? DrawId("checkpoint", ids)
                                  : request.checkpoint_id()};
}

absl::StatusOr<CheckpointName> CheckReading(
    const v1::ReadCheckpointRequest& request) {
  FieldChecks checks;
  const auto name = ParseCheckpointName("name", request.name());
  checks.TakeAll(name.status());
  if (request.file() != kManifestName) {
    checks.Take("file", CheckFileName(request.file()));
  }
  checks.InRange("offset", int64_t{request.offset()}, 0,
                 std::numeric_limits<int64_t>::max());
  PACELINE_RETURN_IF_ERROR(checks.status());
  return name;
}

absl::StatusOr<JobPage<SequencePage>> CheckList(
    const v1::ListDecisionsRequest& request) {
  return CheckJobList("decisions", request, ReadSequencePage);
}

absl::StatusOr<JobPage<SequencePage>> CheckList(
    const v1::ListAccuracyPointsRequest& request) {
  return CheckJobList("accuracy_points", request, ReadSequencePage);
}

absl::StatusOr<JobPage<SequencePage>> CheckList(
    const v1::ListIterationsRequest& request) {
  return CheckJobList("iterations", request, ReadSequencePage);
}

absl::StatusOr<JobPage<PageStart>> CheckList(
    const v1::ListCheckpointsRequest& request) {
  return CheckJobList("checkpoints", request, ReadPage, kCheckpointPages);
}

absl::StatusOr<PageStart> CheckList(const v1::ListWorkersRequest& request) {
  return ReadPage("workers", request.page_size(), request.page_token());
}

absl::StatusOr<PageStart> CheckList(const v1::ListServersRequest& request) {
  return ReadPage("servers", request.page_size(), request.page_token());
}

absl::StatusOr<SequencePage> CheckList(
    const v1::ListAuditRecordsRequest& request) {
  return ReadSequencePage("audit_records", request.page_size(),
                          request.page_token());
}

absl::StatusOr<uint32_t> CheckTail(int32_t tail) {
  if (tail >= 0) return static_cast<uint32_t>(tail);
  return InvalidField("tail", "must not be negative; 0 stands for all lines");
}

}  // namespace paceline
