#ifndef PACELINE_COMMON_REPLICATION_REPLICATION_LOG_H_
#define PACELINE_COMMON_REPLICATION_REPLICATION_LOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace paceline {

// Two of the kinds of entries of every log.

// The backup has everything now.
struct FilledEntry {};
// Nothing but a place in the log that somebody waits for.
struct MarkEntry {};

// What a primary has taken, in one order, on its way to its backup; and whoever
// is to be told that it is taken, which is true once the backup has it.
//
// Without a backup everybody is told at once, unless that is held back. A
// backup *follows* from some place on: first comes all that the primary has,
// then `filled`, and changes in between. A backup whose stream broke follows no
// more, and until somebody who may has said who follows now nobody is told
// anything: that backup may have been promoted, and would not know.
//
// Whoever was told while a backup was being filled was told of what comes
// behind `filled`: the backup is complete once it has that too.
//
// Entry is a std::variant with FilledEntry and MarkEntry among its kinds;
// BytesOf() is what one of them takes of what may wait.
//
// Thread-safe. Callbacks are called without its lock, in the order in which
// they came, by whichever thread makes them due; they must not block.
template <class Entry, size_t (*BytesOf)(const Entry&)>
class ReplicationLog {
 public:
  using Callback = absl::AnyInvocable<void()>;

  // What may wait to be sent, in bytes.
  explicit ReplicationLog(size_t max_waiting_bytes = size_t{64} << 20)
      : max_waiting_bytes_(max_waiting_bytes) {}
  ReplicationLog(const ReplicationLog&) = delete;
  ReplicationLog& operator=(const ReplicationLog&) = delete;

  // A backup is to follow from here on, in place of the one before; `wake` is
  // called when there is something to take. `hold`: until it has everything
  // nobody is told. Gives the number of this following.
  uint64_t Begin(bool hold, std::function<void()> wake);
  // None follows. What waits is told, or with `hold` waits on.
  void End(bool hold);
  // The stream to the backup broke.
  void Suspend(uint64_t following);
  // Another server is the primary: what waits is dropped, and whatever comes.
  void Close();

  // The number of the present following; 0: none follows.
  uint64_t following() const {
    return following_.load(std::memory_order_relaxed);
  }

  // Whether WhenHeld() would call at once whatever is appended, for want of a
  // backup that has to have it.
  bool tells_at_once() const {
    absl::MutexLock lock(&mu_);
    return TellsAtOnce();
  }

  // Dropped if another backup follows, or none. `acknowledge`: WhenHeld() will
  // be asked.
  void Append(uint64_t following, Entry entry, bool acknowledge = false);

  // Calls once the backup has everything that was appended so far.
  void WhenHeld(Callback told);
  // The same, but only tells if that is so already: false, and `told` is not
  // taken. True: it is, and is called later.
  bool AwaitHeld(Callback& told);

  // True, and calls later, if too much waits to be sent; else false.
  bool AwaitRoom(Callback room);

  struct Outgoing {
    Entry entry;
    bool acknowledge = false;
  };
  // The next entry of that following's stream. Nothing for now, or at all.
  std::optional<Outgoing> Take(uint64_t following);
  // The backup has the first `entries` entries. True: with that it has become
  // complete. INVALID_ARGUMENT if there were not so many. FAILED_PRECONDITION:
  // it does not follow any more.
  absl::StatusOr<bool> Acknowledged(uint64_t following, uint64_t entries);

  // Whether an entry that it was sent is to be acknowledged and is not.
  bool awaits_acknowledgement() const;
  // Entries that the backup is not known to have.
  size_t lag() const;
  // What BytesOf() says of those of them that wait to be sent.
  size_t waiting_bytes() const;

 private:
  // The backup says at least every so many bytes how far it is.
  static constexpr size_t kAskEveryBytes = size_t{8} << 20;

  enum class State : uint8_t {
    kAlone,       // No backup: told at once.
    kHeld,        // The same, but nobody is told.
    kFilling,     // Told at once, or not, as `hold_` says.
    kReplicated,  // Told once the backup has it, which may not be complete.
    kSuspended,   // Nobody is told.
    kClosed,
  };
  struct Queued {
    Outgoing outgoing;
    size_t bytes;
  };
  struct Waiting {
    uint64_t position;
    Callback told;
  };
  using Due = std::vector<Callback>;

