#include "services/parameter_server/pulls.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {

Pulls::Pulls(const ShardLimits& limits,
             std::shared_ptr<ByteBudget> snapshot_bytes, ReadBlocks read,
             IsFenced is_fenced)
    : max_parked_(limits.max_parked_pulls),
      read_(std::move(read)),
      is_fenced_(std::move(is_fenced)),
      snapshots_(limits.max_snapshots, std::move(snapshot_bytes)) {}

void Pulls::Pull(const Puller& puller, int64_t closing, PullCallback callback,
                 EarlyBlock early) {
  PullAnswers answers;
  int64_t applied = 0;
  PullCallback served;  // Stays empty if the pull is parked or refused.
  {
    absl::MutexLock lock(&mu_);
    const absl::Status refusal = Refusal(puller);
    if (!refusal.ok()) {
      answers.Add(std::move(callback), refusal);
    } else if (initialized_ && closing_ >= closing) {
      applied = closing_;
      served = std::move(callback);
    } else {
      Park({puller, false, closing, 0, std::move(callback),
            early == nullptr
                ? nullptr
                : std::make_shared<const EarlyBlock>(std::move(early))},
           answers);
    }
  }
  if (served) served(PulledBlocks{applied, read_()});
  std::move(answers).Send();
}

std::vector<std::shared_ptr<const EarlyBlock>> Pulls::WaitingFor(
    int64_t closing) const {
  std::vector<std::shared_ptr<const EarlyBlock>> waiting;
  absl::MutexLock lock(&mu_);
  if (!initialized_) return waiting;
  for (const Parked& parked : parked_) {
    if (parked.early == nullptr || parked.of_snapshot) continue;
    if (parked.closing <= closing) waiting.push_back(parked.early);
  }
  return waiting;
}

void Pulls::PullSnapshot(const Puller& puller, uint64_t snapshot,
                         PullCallback callback) {
  PullAnswers answers;
  {
    absl::MutexLock lock(&mu_);
    const absl::Status refusal = Refusal(puller);
    const PulledBlocks* found = snapshots_.Find(snapshot);
    if (!refusal.ok()) {
      answers.Add(std::move(callback), refusal);
    } else if (found != nullptr) {
      answers.Add(std::move(callback), *found);
    } else if (snapshot <= newest_snapshot_) {
      answers.Add(std::move(callback),
                  absl::NotFoundError(absl::StrCat(
                      "snapshot ", snapshot,
                      " is not held: it was refused, or released before")));
    } else {
      Park({puller, true, 0, snapshot, std::move(callback)}, answers);
    }
  }
  std::move(answers).Send();
}

absl::Status Pulls::Refusal(const Puller& puller) const {
  if (!status_.ok()) return status_;
  if (!is_fenced_(puller.incarnation)) return absl::OkStatus();
  return absl::AbortedError(
      "this incarnation was declared dead; register as a new one");
}

void Pulls::Park(Parked parked, PullAnswers& answers) {
  if (parked_.size() < max_parked_) {
    parked_.push_back(std::move(parked));
    return;
  }
  answers.Add(
      std::move(parked.callback),
      absl::ResourceExhaustedError(absl::StrCat(max_parked_,
                                                " pulls are waiting, the most "
                                                "allowed; ask again later")));
}

PullAnswers Pulls::SetInitialized() {
  {
    absl::MutexLock lock(&mu_);
    initialized_ = true;
  }
  return ServeDue();
}

PullAnswers Pulls::Advance(int64_t closing) {
  {
    absl::MutexLock lock(&mu_);
    closing_ = std::max(closing_, closing);
  }
  return ServeDue();
}

PullAnswers Pulls::ServeDue() {
  std::vector<Parked> due;
  int64_t applied;
  {
    absl::MutexLock lock(&mu_);
    applied = closing_;
    const bool initialized = initialized_;
    due = TakeOut([applied, initialized](const Parked& parked) {
      return initialized && !parked.of_snapshot && parked.closing <= applied;
    });
  }
  PullAnswers answers;
  if (due.empty()) return answers;
  const PulledBlocks blocks{applied, read_()};
  for (Parked& pull : due) answers.Add(std::move(pull.callback), blocks);
  return answers;
}

