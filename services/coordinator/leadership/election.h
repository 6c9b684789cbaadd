#ifndef PACELINE_SERVICES_COORDINATOR_LEADERSHIP_ELECTION_H_
#define PACELINE_SERVICES_COORDINATOR_LEADERSHIP_ELECTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/coordinator/leadership/leader_lock.h"

namespace paceline {

// One coordinator's part in the choice of the one that leads. Pure: it is told
// what was read and what became of what was written, and says what to write.
//
// What makes it safe is the record alone. A leader lets nothing out that its
// standby has not, unless the record says that it has none, and it fills no
// standby that the record names. A coordinator takes the lead only if the
// record names it as that standby, or as the leader, in another life of it. So
// of two that both believe to lead, at most one lets anything out. Times only
// decide how soon somebody leads again: a record that is not renewed for a
// lease, by the observer's own clock, is open to the standby, unless that still
// hears the leader. So nothing changes where the lock alone is away.
// Thread-compatible.
class Election {
 public:
  struct Options {
    std::string name;
    // It may lead without a store as long as nobody has led. Not so where
    // another one has a store that is not there yet.
    bool may_begin = true;
    absl::Duration lease = absl::Seconds(4);
    absl::Duration renewal = absl::Seconds(1);
    // A leader that could neither renew nor hear its standby for that long
    // ends, if the record names one.
    absl::Duration give_up = absl::Seconds(3);
  };
  // What it has on its disk.
  struct Own {
    bool has_store = false;
    uint64_t led = 0;       // The term in which its store led; 0: in none.
    uint64_t followed = 0;  // In which it got everything of a leader's; or 0.
  };

  explicit Election(Options options) : options_(std::move(options)) {}

  // While it stands by.

  // What was read. What to write in order to lead, and its address with it;
  // nothing: it is not its turn. It is to have a store before that is written:
  // who has none later is one who has lost it, and does not lead.
  // `hears`: the leader's stream is there.
  std::optional<LeaderRecord> Claim(absl::Time now,
                                    const LeaderLock::Seen& seen,
                                    const Own& own, bool hears = false);
  // What became of that: true if it leads from now on.
  bool Claimed(absl::Time now, const LeaderRecord& record,
               const absl::StatusOr<std::string>& written);
  // A person says that it is to lead, whatever the record says; so many terms
  // after the last one.
  LeaderRecord ClaimByOrder(const LeaderLock::Seen& seen, const Own& own,
                            uint64_t ahead = 1) const;
  // It is the one that the record lets take the leader's place.
  bool may_follow(const Own& own) const;
  // Why it cannot take the place of a leader that is gone; empty: it can, or
  // that is not gone.
  std::string Hindrance(absl::Time now, const Own& own) const;

  // While it leads. `standby`: who has everything and is heard; empty: nobody.

  // What to write now; nothing: not yet.
  std::optional<LeaderRecord> Renew(absl::Time now, const std::string& standby);
  // The last one: the standby is to lead. Nothing if the record names none.
  std::optional<LeaderRecord> Release() const;
  void Renewed(absl::Time now, const LeaderRecord& record,
               const absl::StatusOr<std::string>& written);
  // The record is not what was written last: it is to be read. It may have been
  // written by a call whose end nobody knew.
  bool in_doubt() const { return in_doubt_; }
  void Found(absl::Time now, const LeaderLock::Seen& seen);
  // It must end: another one may lead.
  bool lost(absl::Time now) const;
  // Nobody else can lead: the record names no standby, and no write is open
  // that would.
  bool alone() const;
  const LeaderRecord& record() const { return record_; }
  const std::string& version() const { return version_; }

 private:
  // The record was not renewed for a lease, as far as this one has looked.
  bool IsOpen(absl::Time now) const;
  bool MayFollow(const LeaderRecord& leader, const Own& own) const;

  const Options options_;
  // Standing by: what was read last, and since when it is so.
  LeaderLock::Seen seen_;
  absl::Time since_ = absl::InfiniteFuture();
  absl::Time vacant_since_ = absl::InfiniteFuture();
  bool hears_ = false;
  absl::Time first_look_ = absl::InfiniteFuture();
  // Leading: what was written last, and when.
  LeaderRecord record_;
  std::string version_;
  absl::Time renewed_;
  absl::Time heard_ = absl::InfinitePast();  // The standby that it names.
  absl::Time tried_ = absl::InfinitePast();
  bool in_doubt_ = false;
  bool replaced_ = false;
  // What a write whose end nobody knows may have said.
  std::string perhaps_standby_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_LEADERSHIP_ELECTION_H_