  bool TellsAtOnce() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return state_ == State::kAlone || (state_ == State::kFilling && !hold_);
  }
  // Takes those out who wait for a place up to `position`.
  void Release(uint64_t position, Due& due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropQueue(Due& due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Push(Entry entry, bool acknowledge) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sees to it that the last entry is acknowledged. Gives whom to wake.
  std::function<void()> Mark() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void Call(Due due);

  const size_t max_waiting_bytes_;
  std::atomic<uint64_t> following_ = 0;

  mutable absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kAlone;
  bool hold_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t followings_ ABSL_GUARDED_BY(mu_) = 0;
  std::function<void()> wake_ ABSL_GUARDED_BY(mu_);
  // Places in the log, counted over all followings.
  uint64_t begin_ ABSL_GUARDED_BY(mu_) = 0;  // Of the present one.
  uint64_t end_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t held_ ABSL_GUARDED_BY(mu_) = 0;    // By the backup, up to there.
  uint64_t filled_ ABSL_GUARDED_BY(mu_) = 0;  // Behind `filled`; 0: not yet.
  uint64_t asked_ ABSL_GUARDED_BY(mu_) = 0;   // Sent, to be acknowledged.
  // With this the backup is complete; 0: it is, or is not filled yet.
  uint64_t complete_at_ ABSL_GUARDED_BY(mu_) = 0;
  bool last_acknowledges_ ABSL_GUARDED_BY(mu_) = false;
  size_t unasked_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mu_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mu_);
  Due want_room_ ABSL_GUARDED_BY(mu_);
};

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::Call(Due due) {
  for (Callback& callback : due) callback();
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::Release(uint64_t position, Due& due) {
  while (!waiting_.empty() && waiting_.front().position <= position) {
    due.push_back(std::move(waiting_.front().told));
    waiting_.pop_front();
  }
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::DropQueue(Due& due) {
  queue_.clear();
  queued_bytes_ = 0;
  for (Callback& room : want_room_) due.push_back(std::move(room));
  want_room_.clear();
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
uint64_t ReplicationLog<Entry, BytesOf>::Begin(bool hold,
                                               std::function<void()> wake) {
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

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::End(bool hold) {
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

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::Suspend(uint64_t following) {
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

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::Close() {
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

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::Push(Entry entry, bool acknowledge) {
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
  queue_.push_back({{std::move(entry), acknowledge}, bytes});
  ++end_;
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::Append(uint64_t following, Entry entry,
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

template <class Entry, size_t (*BytesOf)(const Entry&)>
std::function<void()> ReplicationLog<Entry, BytesOf>::Mark() {
  if (following() == 0 || held_ >= end_ || last_acknowledges_) return nullptr;
  Push(MarkEntry{}, /*acknowledge=*/true);
  return queue_.size() == 1 ? wake_ : nullptr;
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
void ReplicationLog<Entry, BytesOf>::WhenHeld(Callback told) {
  if (!AwaitHeld(told)) told();
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
bool ReplicationLog<Entry, BytesOf>::AwaitHeld(Callback& told) {
  std::function<void()> wake;
  Callback dropped;  // Destroyed after the lock is released.
  {
    absl::MutexLock lock(&mu_);
    if (state_ == State::kClosed) {
      dropped = std::move(told);
      return true;
    }
    const bool has_it = state_ == State::kReplicated && held_ >= end_;
    if (TellsAtOnce() || has_it) return false;
    wake = Mark();
    waiting_.push_back({end_, std::move(told)});
  }
  if (wake) wake();
  return true;
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
bool ReplicationLog<Entry, BytesOf>::AwaitRoom(Callback room) {
  absl::MutexLock lock(&mu_);
  if (queued_bytes_ <= max_waiting_bytes_) return false;
  want_room_.push_back(std::move(room));
  return true;
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
std::optional<typename ReplicationLog<Entry, BytesOf>::Outgoing>
ReplicationLog<Entry, BytesOf>::Take(uint64_t following) {
  Due due;
  std::optional<Outgoing> taken;
  {
    absl::MutexLock lock(&mu_);
    if (this->following() != following || queue_.empty()) return std::nullopt;
    taken = std::move(queue_.front().outgoing);
    queued_bytes_ -= queue_.front().bytes;
    queue_.pop_front();
    if (taken->acknowledge) asked_ = end_ - queue_.size();
    if (queued_bytes_ <= max_waiting_bytes_ / 2) {
      for (Callback& room : want_room_) due.push_back(std::move(room));
      want_room_.clear();
    }
  }
  Call(std::move(due));
  return taken;
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
absl::StatusOr<bool> ReplicationLog<Entry, BytesOf>::Acknowledged(
    uint64_t following, uint64_t entries) {
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

template <class Entry, size_t (*BytesOf)(const Entry&)>
bool ReplicationLog<Entry, BytesOf>::awaits_acknowledgement() const {
  absl::MutexLock lock(&mu_);
  return following() != 0 && held_ < asked_;
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
size_t ReplicationLog<Entry, BytesOf>::lag() const {
  absl::MutexLock lock(&mu_);
  return following() == 0 ? 0 : end_ - held_;
}

template <class Entry, size_t (*BytesOf)(const Entry&)>
size_t ReplicationLog<Entry, BytesOf>::waiting_bytes() const {
  absl::MutexLock lock(&mu_);
  return queued_bytes_;
}

}  // namespace paceline

#endif  // PACELINE_COMMON_REPLICATION_REPLICATION_LOG_H_
