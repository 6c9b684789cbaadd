#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/rpc/grpc_log.h"
#include "common/status.h"
#include "common/unique_fd.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/advised_job.h"
#include "services/cli/certificates/certificate_commands.h"
#include "services/cli/cluster.h"
#include "services/cli/compare/run_compare.h"
#include "services/cli/exit_code.h"
#include "services/cli/help_format.h"
#include "services/cli/kubernetes/import_kubernetes_command.h"
#include "services/cli/local_options.h"
#include "services/cli/progress_printer.h"
#include "services/cli/reproduce/run_reproduce.h"
#include "services/cli/run_advise.h"
#include "services/cli/run_files.h"
#include "services/cli/run_local.h"
#include "services/cli/run_simulate.h"
#include "services/cli/simulate_options.h"
#include "services/cli/training_data.h"
#include "services/cli/typed_flags.h"
#include "services/cli/ui/ui_command.h"
#include "services/cli/usage_error.h"
#include "services/cli/watched_job.h"

namespace paceline {
namespace {

int Fail(ExitCode code, absl::string_view message) {
  WriteAll(STDERR_FILENO, absl::StrCat("paceline: ", message, "\n"));
  return static_cast<int>(code);
}

// Whoever starts us without standard descriptors would otherwise see the first
// file that we open take their place.
void OpenStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) open("/dev/null", O_RDWR);
  }
}

// The folder of this program, where the others lie too.
std::string BinDirectory() {
  const char* chosen = getenv("PACELINE_BIN_DIR");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored)
      .parent_path()
      .string();
}

