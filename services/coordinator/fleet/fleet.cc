#include "services/coordinator/fleet/fleet.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/log/log.h"
#include "common/proto_time.h"
#include "common/rpc/grpc_status.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "common/status_details.h"
#include "services/coordinator/fleet/assignment.h"
#include "services/coordinator/fleet/hello_check.h"
#include "services/coordinator/fleet/server_choice.h"
#include "services/coordinator/jobs/resource_name.h"
#include "services/coordinator/run/course/time_limits.h"

namespace paceline {
namespace {

// A worker that was told to leave may be in the middle of a long iteration, or
// of loading its data; this many leases later it is taken for stuck.
constexpr int kLeavingLeases = 30;

// A server whose connection stands and that says nothing stalls: it is stopped,
// or swaps. What it has of a job may be nowhere else, so it is waited for as
// long as workers wait for it.
constexpr int kStalledLeases = 3;

// The answer to a worker's hello.
v1::WorkerCommand Registered(const FleetOptions& options) {
  v1::WorkerCommand command;
  v1::WorkerRegistered& registered = *command.mutable_registered();
  registered.set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(options.lease)));
  if (options.term > 0) {
    registered.mutable_session()->set_term(options.term);
  }
  return command;
}

// So long a worker may take to leave.
absl::Duration LeavingLimit(const WorkerEntry& entry, absl::Duration lease) {
  const absl::Duration limit = kLeavingLeases * lease;
  // It finishes an evaluation first, which may take so long.
  const bool evaluates = entry.run != nullptr && entry.hello.evaluator();
  return evaluates ? std::max(limit, kEvaluationTimeout) : limit;
}

// Nothing happens to a stream that is gone.
template <class Command>
void SendTo(const std::weak_ptr<OutgoingStream<Command>>& stream,
            Command command) {
  if (const auto open = stream.lock()) open->Send(std::move(command));
}

void Close(const std::weak_ptr<OpenStream>& stream,
           const absl::Status& status) {
  if (const auto open = stream.lock()) open->Close(status);
}

// The streams of those who have that name and are to be replaced: of one, and
// of others whose streams are closed and not over yet.
template <class Entries, class Replaced>
std::vector<std::weak_ptr<OpenStream>> StreamsOf(const std::string& name,
                                                 const Entries& entries,
                                                 const Replaced& replaced) {
  std::vector<std::weak_ptr<OpenStream>> streams;
  for (const auto& [id, entry] : entries) {
    if (entry.hello.name() == name && replaced(entry)) {
      streams.push_back(entry.stream);
    }
  }
  return streams;
}

// The jobs of which a parameter server has what is nowhere else.
std::vector<std::string> JobsOn(
    uint64_t member, const std::vector<std::shared_ptr<JobRun>>& runs) {
  std::vector<std::string> jobs;
  for (const auto& run : runs) {
    if (run->Needs(member)) jobs.push_back(run->job_name());
  }
  return jobs;
}

void LogServerGone(const std::string& name,
                   const std::vector<std::string>& jobs) {
  if (jobs.empty()) return LogInfo("gone", {{"server", name}});
  LogError("gone, with its part of the jobs' models",
           {{"server", name}, {"jobs", jobs}});
}

}  // namespace

Fleet::Fleet(const Clock* clock, FleetOptions options)
    : clock_(clock), options_(std::move(options)) {}

absl::Status Fleet::CheckTerm(const v1::SessionHello& hello) const {
  if (options_.term == 0 || hello.term() <= options_.term) {
    return absl::OkStatus();
  }
  if (options_.later_term) options_.later_term(hello.term());
  return absl::UnavailableError(
      absl::StrCat("another coordinator leads, in term ", hello.term(),
                   "; this one did in ", options_.term));
}

absl::StatusOr<uint64_t> Fleet::OnWorkerConnected(
    const v1::WorkerHello& hello, std::weak_ptr<WorkerPeer> stream) {
  PACELINE_RETURN_IF_ERROR(CheckHello(hello));
  uint64_t member = 0;
  std::vector<std::weak_ptr<OpenStream>> replaced;
  {
    absl::MutexLock lock(&mu_);
    replaced = StreamsOf(hello.name(), workers_,
                         [](const WorkerEntry&) { return true; });
    WorkerEntry entry;
    entry.hello = hello;
    if (entry.hello.pool().empty()) entry.hello.set_pool("default");
    entry.stream = stream;
    entry.last_heard = clock_->Now();
    entry.connect_time = absl::Now();
    member = next_member_++;
    workers_.emplace(member, std::move(entry));
  }
  for (const auto& other : replaced) {
    Close(other, absl::AbortedError(absl::StrCat(
                     "another member has registered as ", hello.name(),
                     ": give every worker a name of its own")));
  }
  SendTo(stream, Registered(options_));
  LogInfo("registered", {{"worker", hello.name()}, {"pool", hello.pool()}});
  TellLeftOut("worker", hello);
  options_.changed();
  return member;
}

