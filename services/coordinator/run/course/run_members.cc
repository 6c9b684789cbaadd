#include "services/coordinator/run/course/run_members.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

void RunMembers::Add(WorkerId worker, RunMember member) {
  CHECK(members_.emplace(worker, std::move(member)).second);
}

RunMember* RunMembers::Find(WorkerId worker) {
  const auto it = members_.find(worker);
  if (it == members_.end() || it->second.state == State::kGone) return nullptr;
  return &it->second;
}

const RunMember* RunMembers::Find(WorkerId worker) const {
  return const_cast<RunMembers*>(this)->Find(worker);
}

void RunMembers::Heard(WorkerId worker, absl::Time now) {
  if (RunMember* const member = Find(worker)) member->last_heard = now;
}

void RunMembers::Remove(WorkerId worker) {
  RunMember* const member = Find(worker);
  if (member == nullptr) return;
  member->state = State::kGone;
  member->model = {};
}

void RunMembers::Forget(WorkerId worker) {
  const auto it = members_.find(worker);
  if (it == members_.end() || it->second.state != State::kGone) return;
  members_.erase(it);
}

std::string RunMembers::NameOf(WorkerId worker) const {
  const auto it = members_.find(worker);
  if (it == members_.end()) return absl::StrCat("#", ToNumber(worker));
  return it->second.name;
}

uint64_t RunMembers::IncarnationOf(WorkerId worker) const {
  const auto it = members_.find(worker);
  return it == members_.end() ? 0 : it->second.incarnation;
}

std::vector<WorkerId> RunMembers::Present() const {
  std::vector<WorkerId> present;
  for (const auto& [worker, member] : members_) {
    if (member.state != State::kGone) present.push_back(worker);
  }
  return present;
}

size_t RunMembers::trainers() const {
  size_t trainers = 0;
  for (const auto& [worker, member] : members_) {
    if (member.trainer() && member.state != State::kGone) ++trainers;
  }
  return trainers;
}

std::vector<WorkerId> RunMembers::ReadyTrainers() const {
  std::vector<WorkerId> ready;
  for (const auto& [worker, member] : members_) {
    if (member.trainer() && member.state == State::kReady) {
      ready.push_back(worker);
    }
  }
  return ready;
}

}  // namespace paceline
