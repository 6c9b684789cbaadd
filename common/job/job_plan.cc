#include "common/job/job_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job/job_defaults.h"
#include "common/job/names.h"
#include "common/object_store/s3_uri.h"
#include "common/plain_name.h"

namespace paceline {
namespace {

// More limits of the fields, beside those that flags have too.
constexpr size_t kSpecBytesMax = 64 * 1024;  // Its arguments left out.
constexpr size_t kArgumentBytesMax = 64 * 1024;
constexpr int64_t kSamplesMost = 1'000'000'000'000'000;
constexpr double kSecondsMax = 1e9;
constexpr double kLossMax = 1e6;
constexpr int64_t kWorkersMax = 65'536;
constexpr int64_t kServersMax = 1024;
constexpr int kSwitchesMax = 256;
constexpr int kSelectedMax = 64;
constexpr size_t kGpuModelMax = 128;
constexpr int64_t kKeepMax = 1000;
constexpr int64_t kIntervalSecondsMax = 30 * 24 * 3600;

// Writes out what is left out, but for the paradigms' parameters.
void AddDefaults(v1::JobSpec& spec) {
  const auto text = [](std::string* field, absl::string_view standard) {
    if (field->empty()) *field = std::string(standard);
  };
  text(spec.mutable_paradigm(), kDefaultParadigm);
  text(spec.mutable_optimizer(), kDefaultOptimizer);
  text(spec.mutable_schedule(), kDefaultSchedule);
  text(spec.mutable_batching(), kDefaultBatching);
  text(spec.mutable_data_assignment(), kDefaultDataAssignment);
  text(spec.mutable_round_strength(), kDefaultRoundStrength);
  if (spec.learning_rate() == 0) spec.set_learning_rate(kDefaultLearningRate);
  if (spec.batch_size() == 0) spec.set_batch_size(kDefaultBatchSize);
  if (spec.micro_batch() == 0) spec.set_micro_batch(spec.batch_size());
  if (spec.wire() == v1::WIRE_FORMAT_UNSPECIFIED) spec.set_wire(v1::FP32);
  if (spec.precision() == v1::JobSpec::PRECISION_UNSPECIFIED) {
    spec.set_precision(v1::JobSpec::FP32);
  }
  if (spec.workers().min() == 0) spec.mutable_workers()->set_min(1);
  if (spec.stop().epochs() == 0 && spec.stop().samples() == 0) {
    spec.mutable_stop()->set_epochs(kDefaultEpochs);
  }
  if (spec.checkpoints().keep() == 0) {
    spec.mutable_checkpoints()->set_keep(kDefaultCheckpointsKept);
  }
}

absl::Status CheckModelSpec(absl::string_view model) {
  const std::optional<absl::string_view> program = ProgramOf(model);
  if (program.has_value()) {
    return CheckPlainName("the program's name", *program);
  }
  const absl::Status built_in = CheckModelName(model);
  if (built_in.ok()) return built_in;
  return absl::InvalidArgumentError(absl::StrCat(
      built_in.message(), ", and ", kProgramPrefix, "NAME for one's own"));
}

absl::Status CheckProgramData(absl::string_view data) {
  if (data == kProgramData || data == kStreamData) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "data \"", data, "\": a program reads its own; want ", kProgramData,
      ", or ", kStreamData, " if samples are only counted"));
}

absl::Status CheckBuiltInData(absl::string_view data) {
  if (data != kProgramData && data != kStreamData) return CheckDataSpec(data);
  return absl::InvalidArgumentError(
      absl::StrCat("data \"", data, "\" is that of a model ", kProgramPrefix,
                   "NAME; want ", kDataForms));
}

// Reads one spec that stands somewhere in a request.
class JobParser {
 public:
  JobParser(absl::string_view prefix, const v1::JobSpec& spec,
            FieldChecks& checks)
      : prefix_(prefix), given_(spec), checks_(checks) {}