absl::Status Fleet::OnWorkerMessage(uint64_t member,
                                    const v1::WorkerMessage& message,
                                    std::shared_ptr<const RunSession>* part) {
  if (message.has_push_done() || message.has_gradient_ready() ||
      message.has_abandoned()) {
    std::shared_ptr<const RunSession> found;
    std::shared_ptr<const RunSession>& in = part == nullptr ? found : *part;
    if (in == nullptr || in->over) in = SessionOf(member);
    if (const auto its = in == nullptr ? nullptr : in->run.lock()) {
      return Answered(member, *its, message,
                      its->OnWorkerMessage(in->worker, message));
    }
  }
  std::shared_ptr<JobRun> run;
  std::shared_ptr<const RunSession> session;
  bool leaving = false;
  std::weak_ptr<WorkerPeer> stream;
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    if (it == workers_.end()) return absl::AbortedError("register anew");
    WorkerEntry& entry = it->second;
    entry.last_heard = clock_->Now();
    entry.going |= message.has_leaving() && message.leaving().process();
    run = entry.run;
    session = entry.session;
    leaving = entry.leaving;
    stream = entry.stream;
  }
  if (message.has_heartbeat()) {
    v1::WorkerCommand heartbeat;
    heartbeat.mutable_heartbeat();
    SendTo(stream, std::move(heartbeat));
  }
  absl::Status status;
  if (run != nullptr) {
    status = Answered(member, *run, message,
                      run->OnWorkerMessage(session->worker, message));
    if (message.has_failed()) NoteFailure(member, *run, message.failed());
  } else if (!leaving && !message.has_heartbeat() && !message.has_leaving() &&
             !message.has_giving_up()) {
    status = absl::InvalidArgumentError(
        "that message belongs to a job, and the worker has none");
  }
  // Either is the worker's last word in its run.
  if (message.has_leaving() || message.has_failed()) Detach(member);
  return status;
}

std::shared_ptr<const RunSession> Fleet::SessionOf(uint64_t member) const {
  absl::MutexLock lock(&mu_);
  const auto it = workers_.find(member);
  return it == workers_.end() ? nullptr : it->second.session;
}

absl::Status Fleet::Answered(uint64_t member, const JobRun& run,
                             const v1::WorkerMessage& message,
                             const absl::Status& status) {
  const bool does_not_fit =
      message.has_ready() && absl::IsFailedPrecondition(status);
  const bool not_finite = message.has_push_done() && absl::IsOutOfRange(status);
  if (!does_not_fit && !not_finite) return status;
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    if (it != workers_.end()) {
      it->second.troubles[run.job_name()].MakeUnfit(status.message());
    }
  }
  Release(member, status.message(), status.code());
  return absl::OkStatus();
}

void Fleet::NoteFailure(uint64_t member, const JobRun& run,
                        const v1::Failed& why) {
  std::string name;
  bool evaluator = false;
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    if (it == workers_.end()) return;
    name = it->second.hello.name();
    evaluator = it->second.hello.evaluator();
  }
  const int64_t done = run.DoneBy(name, evaluator);
  absl::MutexLock lock(&mu_);
  const auto it = workers_.find(member);
  if (it == workers_.end()) return;
  JobTrouble& trouble = it->second.troubles[run.job_name()];
  const bool program = !it->second.hello.programs().empty();
  if (program) {
    trouble.ProgramFailed(run.run(), done, FromCode(why.code(), why.message()));
  } else {
    trouble.MakeUnfit(why.message());
  }
}

void Fleet::Detach(uint64_t member) {
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    if (it == workers_.end()) return;
    it->second.EndSession();
    it->second.leaving = false;
  }
  options_.changed();
}

