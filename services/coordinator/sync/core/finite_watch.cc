#include "services/coordinator/sync/core/finite_watch.h"

#include <algorithm>

#include "absl/container/btree_set.h"
#include "common/check.h"

namespace paceline {

void FiniteWatch::Join(WorkerId worker) {
  CHECK(members_.try_emplace(worker).second);
}

void FiniteWatch::Leave(WorkerId worker) { CHECK(members_.erase(worker) == 1); }

FiniteWatch::Verdict FiniteWatch::Pushed(absl::Time now, absl::Time granted,
                                         WorkerId worker, bool finite) {
  Member& member = members_.at(worker);
  latest_.push_back({worker, finite});
  in_window_ += finite ? 0 : 1;
  if (latest_.size() > kWindow) {
    in_window_ -= latest_.front().finite ? 0 : 1;
    latest_.pop_front();
  }
  if (finite) {
    member.in_a_row = in_a_row_ = 0;
    several_in_row_ = false;
    finite_granted_ = std::max(finite_granted_, granted);
    return Verdict::kNone;
  }
  if (member.in_a_row++ == 0) member.since = now;
  if (in_a_row_++ == 0) first_in_row_ = worker;
  several_in_row_ |= worker != first_in_row_;
  if (member.in_a_row >= kInARow && finite_granted_ >= member.since) {
    return Verdict::kWorker;
  }
  const size_t members = members_.size();
  const size_t enough =
      std::max<size_t>(kJobInARow, static_cast<size_t>(kInARow) * members);
  const bool in_a_row = static_cast<size_t>(in_a_row_) >= enough &&
                        (several_in_row_ || members == 1);
  if (in_a_row) return Verdict::kJob;
  if (in_window_ < kMost) return Verdict::kNone;
  const size_t workers = WorkersInWindow();
  const bool most =
      2 * workers >= members && workers >= std::min<size_t>(2, members);
  return most ? Verdict::kJob : Verdict::kNone;
}

size_t FiniteWatch::WorkersInWindow() const {
  absl::btree_set<WorkerId> workers;
  for (const Push& push : latest_) {
    if (!push.finite && members_.contains(push.worker)) {
      workers.insert(push.worker);
    }
  }
  return workers.size();
}

}  // namespace paceline
