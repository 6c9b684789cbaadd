#include "services/coordinator/leadership/leader_keeper.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log/log.h"

namespace paceline {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(100);
constexpr absl::Duration kAnnounceAgain = absl::Seconds(2);

}  // namespace

LeaderKeeper::LeaderKeeper(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

LeaderKeeper::~LeaderKeeper() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
}

void LeaderKeeper::Doubt() {
  absl::MutexLock lock(&mu_);
  doubts_ = true;
}

void LeaderKeeper::Withdraw() {
  absl::MutexLock turn(&turn_);
  withdrawn_ = true;
  const absl::Status withdrawn = options_.lock->Withdraw(options_.name);
  if (withdrawn.ok()) return;
  LogWarning("clients may look for it here once it leads no more",
             {{"reason", std::string(withdrawn.message())}});
}

bool LeaderKeeper::Release() {
  absl::MutexLock turn(&turn_);
  const auto record = options_.election->Release();
  if (!record.has_value()) return false;
  const auto written =
      options_.lock->Write(*record, options_.election->version());
  if (!written.ok()) {
    LogWarning("the standby is not told that it is to lead",
               {{"reason", std::string(written.status().message())}});
  }
  return true;
}

void LeaderKeeper::Run() {
  const auto something = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return doubts_ || ending_;
  };
  while (Turn()) {
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(&something), kTurn);
    if (ending_) return;
  }
}

void LeaderKeeper::Announce() {
  const absl::Time now = clock_.Now();
  if (announced_ || withdrawn_ || now < next_announcement_) return;
  next_announcement_ = now + kAnnounceAgain;
  const absl::Status announced = options_.lock->Announce(options_.name);
  announced_ = announced.ok();
  if (!announced_) {
    LogError("clients may not find it, though it leads",
             {{"reason", std::string(announced.message())}});
  }
}

bool LeaderKeeper::Turn() {
  bool doubts = false;
  {
    absl::MutexLock lock(&mu_);
    doubts = std::exchange(doubts_, false);
  }
  const std::string standby = options_.standby();
  if (!Keep(standby, doubts)) return false;
  bool alone = false;
  {
    absl::MutexLock turn(&turn_);
    alone = options_.election->alone() && standby.empty();
  }
  if (alone) options_.alone();
  return true;
}

bool LeaderKeeper::Keep(const std::string& standby, bool doubts) {
  absl::MutexLock turn(&turn_);
  Election& election = *options_.election;
  if (const auto record = election.Renew(clock_.Now(), standby)) {
    const auto written = options_.lock->Write(*record, election.version());
    election.Renewed(clock_.Now(), *record, written);
    const std::string trouble(written.status().message());
    if (trouble != std::exchange(told_, trouble) && !trouble.empty()) {
      LogWarning("the lead cannot be renewed", {{"reason", trouble}});
    }
  }
  if (election.in_doubt() || doubts) {
    const auto seen = options_.lock->Read();
    if (seen.ok()) election.Found(clock_.Now(), *seen);
  }
  if (election.lost(clock_.Now())) {
    options_.lost(told_.empty() ? "another coordinator leads" : told_);
    return false;
  }
  Announce();
  return true;
}

}  // namespace paceline
