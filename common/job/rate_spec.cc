#include "common/job/rate_spec.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/job/spec_reader.h"
#include "common/status.h"

namespace paceline {
namespace {

// `text` as a share of all samples in [`least`, 1).
absl::StatusOr<double> ParseShare(absl::string_view what,
                                  absl::string_view text, double least) {
  double share = 0;
  if (absl::SimpleAtod(text, &share) && share >= least && share < 1) {
    return share;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, "=", text, " is no share of all samples, ",
                   least > 0 ? "above 0 and below 1" : "from 0 to below 1"));
}

absl::StatusOr<std::vector<double>> ParseAt(absl::string_view text) {
  // The smallest share above 0.
  constexpr double kLeast = std::numeric_limits<double>::min();
  std::vector<double> at;
  for (const absl::string_view share : absl::StrSplit(text, '|')) {
    PACELINE_ASSIGN_OR_RETURN(const double value,
                              ParseShare("at", share, kLeast));
    if (!at.empty() && value <= at.back()) {
      return absl::InvalidArgumentError(
          absl::StrCat("at=", text, " does not ascend, as at=0.5|0.75 does"));
    }
    at.push_back(value);
  }
  return at;
}

absl::StatusOr<double> ParseFactor(absl::string_view text) {
  double factor = 0;
  if (absl::SimpleAtod(text, &factor) && factor > 0 && factor <= 1) {
    return factor;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("factor=", text, " is no number above 0 and up to 1"));
}

absl::StatusOr<RateSpec> ReadRateSpec(absl::string_view text) {
  const absl::string_view name = SpecName(text);
  const bool steps = name == "step";
  if (!steps && name != "constant") {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown schedule \"", name, "\"; there are constant, step"));
  }
  const std::vector<absl::string_view> known =
      steps ? std::vector<absl::string_view>{"at", "factor", "warmup", "count"}
            : std::vector<absl::string_view>{"warmup", "count"};
  PACELINE_ASSIGN_OR_RETURN(const SpecParameters parameters,
                            SpecParameters::Parse(text, known));
  RateSpec spec;
  PACELINE_ASSIGN_OR_RETURN(
      spec.warmup, ParseShare("warmup", parameters.Text("warmup", "0"), 0));
  PACELINE_ASSIGN_OR_RETURN(const size_t counted,
                            parameters.Choice("count", {"samples", "updates"}));
  spec.counts_updates = counted == 1;
  if (!steps) return spec;
  const absl::string_view at = parameters.Text("at", "");
  if (at.empty()) {
    return absl::InvalidArgumentError("step needs at, as in step:at=0.5|0.75");
  }
  PACELINE_ASSIGN_OR_RETURN(spec.at, ParseAt(at));
  PACELINE_ASSIGN_OR_RETURN(spec.factor,
                            ParseFactor(parameters.Text("factor", "0.1")));
  return spec;
}

}  // namespace

absl::StatusOr<RateSpec> ParseRateSpec(absl::string_view text) {
  return Annotate(ReadRateSpec(text), absl::StrCat("schedule \"", text, "\""));
}

}  // namespace paceline
