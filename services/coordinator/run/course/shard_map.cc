#include "services/coordinator/run/course/shard_map.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace paceline {
namespace {

std::string ShardText(int shard) { return absl::StrCat("shard ", shard); }

const HeldShard* Find(const std::vector<HeldShard>& held, int shard) {
  const auto found = std::ranges::find(held, shard, &HeldShard::shard);
  return found == held.end() ? nullptr : &*found;
}

// What a server has of it is of before.
DropShard Stale(int server, int shard) {
  return {server, shard, "the run goes on with what other servers have"};
}

}  // namespace

ShardMap::ShardMap(const Options& options,
                   const std::vector<RunServer>& servers)
    : options_(options) {
  for (size_t i = 0; i < servers.size(); ++i) {
    servers_.push_back({.is = servers[i]});
    shards_.push_back({.primary = static_cast<int>(i)});
  }
}

void ShardMap::SetBytes(const std::vector<int64_t>& bytes) {
  for (size_t i = 0; i < shards_.size(); ++i) shards_[i].bytes = bytes[i];
}

void ShardMap::Begin(absl::Time now, Actions& actions) {
  begun_ = true;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (options_.replicas == 0 || !options_.strict) continue;
    actions.push_back(SetBackup{.server = shards_[i].primary,
                                .shard = static_cast<int>(i),
                                .epoch = ++shards_[i].epoch,
                                .backup = std::nullopt,
                                .hold = true});
  }
  Settle(now, actions);
}

void ShardMap::Came(absl::Time now, const RunServer& server, Actions& actions) {
  servers_.push_back({.is = server});
  Settle(now, actions);
}

void ShardMap::LinkChanged(absl::Time now, int server, uint64_t link,
                           bool connected, Actions& actions) {
  Server& of = servers_[server];
  if (link < of.link) return;
  of.link = link;
  if (!connected) {
    if (!of.absent_since.has_value()) of.absent_since = now;
    return;
  }
  // Where the coordinator itself was cut off, all come back one after the
  // other: who is first is no reason to suspect who is second.
  if (of.absent_since.has_value()) last_back_ = now;
  of.absent_since.reset();
  Settle(now, actions);
}

void ShardMap::CoordinatorRestarted(absl::Time now, absl::Time suspected) {
  trusted_until_ = suspected;
  for (Server& of : servers_) {
    if (!of.gone && !of.absent_since.has_value()) of.absent_since = now;
  }
}

bool ShardMap::HasItsShards(int server,
                            const std::vector<HeldShard>& held) const {
  for (size_t i = 0; i < shards_.size(); ++i) {
    const Shard& of = shards_[i];
    // What is being rebuilt has nothing yet.
    if (of.primary != server || of.rebuilding != Rebuilding::kNo) continue;
    const HeldShard* const it = Find(held, static_cast<int>(i));
    if (it == nullptr || (it->backup && !of.promoting)) return false;
  }
  return true;
}

bool ShardMap::Returned(absl::Time now, int server,
                        const std::vector<HeldShard>& held, Actions& actions) {
  if (!HasItsShards(server, held)) return false;
  Server& of = servers_[server];
  of.link = 0;  // The coordinator counts anew.
  of.absent_since.reset();
  last_back_ = now;
  for (const HeldShard& it : held) {
    const bool its_own = it.shard >= 0 &&
                         it.shard < static_cast<int>(shards_.size()) &&
                         HasPart(server, shards_[it.shard]);
    if (its_own) continue;
    actions.push_back(Stale(server, it.shard));
  }
  for (size_t i = 0; i < shards_.size(); ++i) {
    const int shard = static_cast<int>(i);
    if (shards_[i].primary == server) {
      TellPrimary(shard, Find(held, shard), actions);
    } else if (HasPart(server, shards_[i])) {
      TellBackup(shard, Find(held, shard), actions);
    }
  }
  Settle(now, actions);
  return true;
}

