// How one policy of a running job hands over to the next (design.md 4).

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "services/coordinator/policy/policy_spec.h"
#include "services/coordinator/policy/sync_core.h"

namespace paceline {

void SyncCore::Switch(absl::Time now, std::unique_ptr<SyncPolicy> policy,
                      absl::string_view reason, std::vector<Output>& outputs) {
  CHECK(policy != nullptr);
  if (finished_) return;
  const Step step{now, outputs};
  SwitchTo(step, std::move(policy), reason);
  Settle(step);
}

void SyncCore::SwitchTo(const Step& step, std::unique_ptr<SyncPolicy> policy,
                        absl::string_view reason) {
  step.outputs.push_back(Switched{step.now, policy_->Describe(),
                                  policy->Describe(), std::string(reason),
                                  version_, dealer_.samples_counted()});
  switched_at_ = step.now;
  old_plans_.clear();
  for (const auto& [worker, member] : members_) {
    if (member.phase == Phase::kComputing) old_plans_.insert(worker);
  }
  if (old_plans_.empty()) {
    step.outputs.push_back(SwitchSettled{step.now, absl::ZeroDuration()});
  }
  HandOver(step);
  policy_ = std::move(policy);
  std::vector<AdoptedWorker> adopted;
  for (const auto& [worker, member] : members_) {
    adopted.push_back({worker, member.phase, stragglers_.IsStraggler(worker)});
  }
  actions_.clear();
  policy_->Adopt(At(step), adopted, next_round_, actions_);
  for (const Action& action : actions_) Perform(step, action);
}

bool SyncCore::SwitchIfDue(const Step& step) {
  if (switches_done_ == options_.switches.size()) return false;
  const ScheduledSwitch& next = options_.switches[switches_done_];
  // Also of a job that is sealed: whoever goes on with it begins after that.
  if (dealer_.samples_counted() < next.samples ||
      dealer_.samples_counted() == dealer_.samples_total()) {
    return false;
  }
  ++switches_done_;
  auto policy = MakePolicy(next.paradigm);
  CHECK(policy.ok());
  SwitchTo(step, *std::move(policy),
           absl::StrCat("planned at ", next.samples, " samples"));
  return true;
}

void SyncCore::HandOver(const Step& step) {
  ++reign_;
  first_round_ = next_round_;
  // What is still on its way is drained as it arrives (CountPush).
  const std::vector<RoundId> undrained = rounds_.Undrained();
  if (!undrained.empty()) Close(step, undrained);
  clocks_.SetEqual();
  fresh_.clear();
}

void SyncCore::EndOldPlan(const Step& step, WorkerId worker) {
  if (old_plans_.erase(worker) == 0 || !old_plans_.empty()) return;
  step.outputs.push_back(SwitchSettled{step.now, step.now - switched_at_});
}

}  // namespace paceline
