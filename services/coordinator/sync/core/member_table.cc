#include "services/coordinator/sync/core/member_table.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace paceline {

void MemberTable::Join(WorkerId worker, const SampleWishes& wishes) {
  const auto [it, joins] = members_.try_emplace(worker);
  CHECK(joins);
  it->second.wishes = wishes;
}

MemberTable::Member MemberTable::Leave(WorkerId worker) {
  const auto it = members_.find(worker);
  CHECK(it != members_.end());
  const Member member = it->second;
  resumed_ -= member.resumed ? 1 : 0;
  members_.erase(it);
  idle_.erase(worker);
  return member;
}

MemberTable::Member* MemberTable::Find(WorkerId worker) {
  const auto it = members_.find(worker);
  return it == members_.end() ? nullptr : &it->second;
}

absl::StatusOr<MemberTable::Member*> MemberTable::FindComputing(
    WorkerId worker, Iteration iteration) {
  Member* const member = Find(worker);
  if (member == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("worker ", ToNumber(worker),
                     " is no member of the job; it must register anew"));
  }
  if (!member->computing || member->grant.iteration != iteration) {
    return absl::FailedPreconditionError(absl::StrCat(
        "iteration ", iteration, " of worker ", ToNumber(worker),
        " is not open; the last one granted is ", member->grant.iteration));
  }
  return member;
}

absl::StatusOr<MemberTable::Member*> MemberTable::FindReporting(
    WorkerId worker, const PushReport& report) {
  PACELINE_ASSIGN_OR_RETURN(Member* const member,
                            FindComputing(worker, report.iteration));
  if (member->grant.plan.kind == PushPlan::Kind::kAsk && !report.discarded) {
    return absl::FailedPreconditionError(
        absl::StrCat("iteration ", report.iteration, " of worker ",
                     ToNumber(worker), " was pushed without a plan"));
  }
  if (report.samples > member->grant.samples()) {
    return absl::InvalidArgumentError(
        absl::StrCat("worker ", ToNumber(worker), " reports ", report.samples,
                     " samples of a range of ", member->grant.samples()));
  }
  return member;
}

std::vector<WorkerId> MemberTable::Resume(SampleDealer& dealer) {
  return dealer.assignment() == DataAssignment::kStatic
             ? ResumeParts(dealer)
             : ResumeFor(dealer.RangesLeft());
}

std::vector<WorkerId> MemberTable::ResumeFor(int64_t ranges) {
  std::vector<WorkerId> resumed;
  while (resumed_ < ranges && !idle_.empty()) {
    resumed.push_back(*idle_.begin());
    EndIdleness(resumed.back());
  }
  return resumed;
}

std::vector<WorkerId> MemberTable::ResumeParts(SampleDealer& dealer) {
  std::vector<WorkerId> resumed;
  if (!dealer.TakeNews()) return resumed;
  for (const WorkerId worker : idle_) {
    if (dealer.HasFor(worker)) resumed.push_back(worker);
  }
  for (const WorkerId worker : resumed) EndIdleness(worker);
  return resumed;
}

void MemberTable::EndIdleness(WorkerId worker) {
  idle_.erase(worker);
  members_.at(worker).resumed = true;
  ++resumed_;
}

void MemberTable::Released(Member& member) {
  resumed_ -= std::exchange(member.resumed, false) ? 1 : 0;
}

std::vector<WorkerId> MemberTable::Ids() const {
  std::vector<WorkerId> ids;
  ids.reserve(members_.size());
  for (const auto& [worker, member] : members_) ids.push_back(worker);
  return ids;
}

absl::btree_set<WorkerId> MemberTable::Computing() const {
  absl::btree_set<WorkerId> computing;
  for (const auto& [worker, member] : members_) {
    if (member.computing) computing.insert(worker);
  }
  return computing;
}

std::optional<int64_t> MemberTable::SamplesOfTerm(int64_t term) const {
  int64_t samples = 0;
  for (const auto& [worker, member] : members_) {
    if (!member.computing) continue;
    if (member.term != term) return std::nullopt;
    samples += member.grant.samples();
  }
  return samples;
}

}  // namespace paceline
