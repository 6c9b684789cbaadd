#include "common/job/optimizer_spec.h"

#include <array>
#include <charconv>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/spec_reader.h"
#include "common/status.h"

namespace paceline {
namespace {

using Kind = OptimizerSpec::Kind;

struct KindName {
  Kind kind;
  absl::string_view name;
};
constexpr std::array<KindName, 3> kKinds = {
    {{Kind::kSgd, "sgd"}, {Kind::kAdam, "adam"}, {Kind::kAdamW, "adamw"}}};

constexpr absl::string_view kMomentum = "momentum";
constexpr absl::string_view kAuto = "auto";
constexpr absl::string_view kTotalMomentum = "total_momentum";
constexpr double kUsualTotal = 0.9;

// One number of a spec, and which kinds have it.
struct Number {
  absl::string_view key;
  double OptimizerSpec::*field;
  bool of_sgd;
  bool of_adam;
  double least;
  double most;  // Allowed itself where `closed`.
  bool closed;
};
constexpr std::array<Number, 5> kNumbers = {{
    {kMomentum, &OptimizerSpec::momentum, true, false, 0, 1, false},
    {"weight_decay", &OptimizerSpec::weight_decay, true, true, 0, 1, true},
    {"beta1", &OptimizerSpec::beta1, false, true, 0, 1, false},
    {"beta2", &OptimizerSpec::beta2, false, true, 0, 1, false},
    {"epsilon", &OptimizerSpec::epsilon, false, true, 1e-30, 1, true},
}};

constexpr absl::string_view kDelay = "delay";
// More updates than a run has workers.
constexpr int64_t kMostDelay = 10'000;

constexpr absl::string_view kCorrection = "correction";
constexpr absl::string_view kHeloco = "heloco";

constexpr absl::string_view kNoDecay = "no_decay";
constexpr absl::string_view kNormsAndBiases = "norms_and_biases";

bool Has(Kind kind, const Number& number) {
  return kind == Kind::kSgd ? number.of_sgd : number.of_adam;
}

std::vector<absl::string_view> KeysOf(Kind kind) {
  std::vector<absl::string_view> keys;
  for (const Number& number : kNumbers) {
    if (Has(kind, number)) keys.push_back(number.key);
  }
  if (kind == Kind::kSgd) {
    keys.push_back(kTotalMomentum);
    keys.push_back("nesterov");
    keys.push_back(kDelay);
    keys.push_back(kCorrection);
  }
  keys.push_back(kNoDecay);
  return keys;
}

absl::StatusOr<Kind> ParseKind(absl::string_view name) {
  for (const KindName& known : kKinds) {
    if (known.name == name) return known.kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown optimizer \"", name, "\"; use sgd, adam or adamw"));
}

absl::Status ReadNumber(absl::string_view key, absl::string_view text,
                        double& number) {
  if (absl::SimpleAtod(text, &number)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(key, " must be a number, not \"", text, "\"",
                   key == kMomentum ? ", or auto" : ""));
}

absl::Status ReadTotalMomentum(const SpecParameters& parameters,
                               OptimizerSpec& spec) {
  if (spec.momentum_by_staleness) spec.momentum = kUsualTotal;
  if (!parameters.Has(kTotalMomentum)) return absl::OkStatus();
  if (!spec.momentum_by_staleness) {
    return absl::InvalidArgumentError(
        absl::StrCat(kTotalMomentum, " needs momentum=auto"));
  }
  return ReadNumber(kTotalMomentum, parameters.Text(kTotalMomentum, ""),
                    spec.momentum);
}

absl::StatusOr<OptimizerSpec> ReadFields(Kind kind, absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const SpecParameters parameters,
                            SpecParameters::Parse(text, KeysOf(kind)));
  OptimizerSpec spec{.kind = kind};
  for (const Number& number : kNumbers) {
    if (!parameters.Has(number.key)) continue;
    const absl::string_view value = parameters.Text(number.key, "");
    if (number.key == kMomentum && value == kAuto) {
      spec.momentum_by_staleness = true;
      continue;
    }
    PACELINE_RETURN_IF_ERROR(ReadNumber(number.key, value, spec.*number.field));
  }
  PACELINE_RETURN_IF_ERROR(ReadTotalMomentum(parameters, spec));
  PACELINE_ASSIGN_OR_RETURN(const size_t nesterov,
                            parameters.Choice("nesterov", {"false", "true"}));
  spec.nesterov = nesterov == 1;
  PACELINE_ASSIGN_OR_RETURN(
      spec.delay, parameters.Whole(kDelay, /*fallback=*/1, 1, kMostDelay));
  PACELINE_ASSIGN_OR_RETURN(const size_t correction,
                            parameters.Choice(kCorrection, {"none", kHeloco}));
  spec.heloco = correction == 1;
  PACELINE_ASSIGN_OR_RETURN(
      const size_t no_decay,
      parameters.Choice(kNoDecay, {"none", kNormsAndBiases}));
  spec.no_decay_of_norms_and_biases = no_decay == 1;
  return spec;
}

// The shortest text that reads back as the same number.
std::string Exactly(double value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value);
  return std::string(text, end.ptr);
}

}  // namespace

