#include "services/coordinator/jobs/spec_check.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/policy/rate_schedule.h"
#include "services/parameter_server/optimizer_spec.h"
#include "services/parameter_server/update_rule.h"
#include "services/worker/data/data_names.h"
#include "services/worker/model/model_names.h"

namespace paceline {
namespace {

// Far above what anybody needs, far below what overflows or fills a disk.
constexpr size_t kSpecBytesMax = 64 * 1024;
constexpr int64_t kBatchMax = 65'536;
constexpr int64_t kEpochsMax = 1'000'000;
constexpr int64_t kSamplesMost = 1'000'000'000'000'000;
constexpr double kSecondsMax = 1e9;
constexpr double kLossMax = 1e6;
constexpr int64_t kWorkersMax = 65'536;
constexpr int64_t kServersMax = 1024;
constexpr int kSwitchesMax = 256;
constexpr int kSelectedMax = 64;
constexpr size_t kPoolMax = 63;
constexpr size_t kGpuModelMax = 128;
constexpr int64_t kKeepMax = 1000;
constexpr int64_t kIntervalSecondsMax = 30 * 24 * 3600;

constexpr uint32_t kBatchDefault = 32;
constexpr double kRateDefault = 0.005;
constexpr uint32_t kKeepDefault = 3;

// One spec and where it stands in its request.
class SpecChecker {
 public:
  SpecChecker(absl::string_view prefix, const v1::JobSpec& spec,
              FieldChecks& checks)
      : prefix_(prefix), spec_(spec), checks_(checks) {}

  void Check() {
    const size_t bytes = spec_.ByteSizeLong();
    if (bytes > kSpecBytesMax) {
      checks_.Add(prefix_, absl::StrCat("has ", bytes, " bytes; at most ",
                                        kSpecBytesMax, " are allowed"));
      return;
    }
    CheckTask();
    CheckOptimization();
    CheckSynchronization();
    CheckWorkers();
    CheckStop();
    CheckEvaluation();
    CheckCheckpoints();
  }

 private:
  std::string Path(absl::string_view field) const {
    return FieldPath(prefix_, field);
  }

  // A text that `parse` judges, unless it is left out.
  template <typename Parse>
  void CheckText(absl::string_view field, const std::string& text,
                 Parse parse) {
    if (text.empty()) return;
    if (text.size() > kTextMax) {
      checks_.NotLonger(Path(field), text, kTextMax);
      return;
    }
    checks_.Take(Path(field), parse(text));
  }

  void CheckTask() {
    checks_.NotEmpty(Path("model"), spec_.model());
    CheckText("model", spec_.model(), CheckModelName);
    checks_.NotEmpty(Path("data"), spec_.data());
    CheckText("data", spec_.data(), CheckDataSpec);
    if (!v1::WireFormat_IsValid(spec_.wire())) {
      checks_.Add(Path("wire"), absl::StrCat("there is no wire format ",
                                             static_cast<int>(spec_.wire()),
                                             "; use FP32, BF16 or FP16"));
    }
    if (!v1::JobSpec::Precision_IsValid(spec_.precision())) {
      checks_.Add(Path("precision"),
                  absl::StrCat("there is no precision ",
                               static_cast<int>(spec_.precision()),
                               "; use FP32, TF32 or BF16"));
    }
    checks_.InRange(Path("servers"), int64_t{spec_.servers()}, 0, kServersMax);
  }

  void CheckOptimization() {
    CheckText("optimizer", spec_.optimizer(), [](absl::string_view text) {
      return ParseOptimizerSpec(text).status();
    });
    CheckText("schedule", spec_.schedule(), [](absl::string_view text) {
      return ParseRateSpec(text).status();
    });
    CheckText("round_strength", spec_.round_strength(),
              [](absl::string_view text) {
                return ParseRoundStrength(text).status();
              });
    const double rate = spec_.learning_rate();
    if (!(rate >= 0 && rate <= kRateMax)) {
      checks_.Add(Path("learning_rate"),
                  absl::StrCat("is ", rate, "; must be above 0 and at most ",
                               kRateMax, ", or 0 for ", kRateDefault));
    }
    const int64_t batch = spec_.batch_size();
    checks_.InRange(Path("batch_size"), batch, 0, kBatchMax);
    checks_.InRange(Path("micro_batch"), int64_t{spec_.micro_batch()}, 0,
                    batch > 0 ? batch : kBatchDefault);
  }

