#include "tests/services/coordinator/leadership/two_coordinators.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {

TwoCoordinators::Coordinator& TwoCoordinators::Other(const Coordinator& who) {
  return &who == all_.data() ? all_[1] : all_[0];
}

bool TwoCoordinators::Runs(const Coordinator& who) const {
  return who.role != Role::kDown && now_ >= who.frozen_until;
}

TwoCoordinators::Coordinator* TwoCoordinators::Leader() {
  for (Coordinator& who : all_) {
    if (connected_ == &who) return &who;
  }
  return nullptr;
}

LeaderLock::Seen TwoCoordinators::Read() const {
  return {.record = record_,
          .version = record_.has_value() ? absl::StrCat(version_) : ""};
}

absl::StatusOr<std::string> TwoCoordinators::Make(const Write& write) {
  if (write.version != Read().version) return absl::AbortedError("another one");
  record_ = write.record;
  return absl::StrCat(++version_);
}

void TwoCoordinators::LandOne(std::vector<Write>& late) {
  if (late.empty()) return;
  const auto which =
      late.begin() + static_cast<std::ptrdiff_t>(rng_.Below(late.size()));
  if (rng_.Below(4) > 0) (void)Make(*which);  // Or it is lost.
  late.erase(which);
}

void TwoCoordinators::Start(Coordinator& who) {
  who.election.emplace(Election::Options{.name = who.name});
  who.role = Role::kStandingBy;
  who.write.reset();
  who.leads_next = false;
  who.unpromised.clear();
}

void TwoCoordinators::Kill(Coordinator& who) {
  if (who.write.has_value() && !who.write->made.has_value()) {
    late_.push_back(*who.write);
  }
  BreakStream();
  who.role = Role::kDown;
  who.hosts = Hosts::kNobody;
  who.frozen_until = absl::InfinitePast();
}

void TwoCoordinators::Stop(Coordinator& who) {
  if (who.role == Role::kLeading && !who.write.has_value()) {
    const auto record = who.election->Release();
    if (record.has_value()) {
      who.write = Write{.record = *record, .version = who.election->version()};
      if (lock_answers_) (void)Make(*std::exchange(who.write, std::nullopt));
    }
  }
  Kill(who);
}

void TwoCoordinators::BreakStream() {
  Coordinator* const leader = Leader();
  connected_ = nullptr;
  if (leader == nullptr) return;
  if (leader->hosts == Hosts::kComplete) {
    leader->hosts = Hosts::kSuspended;
  } else if (leader->hosts == Hosts::kFilling) {
    leader->hosts = Hosts::kNobody;
    LetAllOut(*leader);
  }
}

void TwoCoordinators::Follow() {
  if (Coordinator* const leader = Leader()) {
    Coordinator& standby = Other(*leader);
    if (!Runs(standby) || standby.leads_next) return;
    // What it takes, it has; that the leader hears of it is another matter.
    if (standby.own.followed != leader->own.led) {
      standby.written = leader->written;
      standby.own = {.has_store = true, .followed = leader->own.led};
      if (latest_ == &standby) CheckStore();
      return;
    }
    standby.written.insert(leader->unpromised.begin(),
                           leader->unpromised.end());
    if (!Runs(*leader) || rng_.Below(2) == 0) return;
    if (leader->hosts == Hosts::kFilling) leader->hosts = Hosts::kComplete;
    LetAllOut(*leader);
    return;
  }
  for (Coordinator& leader : all_) {
    Coordinator& standby = Other(leader);
    if (!Runs(leader) || leader.role != Role::kLeading || !Runs(standby) ||
        standby.role != Role::kStandingBy || standby.leads_next ||
        leader.hosts != Hosts::kNobody ||
        std::max(standby.own.led, standby.own.followed) > leader.own.led) {
      continue;
    }
    connected_ = &leader;
    leader.hosts = Hosts::kFilling;
    // What it had from that leader is filled anew beside it: it lacks what was
    // promised meanwhile, and says nothing of it.
    standby.own.followed = std::min(standby.own.followed, leader.own.led - 1);
    return;
  }
}

void TwoCoordinators::LetOut(Coordinator& who, int number) {
  promised_.insert(number);
  if (latest_ == nullptr || latest_->written.contains(number)) return;
  trouble_ = absl::StrCat(who.name, " promised ", number, ", which ",
                          latest_->name, " lacks and leads");
}

void TwoCoordinators::LetAllOut(Coordinator& who) {
  for (const int number : who.unpromised) LetOut(who, number);
  who.unpromised.clear();
}

void TwoCoordinators::Promise(Coordinator& who) {
  const int number = next_++;
  who.written.insert(number);
  const bool waits =
      who.hosts == Hosts::kComplete || who.hosts == Hosts::kSuspended;
  who.unpromised.push_back(number);
  if (waits) return;
  // What goes out at once is still on its way to one that is being filled.
  LetOut(who, number);
  if (who.hosts == Hosts::kNobody) who.unpromised.clear();
}

