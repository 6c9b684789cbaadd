#include "services/coordinator/leadership/election.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {

bool Election::IsOpen(absl::Time now) const {
  if (seen_.record.has_value() && seen_.record->released) return true;
  if (hears_) return false;
  // A lock that is free for a moment may be that of a leader that dials again.
  return now - vacant_since_ >= 2 * options_.renewal ||
         now - since_ >= options_.lease;
}

bool Election::MayFollow(const LeaderRecord& leader, const Own& own) const {
  // Nobody has more, or nobody else has anything.
  if (leader.holder == options_.name) {
    return own.has_store && (leader.standby.empty() || own.led == leader.term);
  }
  return leader.standby == options_.name && own.has_store &&
         own.followed == leader.term;
}

std::optional<LeaderRecord> Election::Claim(absl::Time now,
                                            const LeaderLock::Seen& seen,
                                            const Own& own, bool hears) {
  const bool changed = seen.version != seen_.version;
  if (!seen.vacant || changed) vacant_since_ = absl::InfiniteFuture();
  if (seen.vacant) vacant_since_ = std::min(vacant_since_, now);
  seen_ = seen;
  hears_ = hears;
  if (changed || since_ == absl::InfiniteFuture()) since_ = now;
  first_look_ = std::min(first_look_, now);
  if (!seen.record.has_value()) {
    // Whoever has jobs comes first: they would be lost with an empty store.
    if (!own.has_store && !options_.may_begin) return std::nullopt;
    const absl::Duration patience =
        own.has_store ? absl::ZeroDuration() : 2 * options_.lease;
    if (now - first_look_ < patience) return std::nullopt;
    return ClaimByOrder(seen, own);
  }
  const bool mine = seen.record->holder == options_.name;
  if (!MayFollow(*seen.record, own)) return std::nullopt;
  // The leader of another life: it has released the lead, or it has it.
  const bool waits =
      mine ? seen.record->released && now - since_ < options_.lease
           : !IsOpen(now);
  if (waits) return std::nullopt;
  return ClaimByOrder(seen, own);
}

bool Election::may_follow(const Own& own) const {
  return seen_.record.has_value() && MayFollow(*seen_.record, own);
}

std::string Election::Hindrance(absl::Time now, const Own& own) const {
  if (!seen_.record.has_value() || !IsOpen(now)) return "";
  if (may_follow(own)) return "";
  const LeaderRecord& is = *seen_.record;
  return absl::StrCat(is.holder,
                      " leads and is gone; what it has promised has ",
                      is.standby.empty() ? "nobody else" : is.standby);
}

LeaderRecord Election::ClaimByOrder(const LeaderLock::Seen& seen,
                                    const Own& own, uint64_t ahead) const {
  const LeaderRecord is = seen.record.value_or(LeaderRecord());
  return {.holder = options_.name,
          .term = std::max({is.term, own.led, own.followed}) + ahead,
          .beat = is.beat + 1};
}

bool Election::Claimed(absl::Time now, const LeaderRecord& record,
                       const absl::StatusOr<std::string>& written) {
  // Whether it was written or not, it is read again.
  if (!written.ok()) return false;
  record_ = record;
  version_ = *written;
  renewed_ = tried_ = now;
  return true;
}

std::optional<LeaderRecord> Election::Renew(absl::Time now,
                                            const std::string& standby) {
  if (!standby.empty() && standby == record_.standby) heard_ = now;
  const bool differs = record_.standby != standby || !perhaps_standby_.empty();
  // What differs is tried again soon, for somebody waits for it.
  const absl::Duration pause =
      differs ? options_.renewal / 4 : options_.renewal;
  const bool first = record_.standby != standby && perhaps_standby_.empty() &&
                     tried_ == renewed_;
  if (!first && now - tried_ < pause) return std::nullopt;
  LeaderRecord record = record_;
  record.standby = standby;
  ++record.beat;
  return record;
}

std::optional<LeaderRecord> Election::Release() const {
  if (record_.standby.empty()) return std::nullopt;
  LeaderRecord record = record_;
  record.released = true;
  ++record.beat;
  return record;
}

void Election::Renewed(absl::Time now, const LeaderRecord& record,
                       const absl::StatusOr<std::string>& written) {
  tried_ = now;
  if (written.ok()) {
    record_ = record;
    version_ = *written;
    renewed_ = now;
    perhaps_standby_.clear();
  } else if (absl::IsAborted(written.status())) {
    in_doubt_ = true;
  } else if (!record.standby.empty()) {
    perhaps_standby_ = record.standby;
  }
}

void Election::Found(absl::Time now, const LeaderLock::Seen& seen) {
  in_doubt_ = false;
  replaced_ = !seen.record.has_value() ||
              seen.record->holder != record_.holder ||
              seen.record->term != record_.term;
  if (replaced_) return;
  // A write that is still under way fails if the record has changed since.
  if (seen.version != version_) perhaps_standby_.clear();
  record_ = *seen.record;
  version_ = seen.version;
  renewed_ = now;
}

bool Election::alone() const {
  return record_.standby.empty() && perhaps_standby_.empty() && !in_doubt_ &&
         !replaced_;
}

bool Election::lost(absl::Time now) const {
  return replaced_ ||
         (!alone() && now - std::max(renewed_, heard_) > options_.give_up);
}

}  // namespace paceline