void Fleet::OnWorkerDisconnected(uint64_t member) {
  std::shared_ptr<JobRun> run;
  std::shared_ptr<const RunSession> session;
  std::string name;
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    if (it == workers_.end()) return;
    run = it->second.run;
    session = it->second.session;
    name = it->second.hello.name();
    workers_.erase(it);
  }
  LogInfo("gone", {{"worker", name}});
  if (run != nullptr) run->OnWorkerDisconnected(session->worker);
  options_.changed();
}

std::shared_ptr<const RunSession> Fleet::RestoreWorker(
    const std::shared_ptr<JobRun>& run, WorkerId worker,
    const ReplayedSession& session) {
  const std::string& name = session.hello().name();
  auto restored = std::make_shared<WorkerSession>(
      session.id(), name, session.sent(), session.received());
  restored->Send(Registered(options_));
  const auto part = std::make_shared<RunSession>(run, worker, restored);
  absl::MutexLock lock(&mu_);
  const auto has_name = [&name](const auto& of) {
    return of.second.hello.name() == name;
  };
  if (absl::c_any_of(workers_, has_name)) return nullptr;
  WorkerEntry entry;
  entry.hello = session.hello();
  if (entry.hello.pool().empty()) entry.hello.set_pool("default");
  entry.stream = restored;
  entry.last_heard = entry.since = clock_->Now();
  entry.connect_time = absl::Now();
  entry.run = run;
  entry.session = part;
  entry.leaving = session.released();
  entry.leaving_since = entry.since;
  workers_.emplace(next_member_, std::move(entry));
  restored_.emplace(next_member_++, std::move(restored));
  return part;
}

std::map<uint64_t, std::shared_ptr<WorkerSession>> Fleet::TakeRestored() {
  absl::MutexLock lock(&mu_);
  return std::exchange(restored_, {});
}

absl::StatusOr<uint64_t> Fleet::OnServerConnected(
    const v1::ServerHello& hello, std::weak_ptr<ServerPeer> stream) {
  PACELINE_RETURN_IF_ERROR(CheckHello(hello));
  v1::ServerCommand welcome;
  welcome.mutable_welcome()->set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(options_.lease)));
  welcome.mutable_welcome()->set_looks_at_held(true);
  if (options_.term > 0) {
    welcome.mutable_welcome()->mutable_session()->set_term(options_.term);
  }
  uint64_t member = 0;
  v1::CheckpointFolders folders;
  std::vector<std::weak_ptr<OpenStream>> replaced;
  {
    absl::MutexLock lock(&mu_);
    // One that has said it will go, saves what it hosts and goes by itself: who
    // restarts it may not have waited for that.
    replaced = StreamsOf(hello.name(), servers_,
                         [](const ServerEntry& it) { return !it.leaving; });
    member = next_member_++;
    servers_.emplace(member,
                     ServerEntry{hello, stream, clock_->Now(), absl::Now()});
    folders = folders_.folders();
  }
  for (const auto& other : replaced) {
    Close(other, absl::AbortedError(absl::StrCat(
                     "another server has registered as ", hello.name(),
                     ": give every server a name of its own")));
  }
  SendTo(stream, std::move(welcome));
  if (folders.folders_size() > 0) {
    v1::ServerCommand command;
    *command.mutable_folders() = std::move(folders);
    SendTo(stream, std::move(command));
  }
  LogInfo("registered",
          {{"server", hello.name()}, {"address", hello.address()}});
  TellLeftOut("server", hello);
  ReturnToRuns(LinkOf(member, hello, stream), hello);
  Offer(member);
  options_.changed();
  return member;
}

void Fleet::ReturnToRuns(const ServerLink& link, const v1::ServerHello& hello) {
  std::map<uint64_t, std::vector<v1::HeldShard>> held;  // By run.
  for (const v1::HeldShard& shard : hello.held()) {
    held[shard.run()].push_back(shard);
  }
  std::map<uint64_t, std::shared_ptr<JobRun>> runs;
  {
    absl::MutexLock lock(&mu_);
    runs = runs_;
  }
  // One that has nothing of a run that awaits it is another process.
  for (const auto& [number, run] : runs) {
    if (run->OnServerReturned(link, held[number])) held.erase(number);
  }
  std::erase_if(held, [](const auto& of) { return of.second.empty(); });
  for (const auto& [number, shards] : held) {
    v1::ServerCommand command;
    command.set_run(number);
    command.mutable_unhost()->set_reason("no run goes on with it");
    command.mutable_unhost()->set_all_shards(true);
    SendTo(link.stream, std::move(command));
  }
}