void ShardMap::TellPrimary(int shard, const HeldShard* held, Actions& actions) {
  const Shard& of = shards_[shard];
  const bool behind = held == nullptr || held->epoch < of.epoch;
  if (of.rebuilding != Rebuilding::kNo) {
    if (of.rebuilding == Rebuilding::kHosting && behind) {
      if (held != nullptr) actions.push_back(Stale(of.primary, shard));
      actions.push_back(RebuildShard{of.primary, shard, of.epoch});
    }
    return;
  }
  if (of.promoting) {
    // One that has become the primary says so itself.
    if (behind) actions.push_back(Promotion(shard));
    return;
  }
  // Of a backup that is chosen and has not got room yet it hears later. That it
  // has none since the one before may not have reached it.
  const bool chosen = of.state == BackupState::kHosting;
  const uint64_t epoch = chosen ? of.epoch - 1 : of.epoch;
  if (held == nullptr || held->epoch < epoch) {
    const bool backed = !chosen && of.state != BackupState::kNone;
    actions.push_back(
        SetBackup{.server = of.primary,
                  .shard = shard,
                  .epoch = epoch,
                  .backup = backed ? std::optional(of.backup) : std::nullopt,
                  .hold = options_.strict && WantsBackup(of)});
  }
}

void ShardMap::TellBackup(int shard, const HeldShard* held, Actions& actions) {
  const Shard& of = shards_[shard];
  if (of.state == BackupState::kHosting) {
    if (held == nullptr || held->epoch < of.epoch) {
      if (held != nullptr) actions.push_back(Stale(of.backup, shard));
      actions.push_back(HostBackup{of.backup, shard, of.epoch});
    }
  } else if (held == nullptr || !held->backup) {
    Detach(shard, "it has lost what it had", actions);
  }
}

void ShardMap::SetLeaving(absl::Time now, int server, bool leaving,
                          Actions& actions) {
  servers_[server].leaving = leaving;
  Settle(now, actions);
}

void ShardMap::Gone(absl::Time now, int server, Actions& actions) {
  servers_[server].gone = true;
  Settle(now, actions);
}

bool ShardMap::Replace(int shard, Actions& actions) {
  const Shard& of = shards_[shard];
  if (of.state != BackupState::kReady || !Usable(of.backup)) return false;
  Promote(shard, "hangs", actions);
  return true;
}

void ShardMap::Reported(absl::Time now, int server, int shard, uint64_t epoch,
                        const absl::Status& status, Actions& actions) {
  Shard& of = shards_[shard];
  if (epoch != of.epoch) return;
  if (of.rebuilding == Rebuilding::kHosting && server == of.primary) {
    if (status.ok()) {
      of.rebuilding = Rebuilding::kFilling;
      actions.push_back(FillShard{server, shard, epoch});
    } else {
      refused_[{shard, server}] = now + options_.retry;
      of.rebuilding = Rebuilding::kWaiting;
      Settle(now, actions);
    }
    return;
  }
  if (of.state == BackupState::kNone) return;
  const bool by_backup = server == of.backup;
  if (!by_backup && server != of.primary) return;
  if (!status.ok()) {
    // A backup that fails says so of itself; a primary says it of its backup,
    // be it that the link between them is what failed.
    refused_[{shard, of.backup}] = now + options_.retry;
    Detach(shard, std::string(status.message()), actions);
  } else if (by_backup && of.state == BackupState::kHosting) {
    of.state = BackupState::kFilling;
    actions.push_back(SetBackup{.server = of.primary,
                                .shard = shard,
                                .epoch = of.epoch,
                                .backup = of.backup,
                                .hold = options_.strict});
  } else if (!by_backup && of.state == BackupState::kFilling) {
    of.state = BackupState::kReady;
    actions.push_back(
        ShardNotice{"backup",
                    absl::StrCat(ShardText(shard), ": ", NameOf(of.backup),
                                 " has all of ", NameOf(of.primary), " now"),
                    /*costs_work=*/false});
  }
  Settle(now, actions);
}

