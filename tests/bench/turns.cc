#include "tests/bench/turns.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/clock.h"

namespace paceline {

Turns::Used Turns::Now() {
  rusage used = {};
  CHECK(getrusage(RUSAGE_SELF, &used) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec;
  };
  return {
      .seconds = absl::ToDoubleSeconds(Clock::Real().Now() - absl::UnixEpoch()),
      .cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime),
      .faults = static_cast<double>(used.ru_minflt + used.ru_majflt),
      .switches = static_cast<double>(used.ru_nvcsw + used.ru_nivcsw)};
}

void Turns::Measure(absl::FunctionRef<void()> work) {
  const Used before = Now();
  work();
  const Used after = Now();
  turns_.push_back(
      {after.seconds - before.seconds, after.cpu_seconds - before.cpu_seconds,
       after.faults - before.faults, after.switches - before.switches});
}

double Turns::Mean(double Used::*what) const {
  double sum = 0;
  for (const Used& turn : turns_) sum += turn.*what;
  return sum / static_cast<double>(turns_.size());
}

void Turns::Report(absl::string_view name, double bytes,
                   benchmark::State& state) const {
  std::vector<double> seconds;
  for (const Used& turn : turns_) seconds.push_back(turn.seconds);
  const double gigabytes = bytes / 1e9;
  const auto report = [&](absl::string_view what, double value) {
    state.counters[absl::StrCat(name, what)] = value;
  };
  report("_GBps", gigabytes / Median(std::move(seconds)));
  // A clock of whole ticks, and counts of few: means.
  report("_cpu_s_per_GB", Mean(&Used::cpu_seconds) / gigabytes);
  report("_faults_per_GB", Mean(&Used::faults) / gigabytes);
  report("_switches_per_GB", Mean(&Used::switches) / gigabytes);
}

std::vector<double> Turns::SpeedBeside(const Turns& other) const {
  CHECK(turns_.size() == other.turns_.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < turns_.size(); ++i) {
    ratios.push_back(other.turns_[i].seconds / turns_[i].seconds);
  }
  return ratios;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

void ReportRatio(const std::string& name, std::vector<double> ratios,
                 benchmark::State& state) {
  std::sort(ratios.begin(), ratios.end());
  const size_t tenth = ratios.size() / 10;
  state.counters[name] = ratios[ratios.size() / 2];
  state.counters[name + "_low"] = ratios[tenth];
  state.counters[name + "_high"] = ratios[ratios.size() - 1 - tenth];
}

}  // namespace paceline
