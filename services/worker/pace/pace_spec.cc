#include "services/worker/pace/pace_spec.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/job/duration.h"
#include "common/job/spec_reader.h"
#include "common/status.h"

namespace paceline {
namespace {

absl::StatusOr<PauseSpec> ReadPause(absl::string_view text) {
  PACELINE_ASSIGN_OR_RETURN(
      const SpecParameters parameters,
      SpecParameters::ParseList("pause", text, {"every", "for", "first"}));
  PauseSpec pause;
  PACELINE_ASSIGN_OR_RETURN(pause.every,
                            parameters.Duration("every", kPaceMax));
  PACELINE_ASSIGN_OR_RETURN(pause.length, parameters.Duration("for", kPaceMax));
  pause.first = pause.every;
  if (parameters.Has("first")) {
    PACELINE_ASSIGN_OR_RETURN(pause.first,
                              parameters.Duration("first", kPaceMax));
  }
  if (pause.length > absl::ZeroDuration() && pause.length < pause.every) {
    return pause;
  }
  return absl::InvalidArgumentError("for must be above 0 and below every");
}

absl::StatusOr<double> ParseMicroBatchCost(absl::string_view text) {
  double cost = 0;
  if (!absl::SimpleAtod(text, &cost) || !(cost >= 0 && cost <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "micro-batch cost \"", text, "\": want a share from 0 to 1"));
  }
  return cost;
}

}  // namespace

absl::StatusOr<PauseSpec> ParsePause(absl::string_view text) {
  return Annotate(ReadPause(text),
                  absl::StrCat("pause \"", text, "\", want every=10s,for=2s"));
}

absl::StatusOr<double> ParseSlowdown(absl::string_view text) {
  double slowdown = 0;
  // Written so that NaN fails as well.
  if (!absl::SimpleAtod(text, &slowdown) ||
      !(slowdown > 0 && slowdown <= 1000)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slowdown \"", text, "\": want a number above 0, at most 1000"));
  }
  return slowdown;
}

absl::StatusOr<PaceSpec> ParsePace(const PaceFlags& flags) {
  PaceSpec spec;
  if (!flags.slowdown.empty()) {
    PACELINE_ASSIGN_OR_RETURN(spec.slowdown, ParseSlowdown(flags.slowdown));
  }
  if (!flags.step_time.empty()) {
    PACELINE_ASSIGN_OR_RETURN(spec.step_time,
                              ParseDuration("step time", flags.step_time,
                                            absl::ZeroDuration(), kPaceMax));
    if (*spec.step_time == absl::ZeroDuration()) {
      return absl::InvalidArgumentError("step time: must be above 0");
    }
  }
  if (!flags.delay.empty()) {
    PACELINE_ASSIGN_OR_RETURN(spec.delay, ParseDelay(flags.delay));
  }
  if (!flags.pause.empty()) {
    PACELINE_ASSIGN_OR_RETURN(spec.pause, ParsePause(flags.pause));
  }
  if (!flags.micro_batch_cost.empty()) {
    PACELINE_ASSIGN_OR_RETURN(spec.micro_batch_cost,
                              ParseMicroBatchCost(flags.micro_batch_cost));
  }
  if (spec.micro_batch_cost > 0 && !spec.step_time.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("micro-batch cost ", flags.micro_batch_cost,
                     ": is a share of the step time; give one, or 0"));
  }
  if (spec.slowdown < 1 && !spec.step_time.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slowdown ", flags.slowdown,
        ": below 1 only with a step time; faster cannot be imitated"));
  }
  return spec;
}

}  // namespace paceline