  JobPlan Parse() && {
    if (!CheckSize()) return {};
    spec_ = given_;
    AddDefaults(spec_);
    CheckTask();
    CheckArguments();
    ReadOptimization();
    ReadSynchronization();
    CheckWorkers();
    CheckStop();
    CheckEvaluation();
    CheckCheckpoints();
    return std::move(plan_);
  }

 private:
  std::string Path(absl::string_view field) const {
    return FieldPath(prefix_, field);
  }

  // Reads a text into `value`.
  template <typename T>
  void Read(absl::string_view field, const std::string& text,
            absl::StatusOr<T> (*parse)(absl::string_view), T& value) {
    if (text.size() > kTextMax) {
      checks_.NotLonger(Path(field), text, kTextMax);
      return;
    }
    absl::StatusOr<T> parsed = parse(text);
    checks_.Take(Path(field), parsed.status());
    if (parsed.ok()) value = *std::move(parsed);
  }

  void CheckName(absl::string_view field, const std::string& text,
                 absl::Status (*check)(absl::string_view)) {
    checks_.NotEmpty(Path(field), text);
    checks_.NotLonger(Path(field), text, kTextMax);
    if (text.empty() || text.size() > kTextMax) return;
    checks_.Take(Path(field), check(text));
  }

  // Whether it is worth being looked at.
  bool CheckSize() {
    const size_t arguments = ArgumentBytes();
    if (arguments > kArgumentBytesMax) {
      checks_.Add(Path("arguments"),
                  absl::StrCat("have ", arguments, " bytes; at most ",
                               kArgumentBytesMax, " are allowed"));
      return false;
    }
    v1::JobSpec rest = given_;
    rest.clear_arguments();
    const size_t bytes = rest.ByteSizeLong();
    if (bytes <= kSpecBytesMax) return true;
    checks_.Add(prefix_, absl::StrCat("has ", bytes, " bytes; at most ",
                                      kSpecBytesMax, " are allowed"));
    return false;
  }

  size_t ArgumentBytes() const {
    size_t bytes = 0;
    for (const auto& [key, value] : given_.arguments()) {
      bytes += key.size() + value.size();
    }
    return bytes;
  }

  void CheckTask() {
    CheckName("model", spec_.model(), CheckModelSpec);
    if (ProgramOf(spec_.model()).has_value()) {
      CheckName("data", spec_.data(), CheckProgramData);
      if (spec_.precision() != v1::JobSpec::FP32) {
        checks_.Add(Path("precision"),
                    "is the program's own affair; leave it out");
      }
    } else {
      CheckName("data", spec_.data(), CheckBuiltInData);
    }
    if (!v1::WireFormat_IsValid(spec_.wire())) {
      checks_.Add(Path("wire"), absl::StrCat("there is no wire format ",
                                             static_cast<int>(spec_.wire()),
                                             "; use FP32, BF16, FP16 or INT8"));
    }
    if (!v1::JobSpec::Precision_IsValid(spec_.precision())) {
      checks_.Add(Path("precision"),
                  absl::StrCat("there is no precision ",
                               static_cast<int>(spec_.precision()),
                               "; use FP32, TF32 or BF16"));
    }
    checks_.InRange(Path("servers"), int64_t{spec_.servers()}, 0, kServersMax);
    CheckReplicas();
    CheckPriority();
    CheckInitialWeights();
  }

  void CheckInitialWeights() {
    const std::string& folder = spec_.initial_weights();
    checks_.NotLonger(Path("initial_weights"), folder, kTextMax);
    if (folder.empty() || CheckCheckpointPath(folder).ok()) return;
    checks_.Add(
        Path("initial_weights"),
        absl::StrCat("is ", Quoted(folder),
                     "; must be an absolute path or s3://BUCKET/PREFIX, "
                     "which coordinator and parameter servers share"));
  }