bool Fleet::Draining(const WorkerEntry& entry) const {
  return entry.going || drained_.contains(entry.hello.name());
}

bool Fleet::TakesJobs(uint64_t id, const ServerEntry& entry) const {
  return !entry.leaving && !drained_servers_.contains(entry.hello.name()) &&
         folders_.IsFit(id, entry.hello);
}

void Fleet::Offer(uint64_t member) {
  std::vector<std::shared_ptr<JobRun>> runs;
  ServerLink link;
  {
    absl::MutexLock lock(&mu_);
    const auto it = servers_.find(member);
    if (it == servers_.end() || !TakesJobs(member, it->second)) return;
    link = LinkOf(member, it->second.hello, it->second.stream);
    for (const auto& [id, run] : runs_) {
      if (KnowsFormat(it->second.hello.formats(), run->wire()))
        runs.push_back(run);
    }
  }
  for (const auto& run : runs) run->OfferServer(link);
}

void Fleet::OnServerLink(uint64_t member, uint64_t link, bool connected) {
  std::vector<std::shared_ptr<JobRun>> runs;
  {
    absl::MutexLock lock(&mu_);
    const auto it = servers_.find(member);
    if (it == servers_.end()) return;
    ServerEntry& entry = it->second;
    if (link > entry.link) {
      entry.link = link;
      entry.connected = connected;
    }
    for (const auto& [id, run] : runs_) runs.push_back(run);
  }
  for (const auto& run : runs) run->OnServerLink(member, link, connected);
}

absl::Status Fleet::OnServerMessage(uint64_t member,
                                    const v1::ServerMessage& message) {
  if (message.has_leaving()) return ServerLeaves(member);
  if (message.has_folders_seen()) {
    FoldersSeen(member, message.folders_seen());
    return absl::OkStatus();
  }
  std::shared_ptr<JobRun> run;
  std::weak_ptr<ServerPeer> stream;
  {
    absl::MutexLock lock(&mu_);
    const auto it = servers_.find(member);
    if (it == servers_.end()) return absl::AbortedError("register anew");
    it->second.last_heard = clock_->Now();
    stream = it->second.stream;
    if (message.has_heartbeat()) {
      it->second.replica_lag = message.heartbeat().replica_lag();
    }
    const auto of = runs_.find(message.run());
    // The last answers of a run that is over.
    if (of != runs_.end()) run = of->second;
  }
  if (message.has_heartbeat()) {
    v1::ServerCommand heartbeat;
    heartbeat.mutable_heartbeat();
    SendTo(stream, std::move(heartbeat));
    return absl::OkStatus();
  }
  if (run == nullptr) return absl::OkStatus();
  return run->OnServerMessage(member, message);
}

void Fleet::SetFolders(v1::CheckpointFolders folders) {
  v1::ServerCommand command;
  std::vector<std::weak_ptr<ServerPeer>> streams;
  {
    absl::MutexLock lock(&mu_);
    *command.mutable_folders() = folders_.Set(std::move(folders));
    for (const auto& [id, entry] : servers_) streams.push_back(entry.stream);
  }
  for (const auto& stream : streams) SendTo(stream, command);
  options_.changed();
}

void Fleet::FoldersSeen(uint64_t member, const v1::FoldersSeen& seen) {
  std::string name;
  {
    absl::MutexLock lock(&mu_);
    const auto it = servers_.find(member);
    if (it == servers_.end() || !folders_.Seen(member, seen)) return;
    name = it->second.hello.name();
  }
  if (!seen.message().empty()) {
    LogWarning("a checkpoint folder is in trouble",
               {{"server", name}, {"reason", seen.message()}});
  }
  Offer(member);
  options_.changed();
}

absl::Status Fleet::ServerLeaves(uint64_t member) {
  std::vector<std::shared_ptr<JobRun>> runs;
  std::string name;
  {
    absl::MutexLock lock(&mu_);
    const auto it = servers_.find(member);
    if (it == servers_.end()) return absl::AbortedError("register anew");
    it->second.leaving = true;
    name = it->second.hello.name();
    for (const auto& [id, run] : runs_) runs.push_back(run);
  }
  for (const auto& run : runs) run->OnServerLeaving(member, true);
  LogInfo("leaving", {{"server", name}});
  options_.changed();
  return absl::OkStatus();
}

