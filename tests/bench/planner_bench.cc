// What it takes to look at a job and say which paradigm suits its workers: the
// first look of an AutoPilot, which plays all of them. A quarter of the workers
// is four times slower. The planner rests for twenty times as long.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "services/coordinator/planner/auto_pilot.h"

namespace paceline {
namespace {

AutoPilot::Seen Seen(int64_t workers) {
  AutoPilot::Seen seen;
  seen.present = *ParseParadigm("bsp");
  for (int64_t i = 0; i < workers; ++i) {
    const double seconds = i % 4 == 3 ? 0.4 : 0.1;
    MeasuredWorker worker{.name = absl::StrCat("w", i),
                          .wishes = {.extends = true}};
    for (size_t k = 0; k < PaceHistory::kKept; ++k) {
      worker.iterations.push_back(
          {.compute = absl::Seconds(seconds), .samples = seen.job.batch_size});
    }
    seen.workers.push_back(worker);
  }
  return seen;
}

void BM_FirstLook(benchmark::State& state) {
  const AutoPilot::Seen seen = Seen(state.range(0));
  for (auto _ : state) {
    AutoPilot pilot;
    benchmark::DoNotOptimize(pilot.LookAt(seen, /*acts=*/true));
  }
}

BENCHMARK(BM_FirstLook)
    ->Arg(4)
    ->Arg(16)
    ->Arg(100)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace paceline
