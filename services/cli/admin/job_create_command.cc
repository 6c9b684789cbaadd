#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/job_file.h"
#include "services/cli/admin/positionals.h"
#include "services/cli/admin/request_id.h"
#include "services/cli/admin/resource_name.h"
#include "services/cli/job_arguments.h"

namespace paceline {
namespace {

constexpr char kFooter[] = R"(
Examples:
  paceline job create -f deploy/examples/mnist-lenet5.yaml
  paceline job create -f job.yaml --name second-try -n vision
  paceline job create -f job.yaml --dry-run -o json
  paceline job get first -o yaml | paceline job create -f - --name second
  paceline job create -f job.yaml --argument depth=34 --name deeper
  paceline job create --model program:resnet --data program --name resnet)";

struct JobCreateFlags : CommonFlags {
  std::vector<std::string> files;
  std::string name;
  std::string model;
  std::string data;
  std::string data_assignment;
  std::vector<std::string> arguments;
  bool dry_run = false;
  bool watch = false;
};

absl::StatusOr<std::vector<v1::Job>> ReadJobs(Session& session,
                                              const std::string& file) {
  absl::StatusOr<std::string> text = file == "-"
                                         ? session.console().read_input()
                                         : ReadTextFile(file, kJobFileBytesMax);
  if (!text.ok()) return text.status();
  return ParseJobFile(*text);
}

// Where the job goes: what the file says, and -n, must not contradict.
absl::Status Address(const std::string& typed, Session& session,
                     v1::CreateJobRequest* request) {
  const Connection& connection = session.connection();
  if (typed.empty()) {
    request->set_parent(absl::StrCat("namespaces/", connection.space));
    return absl::OkStatus();
  }
  PACELINE_ASSIGN_OR_RETURN(const std::string name,
                            JobName(connection.space, typed));
  const absl::string_view space = NamespaceOf(name);
  if (connection.space_given && space != connection.space) {
    return absl::InvalidArgumentError(
        absl::StrCat("the job's name says namespace ", space,
                     ", --namespace says ", connection.space));
  }
  request->set_parent(absl::StrCat("namespaces/", space));
  request->set_job_id(std::string(LastPart(name)));
  return absl::OkStatus();
}

// What flags say takes the place of what the file says.
absl::Status ApplyFlags(const JobCreateFlags& flags, v1::JobSpec& spec) {
  if (!flags.model.empty()) spec.set_model(flags.model);
  if (!flags.data.empty()) spec.set_data(flags.data);
  if (!flags.data_assignment.empty()) {
    spec.set_data_assignment(flags.data_assignment);
  }
  return AddArguments(flags.arguments, spec);
}

absl::Status CreateJob(Session& session, const JobCreateFlags& flags,
                       v1::Job job) {
  PACELINE_RETURN_IF_ERROR(ApplyFlags(flags, *job.mutable_spec()));
  v1::CreateJobRequest request;
  PACELINE_RETURN_IF_ERROR(
      Address(flags.name.empty() ? job.name() : flags.name, session, &request));
  job.clear_name();
  *request.mutable_job() = std::move(job);
  request.set_request_id(NewRequestId());
  request.set_validate_only(flags.dry_run);
  PACELINE_ASSIGN_OR_RETURN(const v1::Job created,
                            session.Call(&JobsApi::CreateJob, request));
  PACELINE_RETURN_IF_ERROR(session.PrintChanged(
      created, absl::StrCat("job/", LastPart(created.name()), " created",
                            DryRunMark(flags.dry_run))));
  return flags.watch ? WatchJob(session, created.name()) : absl::OkStatus();
}

// What an error is about: the file, unless it is standard input, and which of
// its jobs.
std::string SubjectOf(const std::string& file, const std::string& job) {
  std::vector<absl::string_view> parts;
  if (file != "-") parts.push_back(file);
  if (!job.empty()) parts.push_back(job);
  return absl::StrJoin(parts, ": ");
}

// What would be refused after the job is there.
absl::Status CheckWatch(const Session& session, const JobCreateFlags& flags) {
  if (!flags.watch) return absl::OkStatus();
  if (flags.dry_run) {
    return absl::InvalidArgumentError(
        "--watch contradicts --dry-run: there is nothing to follow");
  }
  if (session.format() == OutputFormat::kName) {
    return absl::InvalidArgumentError(
        "--watch contradicts -o name: events have no names");
  }
  return absl::OkStatus();
}

ExitCode RunCreate(Session& session, const JobCreateFlags& flags) {
  const absl::Status ready = CheckWatch(session, flags);
  if (!ready.ok()) return session.End(ready);
  if (flags.files.empty()) {
    if (!flags.model.empty()) {
      return session.End(CreateJob(session, flags, v1::Job()));
    }
    return session.End(absl::InvalidArgumentError(
        "say what to create: a file with -f, or a model with --model and "
        "--data"));
  }
  ExitCode first = ExitCode::kSuccess;
  const auto note = [&](const absl::Status& status,
                        const std::string& subject) {
    const ExitCode code = session.End(status, subject);
    if (first == ExitCode::kSuccess) first = code;
  };
  for (const std::string& file : flags.files) {
    const absl::StatusOr<std::vector<v1::Job>> jobs = ReadJobs(session, file);
    if (!jobs.ok()) {
      // The message names the file where it cannot be read.
      const bool named = absl::StartsWith(jobs.status().message(), file);
      note(jobs.status(), named ? "" : SubjectOf(file, ""));
      continue;
    }
    const bool several = jobs->size() > 1 || flags.files.size() > 1;
    if (several && (!flags.name.empty() || flags.watch)) {
      return session.End(absl::InvalidArgumentError(
          absl::StrCat(flags.watch ? "--watch" : "--name",
                       " is about one job, and there are several")));
    }
    for (const v1::Job& job : *jobs) {
      const absl::Status status = CreateJob(session, flags, job);
      note(status, SubjectOf(file, jobs->size() > 1 ? job.name() : ""));
      if (absl::IsCancelled(status)) return first;
    }
  }
  return first;
}

}  // namespace

