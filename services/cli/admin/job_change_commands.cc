#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/job_file.h"
#include "services/cli/admin/output/job_view.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/admin/request_id.h"
#include "services/cli/admin/resource_name.h"

namespace paceline {
namespace {

struct ChangeFlags : CommonFlags {
  std::vector<std::string> names;
  std::string etag;
  bool dry_run = false;
};

struct SwitchFlags : ChangeFlags {
  std::string paradigm;
  std::string reason;
};

struct UpdateFlags : ChangeFlags {
  std::vector<std::string> sets;
};

struct RestoreFlags : ChangeFlags {
  std::string checkpoint;
};

// The parts that the requests of all verbs have.
template <class Request>
absl::StatusOr<Request> NewRequest(Session& session, const ChangeFlags& flags,
                                   const std::string& typed) {
  Request request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), session.JobName(typed));
  request.set_etag(flags.etag);
  request.set_request_id(NewRequestId());
  request.set_validate_only(flags.dry_run);
  return request;
}

// "job/mnist WHAT", or as -o says.
absl::Status PrintChange(Session& session, const ChangeFlags& flags,
                         const v1::Job& job, absl::string_view what) {
  return session.PrintChanged(
      job, absl::StrCat("job/", LastPart(job.name()), " ", what,
                        DryRunMark(flags.dry_run)));
}

// A verb without parameters: "job/mnist pausing", what it is from now on.
template <class Request>
absl::Status Change(Session& session, const ChangeFlags& flags,
                    const std::string& typed,
                    UnaryMethod<JobsApi, Request, v1::Job> method) {
  PACELINE_ASSIGN_OR_RETURN(const Request request,
                            NewRequest<Request>(session, flags, typed));
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job, session.Call(method, request));
  return PrintChange(session, flags, job,
                     absl::AsciiStrToLower(StateText(job.state())));
}

absl::Status PauseJob(Session& session, const ChangeFlags& flags,
                      const std::string& typed) {
  return Change(session, flags, typed, &JobsApi::PauseJob);
}

absl::Status ResumeJob(Session& session, const ChangeFlags& flags,
                       const std::string& typed) {
  return Change(session, flags, typed, &JobsApi::ResumeJob);
}

absl::Status Sure(Session& session, const ChangeFlags& flags,
                  const std::string& question) {
  return flags.dry_run ? absl::OkStatus() : session.Confirm(question);
}

absl::Status CancelJob(Session& session, const ChangeFlags& flags,
                       const std::string& typed) {
  PACELINE_RETURN_IF_ERROR(
      Sure(session, flags,
           absl::StrCat("End job ", typed, "? What is not saved is lost.")));
  return Change(session, flags, typed, &JobsApi::CancelJob);
}

absl::Status DeleteJob(Session& session, const ChangeFlags& flags,
                       const std::string& typed) {
  v1::DeleteJobRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(), session.JobName(typed));
  request.set_etag(flags.etag);
  request.set_validate_only(flags.dry_run);
  PACELINE_RETURN_IF_ERROR(
      Sure(session, flags,
           absl::StrCat("Delete job ", typed,
                        ", its history and its checkpoints?")));
  return session.Delete(&JobsApi::DeleteJob, request,
                        absl::StrCat("job/", LastPart(request.name())));
}

absl::Status SwitchParadigm(Session& session, const SwitchFlags& flags,
                            const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(
      v1::SwitchParadigmRequest request,
      NewRequest<v1::SwitchParadigmRequest>(session, flags, typed));
  request.set_paradigm(flags.paradigm);
  request.set_reason(flags.reason);
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            session.Call(&JobsApi::SwitchParadigm, request));
  return PrintChange(session, flags, job,
                     absl::StrCat("switched to ", flags.paradigm));
}

absl::Status UpdateJob(Session& session, const UpdateFlags& flags,
                       const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(JobUpdate update, ParseJobUpdate(flags.sets));
  PACELINE_ASSIGN_OR_RETURN(const std::string name, session.JobName(typed));
  v1::UpdateJobRequest& request = update.request;
  request.mutable_job()->set_etag(flags.etag);
  if (update.needs_present) {
    v1::GetJobRequest get;
    get.set_name(name);
    PACELINE_ASSIGN_OR_RETURN(const v1::Job present,
                              session.Call(&JobsApi::GetJob, get));
    ApplyMapChanges(present, &update);
    // What somebody else adds meanwhile must not get lost.
    if (flags.etag.empty()) request.mutable_job()->set_etag(present.etag());
  }
  request.mutable_job()->set_name(name);
  request.set_request_id(NewRequestId());
  request.set_validate_only(flags.dry_run);
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            session.Call(&JobsApi::UpdateJob, request));
  return PrintChange(session, flags, job, "updated");
}

