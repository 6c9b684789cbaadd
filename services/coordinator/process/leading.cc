#include "services/coordinator/process/leading.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/clock.h"
#include "common/connections/connection_accounts.h"
#include "common/lane/lane_door.h"
#include "common/log/log.h"
#include "common/rpc/channel.h"
#include "common/rpc/connection_report.h"
#include "common/rpc/rpc_metrics.h"
#include "common/rpc/stream_registry.h"
#include "common/safetensors/durable_file.h"
#include "common/status.h"
#include "services/coordinator/admin/admin_services.h"
#include "services/coordinator/admin/answering.h"
#include "services/coordinator/control/checkpoint_folders.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/fleet/fleet_service.h"
#include "services/coordinator/leadership/leader_keeper.h"
#include "services/coordinator/leadership/term_file.h"
#include "services/coordinator/process/coordinator_service.h"
#include "services/coordinator/run/journal/journal_files.h"
#include "services/coordinator/standby/former_leader.h"
#include "services/coordinator/standby/standby_host.h"
#include "services/coordinator/standby/standby_service.h"
#include "services/coordinator/store/job_journal.h"
#include "services/coordinator/store/job_store.h"

namespace paceline {
namespace {

// A standby that acknowledges nothing holds everybody up for so long.
constexpr absl::Duration kStandbyPatience = absl::Seconds(2);

constexpr absl::Duration kFormerLeaderLiveness = absl::Seconds(4);

// Whoever stands by may have been told to stop, too, because all of the cluster
// is replaced. It is gone within that; else it is handed the lead.
constexpr absl::Duration kStandbyStays = absl::Seconds(5);
// While jobs train, another one is waited for after that: half of the grace is
// left for saving them.
constexpr absl::Duration kStandbyComes = absl::Seconds(30);
constexpr absl::Duration kLook = absl::Milliseconds(100);

// The process has lost the lead: whoever restarts it finds it standing by.
constexpr int kLostTheLead = 3;

std::vector<std::string> RootsOf(const JobsOptions& options) {
  std::vector<std::string> roots = options.checkpoint_fallbacks;
  if (!options.checkpoint_root.empty()) {
    roots.insert(roots.begin(), options.checkpoint_root);
  }
  return roots;
}

// Both outlive what asks.
std::function<Readiness::Part()> PartOf(const JobStore* store,
                                        const CheckpointFolders* folders) {
  return [store, folders] {
    absl::Status status = store->health();
    status.Update(folders->NeverUsable());
    return Readiness::Part{status, status.ok() ? folders->Troubles() : ""};
  };
}

[[noreturn]] void EndAtOnce(const std::string& why) {
  LogError("does not lead any more, and ends", {{"reason", why}});
  std::_Exit(kLostTheLead);
}

// A member knows of a later term. Without a record that coordinators share,
// terms are all there is.
[[noreturn]] void EndByTerm(const CoordinatorOptions& options, uint64_t term,
                            uint64_t later) {
  if (later - term >= kAheadOfRestarts) {
    EndAtOnce(absl::StrCat("a member knows of term ", later,
                           ": another coordinator was promoted; start this one "
                           "with --standby-of"));
  }
  // Its own, before its store was taken from a backup, say.
  if (options.store != ":memory:") {
    TermFile(options.store).Led(later).IgnoreError();
  }
  EndAtOnce(absl::StrCat("a member knows of term ", later,
                         ", and this one led in ", term,
                         ": it goes on in the next one when it is started"));
}

void LogListening(const ProcessParts& parts, const std::string& address) {
  const CoordinatorOptions& options = parts.options;
  LogInfo("listening",
          {{"address", address},
           {"metrics_port", parts.metrics_port},
           {"lease", absl::FormatDuration(options.jobs.lease)},
           {"store", options.store},
           {"checkpoints", absl::StrJoin(options.checkpoints, ", ")},
           {"security", parts.security.tls != nullptr ? "tls" : "plaintext"}});
}

v1::ListCoordinatorsResponse List(const ProcessParts& parts, uint64_t term,
                                  const StandbyHost& host) {
  v1::ListCoordinatorsResponse list;
  v1::Coordinator& self = *list.add_coordinators();
  self.set_name(parts.options.name);
  self.set_role(v1::Coordinator::LEADER);
  self.set_address(parts.address.advertised());
  self.set_version(parts.options.jobs.version);
  self.set_term(term);
  self.set_ready(true);
  if (const auto present = host.Present()) {
    v1::Coordinator& standby = *list.add_coordinators();
    standby.set_name(present->name);
    standby.set_role(v1::Coordinator::STANDBY);
    standby.set_address(present->address);
    standby.set_version(present->version);
    standby.set_term(term);
    standby.set_ready(present->complete);
    standby.set_entries_behind(static_cast<int64_t>(present->entries_behind));
  }
  return list;
}

// Of a coordinator that a person has promoted; null if this is none.
std::unique_ptr<FormerLeader> TellFormerLeader(const ProcessParts& parts,
                                               uint64_t term) {
  const CoordinatorOptions& options = parts.options;
  if (options.standby_of.empty()) return nullptr;
  v1::StandbyHello hello;
  hello.set_name(options.name);
  hello.set_address(parts.address.advertised());
  hello.set_version(options.jobs.version);
  hello.set_term(term);
  return std::make_unique<FormerLeader>(
      std::move(hello), [&options, security = parts.dialling] {
        return MakeChannel(options.standby_of, ChannelProfile::kControl,
                           kFormerLeaderLiveness, security);
      });
}

// The time in which this process leads: it keeps the lead, and feeds whoever
// stands by.
class Tenure {
 public:
  Tenure(const ProcessParts& parts, uint64_t term, StandbyFeed* feed)
      : shares_record_(!parts.options.leader_lock.empty()),
        feed_(feed),
        metrics_(parts.metrics),
        host_({.name = parts.options.name,
               .term = term,
               .version = parts.options.jobs.version,
               .patience = kStandbyPatience,
               .feed = feed,
               .replaced = [this](uint64_t later) { MetLaterTerm(later); }}),
        keeper_({.election = &parts.election,
                 .lock = &parts.lock,
                 .standby = [this] { return LookAtStandby(); },
                 .alone = [this] { host_.GoAlone(); },
                 .lost = EndAtOnce,
                 .name = parts.options.name}) {
    metrics_.leads.Set(1);
    metrics_.term.Set(static_cast<double>(term));
    metrics_.standbys_wanted.Set(shares_record_ ? 1 : 0);
  }

