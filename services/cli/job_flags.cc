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
  // Written so that it also refuses what is no number.
  if (!(flags.learning_rate > 0 && flags.learning_rate <= kRateMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--learning-rate ", flags.learning_rate,
                     ": must be above 0 and at most ", kRateMax));
  }
  if (!(flags.target_accuracy >= 0 && flags.target_accuracy <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--target-accuracy ", flags.target_accuracy,
                     ": must be a share, above 0 and at most 1"));
  }
  if (flags.target_accuracy > 0 && !flags.target.empty()) {
    return absl::InvalidArgumentError(
        "--target and --target-accuracy: give one of them");
  }
  if (flags.stop_at_target && flags.target_accuracy == 0 &&
      flags.target.empty()) {
    return absl::InvalidArgumentError(
        "--stop-at-target needs a --target-accuracy or a --target");
  }
  return absl::OkStatus();
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
  PACELINE_RETURN_IF_ERROR(CheckOneOf("--round-strength", flags.round_strength,
                                      {"linear", "sqrt", "constant"}));
  PACELINE_RETURN_IF_ERROR(
      CheckOneOf("--batching", flags.batching, {"even", "balanced"}));
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

void AddJobFlags(CLI::App& command, JobFlags& flags) {
  command
      .add_option("--paradigm", flags.paradigms,
                  "How workers are synchronized; given again: one more run on "
                  "the same data, seed and weights; with ,batching=balanced "
                  "behind it, under that batching")
      ->allow_extra_args(false)
      ->default_str("bsp");
  command
      .add_option("--switch-at", flags.switch_at,
                  "SHARE%=PARADIGM: takes over in every run after that share "
                  "of the samples (of the time, where they do not end); may be "
                  "given again")
      ->allow_extra_args(false)
      ->default_str("");
  command.add_option("--batching", flags.batching,
                     "even: all workers compute equal batches; balanced: in "
                     "proportion to their measured rates");
  command.add_option("--epochs", flags.epochs, "Passes over the data");
  command.add_option("--batch-size", flags.batch_size, "Samples of one push");
  command.add_option("--micro-batch", flags.micro_batch,
                     "Samples computed at once; 0: the batch size");
  command.add_option("--learning-rate", flags.learning_rate,
                     "Of one push of a full batch");
  command.add_option("--optimizer", flags.optimizer, "At the servers");
  command.add_option("--schedule", flags.schedule,
                     "Of the learning rate, by samples counted");
  command.add_option("--round-strength", flags.round_strength,
                     "How a round's step grows with its samples: linear, sqrt "
                     "or constant");
  command.add_option("--seed", flags.seed,
                     "Of all chance: weights, sample order, virtual time");
  command.add_option("--eval-every", flags.eval_every,
                     "Samples between evaluations; 0: a twentieth of an epoch");
  command.add_option("--target-accuracy", flags.target_accuracy,
                     "Measure the seconds until it is reached");
  command.add_option("--target", flags.target,
                     "METRIC<=VALUE or METRIC>=VALUE, as perplexity<=20: the "
                     "same of any metric of the evaluations");
  command.add_flag("--stop-at-target", flags.stop_at_target,
                   "End the run there");
  command.add_option("--lease", flags.lease,
                     "A member not heard for so long is lost");
  command.add_option("-o,--output", flags.output, "table or json");
}

absl::StatusOr<JobRequest> ParseJobFlags(const JobFlags& flags) {
  PACELINE_RETURN_IF_ERROR(CheckNumbers(flags));
  JobRequest request;
  PACELINE_ASSIGN_OR_RETURN(request.runs, ParseRuns(flags));
  PACELINE_RETURN_IF_ERROR(CheckTexts(flags));
  PACELINE_ASSIGN_OR_RETURN(request.lease, ParseDuration("--lease", flags.lease,
                                                         kMinLease, kMaxLease));
  PACELINE_ASSIGN_OR_RETURN(request.switches, ParseSwitches(flags.switch_at));
  if (!request.switches.empty() &&
      std::ranges::any_of(request.runs, &ComparedRun::automatic)) {
    return absl::InvalidArgumentError(
        "--switch-at: a plan and --paradigm auto contradict each other");
  }
  v1::JobSpec& spec = request.spec;
  PACELINE_ASSIGN_OR_RETURN(const uint64_t seed, ParseSeedFlag(flags.seed));
  spec.set_seed(seed);
  spec.set_batching(flags.batching);
  spec.set_optimizer(flags.optimizer);
  spec.set_learning_rate(flags.learning_rate);
  spec.set_schedule(flags.schedule);
  spec.set_round_strength(flags.round_strength);
  spec.set_batch_size(static_cast<uint32_t>(flags.batch_size));
  spec.set_micro_batch(static_cast<uint32_t>(flags.micro_batch));
  spec.mutable_stop()->set_epochs(static_cast<uint32_t>(flags.epochs));
  spec.mutable_stop()->set_target_accuracy(flags.target_accuracy);
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
