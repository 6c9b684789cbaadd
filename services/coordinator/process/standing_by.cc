#include "services/coordinator/process/standing_by.h"

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/connections/connection_accounts.h"
#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "common/rpc/connection_report.h"
#include "common/status.h"
#include "services/coordinator/leadership/term_file.h"
#include "services/coordinator/process/coordinator_service.h"
#include "services/coordinator/run/journal/journal_files.h"
#include "services/coordinator/standby/standby_follower.h"
#include "services/coordinator/standby/standby_store.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {
namespace {

constexpr absl::Duration kTurn = absl::Milliseconds(250);

// As long as a leader that is gone is dialled before it counts as that.
constexpr absl::Duration kLeaderLiveness = absl::Seconds(4);

// What this process knows of who leads. Thread-safe.
class Standing {
 public:
  explicit Standing(const ProcessParts& parts)
      : parts_(parts),
        file_(parts.options.store),
        store_(parts.options.store, JournalFolder(parts.options.store),
               StoreOptions{.fsync = parts.options.jobs.fsync},
               [this](uint64_t term) { return file_.Followed(term); }) {}

  absl::StatusOr<bool> Await();

  v1::Coordinator Describe() const;
  v1::ListCoordinatorsResponse List() const;
  absl::StatusOr<v1::Coordinator> Promote(
      const v1::PromoteCoordinatorRequest& request);
  std::string WhyNot() const;

 private:
  void Follow();
  std::string LeaderAddress() const;
  // What it is to write in order to lead.
  absl::StatusOr<std::optional<LeaderRecord>> LookForTheLead();
  absl::StatusOr<bool> Take(const LeaderRecord& claim);
  void NoteState(const Election::Own& own, const absl::Status& lock_is);

  const ProcessParts& parts_;
  const TermFile file_;
  StandbyStore store_;
  std::unique_ptr<StandbyFollower> follower_;  // Of the waiting thread.
  LeaderLock::Seen seen_;                      // The same.

