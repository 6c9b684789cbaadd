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
// is replaced by another version, which cannot read a run's journal. It is gone
// within that; else it is handed the lead.
constexpr absl::Duration kHandOverAfter = absl::Seconds(5);
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

// In the reverse order of the start; every stage is bounded.
void Drain(Jobs& jobs, StreamRegistry& streams, RpcServer& server,
           absl::Duration grace) {
  // 1. Balancers send nothing new.
  server.SetServing(false);
  // 2. What runs saves itself.
  jobs.Drain(grace);
  // 3. Ends the streams whose peers still read.
  streams.CloseAll(absl::UnavailableError("the coordinator is stopping"));
  // 4. Cancels the rest: a peer that stopped reading holds its last write.
  server.Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  server.Wait();
  // 5. Every OnDone() has run.
  streams.AwaitEmpty(absl::Seconds(5));
}

[[noreturn]] void EndAtOnce(const std::string& why) {
  LogError("does not lead any more, and ends", {{"reason", why}});
  std::_Exit(kLostTheLead);
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
      : metrics_(parts.metrics),
        host_({.name = parts.options.name,
               .term = term,
               .version = parts.options.jobs.version,
               .patience = kStandbyPatience,
               .feed = feed,
               .changed = [] {},  // The keeper looks often enough.
               .replaced =
                   [](uint64_t later) {
                     EndAtOnce(
                         absl::StrCat("another one leads in term ", later));
                   }}),
        keeper_({.election = &parts.election,
                 .lock = &parts.lock,
                 .standby = [this] { return LookAtStandby(); },
                 .alone = [this] { host_.GoAlone(); },
                 .lost = EndAtOnce,
                 .name = parts.options.name}) {
    metrics_.leads.Set(1);
    metrics_.term.Set(static_cast<double>(term));
    metrics_.standbys_wanted.Set(parts.options.leader_lock.empty() ? 0 : 1);
  }

  StandbyHost& host() { return host_; }
  LeaderKeeper& keeper() { return keeper_; }

  // True: the standby leads from now on, if it stays for that long.
  bool HandOver(const std::string& version, absl::Duration after) {
    const Clock& clock = Clock::Real();
    const absl::Time until = clock.Now() + after;
    while (true) {
      const auto present = host_.Present();
      // A journal of another version is good for nobody.
      if (!present.has_value() || !present->complete ||
          present->version != version) {
        return false;
      }
      if (clock.Now() >= until) {
        LogInfo("hands the lead over", {{"standby", present->name}});
        return keeper_.Release();
      }
      absl::SleepFor(kLook);
    }
  }

 private:
  // Who has everything; empty: nobody.
  std::string LookAtStandby() {
    const auto present = host_.Present();
    const bool complete = present.has_value() && present->complete;
    metrics_.standbys.Set(complete ? 1 : 0);
    metrics_.entries_behind.Set(
        present.has_value() ? static_cast<double>(present->entries_behind) : 0);
    return complete ? present->name : "";
  }

  LeadershipMetrics& metrics_;
  StandbyHost host_;
  LeaderKeeper keeper_;  // Last: its thread uses the above.
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
    // Without a record that coordinators share, terms are all there is.
    if (options.leader_lock.empty()) {
      EndAtOnce(absl::StrCat("a member knows of term ", later,
                             ": another coordinator was promoted; start this "
                             "one with --standby-of"));
    }
    tenure.keeper().Doubt();
  };
  PACELINE_ASSIGN_OR_RETURN(
      const auto jobs, Jobs::Create(jobs_options, &Clock::Real(), store.get(),
                                    &journal, &parts.registry));
  const ReadinessPart part(&parts.readiness, PartOf(store.get(), &folders));
  ConnectionAccounts accounts;
  ConnectionReport connections(parts.registry);
  CallGuard guard(parts.security, options.limits, &Clock::Real(), &accounts);
  Answering answering(&guard, &journal);
  StreamRegistry streams;
  FleetMetrics fleet_metrics(parts.registry);
  const auto fleet =
      MakeFleetService(&jobs->fleet(), &guard, &streams, &fleet_metrics);
  WatchPump pump;
  const auto job_admin =
      MakeJobService(jobs.get(), &answering, &streams, &pump);
  const auto cluster_admin =
      MakeClusterService(jobs.get(), &answering, absl::Now());
  const auto coordinator = MakeCoordinatorService(
      {.list = [&] { return List(parts, term, tenure.host()); },
       .promote = [](const v1::PromoteCoordinatorRequest&)
           -> absl::StatusOr<v1::Coordinator> {
         return absl::FailedPreconditionError("this coordinator leads already");
       }},
      &guard);
  StandbyService standby(&tenure.host(), &streams, &guard);
  RpcMetrics calls(parts.registry,
                   {"paceline.v1.Fleet", "paceline.v1.JobService",
                    "paceline.v1.ClusterService"});
  ListenOptions listen;
  listen.reflection = options.reflection;
  listen.metrics = &calls;
  listen.accounts = &accounts;
  listen.connections = &connections;
  std::vector<grpc::Service*> services = {
      fleet.get(), job_admin.get(), cluster_admin.get(), coordinator.get()};
  if (keeps) services.push_back(&standby);
  PACELINE_ASSIGN_OR_RETURN(
      const ListeningServer listening,
      Listen(parts.address.listen(), ChannelProfile::kControl, parts.security,
             services, listen));
  parts.address.Bound(listening.address);
  LogListening(parts, listening.address);
  parts.readiness.Set(absl::OkStatus());
  AnnounceAddress(listening.address);
  parts.told_to_stop.WaitForNotification();
  LogInfo("told to stop");
  parts.readiness.Set(absl::UnavailableError("it is stopping"));
  // Without a record that it reads, the standby would not know.
  if (!options.leader_lock.empty() &&
      tenure.HandOver(options.jobs.version,
                      std::min(kHandOverAfter, options.grace / 4))) {
    std::_Exit(0);
  }
  Drain(*jobs, streams, *listening.server, options.grace);
  return absl::OkStatus();
}

}  // namespace paceline