  StandbyHost& host() { return host_; }
  LeaderKeeper& keeper() { return keeper_; }

  // True: the standby leads from now on. False: none has come and stayed, or it
  // is of another version. A journal of another version is good for nobody.
  // `trains`: whether it is worth while to wait for one that is not there.
  bool HandOver(const std::string& version, absl::Duration grace,
                const std::function<bool()>& trains) {
    const absl::Duration stays = std::min(kStandbyStays, grace / 4);
    const absl::Time until = clock_.Now() + std::min(kStandbyComes, grace / 2);
    absl::Time since = clock_.Now();
    while (true) {
      const absl::Time now = clock_.Now();
      const auto present = host_.Present();
      if (!present.has_value() || !present->complete) {
        if (now + stays >= until || !trains()) return false;
        since = now;
      } else if (present->version != version) {
        return false;
      } else if (now - since >= stays) {
        if (Release(*present)) return true;
        if (now >= until) return false;
      }
      absl::SleepFor(kLook);
    }
  }

  // The same once all jobs are saved, which is good for every version: whoever
  // stands by leads, when it has that, too, unless that takes until then.
  bool HandOverSaved(absl::Time until) {
    const auto held = std::make_shared<absl::Notification>();
    feed_->WhenHeld([held] { held->Notify(); });
    if (!held->WaitForNotificationWithTimeout(until - clock_.Now())) {
      return false;
    }
    while (true) {
      const auto present = host_.Present();
      if (!present.has_value() || !present->complete) return false;
      if (Release(*present)) return true;
      if (clock_.Now() >= until) return false;
      absl::SleepFor(kLook);
    }
  }