bool ShardMap::Promoted(absl::Time now, int server, int shard, uint64_t epoch,
                        Actions& actions) {
  Shard& of = shards_[shard];
  if (server != of.primary || epoch != of.epoch || !of.promoting ||
      of.rebuilding != Rebuilding::kNo) {
    return false;
  }
  of.promoting = false;
  actions.push_back(ShardMoved{shard, server, epoch});
  Settle(now, actions);
  return true;
}

bool ShardMap::Filled(absl::Time now, int shard, uint64_t epoch,
                      Actions& actions) {
  Shard& of = shards_[shard];
  if (of.rebuilding != Rebuilding::kFilling || epoch != of.epoch) return false;
  of.rebuilding = Rebuilding::kNo;
  of.rebuild_until = absl::InfiniteFuture();
  of.promoting = false;
  ++rebuilt_;
  actions.push_back(ShardMoved{shard, of.primary, epoch});
  Settle(now, actions);
  return true;
}

void ShardMap::RebuildAnew(absl::Time now, int shard, Actions& actions) {
  Shard& of = shards_[shard];
  if (of.lost || of.rebuilding == Rebuilding::kNo) return;
  if (of.rebuilding != Rebuilding::kWaiting) {
    actions.push_back(DropShard{of.primary, shard, "its weights do not come"});
  }
  of.rebuilding = Rebuilding::kWaiting;
  Settle(now, actions);
}

void ShardMap::Unfillable(int shard, const std::string& why, Actions& actions) {
  if (!shards_[shard].lost) Lose(shard, why, actions);
}

void ShardMap::TimePassed(absl::Time now, Actions& actions) {
  std::erase_if(refused_,
                [now](const auto& refused) { return refused.second <= now; });
  Settle(now, actions);
}

absl::Time ShardMap::NextDeadline(absl::Time now) const {
  absl::Time next = absl::InfiniteFuture();
  if (!begun_) return next;
  for (const Shard& shard : shards_) {
    if (shard.lost) continue;
    next = std::min(next, shard.rebuild_until);
    if (HasFailed(now, shard.primary)) continue;
    next = std::min(next, SuspectedAt(shard.primary));
  }
  for (const auto& [key, until] : refused_) next = std::min(next, until);
  return next;
}

void ShardMap::Settle(absl::Time now, Actions& actions) {
  if (!begun_) return;
  for (size_t i = 0; i < shards_.size(); ++i) {
    SettleShard(now, static_cast<int>(i), actions);
  }
}

void ShardMap::SettleShard(absl::Time now, int shard, Actions& actions) {
  Shard& of = shards_[shard];
  if (of.lost) return;
  if (of.rebuilding != Rebuilding::kNo) {
    return SettleRebuilding(now, shard, actions);
  }
  const bool backed = of.state != BackupState::kNone;
  if (backed && servers_[of.backup].gone) {
    Detach(shard, absl::StrCat(NameOf(of.backup), " is gone"), actions);
  } else if (backed && servers_[of.backup].leaving) {
    Detach(shard, absl::StrCat(NameOf(of.backup), " is leaving"), actions);
  }
  const bool ready = of.state == BackupState::kReady && Usable(of.backup);
  if (ready && HasFailed(now, of.primary)) {
    Promote(shard, servers_[of.primary].gone ? "is gone" : "has lost its link",
            actions);
  } else if (ready && servers_[of.primary].leaving && !of.promoting) {
    Promote(shard, "is leaving", actions);
  } else if (servers_[of.primary].gone) {
    // A backup that has everything, and whose link is broken, may come back.
    if (of.state == BackupState::kReady) return;
    return BeginRebuilding(now, shard, actions);
  }
  if (of.state == BackupState::kNone && WantsBackup(of)) {
    ChooseBackup(now, shard, actions);
  } else if (of.state == BackupState::kReady && !WantsBackup(of)) {
    // Its primary was leaving, and may stay after all.
    Detach(shard, "the primary stays", actions);
  }
}

PromoteBackup ShardMap::Promotion(int shard) const {
  const Shard& of = shards_[shard];
  return {of.primary, shard, of.epoch, options_.strict && WantsBackup(of)};
}