  void CheckArguments() {
    if (given_.arguments().empty()) return;
    if (!ProgramOf(spec_.model()).has_value()) {
      checks_.Add(Path("arguments"),
                  "are for programs, as program:NAME; a built-in model takes "
                  "none");
      return;
    }
    // A map has no order, but an error has.
    std::set<absl::string_view> wrong;
    for (const auto& [key, value] : given_.arguments()) {
      if (!IsPlainName(key)) wrong.insert(key);
    }
    if (wrong.empty()) return;
    checks_.Add(
        Path("arguments"),
        absl::StrCat("the key ", Quoted(*wrong.begin()),
                     wrong.size() == 1 ? " is wrong"
                                       : absl::StrCat(" and ", wrong.size() - 1,
                                                      " more are wrong"),
                     "; a key has ", kPlainNameRule));
  }

  void CheckPriority() {
    checks_.InRange(Path("priority"), int64_t{spec_.priority()}, -kPriorityMax,
                    kPriorityMax);
  }

  void CheckReplicas() {
    checks_.InRange(Path("replicas"), int64_t{spec_.replicas()}, 0, 1);
    const std::string& durability = spec_.durability();
    if (!durability.empty() && durability != kRelaxedDurability &&
        durability != kStrictDurability) {
      checks_.Add(Path("durability"),
                  absl::StrCat("is ", Quoted(durability), "; must be \"",
                               kRelaxedDurability, "\" or \"",
                               kStrictDurability, "\""));
    } else if (durability == kStrictDurability && spec_.has_replicas() &&
               spec_.replicas() == 0) {
      checks_.Add(Path("durability"),
                  "is \"strict\" and replicas is 0: pushes would wait for a "
                  "backup that never comes; set replicas to 1");
    }
  }

  void ReadOptimization() {
    Read("optimizer", spec_.optimizer(), ParseOptimizerSpec, plan_.optimizer);
    Read("schedule", spec_.schedule(), ParseRateSpec, plan_.rate);
    Read("round_strength", spec_.round_strength(), ParseRoundStrength,
         plan_.round_strength);
    const double rate = spec_.learning_rate();
    if (!(rate > 0 && rate <= kRateMax)) {
      checks_.Add(Path("learning_rate"),
                  absl::StrCat("is ", rate, "; must be above 0 and at most ",
                               kRateMax, ", or 0 for ", kDefaultLearningRate));
    }
    checks_.InRange(Path("batch_size"), int64_t{spec_.batch_size()}, 0,
                    kBatchMax);
    checks_.InRange(Path("micro_batch"), int64_t{given_.micro_batch()}, 0,
                    spec_.batch_size());
  }

  void ReadSynchronization() {
    ParadigmChoice choice;
    Read("paradigm", spec_.paradigm(), ParseParadigmChoice, choice);
    plan_.paradigm = choice.paradigm;
    spec_.set_paradigm(FormatParadigm(plan_.paradigm));
    if (choice.automatic) spec_.mutable_auto_()->set_act(true);
    if (spec_.auto_().act() && spec_.switches_size() > 0) {
      checks_.Add(Path("switches"),
                  "are planned, and the paradigm is chosen while the job "
                  "trains; leave out one of the two");
    }
    Read("batching", spec_.batching(), ParseBatching, plan_.batching);
    if (spec_.switches_size() > kSwitchesMax) {
      checks_.Add(Path("switches"),
                  absl::StrCat("are ", spec_.switches_size(), "; at most ",
                               kSwitchesMax, " are allowed"));
      return;
    }
    for (int i = 0; i < spec_.switches_size(); ++i) ReadSwitch(i);
    ReadDataAssignment();
  }