void AddJobCreateCommand(CLI::App& job, ChosenCommand& chosen) {
  const auto [app, flags] = AddCommand<JobCreateFlags>(
      job, "create", "Create jobs from files or flags", chosen, &RunCreate);
  app->add_option("-f,--filename", flags->files,
                  "A file of jobs, as YAML or JSON. -: standard input. May be "
                  "given again. Default: a job of the flags alone.")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app->add_option("--name", flags->name,
                  "The name of the new job. Default: the one in the file, or "
                  "one that is drawn.")
      ->type_name("NAME");
  app->add_option("--model", flags->model,
                  "The model to train, as lenet5. program:NAME is a program of "
                  "yours. Default: the one in the file.")
      ->type_name("MODEL");
  app->add_option("--data", flags->data,
                  "The data to train on, as mnist:DIR or "
                  "cifar10:DIR,augment=crop_flip. For a program: program or "
                  "stream. Default: those in the file.")
      ->type_name("DATA");
  app->add_option("--data-assignment", flags->data_assignment,
                  "dynamic: a worker gets the samples that come next. static: "
                  "each worker computes an equal part of its own in every "
                  "epoch, at its own pace. Default: the one in the file.")
      ->type_name("ASSIGNMENT");
  app->add_option("--argument", flags->arguments,
                  "An argument for the program. It takes the place of the "
                  "file's argument with that KEY. May be given again.")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  AddDryRunFlag(*app, flags->dry_run);
  app->add_flag("-w,--watch", flags->watch,
                "Follow the job until it has ended, as `paceline job watch` "
                "does. For one job.");
  app->footer(kFooter);
}

}  // namespace paceline
