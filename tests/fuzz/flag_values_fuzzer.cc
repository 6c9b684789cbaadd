// The values of flags that have a form of their own: times, sizes, imitated
// slowness, jitter, planned changes.

#include <cmath>

#include "services/cli/flag_values.h"
#include "services/cli/job_flags.h"
#include "services/cli/simulated_workers.h"
#include "services/simulator/jitter.h"
#include "services/worker/pace/pace_spec.h"
#include "tests/fuzz/fuzz_target.h"

namespace paceline {
namespace {

constexpr int64_t kYear = int64_t{365} * 86'400 * 1'000'000'000;

void FuzzPlainValues(absl::string_view text) {
  const auto nanos = ParseNanosList("--flag", text, 0, kYear);
  ExpectInvalidArgument(nanos.status());
  if (nanos.ok()) {
    for (const int64_t value : *nanos) CHECK(value >= 0 && value <= kYear);
  }
  const auto bytes = ParseBytes("--flag", text);
  ExpectInvalidArgument(bytes.status());
  if (bytes.ok()) CHECK(*bytes >= 0 && *bytes <= 1e18);
  ExpectInvalidArgument(ParseSeedFlag(text).status());
}

void FuzzPace(absl::string_view text) {
  const auto delay = ParseDelay(text);
  ExpectInvalidArgument(delay.status());
  if (delay.ok()) {
    Rng rng(1);
    for (int i = 0; i < 4; ++i) {
      CHECK(SampleDelay(*delay, rng) >= absl::ZeroDuration());
    }
  }
  const auto pause = ParsePause(text);
  ExpectInvalidArgument(pause.status());
  if (pause.ok()) {
    CHECK(pause->length > absl::ZeroDuration());
    CHECK(pause->length < pause->every);
  }
  const auto slowdown = ParseSlowdown(text);
  ExpectInvalidArgument(slowdown.status());
  if (slowdown.ok()) CHECK(*slowdown > 0 && *slowdown <= 1000);
  ExpectInvalidArgument(ParsePace({.step_time = text}).status());
}

void FuzzSimulation(absl::string_view text) {
  const auto jitter = ParseJitter(text);
  ExpectInvalidArgument(jitter.status());
  if (jitter.ok()) {
    CHECK(std::isfinite(jitter->spread) && jitter->spread >= 0);
    if (jitter->bursts.has_value()) {
      CHECK(jitter->bursts->length > 0);
      CHECK(jitter->bursts->length < jitter->bursts->every);
    }
  }
  SimulateFlags flags;
  flags.join = std::string(text);
  flags.leave = flags.join;
  std::vector<WorkerSpec> workers(2);
  workers[0].name = "w0";
  workers[1].name = "w1";
  ExpectInvalidArgument(ParseMembershipChanges(flags, workers).status());
  flags.leave = "";
  ExpectInvalidArgument(ParseMembershipChanges(flags, workers).status());
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  return {"20ms,600s,2.5",
          "1.25G",
          "18446744073709551615",
          "constant:5ms",
          "uniform:min=1ms,max=9ms",
          "normal:mean=5ms,sd=2ms",
          "exponential:mean=10ms",
          "lognormal:mean=10ms,sd=5ms",
          "every=10s,for=2s,first=3s",
          "4",
          "normal:sd=0.1+bursts:every=60s,for=5s,factor=4,first=10s",
          "lognormal:sigma=0.3",
          "1@60s,w0@2m",
          "30%=ssp:s=3"};
}

void FuzzOne(absl::string_view input) {
  FuzzPlainValues(input);
  FuzzPace(input);
  FuzzSimulation(input);
  const auto switches = ParseSwitches({std::string(input), "10%=asp"});
  ExpectInvalidArgument(switches.status());
  if (!switches.ok()) return;
  for (const SwitchAt& at : *switches) CHECK(at.share >= 0 && at.share < 1);
}

}  // namespace paceline