 private:
  // False: the record does not name it yet.
  bool Release(const StandbyHost::Standby& standby) {
    // Before, for a log that is slow must not hold up one that leads no more.
    if (!std::exchange(releases_, true)) {
      LogInfo("hands the lead over", {{"standby", standby.name}});
    }
    return keeper_.Release();
  }

  // The one that stands by says that it leads.
  void MetLaterTerm(uint64_t later) {
    // The record decides, where there is one.
    if (shares_record_) return keeper_.Doubt();
    EndAtOnce(absl::StrCat("another one leads in term ", later));
  }

  // Who has everything; empty: nobody.
  std::string LookAtStandby() {
    const auto present = host_.Present();
    const bool complete = present.has_value() && present->complete;
    metrics_.standbys.Set(complete ? 1 : 0);
    metrics_.entries_behind.Set(
        present.has_value() ? static_cast<double>(present->entries_behind) : 0);
    return complete ? present->name : "";
  }

  const Clock& clock_ = Clock::Real();
  const bool shares_record_;
  StandbyFeed* const feed_;
  bool releases_ = false;
  LeadershipMetrics& metrics_;
  StandbyHost host_;
  LeaderKeeper keeper_;  // Last: its thread uses the above.
};

// Null: members of this machine keep to gRPC.
std::unique_ptr<LaneDoor> OpenSockets(const CoordinatorOptions& options) {
  if (!options.local_sockets) return nullptr;
  absl::StatusOr<std::unique_ptr<LaneDoor>> sockets = LaneDoor::Open();
  if (sockets.ok()) return *std::move(sockets);
  LogWarning("has no sockets for members of this machine",
             {{"reason", Summary(sockets.status())}});
  return nullptr;
}

// What answers members, people and the one that stands by.
class LeaderServices {
 public:
  // All outlive it.
  LeaderServices(const ProcessParts& parts, uint64_t term, Tenure* tenure,
                 Jobs* jobs, JobJournal* journal)
      : parts_(parts),
        jobs_(jobs),
        connections_(parts.registry),
        guard_(parts.security, parts.options.limits, &Clock::Real(),
               &accounts_),
        answering_(&guard_, journal),
        fleet_metrics_(parts.registry),
        sockets_(OpenSockets(parts.options)),
        fleet_(MakeFleetService(&jobs->fleet(), &guard_, &streams_,
                                &fleet_metrics_, sockets_.get())),
        job_admin_(MakeJobService(jobs, &answering_, &streams_, &pump_)),
        cluster_admin_(MakeClusterService(jobs, &answering_, absl::Now())),
        coordinator_(MakeCoordinatorService(
            {.list = [&parts, term,
                      tenure] { return List(parts, term, tenure->host()); },
             .promote = [](const v1::PromoteCoordinatorRequest&)
                 -> absl::StatusOr<v1::Coordinator> {
               return absl::FailedPreconditionError(
                   "this coordinator leads already");
             }},
            &guard_)),
        standby_(&tenure->host(), &streams_, &guard_),
        calls_(parts.registry, {"paceline.v1.Fleet", "paceline.v1.JobService",
                                "paceline.v1.ClusterService"}) {}

  // `followed`: another one may stand by. The errors are Listen()'s.
  absl::Status Start(bool followed) {
    ListenOptions listen;
    listen.reflection = parts_.options.reflection;
    listen.metrics = &calls_;
    listen.accounts = &accounts_;
    listen.connections = &connections_;
    std::vector<grpc::Service*> services = {fleet_.get(), job_admin_.get(),
                                            cluster_admin_.get(),
                                            coordinator_.get()};
    if (followed) services.push_back(&standby_);
    PACELINE_ASSIGN_OR_RETURN(
        listening_, Listen(parts_.address.listen(), ChannelProfile::kControl,
                           parts_.security, services, listen));
    parts_.address.Bound(listening_.address);
    LogListening(parts_, listening_.address);
    return absl::OkStatus();
  }

  // Save() and Close() are the reverse of the start; every stage is bounded.
  void Save(absl::Duration grace) {
    // 1. Balancers send nothing new.
    listening_.server->SetServing(false);
    // 2. What runs saves itself.
    jobs_->Drain(grace);
  }