  // Where each worker has a part of its own, nothing may depend on who computes
  // how much of the whole.
  void ReadDataAssignment() {
    Read("data_assignment", spec_.data_assignment(), ParseDataAssignment,
         plan_.data_assignment);
    if (plan_.data_assignment == DataAssignment::kDynamic) return;
    CheckKeepsParts("paradigm", plan_.paradigm);
    for (size_t i = 0; i < plan_.switches.size(); ++i) {
      CheckKeepsParts(absl::StrCat("switches[", i, "].paradigm"),
                      plan_.switches[i].paradigm);
    }
    if (plan_.batching == Batching::kBalanced) {
      checks_.Add(Path("batching"),
                  "is \"balanced\", and data_assignment is \"static\": a fast "
                  "worker would only be through with its part sooner; use one "
                  "of the two");
    }
    if (spec_.auto_().act()) {
      checks_.Add(Path("auto.act"),
                  "is true, and data_assignment is \"static\": what the "
                  "coordinator chooses from is worked out for dynamic samples; "
                  "use one of the two");
    }
  }

  void CheckKeepsParts(absl::string_view field, const ParadigmSpec& paradigm) {
    if (!Steals(paradigm)) return;
    checks_.Add(Path(field),
                absl::StrCat("is ", Quoted(FormatParadigm(paradigm)),
                             ", and data_assignment is \"static\": stealing "
                             "takes samples of other workers' parts; use one "
                             "of the two"));
  }

  void ReadSwitch(int index) {
    v1::PlannedSwitch& planned = *spec_.mutable_switches(index);
    const std::string field = absl::StrCat("switches[", index, "]");
    const std::string paradigm = absl::StrCat(field, ".paradigm");
    ScheduledSwitch scheduled{planned.samples(), {}};
    checks_.NotEmpty(Path(paradigm), planned.paradigm());
    if (!planned.paradigm().empty()) {
      Read(paradigm, planned.paradigm(), ParseParadigm, scheduled.paradigm);
    }
    int64_t last = 0;
    for (const ScheduledSwitch& before : plan_.switches) {
      last = std::max(last, before.samples);
    }
    if (planned.samples() < last) {
      checks_.Add(
          Path(absl::StrCat(field, ".samples")),
          absl::StrCat("is ", planned.samples(), "; must not be below the ",
                       last, index > 0 ? " of the switch before" : ""));
    }
    planned.set_paradigm(FormatParadigm(scheduled.paradigm));
    plan_.switches.push_back(std::move(scheduled));
  }

  // `check` says what is wrong with one of them, at its path.
  template <typename Names, typename Check>
  void CheckSelected(absl::string_view field, const Names& names, Check check) {
    if (names.size() > kSelectedMax) {
      checks_.Add(Path(field), absl::StrCat("are ", names.size(), "; at most ",
                                            kSelectedMax, " are allowed"));
      return;
    }
    for (int i = 0; i < names.size(); ++i) {
      const std::string path = Path(absl::StrCat(field, "[", i, "]"));
      if (names.Get(i).empty()) {
        checks_.Add(path, "must not be empty");
      } else {
        check(path, names.Get(i));
      }
    }
  }

  void CheckWorkers() {
    const v1::WorkerSelector& workers = spec_.workers();
    CheckSelected("workers.pools", workers.pools(),
                  [this](const std::string& path, const std::string& pool) {
                    if (IsPlainName(pool)) return;
                    checks_.Add(path, absl::StrCat("is ", Quoted(pool),
                                                   "; a pool's name has ",
                                                   kPlainNameRule));
                  });
    CheckSelected("workers.gpu_models", workers.gpu_models(),
                  [this](const std::string& path, const std::string& model) {
                    checks_.NotLonger(path, model, kGpuModelMax);
                  });
    checks_.InRange(Path("workers.min"), int64_t{workers.min()}, 0,
                    kWorkersMax);
    checks_.InRange(Path("workers.max"), int64_t{workers.max()}, 0,
                    kWorkersMax);
    if (workers.max() > 0 && workers.min() > workers.max()) {
      checks_.Add(Path("workers.min"),
                  absl::StrCat("is ", workers.min(),
                               "; must be at most workers.max, which is ",
                               workers.max()));
    }
  }

