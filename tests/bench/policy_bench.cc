// Decisions per second of each paradigm with 1,000 workers: one item is one
// push and everything that comes of it. The goal is 200,000 a second on one
// core.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "benchmark/benchmark.h"
#include "common/check.h"
#include "common/rng.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

constexpr uint32_t kWorkers = 1000;

// Keeps the view as the core does, and who computes at present; each push is
// that of one drawn from them, one in four times that of a favourite, so that
// the gates have something to hold.
class Computing {
 public:
  void Perform(std::vector<Action>& actions) {
    for (const Action& action : actions) {
      const auto* const release = std::get_if<Release>(&action);
      if (release == nullptr) continue;
      view_.Release(release->worker);
      view_.Begin(release->worker, release->plan);
      workers_.push_back(release->worker);
    }
    actions.clear();
  }

  // The next push, known to the view.
  PushDone NextPush(absl::Time now) {
    const PushDone push{TakeNext()};
    view_.Tell(push);
    view_.SetProgress(now, 0, 0, 0);
    return push;
  }

  SyncView& view() { return view_; }

 private:
  WorkerId TakeNext() {
    CHECK(!workers_.empty());
    const bool latest = rng_.Chance(1, 4);
    const size_t index =
        latest ? workers_.size() - 1 : rng_.Below(workers_.size());
    std::swap(workers_[index], workers_.back());
    const WorkerId worker = workers_.back();
    workers_.pop_back();
    return worker;
  }

  SyncView view_;
  Rng rng_{1};
  std::vector<WorkerId> workers_;
};

void BM_PushDone(benchmark::State& state, const std::string& spec) {
  auto policy = MakePolicy(spec);
  CHECK(policy.ok());
  absl::Time now = absl::UnixEpoch();
  std::vector<Action> actions;
  Computing computing;
  for (uint32_t i = 0; i < kWorkers; ++i) computing.view().Add(WorkerId{i});
  (*policy)->Adopt(computing.view(), actions);
  computing.Perform(actions);
  for (auto _ : state) {
    now += absl::Microseconds(10);
    const PushDone push = computing.NextPush(now);
    (*policy)->Apply(computing.view(), push, actions);
    computing.Perform(actions);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(BM_PushDone, bsp, std::string("bsp"));
BENCHMARK_CAPTURE(BM_PushDone, asp, std::string("asp"));
BENCHMARK_CAPTURE(BM_PushDone, ssp, std::string("ssp:s=3"));
BENCHMARK_CAPTURE(BM_PushDone, dssp_paper, std::string("dssp"));
BENCHMARK_CAPTURE(BM_PushDone, dssp_bounded,
                  std::string("dssp:mode=bounded,interval=busy"));
// The controller is asked at almost every push beyond the lower bound.
BENCHMARK_CAPTURE(BM_PushDone, dssp_within_lower_0,
                  std::string("dssp:lower=0,upper=12,fastest=within:1000"));

}  // namespace
}  // namespace paceline
