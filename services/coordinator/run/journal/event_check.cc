#include "services/coordinator/run/journal/event_check.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace paceline {
namespace {

using journal::RunEvent;

// Since the machine was started: 36 years. Policies count in nanoseconds.
constexpr int64_t kLatestNs = int64_t{1} << 60;
constexpr int64_t kLastVersion = int64_t{1} << 60;
constexpr uint64_t kLastWorker = std::numeric_limits<int32_t>::max();

absl::Status Impossible(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("it is damaged: it names ", what));
}

// As a checkpoint promises it (common/checkpoint/manifest.h); whether the
// position fits the data the course knows.
absl::Status CheckStart(const journal::FilesOpened& opened) {
  const bool is_time = std::isfinite(opened.seconds()) && opened.seconds() >= 0;
  if (is_time && opened.version() >= 0 && opened.version() <= kLastVersion) {
    return absl::OkStatus();
  }
  return Impossible("a beginning that is none");
}

}  // namespace

absl::Status CheckTime(const RunEvent& event) {
  if (event.at_ns() >= 0 && event.at_ns() <= kLatestNs) return absl::OkStatus();
  return Impossible("a time that is none");
}

absl::Status EventCheck::Server(int server) const {
  if (server >= 0 && server < servers_) return absl::OkStatus();
  return Impossible(absl::StrCat("server ", server, " of ", servers_));
}

absl::Status EventCheck::Take(const RunEvent& event) {
  PACELINE_RETURN_IF_ERROR(CheckTime(event));
  switch (event.kind_case()) {
    case RunEvent::kOpened:
      return CheckStart(event.opened());
    case RunEvent::kCame: {
      const uint64_t worker = event.came().worker();
      const bool is_new =
          worker > 0 && worker <= kLastWorker && workers_.insert(worker).second;
      return is_new ? absl::OkStatus()
                    : Impossible(absl::StrCat("a new worker ", worker));
    }
    case RunEvent::kServerCame:
      ++servers_;
      return absl::OkStatus();
    case RunEvent::kServerSaid: {
      const int shard = event.server_said().shard();
      if (shard < 0 || shard >= shards_) {
        return Impossible(absl::StrCat("shard ", shard, " of ", shards_));
      }
      return Server(event.server_said().server());
    }
    case RunEvent::kServerLost:
      return Server(event.server_lost().server());
    case RunEvent::kServerLeaves:
      return Server(event.server_leaves().server());
    case RunEvent::kServerLinked:
      return Server(event.server_linked().server());
    case RunEvent::kServerReturned:
      return Server(event.server_returned().server());
    default:
      return absl::OkStatus();
  }
}

}  // namespace paceline
