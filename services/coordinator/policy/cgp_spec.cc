#include "services/coordinator/policy/cgp_spec.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"
#include "services/coordinator/policy/cgp.h"

namespace paceline {
namespace {

// More rounds or updates than any job has.
constexpr int64_t kMaxCount = 1'000'000'000;
// A window of ten periods is one for all groups; ten times the mean, or more,
// no member is late by chance.
constexpr double kMaxDelta = 10;
constexpr double kMaxPatience = 1'000;
constexpr double kMaxDrift = 1'000;
// Below, the first measurement would be the last.
constexpr double kMinAlpha = 0.001;

// Rounded to millionths, which Describe() writes out.
absl::StatusOr<double> Decimal(const SpecParameters& parameters,
                               absl::string_view key, double fallback,
                               double min, double max) {
  PACELINE_ASSIGN_OR_RETURN(const double value,
                            parameters.Decimal(key, fallback, min, max));
  return std::round(value * 1e6) / 1e6;
}

absl::Status ReadPatience(const SpecParameters& parameters,
                          CgpOptions& options) {
  if (parameters.Text("patience", "") == "inf") {
    options.patience.reset();
    return absl::OkStatus();
  }
  const absl::StatusOr<double> patience =
      Decimal(parameters, "patience", *options.patience, 1, kMaxPatience);
  if (!patience.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(patience.status().message(), ", or inf"));
  }
  options.patience = *patience;
  return absl::OkStatus();
}

absl::Status ReadBound(const SpecParameters& parameters, CgpOptions& options) {
  const absl::string_view text = parameters.Text("s_max", "none");
  if (text == "none") return absl::OkStatus();
  const absl::StatusOr<int64_t> bound = ParseNumber("s_max", text, kMaxCount);
  if (!bound.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(bound.status().message(), ", or none"));
  }
  options.s_max = *bound;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SyncPolicy>> MakeCgp(
    const SpecParameters& parameters) {
  CgpOptions options;
  PACELINE_ASSIGN_OR_RETURN(options.beta,
                            Decimal(parameters, "beta", options.beta, 0, 1));
  PACELINE_ASSIGN_OR_RETURN(
      options.delta, Decimal(parameters, "delta", options.delta, 0, kMaxDelta));
  PACELINE_ASSIGN_OR_RETURN(const size_t predictive,
                            parameters.Choice("predictive", {"true", "false"}));
  options.predictive = predictive == 0;
  PACELINE_RETURN_IF_ERROR(ReadPatience(parameters, options));
  PACELINE_ASSIGN_OR_RETURN(
      options.warmup_rounds,
      parameters.Positive("warmup_rounds", options.warmup_rounds, kMaxCount));
  PACELINE_ASSIGN_OR_RETURN(
      options.alpha, Decimal(parameters, "alpha", options.alpha, kMinAlpha, 1));
  PACELINE_ASSIGN_OR_RETURN(
      options.regroup_every,
      parameters.Positive("regroup_every", options.regroup_every, kMaxCount));
  PACELINE_ASSIGN_OR_RETURN(
      options.drift, Decimal(parameters, "drift", options.drift, 0, kMaxDrift));
  PACELINE_ASSIGN_OR_RETURN(
      const size_t weight,
      parameters.Choice("stale_weight", {"none", "inverse"}));
  options.inverse_weight = weight == 1;
  PACELINE_RETURN_IF_ERROR(ReadBound(parameters, options));
  return std::make_unique<Cgp>(options);
}

}  // namespace paceline
