#ifndef PACELINE_TESTS_BENCH_TURNS_H_
#define PACELINE_TESTS_BENCH_TURNS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "benchmark/benchmark.h"

namespace paceline {

// What one thing took, turn by turn, where several are measured by turns, so
// that all of them see the same moments of the machine. CPU time, page faults
// and switches are those of the whole process.
class Turns {
 public:
  void Measure(absl::FunctionRef<void()> work);

  // Adds the counters NAME_GBps, by the median turn, and for each GB, by the
  // mean, NAME_cpu_s_per_GB, NAME_faults_per_GB and NAME_switches_per_GB.
  void Report(absl::string_view name, double bytes,
              benchmark::State& state) const;

  // What a counter says that compares the two: of each turn the other's time
  // divided by this one's. REQUIRES: they have as many turns.
  std::vector<double> SpeedBeside(const Turns& other) const;

 private:
  struct Used {
    double seconds = 0;
    double cpu_seconds = 0;
    double faults = 0;
    double switches = 0;
  };
  static Used Now();
  double Mean(double Used::*what) const;

  std::vector<Used> turns_;
};

double Median(std::vector<double> values);

// The counters NAME, the median, and NAME_low and NAME_high, between which four
// of five lie.
void ReportRatio(const std::string& name, std::vector<double> ratios,
                 benchmark::State& state);

}  // namespace paceline

#endif  // PACELINE_TESTS_BENCH_TURNS_H_
