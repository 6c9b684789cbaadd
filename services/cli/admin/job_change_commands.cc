#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/job_file.h"
#include "services/cli/admin/output/job_view.h"
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

absl::string_view Mark(bool dry_run) { return dry_run ? " (dry run)" : ""; }

// The parts that the requests of all verbs have.
template <class Request>
absl::StatusOr<Request> NewRequest(Session& session, const ChangeFlags& flags,
                                   const std::string& typed) {
  Request request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(),
                            JobName(session.connection().space, typed));
  request.set_etag(flags.etag);
  request.set_request_id(NewRequestId());
  request.set_validate_only(flags.dry_run);
  return request;
}

// "job/mnist pausing": what it is from now on.
std::string NowIs(const v1::Job& job, bool dry_run) {
  return absl::StrCat("job/", LastPart(job.name()), " ",
                      absl::AsciiStrToLower(StateText(job.state())),
                      Mark(dry_run));
}

template <class Request>
absl::Status Change(Session& session, const ChangeFlags& flags,
                    const std::string& typed,
                    void (JobsApi::*method)(grpc::ClientContext*,
                                            const Request*, v1::Job*,
                                            grpc::ClientUnaryReactor*)) {
  PACELINE_ASSIGN_OR_RETURN(const Request request,
                            NewRequest<Request>(session, flags, typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job, client->Call(method, request));
  return session.PrintChanged(job, NowIs(job, flags.dry_run));
}

ExitCode RunPause(Session& session, const ChangeFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return Change<v1::PauseJobRequest>(session, flags, typed,
                                       &JobsApi::PauseJob);
  });
}

ExitCode RunResume(Session& session, const ChangeFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return Change<v1::ResumeJobRequest>(session, flags, typed,
                                        &JobsApi::ResumeJob);
  });
}

absl::Status Sure(Session& session, const ChangeFlags& flags,
                  const std::string& question) {
  return flags.dry_run ? absl::OkStatus() : session.Confirm(question);
}

ExitCode RunCancel(Session& session, const ChangeFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    PACELINE_RETURN_IF_ERROR(
        Sure(session, flags,
             absl::StrCat("End job ", typed, "? What is not saved is lost.")));
    return Change<v1::CancelJobRequest>(session, flags, typed,
                                        &JobsApi::CancelJob);
  });
}

absl::Status DeleteJob(Session& session, const ChangeFlags& flags,
                       const std::string& typed) {
  v1::DeleteJobRequest request;
  PACELINE_ASSIGN_OR_RETURN(*request.mutable_name(),
                            JobName(session.connection().space, typed));
  request.set_etag(flags.etag);
  request.set_validate_only(flags.dry_run);
  PACELINE_RETURN_IF_ERROR(
      Sure(session, flags,
           absl::StrCat("Delete job ", typed,
                        ", its history and its checkpoints?")));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  const absl::Status deleted =
      client->Call(&JobsApi::DeleteJob, request).status();
  if (absl::IsNotFound(deleted) && client->repeated() && !flags.dry_run) {
    // By the earlier try, or it has never been there: nobody can tell.
    return session.Write(absl::StrCat("job/", LastPart(request.name()),
                                      " is not there any more\n"));
  }
  PACELINE_RETURN_IF_ERROR(deleted);
  return session.Write(absl::StrCat("job/", LastPart(request.name()),
                                    " deleted", Mark(flags.dry_run), "\n"));
}

ExitCode RunDelete(Session& session, const ChangeFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return DeleteJob(session, flags, typed);
  });
}

absl::Status Switch(Session& session, const SwitchFlags& flags,
                    const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(
      v1::SwitchParadigmRequest request,
      NewRequest<v1::SwitchParadigmRequest>(session, flags, typed));
  request.set_paradigm(flags.paradigm);
  request.set_reason(flags.reason);
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            client->Call(&JobsApi::SwitchParadigm, request));
  return session.PrintChanged(
      job, absl::StrCat("job/", LastPart(job.name()), " switched to ",
                        flags.paradigm, Mark(flags.dry_run)));
}

ExitCode RunSwitch(Session& session, const SwitchFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return Switch(session, flags, typed);
  });
}

absl::Status Update(Session& session, const UpdateFlags& flags,
                    const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(JobUpdate update, ParseJobUpdate(flags.sets));
  PACELINE_ASSIGN_OR_RETURN(const std::string name,
                            JobName(session.connection().space, typed));
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  v1::UpdateJobRequest& request = update.request;
  request.mutable_job()->set_etag(flags.etag);
  if (update.needs_present) {
    v1::GetJobRequest get;
    get.set_name(name);
    PACELINE_ASSIGN_OR_RETURN(const v1::Job present,
                              client->Call(&JobsApi::GetJob, get));
    ApplyMapChanges(present, &update);
    // What somebody else adds meanwhile must not get lost.
    if (flags.etag.empty()) request.mutable_job()->set_etag(present.etag());
  }
  request.mutable_job()->set_name(name);
  request.set_request_id(NewRequestId());
  request.set_validate_only(flags.dry_run);
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            client->Call(&JobsApi::UpdateJob, request));
  return session.PrintChanged(
      job, absl::StrCat("job/", LastPart(job.name()), " updated",
                        Mark(flags.dry_run)));
}