void ShardMap::Promote(int shard, const std::string& why, Actions& actions) {
  Shard& of = shards_[shard];
  const int before = of.primary;
  of.primary = of.backup;
  of.state = BackupState::kNone;
  of.promoting = true;
  ++of.epoch;
  ++failovers_;
  actions.push_back(ShardNotice{
      "failover", absl::StrCat(ShardText(shard), ": ", NameOf(before), " ", why,
                               ", ", NameOf(of.primary), " takes over")});
  actions.push_back(Promotion(shard));
  actions.push_back(DropShard{
      before, shard, absl::StrCat(NameOf(of.primary), " has taken it over")});
}

void ShardMap::Detach(int shard, const std::string& why, Actions& actions) {
  Shard& of = shards_[shard];
  const bool told = of.state != BackupState::kHosting;
  of.state = BackupState::kNone;
  ++of.epoch;
  actions.push_back(ShardNotice{
      "backup", absl::StrCat(ShardText(shard), ": ", NameOf(of.backup),
                             " is no backup any more: ", why)});
  actions.push_back(DropShard{of.backup, shard, why});
  if (!told) return;
  actions.push_back(SetBackup{.server = of.primary,
                              .shard = shard,
                              .epoch = of.epoch,
                              .backup = std::nullopt,
                              .hold = options_.strict && WantsBackup(of)});
}

void ShardMap::ChooseBackup(absl::Time now, int shard, Actions& actions) {
  Shard& of = shards_[shard];
  // The primary has to fill it.
  if (of.promoting || HasFailed(now, of.primary) ||
      !servers_[of.primary].is.replicates) {
    return;
  }
  const std::string& domain = servers_[of.primary].is.failure_domain;
  const int count = static_cast<int>(servers_.size());
  // Of equals the next one, so that each gets one.
  using Rank = std::tuple<bool, int64_t, int>;
  std::optional<Rank> best;
  for (size_t i = 0; i < servers_.size(); ++i) {
    const int server = static_cast<int>(i);
    if (!MayBackUp(server, of) || refused_.contains({shard, server})) continue;
    const bool fails_with =
        !domain.empty() && servers_[i].is.failure_domain == domain;
    const Rank rank{fails_with, BytesOn(server),
                    (server - of.primary + count) % count};
    if (!best.has_value() || rank < *best) best = rank;
  }
  if (!best.has_value()) return;
  of.backup = (of.primary + std::get<int>(*best)) % count;
  of.state = BackupState::kHosting;
  ++of.epoch;
  actions.push_back(HostBackup{of.backup, shard, of.epoch});
}

void ShardMap::BeginRebuilding(absl::Time now, int shard, Actions& actions) {
  Shard& of = shards_[shard];
  const std::string before = NameOf(of.primary);
  if (options_.rebuilding == absl::ZeroDuration() ||
      !servers_[of.primary].is.replicates) {
    return Lose(shard, "no other server has it", actions);
  }
  // One that has not got everything is of no use.
  if (of.state != BackupState::kNone) {
    actions.push_back(DropShard{of.backup, shard, "its primary is gone"});
  }
  of.state = BackupState::kNone;
  of.promoting = true;
  of.rebuilding = Rebuilding::kWaiting;
  of.lost_with = of.primary;
  of.rebuild_until = now + options_.rebuilding;
  actions.push_back(
      ShardNotice{"failover", absl::StrCat(ShardText(shard), ": ", before,
                                           " is gone, and no other server has "
                                           "what it had")});
  SettleRebuilding(now, shard, actions);
}