void TwoCoordinators::LookForTheLead(Coordinator& who) {
  if (!lock_answers_) return;
  const LeaderLock::Seen seen = Read();
  const bool hears = connected_ != nullptr && connected_ != &who;
  const auto claim = who.election->Claim(now_, seen, who.own, hears);
  if (!claim.has_value()) return;
  who.own.has_store = true;
  who.leads_next = true;
  if (hears) BreakStream();
  who.write = Write{.record = *claim, .version = seen.version, .claims = true};
}

void TwoCoordinators::Keep(Coordinator& who) {
  const std::string standby =
      who.hosts == Hosts::kComplete && connected_ == &who ? Other(who).name
                                                          : "";
  if (const auto record = who.election->Renew(now_, standby)) {
    who.write = Write{.record = *record,
                      .version = who.election->version(),
                      .standby = standby};
    return;
  }
  if (who.election->in_doubt() && lock_answers_) {
    who.election->Found(now_, Read());
  }
  if (who.election->lost(now_)) return Kill(who);
  if (who.election->alone() && standby.empty() &&
      who.hosts == Hosts::kSuspended) {
    who.hosts = Hosts::kNobody;
    LetAllOut(who);
  }
}

void TwoCoordinators::Answer(Coordinator& who) {
  const Write write = *std::exchange(who.write, std::nullopt);
  const bool heard = write.made.has_value() && (calm_ || rng_.Below(5) > 0);
  if (!write.made.has_value()) late_.push_back(write);
  const absl::StatusOr<std::string> written =
      heard ? *write.made : absl::UnavailableError("no answer");
  if (!write.claims) return who.election->Renewed(now_, write.record, written);
  if (!who.election->Claimed(now_, write.record, written)) {
    who.leads_next = false;
    return;
  }
  who.role = Role::kLeading;
  who.hosts = Hosts::kNobody;
  who.own = {.has_store = true, .led = write.record.term};
  ++leaders_;
  if (write.record.term <= latest_term_) {
    trouble_ = absl::StrCat("term ", write.record.term, " was led twice");
  }
  latest_ = &who;
  latest_term_ = write.record.term;
  CheckStore();
}

void TwoCoordinators::Turn(Coordinator& who) {
  if (!Runs(who)) return;
  if (who.write.has_value()) {
    if (!who.write->made.has_value() && lock_answers_ &&
        (calm_ || rng_.Below(4) > 0)) {
      who.write->made = Make(*who.write);
      return;
    }
    return Answer(who);
  }
  if (who.role == Role::kStandingBy) return LookForTheLead(who);
  Keep(who);
}

void TwoCoordinators::CheckStore() {
  if (std::ranges::includes(latest_->written, promised_)) return;
  trouble_ = absl::StrCat(latest_->name, " leads in term ", latest_term_,
                          " and lacks what was promised");
}

bool TwoCoordinators::OneThing() {
  Coordinator& who = all_[rng_.Below(2)];
  const uint64_t thing = rng_.Below(1'000);
  if (thing < 250) {
    now_ += absl::Milliseconds(rng_.Below(300));
  } else if (thing < 600) {
    Turn(who);
  } else if (thing < 750) {
    if (Runs(who) && who.role == Role::kLeading) Promise(who);
  } else if (thing < 900) {
    Follow();
  } else if (thing < 920) {
    if (who.role == Role::kDown) Start(who);
  } else if (calm_) {
    return trouble_.empty();
  } else if (thing < 930) {
    if (Runs(who)) Stop(who);
  } else if (thing < 940) {
    Kill(who);
  } else if (thing < 950) {
    who.frozen_until = now_ + absl::Milliseconds(rng_.Below(12'000));
  } else if (thing < 965) {
    BreakStream();
  } else if (thing < 980) {
    lock_answers_ = !lock_answers_;
  } else {
    LandOne(late_);
  }
  return trouble_.empty();
}

bool TwoCoordinators::Run(int steps) {
  for (int i = 0; i < steps; ++i) {
    if (!OneThing()) return false;
  }
  return true;
}

bool TwoCoordinators::Heal() {
  calm_ = lock_answers_ = true;
  late_.clear();
  for (Coordinator& who : all_) {
    who.frozen_until = absl::InfinitePast();
    if (who.role == Role::kDown) Start(who);
  }
  const absl::Time until = now_ + absl::Minutes(1);
  while (now_ < until) {
    if (!OneThing()) return false;
    const Coordinator* const leader = Leader();
    if (leader != nullptr && leader->hosts == Hosts::kComplete &&
        record_->holder == leader->name && !record_->standby.empty()) {
      return true;
    }
  }
  trouble_ = "nobody leads with a standby: the record has ";
  if (record_.has_value()) {
    absl::StrAppend(&trouble_, record_->holder, " in ", record_->term, ", ",
                    record_->standby, " after it");
  }
  for (const Coordinator& who : all_) {
    absl::StrAppend(&trouble_, "; ", who.name, ": role ", who.role, ", hosts ",
                    who.hosts, ", led ", who.own.led, ", followed ",
                    who.own.followed);
  }
  return false;
}

}  // namespace paceline