  void CheckStop() {
    const v1::StopConditions& stop = spec_.stop();
    checks_.InRange(Path("stop.epochs"), int64_t{stop.epochs()}, 0, kEpochsMax);
    checks_.InRange(Path("stop.samples"), stop.samples(), 0, kSamplesMost);
    checks_.InRange(Path("stop.seconds"), stop.seconds(), 0, kSecondsMax);
    checks_.InRange(Path("stop.target_accuracy"), stop.target_accuracy(), 0, 1);
    checks_.InRange(Path("stop.target_loss"), stop.target_loss(), 0, kLossMax);
    if (stop.has_target()) CheckTarget(stop.target());
    const bool target = stop.target_accuracy() > 0 || stop.target_loss() > 0 ||
                        stop.has_target();
    if (stop.at_target() && !target) {
      checks_.Add(Path("stop.at_target"),
                  "needs stop.target_accuracy, stop.target_loss or "
                  "stop.target");
    }
    if (stop.at_target() && spec_.evaluation().defer()) {
      checks_.Add(Path("stop.at_target"),
                  "contradicts evaluation.defer: evaluating after the "
                  "training cannot end it");
    }
    if (target && spec_.evaluation().disabled()) {
      checks_.Add(Path("evaluation.disabled"),
                  "contradicts a target, which only evaluations can reach");
    }
  }

  void CheckTarget(const v1::MetricTarget& target) {
    if (!IsPlainName(target.metric())) {
      checks_.Add(Path("stop.target.metric"),
                  absl::StrCat("is ", Quoted(target.metric()),
                               "; a metric's name has ", kPlainNameRule));
    }
    if (!std::isfinite(target.value())) {
      checks_.Add(Path("stop.target.value"),
                  absl::StrCat("is ", target.value(), "; must be finite"));
    }
    if (target.direction() != v1::MetricTarget::AT_LEAST &&
        target.direction() != v1::MetricTarget::AT_MOST) {
      checks_.Add(Path("stop.target.direction"), "must be AT_LEAST or AT_MOST");
    }
  }

  void CheckEvaluation() {
    checks_.InRange(Path("evaluation.every"), spec_.evaluation().every(), 0,
                    kSamplesMost);
    checks_.InRange(Path("evaluation.share"), spec_.evaluation().share(), 0, 1);
  }

  void CheckCheckpoints() {
    const v1::CheckpointPolicy& checkpoints = spec_.checkpoints();
    checks_.InRange(Path("checkpoints.keep"), int64_t{checkpoints.keep()}, 0,
                    kKeepMax);
    const auto& interval = checkpoints.interval();
    const bool none = interval.seconds() == 0 && interval.nanos() == 0;
    const bool sane = interval.seconds() >= 1 &&
                      interval.seconds() <= kIntervalSecondsMax &&
                      interval.nanos() >= 0 && interval.nanos() < 1'000'000'000;
    if (!none && !sane) {
      checks_.Add(Path("checkpoints.interval"),
                  "must be from 1s to 30 days, or left out for checkpoints "
                  "on request only");
    }
  }

  const absl::string_view prefix_;
  const v1::JobSpec& given_;
  FieldChecks& checks_;
  JobPlan plan_;
  v1::JobSpec& spec_ = plan_.spec;
};

}  // namespace

JobPlan ParseJob(absl::string_view prefix, const v1::JobSpec& spec,
                 FieldChecks& checks) {
  return JobParser(prefix, spec, checks).Parse();
}

absl::StatusOr<JobPlan> ParseJob(const v1::JobSpec& spec) {
  FieldChecks checks;
  JobPlan plan = ParseJob("", spec, checks);
  if (!checks.ok()) return checks.status();
  return plan;
}

}  // namespace paceline
