#include "services/parameter_server/optimizer_spec.h"

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
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
    {"momentum", &OptimizerSpec::momentum, true, false, 0, 1, false},
    {"weight_decay", &OptimizerSpec::weight_decay, true, true, 0, 1, true},
    {"beta1", &OptimizerSpec::beta1, false, true, 0, 1, false},
    {"beta2", &OptimizerSpec::beta2, false, true, 0, 1, false},
    {"epsilon", &OptimizerSpec::epsilon, false, true, 1e-30, 1, true},
}};

bool Has(Kind kind, const Number& number) {
  return kind == Kind::kSgd ? number.of_sgd : number.of_adam;
}

std::string AllowedKeys(Kind kind) {
  std::vector<absl::string_view> keys;
  for (const Number& number : kNumbers) {
    if (Has(kind, number)) keys.push_back(number.key);
  }
  if (kind == Kind::kSgd) keys.push_back("nesterov");
  return absl::StrJoin(keys, ", ");
}

absl::StatusOr<Kind> ParseKind(absl::string_view name) {
  for (const KindName& known : kKinds) {
    if (known.name == name) return known.kind;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown optimizer \"", name, "\"; use sgd, adam or adamw"));
}

absl::Status SetField(absl::string_view key, absl::string_view value,
                      OptimizerSpec& spec) {
  if (key == "nesterov" && spec.kind == Kind::kSgd) {
    if (value == "true" || value == "false") {
      spec.nesterov = value == "true";
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "optimizer: nesterov must be true or false, not \"", value, "\""));
  }
  for (const Number& number : kNumbers) {
    if (number.key != key || !Has(spec.kind, number)) continue;
    if (!absl::SimpleAtod(value, &(spec.*number.field))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "optimizer: ", key, " must be a number, not \"", value, "\""));
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("optimizer: unknown parameter \"", key, "\"; use ",
                   AllowedKeys(spec.kind)));
}

// The shortest text that reads back as the same number.
std::string Exactly(double value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value);
  return std::string(text, end.ptr);
}

}  // namespace

std::vector<std::string> OptimizerSlotNames(const OptimizerSpec& spec) {
  if (spec.kind != Kind::kSgd) return {"m", "v"};
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
  if (spec.kind == Kind::kSgd && spec.nesterov && spec.momentum == 0) {
    return absl::InvalidArgumentError(
        "optimizer: nesterov needs a momentum above 0");
  }
  return absl::OkStatus();
}

absl::StatusOr<OptimizerSpec> ParseOptimizerSpec(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  OptimizerSpec spec;
  PACELINE_ASSIGN_OR_RETURN(spec.kind, ParseKind(parts.first));
  std::vector<absl::string_view> seen;
  for (absl::string_view field :
       absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(field, absl::MaxSplits('=', 1));
    for (absl::string_view key : seen) {
      if (key != pair.first) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("optimizer: ", key, " is given twice"));
    }
    seen.push_back(pair.first);
    PACELINE_RETURN_IF_ERROR(SetField(pair.first, pair.second, spec));
  }
  PACELINE_RETURN_IF_ERROR(ValidateOptimizerSpec(spec));
  return spec;
}

std::string FormatOptimizerSpec(const OptimizerSpec& spec) {
  const OptimizerSpec defaults;
  std::vector<std::string> fields;
  for (const Number& number : kNumbers) {
    const double value = spec.*number.field;
    if (!Has(spec.kind, number) || value == defaults.*number.field) continue;
    fields.push_back(absl::StrCat(number.key, "=", Exactly(value)));
  }
  if (spec.kind == Kind::kSgd && spec.nesterov) {
    fields.push_back("nesterov=true");
  }
  const absl::string_view name = kKinds[static_cast<size_t>(spec.kind)].name;
  return absl::StrCat(name, fields.empty() ? "" : ":",
                      absl::StrJoin(fields, ","));
}

}  // namespace paceline