  mutable absl::Mutex mu_;
  bool ordered_ ABSL_GUARDED_BY(mu_) = false;  // By a person, to lead.
  bool ready_ ABSL_GUARDED_BY(mu_) = false;    // v1::Coordinator::ready
  std::string leader_address_ ABSL_GUARDED_BY(mu_);
  std::string trouble_ ABSL_GUARDED_BY(mu_);
  StandbyFollower::View view_ ABSL_GUARDED_BY(mu_);
};

void Standing::Follow() {
  v1::StandbyHello hello;
  hello.set_name(parts_.options.name);
  hello.set_address(parts_.address.advertised());
  hello.set_version(parts_.options.jobs.version);
  const auto own = file_.Read();
  if (own.ok()) hello.set_term(std::max(own->led, own->followed));
  follower_ = std::make_unique<StandbyFollower>(StandbyFollower::Options{
      .hello = std::move(hello),
      .leader = [this] { return LeaderAddress(); },
      .connect =
          [this](const std::string& address) {
            return MakeChannel(address, ChannelProfile::kControl,
                               kLeaderLiveness, parts_.dialling);
          },
      .store = &store_});
}

std::string Standing::LeaderAddress() const {
  if (!parts_.options.standby_of.empty()) return parts_.options.standby_of;
  absl::MutexLock lock(&mu_);
  return leader_address_;
}

std::string Standing::WhyNot() const {
  absl::MutexLock lock(&mu_);
  return absl::StrCat(parts_.options.name, " stands by",
                      view_.leader.empty()
                          ? ", and knows of nobody who leads"
                          : absl::StrCat(" for ", view_.leader));
}

v1::Coordinator Standing::Describe() const {
  absl::MutexLock lock(&mu_);
  v1::Coordinator coordinator;
  coordinator.set_name(parts_.options.name);
  coordinator.set_role(v1::Coordinator::STANDBY);
  coordinator.set_address(parts_.address.advertised());
  coordinator.set_version(parts_.options.jobs.version);
  coordinator.set_term(view_.term);
  coordinator.set_ready(ready_);
  coordinator.set_trouble(trouble_.empty() ? view_.trouble : trouble_);
  return coordinator;
}

v1::ListCoordinatorsResponse Standing::List() const {
  v1::ListCoordinatorsResponse list;
  *list.add_coordinators() = Describe();
  const std::string address = LeaderAddress();
  absl::MutexLock lock(&mu_);
  if (view_.leader.empty()) return list;
  v1::Coordinator& leader = *list.add_coordinators();
  leader.set_name(view_.leader);
  leader.set_role(v1::Coordinator::LEADER);
  leader.set_address(address);
  leader.set_version(view_.version);
  leader.set_term(view_.term);
  leader.set_ready(view_.connected);
  return list;
}

absl::StatusOr<v1::Coordinator> Standing::Promote(
    const v1::PromoteCoordinatorRequest& request) {
  {
    absl::MutexLock lock(&mu_);
    if (!ready_ && !request.accept_loss()) {
      return absl::FailedPreconditionError(absl::StrCat(
          parts_.options.name, " may not have all that ",
          view_.leader.empty() ? "a leader" : view_.leader,
          " has promised. If that one does not run any more, and will not: "
          "--accept-loss"));
    }
    ordered_ = true;
  }
  return Describe();
}

void Standing::NoteState(const Election::Own& own,
                         const absl::Status& lock_is) {
  const std::string trouble =
      lock_is.ok() ? parts_.election.Hindrance(Clock::Real().Now(), own)
                   : std::string(lock_is.message());
  absl::MutexLock lock(&mu_);
  view_ = follower_->Get();
  if (seen_.record.has_value() && view_.leader.empty()) {
    view_.leader = seen_.record->holder;
    view_.term = seen_.record->term;
  }
  leader_address_ = seen_.record.has_value() ? seen_.record->address : "";
  if (!trouble.empty() && trouble != trouble_) {
    LogError(absl::StrCat("cannot lead: ", trouble));
  }
  trouble_ = trouble;
  // Without a record nobody knows what a leader does that is not heard.
  ready_ = view_.complete && (parts_.options.leader_lock.empty()
                                  ? view_.connected
                                  : parts_.election.may_follow(own));
  parts_.readiness.Set(ready_
                           ? absl::OkStatus()
                           : absl::UnavailableError(absl::StrCat(
                                 "it stands by and cannot lead: ",
                                 trouble_.empty() ? view_.trouble : trouble_)));
}

absl::StatusOr<std::optional<LeaderRecord>> Standing::LookForTheLead() {
  PACELINE_ASSIGN_OR_RETURN(const Election::Own own, file_.Read());
  const auto seen = parts_.lock.Read();
  std::optional<LeaderRecord> claim;
  if (seen.ok()) {
    seen_ = *seen;
    // Nobody is read where a person says who leads.
    if (!parts_.options.leader_lock.empty()) {
      claim = parts_.election.Claim(Clock::Real().Now(), seen_, own,
                                    follower_->Get().connected);
    }
  }
  NoteState(own, seen.status());
  {
    absl::MutexLock lock(&mu_);
    if (ordered_ && seen.ok()) {
      claim = parts_.election.ClaimByOrder(
          seen_, own,
          parts_.options.leader_lock.empty() ? kAheadOfRestarts : 1);
    }
  }
  if (claim.has_value()) claim->address = parts_.address.advertised();
  return claim;
}

absl::StatusOr<bool> Standing::Take(const LeaderRecord& claim) {
  bool ordered = false;
  {
    absl::MutexLock lock(&mu_);
    ordered = std::exchange(ordered_, false);
  }
  // Before anything is written: what comes now would be somebody else's. Where
  // there is a record the leader finds it there.
  const bool says = ordered && parts_.options.leader_lock.empty();
  follower_->End(says ? claim.term : 0);
  PACELINE_ASSIGN_OR_RETURN(const Election::Own own, file_.Read());
  if (!own.has_store) {
    PACELINE_RETURN_IF_ERROR(JobStore::Open(parts_.options.store).status());
  }
  const auto written = parts_.lock.Write(claim, seen_.version);
  if (parts_.election.Claimed(Clock::Real().Now(), claim, written)) return true;
  LogWarning("does not lead after all",
             {{"reason", std::string(written.status().message())}});
  if (ordered) {  // It tries again.
    absl::MutexLock lock(&mu_);
    ordered_ = true;
  }
  Follow();
  return false;
}

absl::StatusOr<bool> Standing::Await() {
  Follow();
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(const auto claim, LookForTheLead());
    if (claim.has_value()) {
      PACELINE_ASSIGN_OR_RETURN(const bool leads, Take(*claim));
      if (leads) return true;
    }
    if (parts_.told_to_stop.WaitForNotificationWithTimeout(kTurn)) return false;
  }
}

}  // namespace

absl::StatusOr<bool> StandBy(const ProcessParts& parts) {
  const CoordinatorOptions& options = parts.options;
  const absl::Status withdrawn = parts.lock.Withdraw(options.name);
  if (!withdrawn.ok()) LogWarning(withdrawn.message());
  Standing standing(parts);
  ConnectionAccounts accounts;
  ConnectionReport connections(parts.registry);
  CallGuard guard(parts.security, options.limits, &Clock::Real(), &accounts);
  const auto answers =
      MakeStandbyAnswers([&standing] { return standing.WhyNot(); });
  const auto coordinator = MakeCoordinatorService(
      {.list = [&standing] { return standing.List(); },
       .promote =
           [&standing](const v1::PromoteCoordinatorRequest& request) {
             return standing.Promote(request);
           }},
      &guard);
  ListenOptions listen;
  listen.accounts = &accounts;
  listen.connections = &connections;
  listen.otherwise = answers.get();
  PACELINE_ASSIGN_OR_RETURN(
      const ListeningServer listening,
      Listen(parts.address.listen(), ChannelProfile::kControl, parts.security,
             {coordinator.get()}, listen));
  parts.address.Bound(listening.address);
  LogInfo("stands by", {{"address", listening.address},
                        {"metrics_port", parts.metrics_port},
                        {"name", options.name}});
  AnnounceAddress(listening.address);
  const absl::StatusOr<bool> leads = standing.Await();
  listening.server->Shutdown(absl::ToChronoTime(absl::Now()));
  listening.server->Wait();
  return leads;
}

}  // namespace paceline
