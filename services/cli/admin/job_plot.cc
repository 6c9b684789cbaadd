#include "services/cli/admin/job_plot.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/bounded_json.h"
#include "common/status.h"
#include "services/cli/admin/client.h"
#include "services/cli/plot/real_run.h"

namespace paceline {
namespace {

// "dssp" of "dssp:lower=3,upper=15".
std::string BareParadigm(const std::string& paradigm) {
  return paradigm.substr(0, paradigm.find(':'));
}

// "mnist (bsp)", "mnist (bsp, then cgp)".
std::string NameOf(const std::string& typed, const Json& report) {
  std::vector<std::string> paradigms = {
      BareParadigm(TextField(report, "paradigm"))};
  if (const Json* const switches = FindField(report, "switches")) {
    for (const Json& done : *switches) {
      paradigms.push_back(BareParadigm(TextField(done, "to")));
    }
  }
  const absl::string_view job =
      absl::StrContains(typed, '/') ? LastPart(typed) : typed;
  return absl::StrCat(job, " (", absl::StrJoin(paradigms, ", then "), ")");
}

// Null of a coordinator that is older than the method.
absl::StatusOr<Json> GetTimeline(Session& session, const std::string& job,
                                 const Json& report) {
  v1::ListIterationsRequest request;
  request.set_parent(job);
  const absl::StatusOr<v1::ListIterationsResponse> listed =
      session.List(&JobsApi::ListIterations, request);
  if (absl::IsUnimplemented(listed.status())) return nullptr;
  if (!listed.ok()) return listed.status();
  v1::ListDecisionsRequest decisions_of;
  decisions_of.set_parent(job);
  PACELINE_ASSIGN_OR_RETURN(
      const v1::ListDecisionsResponse decided,
      session.List(&JobsApi::ListDecisions, decisions_of));
  return RealTimeline(report, *listed, decided);
}

}  // namespace

absl::StatusOr<Json> GetDrawnJob(Session& session, const std::string& typed) {
  v1::GetJobReportRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), session.JobName(typed));
  PACELINE_ASSIGN_OR_RETURN(const v1::JobReport answer,
                            session.Call(&JobsApi::GetJobReport, request));
  Json report = ParseBoundedJson<Json>(answer.json());
  if (!report.is_object()) {
    return absl::InternalError(
        absl::StrCat("the report of job ", typed, " is no JSON object"));
  }
  PACELINE_ASSIGN_OR_RETURN(Json timeline,
                            GetTimeline(session, request.name(), report));
  const std::string name = NameOf(typed, report);
  return DrawnRealRun(std::move(report), name, std::move(timeline));
}

absl::Status WriteJobPage(Session& session, std::vector<Json> jobs,
                          const std::vector<std::string>& names,
                          PlotFile& file) {
  const std::string left_out = LeftOutOf(jobs);
  const std::string command =
      absl::StrCat("paceline job plot ", absl::StrJoin(names, " "));
  PACELINE_RETURN_IF_ERROR(file.Write(
      std::move(jobs), {.heading = "paceline job plot", .command = command},
      left_out));
  session.Note(absl::StrCat("wrote ", file.path()));
  return absl::OkStatus();
}

}  // namespace paceline