absl::Status RestoreJob(Session& session, const RestoreFlags& flags,
                        const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(
      v1::RestoreJobRequest request,
      NewRequest<v1::RestoreJobRequest>(session, flags, typed));
  if (!flags.checkpoint.empty()) {
    PACELINE_ASSIGN_OR_RETURN(*request.mutable_checkpoint(),
                              CheckpointName(session.connection().space,
                                             request.name(), flags.checkpoint));
  }
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            session.Call(&JobsApi::RestoreJob, request));
  const std::string from =
      job.restore_from().empty()
          ? ""
          : absl::StrCat(" from checkpoint ", LastPart(job.restore_from()));
  return PrintChange(session, flags, job, absl::StrCat("restored", from));
}

// Adds a command that changes jobs, `several` at once or one.
template <class Flags, class Run>
AddedCommand<Flags> AddChange(CLI::App& job, const char* name, const char* help,
                              ChosenCommand& chosen, bool several, Run run,
                              const CommonChoice& choice = {}) {
  const auto command = AddCommand<Flags>(job, name, help, chosen, run, choice);
  CLI::Option* names = AddJobPositional(*command.app, command.flags->names);
  if (!several) names->expected(1)->allow_extra_args(false);
  command.app
      ->add_option("--etag", command.flags->etag,
                   "Do it only if the job still has this etag, so that nobody "
                   "has changed it meanwhile. Default: in any case.")
      ->type_name("ETAG");
  AddDryRunFlag(*command.app, command.flags->dry_run);
  return command;
}

}  // namespace

void AddJobChangeCommands(CLI::App& job, ChosenCommand& chosen) {
  AddChange<ChangeFlags>(job, "pause",
                         "Save jobs exactly and give their workers back",
                         chosen, /*several=*/true, &PauseJob);
  AddChange<ChangeFlags>(job, "resume", "Let paused jobs go on", chosen,
                         /*several=*/true, &ResumeJob);
  AddChange<ChangeFlags>(job, "cancel", "End jobs; nothing is saved", chosen,
                         /*several=*/true, &CancelJob, {.yes = true});
  AddChange<ChangeFlags>(
      job, "delete", "Forget jobs that have ended, and their checkpoints",
      chosen, /*several=*/true, &DeleteJob, {.output = false, .yes = true});

  const auto paradigm = AddChange<SwitchFlags>(
      job, "switch", "Let another paradigm take over, at once", chosen,
      /*several=*/false, &SwitchParadigm);
  paradigm.app
      ->add_option("PARADIGM,--paradigm", paradigm.flags->paradigm,
                   "The paradigm from now on, as bsp, ssp:s=3 or cgp. auto: "
                   "the coordinator chooses (docs/paradigms.md). Give it with "
                   "or without the flag.")
      ->type_name("PARADIGM")
      ->required();
  paradigm.app
      ->add_option("--reason", paradigm.flags->reason,
                   "Why, for the job's log. Default: no reason.")
      ->type_name("REASON");

  const auto update =
      AddChange<UpdateFlags>(job, "update", "Change fields of a job", chosen,
                             /*several=*/false, &UpdateJob);
  update.app
      ->add_option("--set", update.flags->sets,
                   "A field and its new value. May be given again. "
                   "FIELD=null: back to the default, or remove the label.")
      ->type_name("FIELD=VALUE")
      ->allow_extra_args(false)
      ->required();
  update.app->footer(R"(
Examples:
  paceline job update mnist --set spec.learning_rate=0.01
  paceline job update mnist --set spec.workers.max=6 --set spec.stop.epochs=5
  paceline job update mnist --set labels.team=vision --set labels.old=null)");

  const auto restore = AddChange<RestoreFlags>(
      job, "restore", "Let a job go on from one of its checkpoints", chosen,
      /*several=*/false, &RestoreJob);
  restore.app
      ->add_option("--checkpoint", restore.flags->checkpoint,
                   "The checkpoint to go on from. Default: the newest that is "
                   "ready and whose weights have not diverged.")
      ->type_name("CHECKPOINT");
}

}  // namespace paceline