ExitCode RunUpdate(Session& session, const UpdateFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return Update(session, flags, typed);
  });
}

absl::Status Restore(Session& session, const RestoreFlags& flags,
                     const std::string& typed) {
  PACELINE_ASSIGN_OR_RETURN(
      v1::RestoreJobRequest request,
      NewRequest<v1::RestoreJobRequest>(session, flags, typed));
  if (!flags.checkpoint.empty()) {
    PACELINE_ASSIGN_OR_RETURN(*request.mutable_checkpoint(),
                              CheckpointName(session.connection().space,
                                             request.name(), flags.checkpoint));
  }
  PACELINE_ASSIGN_OR_RETURN(AdminClient * client, session.Client());
  PACELINE_ASSIGN_OR_RETURN(const v1::Job job,
                            client->Call(&JobsApi::RestoreJob, request));
  const std::string from =
      job.restore_from().empty()
          ? ""
          : absl::StrCat(" from checkpoint ", LastPart(job.restore_from()));
  return session.PrintChanged(
      job, absl::StrCat("job/", LastPart(job.name()), " restored", from,
                        Mark(flags.dry_run)));
}

ExitCode RunRestore(Session& session, const RestoreFlags& flags) {
  return session.ForEach(flags.names, [&](const std::string& typed) {
    return Restore(session, flags, typed);
  });
}

template <class Flags>
void AddChangeFlags(const AddedCommand<Flags>& command, bool several) {
  CLI::Option* names =
      command.app->add_option("JOB", command.flags->names)->required();
  if (!several) names->expected(1);
  command.app->add_option("--etag", command.flags->etag,
                          "Only if this is still the job's");
  command.app->add_flag("--dry-run", command.flags->dry_run,
                        "Let the server check it, and do nothing");
}

void AddVerbs(CLI::App& job, ChosenCommand& chosen) {
  const auto pause = AddCommand<ChangeFlags>(
      job, "pause", "Save jobs exactly and give their workers back", chosen,
      CommonChoice(), &RunPause);
  AddChangeFlags(pause, /*several=*/true);
  const auto resume =
      AddCommand<ChangeFlags>(job, "resume", "Let paused jobs go on", chosen,
                              CommonChoice(), &RunResume);
  AddChangeFlags(resume, /*several=*/true);
  const auto cancel =
      AddCommand<ChangeFlags>(job, "cancel", "End jobs; nothing is saved",
                              chosen, {.yes = true}, &RunCancel);
  AddChangeFlags(cancel, /*several=*/true);
  const auto remove = AddCommand<ChangeFlags>(
      job, "delete", "Forget jobs that have ended, and their checkpoints",
      chosen, {.output = false, .yes = true}, &RunDelete);
  AddChangeFlags(remove, /*several=*/true);
}

}  // namespace

void AddJobChangeCommands(CLI::App& job, ChosenCommand& chosen) {
  AddVerbs(job, chosen);

  const auto paradigm = AddCommand<SwitchFlags>(
      job, "switch", "Let another paradigm take over, at once", chosen,
      CommonChoice(), &RunSwitch);
  AddChangeFlags(paradigm, /*several=*/false);
  paradigm.app
      ->add_option("--paradigm", paradigm.flags->paradigm,
                   "As bsp, ssp:s=3 or cgp; see docs/paradigms.md")
      ->required();
  paradigm.app->add_option("--reason", paradigm.flags->reason,
                           "For the record");

  const auto update =
      AddCommand<UpdateFlags>(job, "update", "Change fields of a job", chosen,
                              CommonChoice(), &RunUpdate);
  AddChangeFlags(update, /*several=*/false);
  update.app
      ->add_option("--set", update.flags->sets,
                   "FIELD=VALUE; may be given again")
      ->allow_extra_args(false)
      ->required();
  update.app->footer(R"(
Examples:
  paceline job update mnist --set spec.learning_rate=0.01
  paceline job update mnist --set spec.workers.max=6 --set spec.stop.epochs=5
  paceline job update mnist --set labels.team=vision --set labels.old=null)");

  const auto restore = AddCommand<RestoreFlags>(
      job, "restore", "Let a job go on from one of its checkpoints", chosen,
      CommonChoice(), &RunRestore);
  AddChangeFlags(restore, /*several=*/false);
  restore.app->add_option("--checkpoint", restore.flags->checkpoint,
                          "Default: the newest that is ready");
}

}  // namespace paceline
