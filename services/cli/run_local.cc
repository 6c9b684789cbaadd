#include "services/cli/run_local.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/job/metric_target.h"
#include "common/status.h"
#include "services/cli/cluster.h"
#include "services/cli/exit_code.h"
#include "services/cli/interrupt_watch.h"
#include "services/cli/job_flags.h"
#include "services/cli/one_line.h"
#include "services/cli/program_output.h"
#include "services/cli/program_question.h"
#include "services/cli/results_table.h"
#include "services/cli/run_files.h"
#include "services/cli/ui/page_server.h"

namespace paceline {
namespace {

// "bsp (run 2 of 4)".
std::string RunLabel(const LocalOptions& options, size_t index) {
  const std::vector<ComparedRun>& runs = options.job.runs;
  if (runs.size() == 1) return runs[index].label;
  return absl::StrCat(runs[index].label, " (run ", index + 1, " of ",
                      runs.size(), ")");
}

std::string ResultLine(const std::string& label, const Json& run) {
  std::string line = absl::StrCat("[", label, "] done");
  if (const auto seconds = NumberField(run, "seconds")) {
    absl::StrAppend(&line, " after ", ShortSeconds(*seconds));
  }
  if (const auto accuracy = NumberField(run, "final_accuracy")) {
    absl::StrAppend(&line, absl::StrFormat(", accuracy %.4f", *accuracy));
  } else if (const auto loss = FinalLoss(run)) {
    absl::StrAppend(&line, absl::StrFormat(", loss %.4f", *loss));
  }
  const Json* const metrics = FindField(run, "final_metrics");
  if (metrics != nullptr && metrics->is_object()) {
    for (const auto& [name, value] : metrics->items()) {
      if (name == kAccuracyMetric || name == kLossMetric) continue;
      if (!value.is_number()) continue;
      absl::StrAppendFormat(&line, ", %s %.4g", OneLine(name),
                            value.get<double>());
    }
  }
  if (const auto seconds = NumberField(run, "seconds_to_target")) {
    absl::StrAppend(&line, ", target reached after ", ShortSeconds(*seconds));
  }
  return line;
}

// Prepares the folder of a run and returns its path.
absl::StatusOr<std::string> MakeRunFolder(const std::string& run_dir,
                                          size_t index,
                                          const std::string& paradigm) {
  std::string folder = absl::StrCat(
      run_dir, "/", RunFolderName(static_cast<int>(index) + 1, paradigm));
  PACELINE_RETURN_IF_ERROR(MakeFolder(folder));
  // Those of an earlier use of the folder would name processes that are none
  // of ours, and jobs that are done.
  for (const char* const old :
       {"processes.json", "result.json", "jobs.db", "jobs.db-wal",
        "jobs.db-shm", "jobs.db.lock", "checkpoints", "record"}) {
    std::error_code ignored;
    std::filesystem::remove_all(absl::StrCat(folder, "/", old), ignored);
  }
  RemoveProgramLogs(folder);
  return folder;
}

// To where it was asked for; the coordinator gives each run a file.
absl::Status MoveRecord(const std::string& folder, const std::string& record) {
  if (record.empty()) return absl::OkStatus();
  std::error_code error;
  const std::filesystem::directory_iterator files(
      absl::StrCat(folder, "/record"), error);
  for (const auto& file : files) {
    std::filesystem::copy_file(
        file.path(), record, std::filesystem::copy_options::overwrite_existing,
        error);
    if (!error) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("--record ", record, ": could not be written; it is in ",
                   folder, "/record"));
}

// Before the error, which is the last line.
void ShowLastWords(const std::string& folder, const absl::Status& why,
                   const std::vector<std::string>& workers,
                   ProgressPrinter& printer) {
  for (const std::string& line : LastWords(folder, why.message(), workers)) {
    printer.Note(line);
  }
}

// Those of `options` that have programs.
std::vector<std::string> Agents(const LocalOptions& options) {
  std::vector<std::string> agents;
  if (!options.program.has_value()) return agents;
  for (size_t i = 0; i < options.workers.size(); ++i) {
    agents.push_back(absl::StrCat("w", i));
  }
  agents.emplace_back("eval");
  return agents;
}

// Whether the job has something open that only its program knows.
bool HasQuestions(const LocalOptions& options) {
  if (!options.program.has_value()) return false;
  const v1::JobSpec& spec = options.job.spec;
  return spec.optimizer().empty() || spec.learning_rate() == 0 ||
         !options.job.switches.empty();
}

// Completes `options` and `train_samples` with what the program says of itself.
absl::Status AskWhatIsOpen(const LocalSurroundings& surroundings,
                           const RunSurroundings& run, LocalOptions& options,
                           int64_t& train_samples) {
  constexpr char kAsked[] = "question";
  run.printer.Note(absl::StrCat("starts ", options.program->command,
                                " once, to ask what it trains"));
  const std::string& folder = surroundings.run_dir;
  RemoveProgramLogs(folder);
  const absl::StatusOr<ProgramAnswer> answer =
      AskProgram({.command = options.program->command,
                  .environment = EnvironmentOf(options, surroundings.bin_dir,
                                               options.devices.front()),
                  .log = ProgramLog(folder, kAsked),
                  .job = options.job.spec,
                  .patience = run.timeouts.started,
                  .stopped = [&] {
                    run.interrupts.Read();
                    return run.interrupts.count() > 0;
                  }});
  if (!answer.ok()) {
    if (!absl::IsCancelled(answer.status())) {
      ShowLastWords(folder, answer.status(), {kAsked}, run.printer);
    }
    return absl::Status(answer.status().code(),
                        WithLastQuote(answer.status().message()));
  }
  train_samples = answer->train_samples;
  options.job.spec = FilledIn(std::move(options.job.spec), *answer);
  if (!answer->optimizer.empty()) {
    run.printer.Note(
        absl::StrCat("trains with --optimizer ", options.job.spec.optimizer(),
                     " --learning-rate ", options.job.spec.learning_rate()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> RunOne(const LocalOptions& options, size_t index,
                            int64_t train_samples,
                            const LocalSurroundings& surroundings,
                            const RunSurroundings& run_surroundings) {
  const ComparedRun& compared = options.job.runs[index];
  PACELINE_ASSIGN_OR_RETURN(
      const std::string folder,
      MakeRunFolder(surroundings.run_dir, index, compared.label));
  const std::string job_file = absl::StrCat(folder, "/job.json");
  v1::CreateJobRequest request;
  request.set_parent("namespaces/default");
  request.set_job_id("run");
  *request.mutable_job()->mutable_spec() =
      MakeJobSpec(options.job, compared, train_samples);
  PACELINE_RETURN_IF_ERROR(
      WriteWholeFile(job_file, JobSpecJson(request.job().spec())));
  if (!options.record.empty()) {
    // Before hours of training; what is there stays until the end.
    if (!std::ofstream(options.record, std::ios::app)) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot write the trace ", options.record));
    }
    PACELINE_RETURN_IF_ERROR(MakeFolder(absl::StrCat(folder, "/record")));
  }
  Cluster cluster(options, surroundings.bin_dir, folder);
  absl::StatusOr<Json> run =
      RunSupervisor(cluster, request, run_surroundings).Run();
  if (!run.ok()) {
    if (!absl::IsCancelled(run.status())) {
      ShowLastWords(folder, run.status(), Agents(options),
                    run_surroundings.printer);
    }
    return absl::Status(run.status().code(),
                        absl::StrCat(WithLastQuote(run.status().message()),
                                     " (logs in ", folder, ")"));
  }
  // The rows of a comparison must differ where only the batching does.
  if (compared.label != compared.text) {
    (*run)["paradigm"] = absl::StrCat(TextField(*run, "paradigm"),
                                      ",batching=", compared.batching);
  }
  PACELINE_RETURN_IF_ERROR(WriteWholeFile(absl::StrCat(folder, "/result.json"),
                                          absl::StrCat(run->dump(2), "\n")));
  PACELINE_RETURN_IF_ERROR(MoveRecord(folder, options.record));
  return run;
}

// The page of all runs, if it was asked for; null if not.
absl::StatusOr<std::unique_ptr<PageServer>> StartPage(
    const LocalOptions& options, const std::string& run_dir,
    ProgressPrinter& printer) {
  if (!options.ui) return nullptr;
  PACELINE_ASSIGN_OR_RETURN(
      std::unique_ptr<PageServer> page,
      Annotate(PageServer::Start({.runs = run_dir}), "--ui"));
  printer.Note(absl::StrCat("page: ", page->address()));
  return page;
}

// As `start`; `page`, if there is one, shows the job.
StartJob ShownOn(PageServer* page, StartJob start) {
  if (page == nullptr) return start;
  return [page, start = std::move(start)](const std::string& address,
                                          const v1::CreateJobRequest& request) {
    Connection connection;
    connection.address = address;
    page->ShowCluster(std::move(connection));
    return start(address, request);
  };
}

std::string Document(const std::vector<ComparedResult>& results, bool json) {
  if (!json) return ResultsTable(results);
  Json document;
  document["runs"] = Json::array();
  for (const ComparedResult& result : results) {
    document["runs"].push_back(result.run);
  }
  // Text that is no UTF-8 must not cost the results.
  return absl::StrCat(
      document.dump(2, ' ', false, Json::error_handler_t::replace), "\n");
}

}  // namespace

int RunLocal(LocalOptions options, int64_t train_samples,
             const LocalSurroundings& surroundings) {
  ProgressPrinter printer(surroundings.progress);
  const auto fail = [&](const absl::Status& status) {
    printer.Note(absl::StrCat("paceline: ", status.message()));
    return static_cast<int>(ExitCodeOf(status));
  };
  absl::StatusOr<InterruptWatch> interrupts = InterruptWatch::Create();
  if (!interrupts.ok()) return fail(interrupts.status());
  const absl::StatusOr<std::unique_ptr<PageServer>> page =
      StartPage(options, surroundings.run_dir, printer);
  if (!page.ok()) return fail(page.status());
  const RunSurroundings run_surroundings{
      .clock = Clock::Real(),
      .interrupts = *interrupts,
      .printer = printer,
      .timeouts = surroundings.timeouts,
      .start_job = ShownOn(page->get(), surroundings.start_job)};
  printer.Note(absl::StrCat("logs in ", surroundings.run_dir));
  std::vector<ComparedResult> results;
  int exit_code = 0;
  if (HasQuestions(options)) {
    const absl::Status asked =
        AskWhatIsOpen(surroundings, run_surroundings, options, train_samples);
    if (!asked.ok()) exit_code = fail(asked);
    if (interrupts->first() != 0) exit_code = 128 + interrupts->first();
  }
  for (size_t i = 0; i < options.job.runs.size() && exit_code == 0; ++i) {
    const std::string label = RunLabel(options, i);
    printer.StartRun(label, options.job.spec.stop().seconds());
    absl::StatusOr<Json> run =
        RunOne(options, i, train_samples, surroundings, run_surroundings);
    if (run.ok()) {
      printer.Note(ResultLine(label, *run));
      results.push_back({options.job.runs[i].label, *std::move(run)});
    } else {
      exit_code = fail(Annotate(run.status(), label));
    }
    if (*page != nullptr) (*page)->ShowCluster(std::nullopt);
    // Also when the signal came while a finished run said farewell.
    interrupts->Read();
    if (interrupts->first() != 0) {
      exit_code = 128 + interrupts->first();
    }
  }
  if (options.ui) {
    printer.Note(absl::StrCat("the page ends here; `paceline ui --runs ",
                              surroundings.run_dir, "` shows the runs again"));
  }
  if (!surroundings.write_result(Document(results, options.json))) {
    exit_code = fail(absl::InternalError("could not write the results"));
  }
  return exit_code;
}

}  // namespace paceline