void ShardMap::SettleRebuilding(absl::Time now, int shard, Actions& actions) {
  Shard& of = shards_[shard];
  const bool hosted = of.rebuilding != Rebuilding::kWaiting;
  if (hosted && HasFailed(now, of.primary)) {
    actions.push_back(DropShard{of.primary, shard, "it cannot be reached"});
    of.rebuilding = Rebuilding::kWaiting;
  }
  if (now >= of.rebuild_until) {
    return Lose(shard,
                of.rebuilding == Rebuilding::kWaiting
                    ? "no other server has room for it"
                    : "no worker has brought its weights back",
                actions);
  }
  if (of.rebuilding != Rebuilding::kWaiting) return;
  std::optional<std::pair<int64_t, int>> best;
  for (size_t i = 0; i < servers_.size(); ++i) {
    const int server = static_cast<int>(i);
    if (!Usable(server) || !servers_[i].is.replicates ||
        refused_.contains({shard, server})) {
      continue;
    }
    const std::pair rank(BytesOn(server), server);
    if (!best.has_value() || rank < *best) best = rank;
  }
  if (!best.has_value()) return;
  of.primary = best->second;
  of.rebuilding = Rebuilding::kHosting;
  ++of.epoch;
  actions.push_back(RebuildShard{of.primary, shard, of.epoch});
}

void ShardMap::Lose(int shard, const std::string& why, Actions& actions) {
  Shard& of = shards_[shard];
  of.lost = true;
  const bool rebuilt = of.rebuilding != Rebuilding::kNo;
  actions.push_back(ShardLost{rebuilt ? of.lost_with : of.primary, shard, why});
}

bool ShardMap::Usable(int server) const {
  const Server& of = servers_[server];
  return !of.gone && !of.leaving && !of.absent_since.has_value();
}

bool ShardMap::WantsBackup(const Shard& shard) const {
  return options_.replicas > 0 || servers_[shard.primary].leaving;
}

bool ShardMap::MayBackUp(int server, const Shard& shard) const {
  return server != shard.primary && Usable(server) &&
         servers_[server].is.replicates;
}

absl::Time ShardMap::SuspectedAt(int server) const {
  const Server& of = servers_[server];
  if (!of.absent_since.has_value()) return absl::InfiniteFuture();
  return std::max(std::max(*of.absent_since, last_back_) + options_.patience,
                  trusted_until_);
}

bool ShardMap::HasFailed(absl::Time now, int server) const {
  return servers_[server].gone || now >= SuspectedAt(server);
}

std::optional<int> ShardMap::Lost() const {
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].lost) return static_cast<int>(i);
  }
  return std::nullopt;
}

bool ShardMap::HasPart(int server, const Shard& shard) {
  return shard.primary == server ||
         (shard.state != BackupState::kNone && shard.backup == server);
}

bool ShardMap::Hosts(int server) const {
  return std::ranges::any_of(
      shards_, [server](const Shard& shard) { return HasPart(server, shard); });
}

bool ShardMap::Needs(int server) const {
  return std::ranges::any_of(shards_, [server](const Shard& shard) {
    return shard.primary == server && shard.state != BackupState::kReady;
  });
}

bool ShardMap::CanHandOver(int server) const {
  if (!begun_) return false;
  for (size_t i = 0; i < shards_.size(); ++i) {
    const Shard& shard = shards_[i];
    if (shard.lost) return false;
    if (shard.primary != server) continue;
    if (!servers_[server].is.replicates) return false;
    bool somebody = false;
    for (size_t other = 0; other < servers_.size(); ++other) {
      const std::pair key(static_cast<int>(i), static_cast<int>(other));
      somebody =
          somebody || (MayBackUp(key.second, shard) && !refused_.contains(key));
    }
    if (!somebody) return false;
  }
  return true;
}

int64_t ShardMap::BytesOn(int server) const {
  int64_t bytes = 0;
  for (const Shard& shard : shards_) {
    const bool backup =
        shard.state != BackupState::kNone && shard.backup == server;
    if (shard.primary == server || backup) bytes += shard.bytes;
  }
  return bytes;
}

size_t ShardMap::without_backup() const {
  if (!begun_ || options_.replicas == 0) return 0;
  return std::ranges::count_if(shards_, [](const Shard& shard) {
    return shard.state != BackupState::kReady;
  });
}

}  // namespace paceline
