// Pushes per second of the whole sync core, dealing, versions, leases and
// policy included, with 1,000 workers on one core.

#include <benchmark/benchmark.h>

#include <vector>

#include "common/check.h"
#include "services/coordinator/sync/core/sync_core.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

constexpr uint32_t kWorkers = 1000;

SyncOptions Endless() {
  SyncOptions options;
  options.train_samples = 1 << 30;
  options.epochs = 1 << 10;
  options.lease = absl::Hours(1000);
  return options;
}

void BM_SyncCorePushes(benchmark::State& state, const char* spec) {
  auto policy = MakePolicy(spec);
  CHECK(policy.ok());
  SyncCore core(Endless(), *std::move(policy));
  std::vector<NewMember> workers;
  for (uint32_t i = 1; i <= kWorkers; ++i) workers.push_back({WorkerId{i}});
  std::vector<Output> outputs;
  absl::Time now = absl::UnixEpoch();
  core.Start(now, workers, outputs);
  std::vector<Grant> open, next;
  const auto collect = [&] {
    for (const Output& output : outputs) {
      if (const auto* grant = std::get_if<Grant>(&output)) {
        next.push_back(*grant);
      }
    }
    outputs.clear();
  };
  collect();
  for (auto _ : state) {
    if (open.empty()) std::swap(open, next);
    const Grant grant = open.back();
    open.pop_back();
    now += absl::Microseconds(10);
    CHECK(core.PushDone(now, grant.worker,
                        {grant.iteration, grant.range.size(), 10, 0, false},
                        outputs)
              .ok());
    collect();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(BM_SyncCorePushes, bsp, "bsp");
BENCHMARK_CAPTURE(BM_SyncCorePushes, asp, "asp");
BENCHMARK_CAPTURE(BM_SyncCorePushes, ssp, "ssp:s=3");
BENCHMARK_CAPTURE(BM_SyncCorePushes, dssp, "dssp:lower=3,upper=15");

}  // namespace
}  // namespace paceline
