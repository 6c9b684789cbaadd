#include "services/cli/run_local.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/in_flight.h"
#include "common/job/metric_target.h"
#include "common/status.h"
#include "services/cli/cluster.h"
#include "services/cli/compared_runs.h"
#include "services/cli/exit_code.h"
#include "services/cli/interrupt_watch.h"
#include "services/cli/job_flags.h"
#include "services/cli/one_line.h"
#include "services/cli/plot/plot_file.h"
#include "services/cli/plot/real_run.h"
#include "services/cli/program_output.h"
#include "services/cli/program_question.h"
#include "services/cli/results_table.h"
#include "services/cli/run_files.h"
#include "services/cli/target_times.h"
#include "services/cli/ui/page_server.h"

namespace paceline {
namespace {

// One of all runs.
struct RunOfAll {
  size_t index = 0;  // From 0.
  size_t count = 1;  // Of all runs.
  RepeatedRun what;
};

// "bsp", "bsp, seed 3".
std::string RunName(const LocalOptions& options, const RunOfAll& run) {
  const std::string& label = options.job.runs[run.what.option].label;
  if (options.job.repeat == 1) return label;
  return absl::StrCat(label, ", seed ", run.what.seed);
}

// "bsp (run 2 of 4)", "bsp, seed 3 (run 2 of 4)".
std::string RunLabel(const LocalOptions& options, const RunOfAll& run) {
  const std::string name = RunName(options, run);
  if (run.count == 1) return name;
  return absl::StrCat(name, " (run ", run.index + 1, " of ", run.count, ")");
}

// ", target reached after 3.1 s", ", 0.95 reached after 3.1 s, 0.97 ...".
std::string TargetsReached(const Json& run) {
  const Json* const targets = FindField(run, "targets");
  if (targets == nullptr || targets->size() < 2) {
    const auto seconds = NumberField(run, "seconds_to_target");
    if (!seconds.has_value()) return "";
    return absl::StrCat(", target reached after ", ShortSeconds(*seconds));
  }
  std::string text;
  for (const Json& target : *targets) {
    const auto seconds = NumberField(target, "seconds");
    if (!seconds.has_value()) continue;
    absl::StrAppend(&text, ", ", NumberField(target, "accuracy").value_or(0),
                    " reached after ", ShortSeconds(*seconds));
  }
  return text;
}

// The job knows the last target alone; the curve knows them all.
void AddTargets(const std::vector<double>& accuracies, Json& run) {
  if (accuracies.empty()) return;
  std::vector<TargetTime> times =
      TargetTimes(AccuracyPointsOf(run), accuracies);
  times.back().seconds = NumberField(run, "seconds_to_target");
  SetTargets(times, run);
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
  absl::StrAppend(&line, TargetsReached(run));
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
    for (int j = 0; j < options.in_flight; ++j) {
      agents.push_back(NameInFlight(absl::StrCat("w", i), j));
    }
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

struct EndedRun {
  Json result;
  std::string weights;  // The folder of its last checkpoint; empty: none.
  Json drawn;           // As the page of --plot takes it; null: there is none.
};

absl::StatusOr<EndedRun> RunOne(const LocalOptions& options,
                                const RunOfAll& one, int64_t train_samples,
                                const LocalSurroundings& surroundings,
                                const RunSurroundings& run_surroundings) {
  const ComparedRun& compared = options.job.runs[one.what.option];
  PACELINE_ASSIGN_OR_RETURN(
      const std::string folder,
      MakeRunFolder(surroundings.run_dir, one.index, compared.label));
  const std::string job_file = absl::StrCat(folder, "/job.json");
  v1::CreateJobRequest request;
  request.set_parent("namespaces/default");
  request.set_job_id("run");
  *request.mutable_job()->mutable_spec() =
      MakeJobSpec(options.job, compared, train_samples);
  request.mutable_job()->mutable_spec()->set_seed(one.what.seed);
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
  Json timeline;
  if (const auto found = run->find("timeline"); found != run->end()) {
    timeline = std::move(*found);
    run->erase(found);
  }
  // The rows of a comparison must differ where only the batching does.
  if (compared.label != compared.text) {
    (*run)["paradigm"] = absl::StrCat(TextField(*run, "paradigm"),
                                      ",batching=", compared.batching);
  }
  if (options.job.repeat > 1) (*run)["seed"] = one.what.seed;
  AddTargets(options.job.target_accuracies, *run);
  PACELINE_RETURN_IF_ERROR(WriteWholeFile(absl::StrCat(folder, "/result.json"),
                                          absl::StrCat(run->dump(2), "\n")));
  PACELINE_RETURN_IF_ERROR(MoveRecord(folder, options.record));
  EndedRun ended = {*std::move(run), FinalCheckpointIn(folder), nullptr};
  if (!options.plot.empty()) {
    ended.drawn =
        DrawnRealRun(ended.result, RunName(options, one), std::move(timeline));
  }
  return ended;
}

void NoteResult(const std::string& label, const EndedRun& run,
                ProgressPrinter& printer) {
  printer.Note(ResultLine(label, run.result));
  if (run.weights.empty()) return;
  printer.Note(absl::StrCat("[", label, "] weights in ", run.weights));
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

// The runs that have ended, in their order.
class Results {
 public:
  explicit Results(const JobRequest& job) : repeated_(job.repeat > 1) {
    for (const ComparedRun& run : job.runs)
      by_option_.push_back({.label = run.label});
  }

  void Add(size_t option, EndedRun run) {
    by_option_[option].runs.push_back(run.result);
    in_order_.push_back(std::move(run.result));
    if (!run.drawn.is_null()) drawn_.push_back(std::move(run.drawn));
  }

  // The table, or the JSON document.
  std::string Document(bool json) const;
  // Does nothing if no page was asked for, or no run has ended well.
  absl::Status WritePage(PlotFile& plot, const std::string& command) const;

 private:
  const bool repeated_;
  std::vector<ComparedRuns> by_option_;
  std::vector<Json> in_order_;
  std::vector<Json> drawn_;
};

absl::Status Results::WritePage(PlotFile& plot,
                                const std::string& command) const {
  if (drawn_.empty()) return absl::OkStatus();
  return plot.Write(drawn_, {.heading = "paceline local", .command = command},
                    LeftOutOf(drawn_));
}

std::string Results::Document(bool json) const {
  std::vector<ComparedRuns> ended = by_option_;
  std::erase_if(ended, [](const ComparedRuns& of) { return of.runs.empty(); });
  if (!json) return ResultsTable(ended);
  Json document;
  document["runs"] = in_order_;
  if (repeated_) document["summaries"] = SummariesJson(ended);
  // Text that is no UTF-8 must not cost the results.
  return absl::StrCat(
      document.dump(2, ' ', false, Json::error_handler_t::replace), "\n");
}

// The page goes first: a reader of the results may have gone.
absl::Status WriteResults(const Results& results, const LocalOptions& options,
                          const LocalSurroundings& surroundings,
                          PlotFile& plot) {
  absl::Status status = results.WritePage(plot, surroundings.command);
  if (!surroundings.write_result(results.Document(options.json))) {
    status.Update(absl::InternalError("could not write the results"));
  }
  return status;
}

// Says how the runs can be seen again.
void EndPage(const LocalOptions& options, const std::string& run_dir,
             ProgressPrinter& printer) {
  if (!options.ui) return;
  printer.Note(absl::StrCat("the page ends here; `paceline ui --runs ", run_dir,
                            "` shows the runs again"));
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
  PlotFile plot;
  const absl::Status opened = plot.Open("--plot", options.plot);
  if (!opened.ok()) return fail(opened);
  printer.Note(absl::StrCat("logs in ", surroundings.run_dir));
  Results results(options.job);
  int exit_code = 0;
  if (HasQuestions(options)) {
    const absl::Status asked =
        AskWhatIsOpen(surroundings, run_surroundings, options, train_samples);
    if (!asked.ok()) exit_code = fail(asked);
    if (interrupts->first() != 0) exit_code = 128 + interrupts->first();
  }
  const std::vector<RepeatedRun> all = ByTurns(
      options.job.runs.size(), options.job.repeat, options.job.spec.seed());
  for (size_t i = 0; i < all.size() && exit_code == 0; ++i) {
    const RunOfAll one = {.index = i, .count = all.size(), .what = all[i]};
    const std::string label = RunLabel(options, one);
    printer.StartRun(label, options.job.spec.stop().seconds());
    absl::StatusOr<EndedRun> run =
        RunOne(options, one, train_samples, surroundings, run_surroundings);
    if (run.ok()) {
      NoteResult(label, *run, printer);
      results.Add(one.what.option, *std::move(run));
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
  EndPage(options, surroundings.run_dir, printer);
  const absl::Status written =
      WriteResults(results, options, surroundings, plot);
  return written.ok() ? exit_code : fail(written);
}

}  // namespace paceline
