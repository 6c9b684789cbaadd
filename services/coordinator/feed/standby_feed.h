#ifndef PACELINE_SERVICES_COORDINATOR_FEED_STANDBY_FEED_H_
#define PACELINE_SERVICES_COORDINATOR_FEED_STANDBY_FEED_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/replication/replication_log.h"
#include "common/unique_fd.h"
#include "protos/paceline/v1/standby.pb.h"

namespace paceline {

// A part of a file, read when it is sent.
struct FeedPiece {
  std::string job_uid;  // As v1::FilePiece.
  std::shared_ptr<const UniqueFd> file;
  int64_t offset = 0;
  size_t size = 0;
  bool last = false;

  // INTERNAL if it cannot be read any more.
  absl::StatusOr<v1::FilePiece> Read() const;
};

using FeedEntry = std::variant<v1::StoreChange, v1::JournalChange, FeedPiece,
                               FilledEntry, MarkEntry>;

// Of memory, as long as it waits. What a piece is of is on the disk: it is read
// only when it is sent.
size_t BytesOf(const FeedEntry& entry);

class StandbyFeed;

// Something that is written down, and goes to a standby.
class FeedSource {
 public:
  virtual ~FeedSource() = default;
  // Appends all that there is; from then on each change follows, under that
  // number.
  virtual absl::Status AppendAll(uint64_t following) = 0;
};

// All that a coordinator writes down, on its way to the one that stands by:
// what it promises is promised once that one has it. Without a standby that is
// at once. Thread-safe.
class StandbyFeed {
 public:
  using Log = ReplicationLog<FeedEntry, BytesOf>;

  // Begin() asks it. Its lock may be held while the feed's methods are called,
  // but for these two and Begin().
  void Add(FeedSource* source);
  void Remove(FeedSource* source);

  // A standby follows from here on: ReplicationLog::Begin(), with all that
  // every source has, and `filled`. The errors are the sources'.
  absl::StatusOr<uint64_t> Begin(std::function<void()> wake);

  // The number of the following that changes belong to; 0: none follows.
  uint64_t following() const { return log_.following(); }
  void Append(uint64_t following, FeedEntry entry) {
    log_.Append(following, std::move(entry));
  }
  // The whole file in pieces. A standby says every so many of them how far it
  // is.
  void AppendFile(uint64_t following, const std::string& job_uid,
                  std::shared_ptr<const UniqueFd> file, int64_t size);

  // Calls once the standby has all that was appended so far.
  void WhenHeld(Log::Callback held) { log_.WhenHeld(std::move(held)); }
  // Waits for that, or until nobody cares any more.
  void AwaitHeld();

  Log& log() { return log_; }
  const Log& log() const { return log_; }

 private:
  absl::Mutex mu_;  // Held while sources append.
  std::set<FeedSource*> sources_ ABSL_GUARDED_BY(mu_);
  Log log_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_FEED_STANDBY_FEED_H_