  void Close() {
    // 3. Ends the streams whose peers still read, and calls that wait for them.
    jobs_->fleet().logs().Close();
    streams_.CloseAll(absl::UnavailableError("the coordinator is stopping"));
    // 4. Cancels the rest: a peer that stopped reading holds its last write.
    listening_.server->Shutdown(
        absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    listening_.server->Wait();
    // 5. Every OnDone() has run.
    streams_.AwaitEmpty(absl::Seconds(5));
  }

 private:
  const ProcessParts& parts_;
  Jobs* const jobs_;
  ConnectionAccounts accounts_;
  ConnectionReport connections_;
  CallGuard guard_;
  Answering answering_;
  StreamRegistry streams_;
  FleetMetrics fleet_metrics_;
  const std::unique_ptr<LaneDoor> sockets_;  // May be null.
  const std::unique_ptr<grpc::Service> fleet_;
  WatchPump pump_;
  const std::unique_ptr<grpc::Service> job_admin_;
  const std::unique_ptr<grpc::Service> cluster_admin_;
  const std::unique_ptr<grpc::Service> coordinator_;
  StandbyService standby_;
  RpcMetrics calls_;
  ListeningServer listening_;  // Last: it calls everything above.
};

}  // namespace

absl::Status Lead(const ProcessParts& parts) {
  const CoordinatorOptions& options = parts.options;
  const uint64_t term = parts.election.record().term;
  const bool keeps = options.store != ":memory:";
  StandbyFeed feed;
  Tenure tenure(parts, term, &feed);
  const auto former = TellFormerLeader(parts, term);
  LogInfo("leads", {{"term", term}});

  JobsOptions jobs_options = options.jobs;
  jobs_options.term = term;
  StoreOptions store_options{.fsync = jobs_options.fsync};
  if (keeps) {
    jobs_options.feed = store_options.feed = &feed;
    jobs_options.journal_root = JournalFolder(options.store);
    PACELINE_RETURN_IF_ERROR(TermFile(options.store).Led(term));
    PACELINE_RETURN_IF_ERROR(MakeFolders(jobs_options.journal_root));
  }
  PACELINE_ASSIGN_OR_RETURN(const auto store,
                            JobStore::Open(options.store, store_options));
  JobJournal journal(store.get());
  const CheckpointFolders folders(RootsOf(jobs_options), jobs_options.entropy);
  jobs_options.folders = [&folders] { return folders.Get(); };
  jobs_options.later_term = [&](uint64_t later) {
    if (options.leader_lock.empty()) EndByTerm(options, term, later);
    tenure.keeper().Doubt();
  };
  PACELINE_ASSIGN_OR_RETURN(
      const auto jobs, Jobs::Create(jobs_options, &Clock::Real(), store.get(),
                                    &journal, &parts.registry));
  const ReadinessPart part(&parts.readiness, PartOf(store.get(), &folders));
  LeaderServices services(parts, term, &tenure, jobs.get(), &journal);
  PACELINE_RETURN_IF_ERROR(services.Start(/*followed=*/keeps));
  parts.readiness.Set(absl::OkStatus());
  AnnounceAddress(parts.address.listen());
  parts.told_to_stop.WaitForNotification();
  LogInfo("told to stop");
  const absl::Time until = Clock::Real().Now() + options.grace;
  // Without a record that it reads, the standby would not know.
  const bool hands_over = !options.leader_lock.empty();
  if (hands_over) tenure.keeper().Withdraw();
  if (hands_over && tenure.HandOver(options.jobs.version, options.grace,
                                    [&jobs] { return jobs->any_runs(); })) {
    std::_Exit(0);
  }
  parts.readiness.Set(absl::UnavailableError("it is stopping"));
  services.Save(until - Clock::Real().Now());
  if (hands_over) {
    const absl::Time released = Clock::Real().Now() + kStandbyPatience;
    journal.Flush(kStandbyPatience / 2).IgnoreError();
    if (tenure.HandOverSaved(released)) std::_Exit(0);
  }
  services.Close();
  return absl::OkStatus();
}

}  // namespace paceline
