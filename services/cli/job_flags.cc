#include "services/cli/job_flags.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/check.h"
#include "common/job/duration.h"
#include "common/job/metric_target.h"
#include "common/job/optimizer_spec.h"
#include "common/job/paradigm_spec.h"
#include "common/job/rate_spec.h"
#include "common/status.h"
#include "google/protobuf/util/json_util.h"
#include "services/cli/flag_values.h"

namespace paceline {
namespace {

// No member is lost within a blink, and none is waited for all day.
constexpr absl::Duration kMinLease = absl::Milliseconds(1);
constexpr absl::Duration kMaxLease = absl::Hours(24 * 365);
constexpr int64_t kMostRepeats = 100;
constexpr char kBatchingKey[] = ",batching=";

absl::Status CheckNumbers(const JobFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--epochs", flags.epochs, 1, kEpochsMax));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--batch-size", flags.batch_size, 1, kBatchMax));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--micro-batch", flags.micro_batch, 0, flags.batch_size));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--eval-every", flags.eval_every, 0, INT64_MAX));
  PACELINE_RETURN_IF_ERROR(
      CheckInRange("--repeat", flags.repeat, 1, kMostRepeats));
  // Written so that it also refuses what is no number.
  if (!(flags.learning_rate > 0 && flags.learning_rate <= kRateMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--learning-rate ", flags.learning_rate,
                     ": must be above 0 and at most ", kRateMax));
  }
  return absl::OkStatus();
}

// From the lowest to the highest, each once.
absl::StatusOr<std::vector<double>> TargetAccuracies(const JobFlags& flags) {
  std::vector<double> targets = flags.target_accuracy;
  if (targets.size() == 1 && targets.front() == 0) targets.clear();
  for (const double target : targets) {
    // Written so that it also refuses what is no number.
    if (target > 0 && target <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--target-accuracy ", target,
                     ": must be a share, above 0 and at most 1"));
  }
  if (!targets.empty() && !flags.target.empty()) {
    return absl::InvalidArgumentError(
        "--target and --target-accuracy: give one of them");
  }
  if (flags.stop_at_target && !HasTarget(flags)) {
    return absl::InvalidArgumentError(
        "--stop-at-target needs a --target-accuracy or a --target");
  }
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

absl::Status SetTarget(const std::string& text, v1::StopConditions& stop) {
  PACELINE_ASSIGN_OR_RETURN(const MetricTarget target,
                            Annotate(ParseMetricTarget(text),
                                     absl::StrCat("--target \"", text, "\"")));
  v1::MetricTarget& wire = *stop.mutable_target();
  wire.set_metric(target.metric);
  wire.set_value(target.value);
  wire.set_direction(target.at_least ? v1::MetricTarget::AT_LEAST
                                     : v1::MetricTarget::AT_MOST);
  return absl::OkStatus();
}

absl::Status CheckTexts(const JobFlags& flags) {
  PACELINE_RETURN_IF_ERROR(
      Annotate(ParseOptimizerSpec(flags.optimizer).status(),
               absl::StrCat("--optimizer ", flags.optimizer)));
  PACELINE_RETURN_IF_ERROR(
      Annotate(ParseRateSpec(flags.schedule).status(),
               absl::StrCat("--schedule ", flags.schedule)));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--round-strength", flags.round_strength,
                 {"linear", "sqrt", "constant", "adascale"}));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--batching", flags.batching, {"even", "balanced"}));
  PACELINE_RETURN_IF_ERROR(CheckOneOf(
      "--data-assignment", flags.data_assignment, {"dynamic", "static"}));
  return CheckOneOf("--output", flags.output, {"table", "json"});
}

absl::StatusOr<SwitchAt> ParseSwitch(const std::string& value) {
  const std::pair<std::string, std::string> sides =
      absl::StrSplit(value, absl::MaxSplits('=', 1));
  absl::string_view text = sides.first;
  double percent = 0;
  if (!absl::ConsumeSuffix(&text, "%") || !absl::SimpleAtod(text, &percent) ||
      !(percent >= 0 && percent < 100) || sides.second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--switch-at \"", value,
        "\": must be SHARE%=PARADIGM with a share from 0 to below 100, as "
        "30%=asp"));
  }
  PACELINE_ASSIGN_OR_RETURN(ParadigmSpec paradigm,
                            Annotate(ParseParadigm(sides.second),
                                     absl::StrCat("--switch-at ", value)));
  return SwitchAt{percent / 100, sides.second, std::move(paradigm)};
}

absl::StatusOr<ComparedRun> ParseRun(const std::string& label,
                                     const std::string& batching) {
  const std::string flag = absl::StrCat("--paradigm ", label);
  ComparedRun run;
  run.label = label;
  run.text = label;
  run.batching = batching;
  const size_t own = label.rfind(kBatchingKey);
  if (own != std::string::npos) {
    run.text = label.substr(0, own);
    run.batching = label.substr(own + strlen(kBatchingKey));
    PACELINE_RETURN_IF_ERROR(Annotate(
        CheckOneOf("batching", run.batching, {"even", "balanced"}), flag));
  }
  PACELINE_ASSIGN_OR_RETURN(const ParadigmChoice choice,
                            Annotate(ParseParadigmChoice(run.text), flag));
  run.paradigm = choice.paradigm;
  run.automatic = choice.automatic;
  return run;
}

