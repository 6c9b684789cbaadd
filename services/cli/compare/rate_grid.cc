#include "services/cli/compare/rate_grid.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

absl::Status CheckRates(const std::vector<double>& rates) {
  std::set<double> seen;
  for (const double rate : rates) {
    // Written so that it also refuses what is no number.
    if (!(rate > 0 && rate <= kRateMax)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--rates ", rate, ": a rate must be above 0 and at most ", kRateMax));
    }
    if (!seen.insert(rate).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--rates ", rate, ": is there twice"));
    }
  }
  return absl::OkStatus();
}

std::string MomentumOf(const OptimizerSpec& optimizer) {
  if (optimizer.kind != OptimizerSpec::Kind::kSgd) return "";
  return optimizer.momentum_by_staleness ? "auto"
                                         : absl::StrCat(optimizer.momentum);
}

absl::StatusOr<OptimizerSpec> WithMomentum(OptimizerSpec optimizer,
                                           const std::string& momentum) {
  const std::string flag = absl::StrCat("--momenta ", momentum);
  PACELINE_ASSIGN_OR_RETURN(
      const OptimizerSpec parsed,
      Annotate(ParseOptimizerSpec(absl::StrCat("sgd:momentum=", momentum)),
               flag));
  optimizer.momentum = parsed.momentum;
  optimizer.momentum_by_staleness = parsed.momentum_by_staleness;
  PACELINE_RETURN_IF_ERROR(Annotate(ValidateOptimizerSpec(optimizer), flag));
  return optimizer;
}

// The optimizer with each of the momenta; the rates are 0.
absl::StatusOr<std::vector<GridPoint>> WithMomenta(
    const std::vector<std::string>& momenta, const OptimizerSpec& optimizer) {
  if (momenta.empty()) {
    return std::vector<GridPoint>{
        {.momentum = MomentumOf(optimizer), .optimizer = optimizer}};
  }
  if (optimizer.kind != OptimizerSpec::Kind::kSgd) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--momenta needs an --optimizer sgd: ", FormatOptimizerSpec(optimizer),
        " has no momentum"));
  }
  std::vector<GridPoint> points;
  std::set<std::string> seen;
  for (const std::string& momentum : momenta) {
    PACELINE_ASSIGN_OR_RETURN(const OptimizerSpec with,
                              WithMomentum(optimizer, momentum));
    points.push_back({.momentum = MomentumOf(with), .optimizer = with});
    if (!seen.insert(points.back().momentum).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--momenta ", momentum, ": is there twice"));
    }
  }
  return points;
}

}  // namespace

absl::StatusOr<std::vector<GridPoint>> PlanGrid(
    const std::vector<double>& rates, const std::vector<std::string>& momenta,
    const OptimizerSpec& optimizer) {
  PACELINE_RETURN_IF_ERROR(CheckRates(rates));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<GridPoint> with_momenta,
                            WithMomenta(momenta, optimizer));
  std::vector<GridPoint> grid;
  for (const double rate : rates) {
    for (GridPoint point : with_momenta) {
      point.learning_rate = rate;
      grid.push_back(std::move(point));
    }
  }
  return grid;
}

}  // namespace paceline