void Fleet::OnServerDisconnected(uint64_t member) {
  std::vector<std::shared_ptr<JobRun>> runs;
  std::string name;
  {
    absl::MutexLock lock(&mu_);
    const auto it = servers_.find(member);
    if (it == servers_.end()) return;
    name = it->second.hello.name();
    servers_.erase(it);
    folders_.ServerGone(member);
    for (const auto& [id, run] : runs_) runs.push_back(run);
  }
  LogServerGone(name, JobsOn(member, runs));
  for (const auto& run : runs) run->OnServerDisconnected(member);
  options_.changed();
}

void Fleet::AddRun(const std::shared_ptr<JobRun>& run) {
  // Since they were picked for the run.
  std::vector<uint64_t> gone;
  std::vector<uint64_t> leaving;
  std::vector<std::pair<uint64_t, uint64_t>> absent;  // With the link's count.
  std::vector<uint64_t> all;
  {
    absl::MutexLock lock(&mu_);
    runs_.emplace(run->run(), run);
    for (const uint64_t member : run->Servers()) {
      const auto it = servers_.find(member);
      if (it == servers_.end()) {
        gone.push_back(member);
        continue;
      }
      const ServerEntry& entry = it->second;
      if (entry.leaving || drained_servers_.contains(entry.hello.name())) {
        leaving.push_back(member);
      }
      if (!entry.connected) absent.emplace_back(member, entry.link);
    }
    for (const auto& [id, entry] : servers_) all.push_back(id);
  }
  for (const uint64_t member : gone) run->OnServerDisconnected(member);
  for (const uint64_t member : leaving) run->OnServerLeaving(member, true);
  for (const auto& [member, link] : absent) {
    run->OnServerLink(member, link, false);
  }
  for (const uint64_t member : all) Offer(member);
}

void Fleet::RemoveRun(uint64_t run) {
  {
    absl::MutexLock lock(&mu_);
    runs_.erase(run);
    for (auto& [id, entry] : workers_) {
      if (entry.run == nullptr || entry.run->run() != run) continue;
      entry.EndSession();
      entry.leaving = true;
      entry.leaving_since = clock_->Now();
    }
  }
  options_.changed();
}

absl::Status Fleet::Assign(uint64_t member, uint64_t run_number) {
  std::shared_ptr<JobRun> run;
  std::shared_ptr<RunSession> session;
  v1::WorkerHello hello;
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    const auto to = runs_.find(run_number);
    if (it == workers_.end() || to == runs_.end()) {
      return absl::FailedPreconditionError("the worker or the run is gone");
    }
    WorkerEntry& entry = it->second;
    if (entry.run != nullptr || entry.leaving || Draining(entry) ||
        !IsConnected(entry.stream)) {
      return absl::FailedPreconditionError("the worker is not free");
    }
    // Its answer may come as soon as the run has its number.
    run = entry.run = to->second;
    session = entry.session =
        std::make_shared<RunSession>(run, run->NextWorker(), entry.stream);
    entry.since = clock_->Now();
    hello = entry.hello;
  }
  const absl::Status connected = run->OnWorkerConnected(session, hello);
  bool gone = false;
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    gone = it == workers_.end();
    if (!gone && !connected.ok() && it->second.session == session) {
      it->second.EndSession();
      it->second.leaving = false;
    }
  }
  // Its stream ended before the run knew of it.
  if (gone) run->OnWorkerDisconnected(session->worker);
  return connected;
}

void Fleet::Release(uint64_t member, absl::string_view why,
                    absl::StatusCode code) {
  std::shared_ptr<JobRun> run;
  std::shared_ptr<const RunSession> session;
  {
    absl::MutexLock lock(&mu_);
    const auto it = workers_.find(member);
    if (it == workers_.end() || it->second.leaving) return;
    if (it->second.run == nullptr) return;
    it->second.leaving = true;
    it->second.leaving_since = clock_->Now();
    run = it->second.run;
    session = it->second.session;
  }
  run->ReleaseWorker(session->worker, why, code);
}

absl::Status Fleet::SetDraining(const std::string& name, bool draining) {
  bool found = false;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, entry] : workers_) {
      found = found || entry.hello.name() == name;
    }
    if (!draining) drained_.erase(name);
    if (draining && found) drained_.insert(name);
  }
  if (!found) return NotFound(kWorkerType, FormatWorkerName(name));
  options_.changed();
  return absl::OkStatus();
}