// What JobPlan refuses together with static parts, in the words of flags.
absl::Status CheckKeepParts(const JobFlags& flags, const JobRequest& request) {
  if (flags.data_assignment != kStaticDataAssignment) return absl::OkStatus();
  const auto refused = [](absl::string_view what, absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": contradicts --data-assignment static: ", why));
  };
  constexpr char kSteals[] = "stealing takes samples of other workers' parts";
  for (const ComparedRun& run : request.runs) {
    const std::string flag = absl::StrCat("--paradigm ", run.label);
    if (Steals(run.paradigm)) return refused(flag, kSteals);
    if (run.automatic) {
      return refused(flag, "auto is worked out for dynamic samples");
    }
    if (run.batching == "balanced") {
      return refused(run.label == run.text ? "--batching balanced" : flag,
                     "a fast worker would only be through with its part "
                     "sooner");
    }
  }
  for (const SwitchAt& planned : request.switches) {
    if (!Steals(planned.paradigm)) continue;
    return refused(absl::StrCat("--switch-at ", planned.text), kSteals);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ComparedRun>> ParseRuns(const JobFlags& flags) {
  std::vector<std::string> labels = flags.paradigms;
  if (labels.empty()) labels.emplace_back(kDefaultParadigm);
  std::vector<ComparedRun> runs;
  for (const std::string& label : labels) {
    PACELINE_ASSIGN_OR_RETURN(runs.emplace_back(),
                              ParseRun(label, flags.batching));
  }
  return runs;
}

}  // namespace

namespace {

void AddParadigmFlags(CLI::App& command, JobFlags& flags) {
  command
      .add_option("--paradigm", flags.paradigms,
                  "How workers are synchronized. Given again: one more run "
                  "with the same data, seed and first weights. "
                  "With ,batching=balanced behind it, the run has that "
                  "batching.")
      ->allow_extra_args(false)
      ->default_str("bsp")
      ->type_name("PARADIGM");
  command
      .add_option("--switch-at", flags.switch_at,
                  "Switch every run to the paradigm after this share of the "
                  "samples, as 30%=asp. Where samples do not end, it is a "
                  "share of the time. May be given again. Default: no switch.")
      ->allow_extra_args(false)
      ->default_str("")
      ->type_name("SHARE%=PARADIGM");
  command
      .add_option("--batching", flags.batching,
                  "even: all workers compute equal batches. balanced: each "
                  "worker's batch is in proportion to its measured speed.")
      ->type_name("BATCHING");
  command
      .add_option("--data-assignment", flags.data_assignment,
                  "dynamic: a worker gets the samples that come next. static: "
                  "each worker computes an equal part of its own in every "
                  "epoch, at its own pace.")
      ->type_name("ASSIGNMENT");
}

void AddLearningFlags(CLI::App& command, JobFlags& flags) {
  command
      .add_option("--epochs", flags.epochs, "Passes over the training data.")
      ->type_name("N");
  command
      .add_option("--batch-size", flags.batch_size,
                  "Samples whose gradient a worker sends in one push.")
      ->type_name("SAMPLES");
  command
      .add_option("--micro-batch", flags.micro_batch,
                  "Samples that a worker computes at once, which bounds its "
                  "memory. 0: the whole batch.")
      ->type_name("SAMPLES");
  command
      .add_option("--learning-rate", flags.learning_rate,
                  "Step size of the optimizer for a push of a full batch.")
      ->type_name("RATE");
  command
      .add_option("--optimizer", flags.optimizer,
                  "The rule by which the servers update the weights, as below.")
      ->type_name("OPTIMIZER");
  command
      .add_option("--schedule", flags.schedule,
                  "How the learning rate changes with the share of samples "
                  "that are counted, as below.")
      ->type_name("SCHEDULE");
  command
      .add_option("--round-strength", flags.round_strength,
                  "How a round's step grows with its samples: linear, sqrt, "
                  "constant, or adascale (by the gradients' noise).")
      ->type_name("RULE");
  command
      .add_option("--seed", flags.seed,
                  "Seed of all random numbers: first weights, order of samples "
                  "and, in simulations, times.")
      ->type_name("N");
  command
      .add_option("--repeat", flags.repeat,
                  "Runs of each paradigm, with the seeds from --seed on, by "
                  "turns. The results are medians, with the least and the "
                  "most.")
      ->type_name("N");
}

void AddTargetFlags(CLI::App& command, JobFlags& flags) {
  command
      .add_option("--eval-every", flags.eval_every,
                  "Samples from one evaluation to the next. 0: a twentieth of "
                  "an epoch.")
      ->type_name("SAMPLES");
  command
      .add_option("--target-accuracy", flags.target_accuracy,
                  "Measure the seconds until this accuracy is reached. It is a "
                  "share from 0 to 1. Several with commas between them, or "
                  "given again: the seconds to each. 0: no target.")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->default_str("0")
      ->type_name("SHARES");
  command
      .add_option("--target", flags.target,
                  "Measure the seconds until any metric of the evaluations is "
                  "there, as perplexity<=20 or top5>=0.9. There is one. "
                  "Default: no target.")
      ->type_name("METRIC<=VALUE");
  command.add_flag("--stop-at-target", flags.stop_at_target,
                   "End each run when it has reached the target, of several "
                   "the highest.");
  command
      .add_option("--lease", flags.lease,
                  "Time without a sign of life after which a member of the "
                  "cluster is lost.")
      ->type_name("DURATION");
  command
      .add_option("-o,--output", flags.output,
                  "Form of the results: table or json.")
      ->type_name("FORMAT");
}

}  // namespace