  void CheckSynchronization() {
    const auto parse = [](absl::string_view text) {
      return MakePolicy(text).status();
    };
    CheckText("paradigm", spec_.paradigm(), parse);
    CheckText("batching", spec_.batching(), [](absl::string_view text) {
      if (text == "even" || text == "balanced") return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat("is ", Quoted(text), "; use even or balanced"));
    });
    if (spec_.switches_size() > kSwitchesMax) {
      checks_.Add(Path("switches"),
                  absl::StrCat("are ", spec_.switches_size(), "; at most ",
                               kSwitchesMax, " are allowed"));
      return;
    }
    int64_t last = 0;
    for (int i = 0; i < spec_.switches_size(); ++i) {
      const v1::PlannedSwitch& planned = spec_.switches(i);
      const std::string field = absl::StrCat("switches[", i, "]");
      const std::string paradigm = absl::StrCat(field, ".paradigm");
      checks_.NotEmpty(Path(paradigm), planned.paradigm());
      CheckText(paradigm, planned.paradigm(), parse);
      if (planned.samples() < last) {
        checks_.Add(
            Path(absl::StrCat(field, ".samples")),
            absl::StrCat("is ", planned.samples(), "; must not be below the ",
                         last, i > 0 ? " of the switch before" : ""));
      }
      last = std::max(last, planned.samples());
    }
  }

  template <typename Names>
  void CheckNames(absl::string_view field, const Names& names,
                  size_t bytes_max) {
    if (names.size() > kSelectedMax) {
      checks_.Add(Path(field), absl::StrCat("are ", names.size(), "; at most ",
                                            kSelectedMax, " are allowed"));
      return;
    }
    for (int i = 0; i < names.size(); ++i) {
      const std::string path = Path(absl::StrCat(field, "[", i, "]"));
      if (names.Get(i).empty()) checks_.Add(path, "must not be empty");
      checks_.NotLonger(path, names.Get(i), bytes_max);
    }
  }

  void CheckWorkers() {
    const v1::WorkerSelector& workers = spec_.workers();
    CheckNames("workers.pools", workers.pools(), kPoolMax);
    CheckNames("workers.gpu_models", workers.gpu_models(), kGpuModelMax);
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
    const bool target = stop.target_accuracy() > 0 || stop.target_loss() > 0;
    if (stop.at_target() && !target) {
      checks_.Add(Path("stop.at_target"),
                  "needs stop.target_accuracy or stop.target_loss");
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

  void CheckEvaluation() {
    checks_.InRange(Path("evaluation.every"), spec_.evaluation().every(), 0,
                    kSamplesMost);
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

  const std::string prefix_;
  const v1::JobSpec& spec_;
  FieldChecks& checks_;
};

std::string InFull(const std::string& paradigm) {
  const auto policy = MakePolicy(paradigm);
  CHECK(policy.ok());
  return (*policy)->Describe();
}

}  // namespace

void CheckSpec(absl::string_view prefix, const v1::JobSpec& spec,
               FieldChecks& checks) {
  SpecChecker(prefix, spec, checks).Check();
}

absl::Status CheckJobSpec(const v1::JobSpec& spec) {
  FieldChecks checks;
  CheckSpec("", spec, checks);
  return checks.status();
}

void CompleteSpec(v1::JobSpec& spec) {
  if (spec.paradigm().empty()) spec.set_paradigm("bsp");
  spec.set_paradigm(InFull(spec.paradigm()));
  for (v1::PlannedSwitch& planned : *spec.mutable_switches()) {
    planned.set_paradigm(InFull(planned.paradigm()));
  }
  if (spec.optimizer().empty()) spec.set_optimizer("sgd:momentum=0.9");
  if (spec.learning_rate() == 0) spec.set_learning_rate(kRateDefault);
  if (spec.schedule().empty()) spec.set_schedule("constant");
  if (spec.batch_size() == 0) spec.set_batch_size(kBatchDefault);
  if (spec.micro_batch() == 0) spec.set_micro_batch(spec.batch_size());
  if (spec.batching().empty()) spec.set_batching("even");
  if (spec.wire() == v1::WIRE_FORMAT_UNSPECIFIED) spec.set_wire(v1::FP32);
  if (spec.precision() == v1::JobSpec::PRECISION_UNSPECIFIED) {
    spec.set_precision(v1::JobSpec::FP32);
  }
  if (spec.round_strength().empty()) spec.set_round_strength("linear");
  if (spec.workers().min() == 0) spec.mutable_workers()->set_min(1);
  if (spec.stop().epochs() == 0 && spec.stop().samples() == 0) {
    spec.mutable_stop()->set_epochs(1);
  }
  if (spec.checkpoints().keep() == 0) {
    spec.mutable_checkpoints()->set_keep(kKeepDefault);
  }
}

}  // namespace paceline