absl::Status Fleet::SetServerDraining(const std::string& name, bool draining) {
  std::vector<uint64_t> members;
  std::vector<std::shared_ptr<JobRun>> runs;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, entry] : servers_) {
      if (entry.hello.name() != name) continue;
      if (!entry.leaving) members.push_back(id);
    }
    if (!draining) drained_servers_.erase(name);
    if (draining && !members.empty()) drained_servers_.insert(name);
    for (const auto& [id, run] : runs_) runs.push_back(run);
  }
  if (members.empty()) return NotFound(kServerType, FormatServerName(name));
  for (const uint64_t member : members) {
    for (const auto& run : runs) run->OnServerLeaving(member, draining);
    if (!draining) Offer(member);
  }
  options_.changed();
  return absl::OkStatus();
}

void Fleet::ForgetJob(absl::string_view job) {
  bool fit_again = false;
  {
    absl::MutexLock lock(&mu_);
    for (auto& [id, entry] : workers_) {
      fit_again |= entry.troubles.erase(std::string(job)) > 0;
    }
  }
  if (fit_again) options_.changed();
}

uint64_t Fleet::BytesOn(uint64_t server) const {
  uint64_t bytes = 0;
  for (const auto& [id, run] : runs_) {
    for (const v1::HostedShard& shard : run->ShardsOn(server)) {
      bytes += shard.bytes();
    }
  }
  return bytes;
}

std::vector<FleetMember> Fleet::Members() const {
  std::vector<FleetMember> members;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, entry] : workers_) {
      members.push_back({id, ToProto(entry, Draining(entry)),
                         entry.run == nullptr ? 0 : entry.run->run(),
                         entry.leaving || (entry.run == nullptr &&
                                           !IsConnected(entry.stream)),
                         entry.since, UnfitFor(entry.troubles), entry.Formats(),
                         entry.hello.in_flight()});
    }
  }
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    return a.worker.name() < b.worker.name();
  });
  return members;
}

std::vector<v1::Server> Fleet::Servers() const {
  std::vector<v1::Server> servers;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, entry] : servers_) {
      v1::Server server = ToProto(entry);
      uint64_t bytes = 0;
      for (const auto& [number, run] : runs_) {
        const std::vector<v1::HostedShard> shards = run->ShardsOn(id);
        if (!shards.empty()) server.add_jobs(run->job_name());
        for (const v1::HostedShard& shard : shards) {
          bytes += shard.bytes();
          *server.add_shards() = shard;
        }
      }
      server.set_parameter_bytes(bytes);
      server.set_draining(drained_servers_.contains(entry.hello.name()));
      server.set_folder_trouble(folders_.TroubleOf(id, entry.hello));
      server.set_takes_jobs(TakesJobs(id, entry));
      servers.push_back(std::move(server));
    }
  }
  std::sort(servers.begin(), servers.end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return servers;
}

void Fleet::Forgive(absl::Duration time) {
  absl::MutexLock lock(&mu_);
  for (auto& [id, entry] : workers_) {
    entry.last_heard += time;
    entry.leaving_since += time;
  }
  for (auto& [id, entry] : servers_) entry.last_heard += time;
}

void Fleet::EndSilent() {
  struct Silent {
    const char* what;
    const char* role;
    std::string name;
    std::weak_ptr<OpenStream> stream;
  };
  std::vector<Silent> silent;
  {
    absl::MutexLock lock(&mu_);
    const absl::Time now = clock_->Now();
    for (const auto& [id, entry] : workers_) {
      const bool stuck =
          entry.leaving &&
          now - entry.leaving_since > LeavingLimit(entry, options_.lease);
      // In a run the run sees to it.
      const bool gone =
          entry.run == nullptr && now - entry.last_heard > options_.lease;
      if (!stuck && !gone) continue;
      silent.push_back(
          {stuck ? "does not leave its job" : "not heard for a lease", "worker",
           entry.hello.name(), entry.stream});
    }
    for (const auto& [id, entry] : servers_) {
      const bool needed = std::ranges::any_of(
          runs_, [id = id](const auto& of) { return of.second->Needs(id); });
      const bool stalls = needed && IsConnected(entry.stream);
      const int leases = stalls ? kStalledLeases : 1;
      if (now - entry.last_heard <= leases * options_.lease) continue;
      silent.push_back({"not heard for its lease", "server", entry.hello.name(),
                        entry.stream});
    }
  }
  for (const Silent& member : silent) {
    LogWarning(member.what, {{member.role, member.name}});
    Close(member.stream, absl::AbortedError("the lease ended: register anew"));
  }
}

}  // namespace paceline