// The command so that a shell takes it.
std::string Typed(int argc, char** argv) {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./"
      ":,%@+";
  const auto quote = [](std::string* out, absl::string_view word) {
    if (!word.empty() &&
        word.find_first_not_of(kPlain) == absl::string_view::npos) {
      return absl::StrAppend(out, word);
    }
    absl::StrAppend(out, "'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
  };
  return absl::StrJoin(argv, argv + argc, " ", quote);
}

// The samples of one epoch; 0 if only a program knows. Keeps no data: every
// worker loads its own.
absl::StatusOr<int64_t> TrainSamples(const LocalOptions& options) {
  if (options.program.has_value()) return 0;
  PACELINE_ASSIGN_OR_RETURN(
      const TrainingData data,
      LoadTrainingData(options.job.spec.data(), options.job.spec.model(),
                       "--model"));
  return data.train.size();
}

RunTimeouts TimeoutsOf(const LocalOptions& options) {
  RunTimeouts timeouts;
  if (!options.program.has_value()) return timeouts;
  // A script may look through a large data set first; one that ends is noticed
  // at once.
  timeouts.started = absl::Minutes(30);
  // It may save something when its loop is over. Agents give it some seconds.
  timeouts.grace = absl::Seconds(15);
  return timeouts;
}

int LocalCommand(const LocalFlags& flags, std::string command) {
  const absl::StatusOr<LocalOptions> options = ParseLocalOptions(flags);
  if (!options.ok()) {
    return Fail(ExitCodeOfInput(options.status()), options.status().message());
  }
  const absl::StatusOr<int64_t> train_samples = TrainSamples(*options);
  if (!train_samples.ok()) {
    return Fail(ExitCodeOfInput(train_samples.status()),
                train_samples.status().message());
  }
  const std::string run_dir =
      options->run_dir.empty()
          ? DefaultRunDirectory(absl::Now(), absl::LocalTimeZone(), getpid())
          : options->run_dir;
  absl::Status ready = MakeFolder(run_dir);
  if (ready.ok()) ready = Cluster::CheckPrograms(BinDirectory());
  if (!ready.ok()) return Fail(ExitCodeOf(ready), ready.message());
  return RunLocal(
      *options, *train_samples,
      {.bin_dir = BinDirectory(),
       .run_dir = run_dir,
       .command = std::move(command),
       .progress =
           ProgressTo(STDERR_FILENO, getenv("TERM"), getenv("NO_COLOR")),
       .write_result =
           [](absl::string_view text) { return WriteAll(STDOUT_FILENO, text); },
       .timeouts = TimeoutsOf(*options),
       .start_job =
           [plots = !options->plot.empty()](
               const std::string& address,
               const v1::CreateJobRequest& request) {
             return std::make_unique<WatchedJob>(address, request, plots);
           }});
}

void Note(absl::string_view line) {
  WriteAll(STDERR_FILENO, absl::StrCat(line, "\n"));
}

int PrintSimulated(const absl::StatusOr<SimulateOutput>& output) {
  if (!output.ok()) {
    const bool page = absl::IsFailedPrecondition(output.status());
    return Fail(
        page ? ExitCode::kPrecondition : ExitCodeOfInput(output.status()),
        output.status().message());
  }
  if (!WriteAll(STDOUT_FILENO, output->text)) {
    return Fail(ExitCode::kFailed, "could not write the results");
  }
  if (!output->status.ok()) {
    const bool standstill = absl::IsAborted(output->status);
    return Fail(standstill ? ExitCode::kFailed : ExitCodeOf(output->status),
                output->status.message());
  }
  return static_cast<int>(ExitCode::kSuccess);
}

// The commands whose runs take place in virtual time.
class VirtualCommands {
 public:
  explicit VirtualCommands(CLI::App& app)
      : simulate_(app.add_subcommand(
            "simulate", "Run a virtual cluster in virtual time: no process")),
        advise_(app.add_subcommand(
            "advise", "Say which paradigm suits workers, by simulating them")),
        compare_(app.add_subcommand(
            "compare",
            "Compare paradigms, each at its best rate, by training")),
        reproduce_(app.add_subcommand(
            "reproduce",
            "Run the experiment of a paper, beside what that says")) {
    AddSimulateFlags(*simulate_, simulate_flags_);
    AddAdviseFlags(*advise_, advise_flags_);
    AddAdvisedJobFlags(*advise_, advised_job_);
    AddCompareFlags(*compare_, compare_flags_);
    AddReproduceFlags(*reproduce_, reproduce_flags_);
  }

  // Returns how it ended; nothing: none of them was typed.
  std::optional<int> Run(ChosenCommand& admin, const std::string& command) {
    if (simulate_->parsed()) {
      return PrintSimulated(RunSimulate(simulate_flags_, command, Note));
    }
    if (advise_->parsed()) {
      const ExitCode taken = TakeAdvisedJob(admin.session(), *advise_,
                                            advised_job_, advise_flags_);
      if (taken != ExitCode::kSuccess) return static_cast<int>(taken);
      return PrintSimulated(RunAdvise(advise_flags_, command, Note));
    }
    if (compare_->parsed()) {
      return PrintSimulated(
          RunCompare(compare_flags_, command, Note, absl::Now));
    }
    if (reproduce_->parsed()) {
      return PrintSimulated(RunReproduce(reproduce_flags_, Note));
    }
    return std::nullopt;
  }

 private:
  CLI::App* const simulate_;
  CLI::App* const advise_;
  CLI::App* const compare_;
  CLI::App* const reproduce_;
  SimulateFlags simulate_flags_;
  AdviseFlags advise_flags_;
  AdvisedJobFlags advised_job_;
  CompareFlags compare_flags_;
  ReproduceFlags reproduce_flags_;
};

int Main(int argc, char** argv) {
  OpenStandardDescriptors();
  SilenceGrpcLog();
  CLI::App app("Trains one model on many unequal machines", "paceline");
  app.formatter(MakeHelpFormat());
  app.require_subcommand(1);
  app.set_version_flag("--version", absl::StrCat("paceline ", PACELINE_VERSION),
                       "Print the version of this program.");
  app.footer(
      "Exit codes:\n"
      "  0 success, 1 failed, 2 usage, 3 not found, 4 precondition, 5 denied,\n"
      "  6 unavailable or too late, 130 interrupted");
  LocalFlags flags;
  CLI::App* local = app.add_subcommand(
      "local", "Train on this machine: starts a whole cluster, and ends it");
  AddLocalFlags(*local, flags);
  VirtualCommands virtual_commands(app);
  const std::unique_ptr<ChosenCommand> admin =
      AddAdminCommands(app, ProcessConsole());
  AddCertificateCommands(app, *admin);
  AddImportKubernetesCommand(app, *admin);
  AddUiCommand(app, *admin);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return Fail(ExitCode::kUsage, UsageErrorText(app, error));
  }
  if (const auto code = virtual_commands.Run(*admin, Typed(argc, argv))) {
    return *code;
  }
  if (admin->chosen()) return static_cast<int>(admin->Run());
  flags.typed = TypedFlagsOf(*local);
  return LocalCommand(flags, Typed(argc, argv));
}

}  // namespace
}  // namespace paceline

int main(int argc, char** argv) { return paceline::Main(argc, argv); }
