#include "common/checkpoint/folder_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/shared_folder.h"

namespace paceline {
namespace {

// Between two looks at a folder that is well: a disk fills in minutes.
constexpr absl::Duration kLookEvery = absl::Seconds(30);
// At one that is not: somebody mends it and waits.
constexpr absl::Duration kLookAgain = absl::Seconds(2);
// A small file takes milliseconds, on a busy network's disk a second or two.
constexpr absl::Duration kPatience = absl::Seconds(10);
// So long the end of a process may wait for a probe that is under way.
constexpr absl::Duration kStopPatience = absl::Seconds(1);

}  // namespace

FolderWatch::FolderWatch(std::string path, Probe probe, const Clock* clock)
    : clock_(clock), shared_(std::make_shared<Shared>()) {
  {
    absl::MutexLock lock(&shared_->mu);
    shared_->state.status = absl::UnavailableError(
        absl::StrCat("the folder ", path, " was not looked at yet"));
    shared_->state.path = std::move(path);
  }
  thread_ = std::thread([shared = shared_, probe = std::move(probe),
                         clock = clock_] { Run(shared, probe, clock); });
}

FolderWatch::~FolderWatch() {
  bool ended = false;
  {
    absl::MutexLock lock(&shared_->mu);
    shared_->stopping = true;
    shared_->moved.Signal();
    ended = shared_->mu.AwaitWithTimeout(absl::Condition(&shared_->ended),
                                         kStopPatience);
  }
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();  // It is in a call of the system that does not return.
  }
}

FolderState FolderWatch::Get() const {
  absl::MutexLock lock(&shared_->mu);
  FolderState state = shared_->state;
  if (clock_->Now() - shared_->probing_since > kPatience) {
    state.known = true;
    state.status = absl::DeadlineExceededError(
        absl::StrCat("the folder ", state.path, " has not answered for ",
                     absl::FormatDuration(kPatience),
                     ": its disk, its mount or its store hangs"));
  }
  return state;
}

void FolderWatch::Run(const std::shared_ptr<Shared>& shared, const Probe& probe,
                      const Clock* clock) {
  absl::MutexLock lock(&shared->mu);
  while (!shared->stopping) {
    FolderState state = shared->state;
    shared->probing_since = clock->Now();
    shared->mu.Unlock();
    probe(state);
    shared->mu.Lock();
    // Who let go of the watch may have taken the clock along.
    if (shared->stopping) break;
    shared->probing_since = absl::InfiniteFuture();
    state.known = true;
    state.looked_at = clock->Now();
    state.been_usable = state.been_usable || IsUsable(state.status);
    shared->state = std::move(state);
    const absl::Time next =
        shared->state.looked_at +
        (shared->state.status.ok() ? kLookEvery : kLookAgain);
    while (!shared->stopping && clock->Now() < next) {
      clock->Wait(shared->moved, shared->mu, next);
    }
  }
  shared->ended = true;
}

}  // namespace paceline
