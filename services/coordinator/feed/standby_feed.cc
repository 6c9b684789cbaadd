#include "services/coordinator/feed/standby_feed.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/synchronization/notification.h"
#include "common/overloaded.h"
#include "common/status.h"

namespace paceline {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;
constexpr int64_t kAskEveryBytes = 8 * kPieceBytes;

}  // namespace

size_t BytesOf(const FeedEntry& entry) {
  const size_t beside = std::visit(
      Overloaded{
          [](const FeedPiece& piece) { return piece.job_uid.capacity(); },
          [](const FilledEntry&) { return size_t{0}; },
          [](const MarkEntry&) { return size_t{0}; },
          [](const auto& change) {
            return change.SpaceUsedLong() - sizeof(change);
          }},
      entry);
  return sizeof(entry) + beside;
}

absl::StatusOr<v1::FilePiece> FeedPiece::Read() const {
  v1::FilePiece piece;
  piece.set_job_uid(job_uid);
  piece.set_first(offset == 0);
  piece.set_last(last);
  std::string& bytes = *piece.mutable_piece();
  bytes.resize(size);
  size_t have = 0;
  while (have < size) {
    const ssize_t got = pread(file->get(), bytes.data() + have, size - have,
                              offset + static_cast<int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return absl::InternalError(
          "what goes to the standby cannot be read any more");
    }
    have += static_cast<size_t>(got);
  }
  return piece;
}

void StandbyFeed::Add(FeedSource* source) {
  absl::MutexLock lock(&mu_);
  sources_.insert(source);
}

void StandbyFeed::Remove(FeedSource* source) {
  absl::MutexLock lock(&mu_);
  sources_.erase(source);
}

absl::StatusOr<uint64_t> StandbyFeed::Begin(std::function<void()> wake) {
  absl::MutexLock lock(&mu_);
  const uint64_t following = log_.Begin(/*hold=*/false, std::move(wake));
  for (FeedSource* const source : sources_) {
    PACELINE_RETURN_IF_ERROR(source->AppendAll(following));
  }
  log_.Append(following, FilledEntry{});
  return following;
}

void StandbyFeed::AppendFile(uint64_t following, const std::string& job_uid,
                             std::shared_ptr<const UniqueFd> file,
                             int64_t size) {
  int64_t offset = 0;
  do {
    const int64_t piece = std::min(size - offset, kPieceBytes);
    const bool last = offset + piece == size;
    log_.Append(following,
                FeedPiece{.job_uid = job_uid,
                          .file = file,
                          .offset = offset,
                          .size = static_cast<size_t>(piece),
                          .last = last},
                /*acknowledge=*/last || (offset + piece) % kAskEveryBytes == 0);
    offset += piece;
  } while (offset < size);
}

void StandbyFeed::AwaitHeld() {
  // A log that is closed drops whoever waits.
  const auto told = std::make_shared<absl::Notification>();
  log_.WhenHeld([tell = absl::MakeCleanup([told] { told->Notify(); })]() {});
  told->WaitForNotification();
}

}  // namespace paceline