std::optional<double> TotalMomentum(const OptimizerSpec& spec) {
  if (!spec.momentum_by_staleness) return std::nullopt;
  return spec.momentum;
}

std::string WithoutStaleness(const std::string& text) {
  absl::StatusOr<OptimizerSpec> spec = ParseOptimizerSpec(text);
  if (!spec.ok() ||
      (!spec->momentum_by_staleness && spec->delay == 1 && !spec->heloco)) {
    return text;
  }
  spec->momentum_by_staleness = false;
  spec->delay = 1;
  spec->heloco = false;
  return FormatOptimizerSpec(*spec);
}

std::vector<std::string> OptimizerSlotNames(const OptimizerSpec& spec) {
  if (spec.kind != Kind::kSgd) return {"m", "v"};
  if (spec.delay > 1) return {"momentum", "delayed"};
  if (spec.momentum > 0) return {"momentum"};
  return {};
}

absl::Status ValidateOptimizerSpec(const OptimizerSpec& spec) {
  for (const Number& number : kNumbers) {
    if (!Has(spec.kind, number)) continue;
    const double value = spec.*number.field;
    const bool below =
        number.closed ? value <= number.most : value < number.most;
    if (value >= number.least && below) continue;  // Not so for a NaN.
    return absl::InvalidArgumentError(absl::StrCat(
        "optimizer: ", number.key, " is ", value, "; it must be in [",
        number.least, ", ", number.most, number.closed ? "]" : ")"));
  }
  if (spec.momentum_by_staleness && spec.momentum == 0) {
    return absl::InvalidArgumentError(
        "optimizer: momentum=auto needs a total_momentum above 0");
  }
  if (spec.kind == Kind::kSgd && spec.nesterov && spec.momentum == 0) {
    return absl::InvalidArgumentError(
        "optimizer: nesterov needs a momentum above 0");
  }
  if (spec.delay < 1 || spec.delay > kMostDelay) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer: ", kDelay, " is ", spec.delay,
                     "; it must be from 1 to ", kMostDelay));
  }
  if (spec.delay > 1 && (spec.kind != Kind::kSgd || !spec.nesterov ||
                         spec.momentum_by_staleness)) {
    return absl::InvalidArgumentError(
        "optimizer: a delay needs nesterov=true and a momentum that is not "
        "auto");
  }
  if (spec.heloco && (spec.kind != Kind::kSgd || spec.momentum == 0 ||
                      spec.momentum_by_staleness)) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer: ", kCorrection, "=", kHeloco,
                     " needs a momentum above 0 that is not auto"));
  }
  if (spec.no_decay_of_norms_and_biases && spec.weight_decay == 0) {
    return absl::InvalidArgumentError(
        "optimizer: no_decay needs a weight_decay above 0");
  }
  return absl::OkStatus();
}

absl::StatusOr<OptimizerSpec> ParseOptimizerSpec(absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(const Kind kind, ParseKind(SpecName(text)));
  PACELINE_ASSIGN_OR_RETURN(const OptimizerSpec spec,
                            Annotate(ReadFields(kind, text), "optimizer"));
  PACELINE_RETURN_IF_ERROR(ValidateOptimizerSpec(spec));
  return spec;
}

std::string FormatOptimizerSpec(const OptimizerSpec& spec) {
  const OptimizerSpec defaults;
  std::vector<std::string> fields;
  for (const Number& number : kNumbers) {
    const double value = spec.*number.field;
    if (!Has(spec.kind, number) || value == defaults.*number.field) continue;
    if (number.key == kMomentum && spec.momentum_by_staleness) {
      fields.push_back(absl::StrCat(kMomentum, "=", kAuto));
      if (value == kUsualTotal) continue;
      fields.push_back(absl::StrCat(kTotalMomentum, "=", Exactly(value)));
      continue;
    }
    fields.push_back(absl::StrCat(number.key, "=", Exactly(value)));
  }
  if (spec.kind == Kind::kSgd && spec.nesterov) {
    fields.push_back("nesterov=true");
  }
  if (spec.delay > 1) fields.push_back(absl::StrCat(kDelay, "=", spec.delay));
  if (spec.heloco) fields.push_back(absl::StrCat(kCorrection, "=", kHeloco));
  if (spec.no_decay_of_norms_and_biases) {
    fields.push_back(absl::StrCat(kNoDecay, "=", kNormsAndBiases));
  }
  const absl::string_view name = kKinds[static_cast<size_t>(spec.kind)].name;
  return absl::StrCat(name, fields.empty() ? "" : ":",
                      absl::StrJoin(fields, ","));
}

absl::StatusOr<RoundStrength> ParseRoundStrength(absl::string_view name) {
  if (name == "linear") return RoundStrength::kLinear;
  if (name == "sqrt") return RoundStrength::kSqrt;
  if (name == "constant") return RoundStrength::kConstant;
  if (name == "adascale") return RoundStrength::kAdaScale;
  return absl::InvalidArgumentError(
      absl::StrCat("unknown strength of a round \"", name,
                   "\"; use linear, sqrt, constant or adascale"));
}

}  // namespace paceline