bool HasTarget(const JobFlags& flags) {
  return !flags.target.empty() ||
         std::ranges::any_of(flags.target_accuracy,
                             [](double target) { return target != 0; });
}

void AddJobFlags(CLI::App& command, JobFlags& flags) {
  AddParadigmFlags(command, flags);
  AddLearningFlags(command, flags);
  AddTargetFlags(command, flags);
}

absl::StatusOr<JobRequest> ParseJobFlags(const JobFlags& flags) {
  PACELINE_RETURN_IF_ERROR(CheckNumbers(flags));
  JobRequest request;
  PACELINE_ASSIGN_OR_RETURN(request.target_accuracies, TargetAccuracies(flags));
  PACELINE_ASSIGN_OR_RETURN(request.runs, ParseRuns(flags));
  request.repeat = static_cast<size_t>(flags.repeat);
  PACELINE_RETURN_IF_ERROR(CheckTexts(flags));
  PACELINE_ASSIGN_OR_RETURN(request.lease, ParseDuration("--lease", flags.lease,
                                                         kMinLease, kMaxLease));
  PACELINE_ASSIGN_OR_RETURN(request.switches, ParseSwitches(flags.switch_at));
  if (!request.switches.empty() &&
      std::ranges::any_of(request.runs, &ComparedRun::automatic)) {
    return absl::InvalidArgumentError(
        "--switch-at: a plan and --paradigm auto contradict each other");
  }
  PACELINE_RETURN_IF_ERROR(CheckKeepParts(flags, request));
  v1::JobSpec& spec = request.spec;
  PACELINE_ASSIGN_OR_RETURN(const uint64_t seed, ParseSeedFlag(flags.seed));
  spec.set_seed(seed);
  spec.set_batching(flags.batching);
  spec.set_data_assignment(flags.data_assignment);
  spec.set_optimizer(flags.optimizer);
  spec.set_learning_rate(flags.learning_rate);
  spec.set_schedule(flags.schedule);
  spec.set_round_strength(flags.round_strength);
  spec.set_batch_size(static_cast<uint32_t>(flags.batch_size));
  spec.set_micro_batch(static_cast<uint32_t>(flags.micro_batch));
  spec.mutable_stop()->set_epochs(static_cast<uint32_t>(flags.epochs));
  if (!request.target_accuracies.empty()) {
    spec.mutable_stop()->set_target_accuracy(request.target_accuracies.back());
  }
  spec.mutable_stop()->set_at_target(flags.stop_at_target);
  if (!flags.target.empty()) {
    PACELINE_RETURN_IF_ERROR(SetTarget(flags.target, *spec.mutable_stop()));
  }
  spec.mutable_evaluation()->set_every(flags.eval_every);
  return request;
}

absl::StatusOr<std::vector<SwitchAt>> ParseSwitches(
    const std::vector<std::string>& values) {
  std::vector<SwitchAt> switches;
  for (const std::string& value : values) {
    PACELINE_ASSIGN_OR_RETURN(switches.emplace_back(), ParseSwitch(value));
  }
  std::ranges::stable_sort(switches, {}, &SwitchAt::share);
  return switches;
}

v1::JobSpec MakeJobSpec(const JobRequest& request, const ComparedRun& run,
                        int64_t train_samples) {
  v1::JobSpec spec = request.spec;
  spec.set_paradigm(run.text);
  spec.set_batching(run.batching);
  const double total =
      static_cast<double>(train_samples) * request.spec.stop().epochs();
  for (const SwitchAt& planned : request.switches) {
    v1::PlannedSwitch& wire = *spec.add_switches();
    wire.set_samples(static_cast<int64_t>(planned.share * total));
    wire.set_paradigm(planned.text);
  }
  return spec;
}

std::string JobSpecJson(const v1::JobSpec& spec) {
  google::protobuf::util::JsonPrintOptions print;
  print.add_whitespace = true;
  print.always_print_primitive_fields = true;
  print.preserve_proto_field_names = true;
  std::string json;
  CHECK(google::protobuf::util::MessageToJsonString(spec, &json, print).ok());
  return json;
}

}  // namespace paceline
