#include "services/parameter_server/replica_log.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

// The backup says at least every so many bytes how far it is.
constexpr size_t kAskEveryBytes = size_t{8} << 20;

size_t BytesOf(const ReplicaEntry& entry) {
  const auto* const push = std::get_if<PushEntry>(&entry);
  return push == nullptr ? 0 : push->payload.size();
}

}  // namespace

void ReplicaLog::Call(Due due) {
  for (Callback& callback : due) callback();
}

void ReplicaLog::Release(uint64_t position, Due& due) {
  while (!waiting_.empty() && waiting_.front().position <= position) {
    due.push_back(std::move(waiting_.front().told));
    waiting_.pop_front();
  }
}

void ReplicaLog::DropQueue(Due& due) {
  queue_.clear();
  queued_bytes_ = 0;
  for (Callback& room : want_room_) due.push_back(std::move(room));
  want_room_.clear();
}

uint64_t ReplicaLog::Begin(bool hold, std::function<void()> wake) {
  Due due;
  uint64_t following = 0;
  {
    absl::MutexLock lock(&mu_);
    if (state_ == State::kClosed) return 0;
    DropQueue(due);
    state_ = State::kFilling;
    hold_ = hold;
    wake_ = std::move(wake);
    begin_ = end_;
    held_ = end_;
    asked_ = 0;
    filled_ = 0;
    complete_at_ = 0;
    unasked_bytes_ = 0;
    following = ++followings_;
    following_ = following;
    if (!hold) Release(end_, due);
  }
  Call(std::move(due));
  return following;
}

void ReplicaLog::End(bool hold) {
  Due due;
  {
    absl::MutexLock lock(&mu_);
    if (state_ == State::kClosed) return;
    DropQueue(due);
    following_ = 0;
    state_ = hold ? State::kHeld : State::kAlone;
    if (!hold) Release(end_, due);
  }
  Call(std::move(due));
}

void ReplicaLog::Suspend(uint64_t following) {
  Due due;
  {
    absl::MutexLock lock(&mu_);
    if (state_ == State::kClosed || this->following() != following) return;
    DropQueue(due);
    following_ = 0;
    state_ = State::kSuspended;
  }
  Call(std::move(due));
}

void ReplicaLog::Close() {
  std::deque<Waiting> dropped;  // Destroyed after the lock is released.
  Due due;
  {
    absl::MutexLock lock(&mu_);
    state_ = State::kClosed;
    following_ = 0;
    DropQueue(due);
    waiting_.swap(dropped);
  }
  Call(std::move(due));
}

void ReplicaLog::Push(ReplicaEntry entry, bool acknowledge) {
  const size_t bytes = BytesOf(entry);
  queued_bytes_ += bytes;
  unasked_bytes_ += bytes;
  if (std::holds_alternative<FilledEntry>(entry)) {
    filled_ = end_ + 1;
    acknowledge = true;
  }
  if (unasked_bytes_ >= kAskEveryBytes) acknowledge = true;
  if (acknowledge) unasked_bytes_ = 0;
  last_acknowledges_ = acknowledge;
  queue_.push_back({std::move(entry), acknowledge});
  ++end_;
}

void ReplicaLog::Append(uint64_t following, ReplicaEntry entry,
                        bool acknowledge) {
  std::function<void()> wake;
  {
    absl::MutexLock lock(&mu_);
    if (following == 0 || this->following() != following) return;
    Push(std::move(entry), acknowledge);
    // Whoever takes goes on until there is nothing more.
    if (queue_.size() == 1) wake = wake_;
  }
  if (wake) wake();
}

std::function<void()> ReplicaLog::Mark() {
  if (following() == 0 || held_ >= end_ || last_acknowledges_) return nullptr;
  Push(MarkEntry{}, /*acknowledge=*/true);
  return queue_.size() == 1 ? wake_ : nullptr;
}

void ReplicaLog::WhenHeld(Callback told) {
  std::function<void()> wake;
  {
    absl::MutexLock lock(&mu_);
    if (state_ == State::kClosed) return;
    const bool has_it = state_ == State::kReplicated && held_ >= end_;
    if (!TellsAtOnce() && !has_it) {
      wake = Mark();
      waiting_.push_back({end_, std::move(told)});
      told = nullptr;
    }
  }
  if (wake) wake();
  if (told) told();
}

bool ReplicaLog::AwaitRoom(Callback room) {
  absl::MutexLock lock(&mu_);
  if (queued_bytes_ <= max_waiting_bytes_) return false;
  want_room_.push_back(std::move(room));
  return true;
}

std::optional<ReplicaLog::Outgoing> ReplicaLog::Take(uint64_t following) {
  Due due;
  std::optional<Outgoing> taken;
  {
    absl::MutexLock lock(&mu_);
    if (this->following() != following || queue_.empty()) return std::nullopt;
    taken = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= BytesOf(taken->entry);
    if (taken->acknowledge) asked_ = end_ - queue_.size();
    if (queued_bytes_ <= max_waiting_bytes_ / 2) {
      for (Callback& room : want_room_) due.push_back(std::move(room));
      want_room_.clear();
    }
  }
  Call(std::move(due));
  return taken;
}

absl::StatusOr<bool> ReplicaLog::Acknowledged(uint64_t following,
                                              uint64_t entries) {
  Due due;
  std::function<void()> wake;
  bool complete = false;
  {
    absl::MutexLock lock(&mu_);
    if (this->following() != following) {
      return absl::FailedPreconditionError("another backup follows, or none");
    }
    const uint64_t sent = end_ - queue_.size() - begin_;
    if (entries > sent) {
      return absl::InvalidArgumentError(
          absl::StrCat("a backup acknowledges ", entries, " entries of ", sent,
                       " that it was sent"));
    }
    if (begin_ + entries > held_) held_ = begin_ + entries;
    if (state_ == State::kFilling && filled_ != 0 && held_ >= filled_) {
      state_ = State::kReplicated;
      wake = Mark();
      complete_at_ = end_;
    }
    if (complete_at_ != 0 && held_ >= complete_at_) {
      complete_at_ = 0;
      complete = true;
    }
    if (state_ == State::kReplicated) Release(held_, due);
  }
  if (wake) wake();
  Call(std::move(due));
  return complete;
}

bool ReplicaLog::awaits_acknowledgement() const {
  absl::MutexLock lock(&mu_);
  return following() != 0 && held_ < asked_;
}

size_t ReplicaLog::lag() const {
  absl::MutexLock lock(&mu_);
  return following() == 0 ? 0 : end_ - held_;
}

}  // namespace paceline
