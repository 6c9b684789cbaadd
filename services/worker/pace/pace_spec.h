#ifndef PACELINE_SERVICES_WORKER_PACE_PACE_SPEC_H_
#define PACELINE_SERVICES_WORKER_PACE_PACE_SPEC_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/worker/pace/distribution.h"

namespace paceline {

// The device stands still for `length` in every `every`; the first time
// `first` after the first iteration's start.
struct PauseSpec {
  absl::Duration every = absl::ZeroDuration();
  absl::Duration length = absl::ZeroDuration();  // Below `every`.
  absl::Duration first = absl::ZeroDuration();
};

// How one worker imitates a slower device.
struct PaceSpec {
  double slowdown = 1;                      // Multiplies the device's time.
  std::optional<absl::Duration> step_time;  // Of a batch of configured size.
  std::optional<DelaySpec> delay;           // Added to every iteration.
  std::optional<PauseSpec> pause;
  // What each micro-batch of an iteration after its first takes besides its
  // samples' time, as a share of the step time.
  double micro_batch_cost = 0;
};

// The flags as one worker gets them; empty means not given.
struct PaceFlags {
  absl::string_view slowdown = "";          // "4"
  absl::string_view step_time = "";         // "20ms"
  absl::string_view delay = "";             // See ParseDelay.
  absl::string_view pause = "";             // See ParsePause.
  absl::string_view micro_batch_cost = "";  // "0.02"
};

// Reads "every=10s,for=2s", optionally with "first=3s" (default: `every`).
// INVALID_ARGUMENT unless 0 < for < every.
absl::StatusOr<PauseSpec> ParsePause(absl::string_view text);

// Reads a number above 0, at most 1000.
absl::StatusOr<double> ParseSlowdown(absl::string_view text);

// INVALID_ARGUMENT if a flag is malformed, if the slowdown is below 1 without a
// step time (a device faster than this one cannot be imitated), or if
// micro-batches are to cost a share of a step time that is not given.
absl::StatusOr<PaceSpec> ParsePace(const PaceFlags& flags);

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PACE_PACE_SPEC_H_