absl::Status Pulls::AddSnapshot(uint64_t snapshot, PulledBlocks blocks,
                                PullAnswers& answers) {
  absl::MutexLock lock(&mu_);
  newest_snapshot_ = std::max(newest_snapshot_, snapshot);
  const absl::Status added = snapshots_.Add(snapshot, std::move(blocks));
  for (Parked& pull : TakeOut([snapshot](const Parked& parked) {
         return parked.of_snapshot && parked.snapshot == snapshot;
       })) {
    if (added.ok()) {
      answers.Add(std::move(pull.callback), *snapshots_.Find(snapshot));
    } else {
      answers.Add(std::move(pull.callback), added);
    }
  }
  return added;
}

void Pulls::ReleaseSnapshot(uint64_t snapshot) {
  PulledBlocks released;  // Freed after the lock.
  absl::MutexLock lock(&mu_);
  released = snapshots_.Release(snapshot);
}

uint64_t Pulls::newest_snapshot() const {
  absl::MutexLock lock(&mu_);
  return newest_snapshot_;
}

void Pulls::SetNewestSnapshot(uint64_t snapshot) {
  absl::MutexLock lock(&mu_);
  newest_snapshot_ = std::max(newest_snapshot_, snapshot);
}

PullAnswers Pulls::Expire(absl::Time now) {
  PullAnswers answers;
  absl::MutexLock lock(&mu_);
  for (Parked& pull : TakeOut([now](const Parked& parked) {
         return parked.puller.deadline <= now;
       })) {
    const std::string reason = WhyParked(pull);
    answers.Add(std::move(pull.callback), absl::UnavailableError(reason));
  }
  return answers;
}

PullAnswers Pulls::Fence(uint64_t incarnation) {
  return End(
      [incarnation](const Parked& parked) {
        return parked.puller.incarnation == incarnation;
      },
      "the coordinator declared this incarnation dead");
}

PullAnswers Pulls::Stop(absl::string_view reason) {
  {
    absl::MutexLock lock(&mu_);
    if (status_.ok()) status_ = absl::UnavailableError(reason);
  }
  return End([](const Parked&) { return true; }, reason);
}

PullAnswers Pulls::End(Which which, absl::string_view reason) {
  PullAnswers answers;
  absl::MutexLock lock(&mu_);
  for (Parked& pull : TakeOut(which)) {
    answers.Add(std::move(pull.callback), absl::UnavailableError(reason));
  }
  return answers;
}

void Pulls::Cancel(uint64_t owner) {
  std::vector<Parked> cancelled;  // Its callbacks are destroyed unlocked.
  absl::MutexLock lock(&mu_);
  cancelled = TakeOut(
      [owner](const Parked& parked) { return parked.puller.owner == owner; });
}

std::vector<Pulls::Parked> Pulls::TakeOut(Which which) {
  const auto taken = std::stable_partition(
      parked_.begin(), parked_.end(),
      [which](const Parked& parked) { return !which(parked); });
  std::vector<Parked> out(std::make_move_iterator(taken),
                          std::make_move_iterator(parked_.end()));
  parked_.erase(taken, parked_.end());
  return out;
}

std::string Pulls::WhyParked(const Parked& parked) const {
  if (parked.of_snapshot) {
    return absl::StrCat("snapshot ", parked.snapshot,
                        " has not been taken yet; ask again");
  }
  if (!initialized_) {
    return "the blocks do not have all their initial values yet; ask again";
  }
  return absl::StrCat("closing ", parked.closing,
                      " has not been applied yet, only closing ", closing_,
                      "; ask again");
}

absl::Status Pulls::status() const {
  absl::MutexLock lock(&mu_);
  return status_;
}

size_t Pulls::parked() const {
  absl::MutexLock lock(&mu_);
  return parked_.size();
}

size_t Pulls::snapshots() const {
  absl::MutexLock lock(&mu_);
  return snapshots_.size();
}

}  // namespace paceline
