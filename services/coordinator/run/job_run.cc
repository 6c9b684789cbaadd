#include "services/coordinator/run/job_run.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "services/coordinator/run/checkpoint_files.h"
#include "services/coordinator/run/job_memory.h"
#include "services/coordinator/run/journal/run_events.h"
#include "services/coordinator/run/wire.h"

namespace paceline {
namespace {

RunServer ToRunServer(const ServerLink& link) {
  return {link.name, link.failure_domain, link.replicates};
}

CourseOptions OptionsOf(const RunSetup& setup) {
  CourseOptions options = ToCourseOptions(setup.plan);
  options.run = static_cast<uint16_t>(setup.run & 0xffff);
  options.lease = setup.lease;
  for (const ServerLink& server : setup.servers) {
    options.servers.push_back(ToRunServer(server));
  }
  options.replicas = setup.replicas;
  options.strict_durability = setup.strict;
  options.checkpoint_root = setup.checkpoint_root;
  options.checkpoint_fallbacks = setup.checkpoint_fallbacks;
  options.restore_from = setup.restore_from;
  options.restored =
      !setup.restore_from.empty() || !setup.plan.spec.initial_weights().empty();
  return options;
}

}  // namespace

JobRun::JobRun(RunSetup setup, const Clock* clock,
               std::shared_ptr<RunObserver> observer,
               std::shared_ptr<JobMetrics> metrics)
    : JobRun(std::move(setup), clock->Now(), clock, std::move(observer),
             std::move(metrics)) {
  if (!setup_.journal_file.empty()) {
    log_.Begin(setup_.journal_file);
    absl::MutexLock lock(&mu_);
    journal::RunEvent event = BeginOf(setup_);
    RecordEvent(began_, event);
  }
  StartThreads();
}

JobRun::JobRun(RunSetup setup, absl::Time began, const Clock* clock,
               std::shared_ptr<RunObserver> observer,
               std::shared_ptr<JobMetrics> metrics)
    : RunDriver(clock, began, OptionsOf(setup), ToRunSettings(setup.plan)),
      setup_(std::move(setup)),
      began_(began),
      observer_(std::move(observer)),
      metrics_(std::move(metrics)),
      spec_(setup_.plan.spec),
      servers_(setup_.servers),
      shard_series_(began),
      incarnations_(setup_.run),
      record_(setup_.plan.spec.paradigm(), setup_.plan.spec.stop()),
      log_(setup_.job_name, setup_.job_uid, setup_.feed, setup_.fsync,
           setup_.most_events),
      disk_(setup_.lanes, [this](const RunInput& answer) {
        Take(ToEvent(answer)).IgnoreError();
      }) {
  SetFrozenAfter(setup_.frozen_after);
  SetWriteAhead([this](absl::string_view records, Deed safe) {
    return log_.Write(records, std::move(safe));
  });
}

JobRun::~JobRun() {
  disk_.Close();
  StopThreads();
}

void JobRun::Start() {
  absl::MutexLock lock(&mu_);
  Tell([this] { OpenFiles(); });
}

void JobRun::OpenFiles() {
  FilesOpened opened;
  if (!setup_.trace_file.empty()) {
    auto trace = TraceWriter::Create(setup_.trace_file);
    opened.status = trace.status();
    if (trace.ok()) trace_ = *std::move(trace);
  }
  const bool weights_only = setup_.restore_from.empty();
  const std::string from =
      weights_only ? setup_.plan.spec.initial_weights() : setup_.restore_from;
  if (!opened.status.ok() || from.empty()) {
    Take(ToEvent(opened)).IgnoreError();
    return;
  }
  disk_.Ask(from,
            [from, weights_only](const absl::Status& refused) -> RunInput {
              if (!refused.ok()) return FilesOpened{refused, {}};
              auto start =
                  weights_only ? ReadInitialWeights(from) : ReadRunStart(from);
              if (!start.ok()) return FilesOpened{start.status(), {}};
              return FilesOpened{absl::OkStatus(), *std::move(start)};
            });
}

std::optional<RunOutcome> JobRun::outcome() const {
  absl::MutexLock lock(&mu_);
  return outcome_;
}

absl::Status JobRun::OnWorkerConnected(
    std::shared_ptr<const RunSession> session, const v1::WorkerHello& hello) {
  journal::RunEvent event;
  journal::MemberCame& came = *event.mutable_came();
  came.set_worker(ToNumber(session->worker));
  *came.mutable_hello() = hello;
  if (const auto stream = session->Stream()) {
    const SessionPoint point = stream->session_point();
    came.mutable_session()->set_id(point.id);
    came.mutable_session()->set_sent(point.sent);
    came.mutable_session()->set_received(point.received);
  }
  {
    absl::MutexLock lock(&mu_);
    came.set_incarnation(incarnations_.Next());
  }
  return Take(std::move(event), {std::move(session), nullptr});
}

absl::Status JobRun::OnWorkerMessage(WorkerId worker,
                                     const v1::WorkerMessage& message) {
  journal::RunEvent event;
  event.mutable_said()->set_worker(ToNumber(worker));
  *event.mutable_said()->mutable_message() = message;
  return Take(std::move(event));
}

void JobRun::OnWorkerDisconnected(WorkerId worker) {
  journal::RunEvent event;
  event.set_gone(ToNumber(worker));
  Take(std::move(event)).IgnoreError();
}

void JobRun::ReleaseWorker(WorkerId worker, absl::string_view reason,
                           absl::StatusCode code) {
  journal::RunEvent event;
  journal::MemberReleased& released = *event.mutable_released();
  released.set_worker(ToNumber(worker));
  released.mutable_stop()->set_reason(std::string(reason));
  released.mutable_stop()->set_code(static_cast<int>(code));
  Take(std::move(event)).IgnoreError();
}

std::vector<uint64_t> JobRun::Servers() const {
  absl::MutexLock lock(&mu_);
  std::vector<uint64_t> members;
  for (int server = 0; server < servers_.size(); ++server) {
    // One that is awaited is in no fleet.
    const uint64_t member = servers_.at(server).member;
    if (member != 0 && course_.shards().Hosts(server))
      members.push_back(member);
  }
  return members;
}

bool JobRun::Needs(uint64_t server) const {
  absl::MutexLock lock(&mu_);
  if (course_.stage() >= RunStage::kEvaluating || given_up_) return false;
  const std::optional<int> known = servers_.Find(server);
  return known.has_value() && course_.shards().Needs(*known);
}

bool JobRun::CanHandOver(absl::string_view name) const {
  absl::MutexLock lock(&mu_);
  for (int server = 0; server < servers_.size(); ++server) {
    if (servers_.at(server).name == name && course_.shards().Hosts(server) &&
        !course_.shards().CanHandOver(server)) {
      return false;
    }
  }
  return true;
}

std::vector<v1::HostedShard> JobRun::ShardsOn(
    uint64_t server, const ParadigmSpec* paradigm) const {
  absl::MutexLock lock(&mu_);
  const std::optional<int> known = servers_.Find(server);
  if (!known.has_value()) return {};
  std::vector<v1::HostedShard> hosted =
      RunServers::On(*known, course_.shards());
  if (hosted.empty()) return hosted;
  const JobMemory memory =
      MemoryOf(setup_.plan, spec_.workers().max(), course_, paradigm);
  for (v1::HostedShard& shard : hosted) {
    shard.set_job(setup_.job_name);
    shard.set_memory_bytes(shard.bytes() * (memory.state + memory.rule));
  }
  return hosted;
}

void JobRun::OfferServer(const ServerLink& server) {
  {
    absl::MutexLock lock(&mu_);
    if (!servers_.Announce(server.member)) return;
  }
  journal::RunEvent event;
  *event.mutable_server_came() = ToEvent(server);
  Take(std::move(event), {nullptr, &server}).IgnoreError();
}

bool JobRun::OnServerReturned(const ServerLink& server,
                              const std::vector<v1::HeldShard>& held) {
  journal::RunEvent event;
  {
    absl::MutexLock lock(&mu_);
    std::optional<int> awaited;
    for (const int it : AwaitedServers()) {
      if (servers_.at(it).name == server.name) awaited = it;
    }
    if (!awaited.has_value()) return false;
    event.mutable_server_returned()->set_server(*awaited);
    *event.mutable_server_returned()->mutable_as() = ToEvent(server);
    for (const v1::HeldShard& shard : held) {
      *event.mutable_server_returned()->add_held() = shard;
    }
  }
  const int index = event.server_returned().server();
  if (Take(std::move(event), {nullptr, &server}).ok()) return true;
  LoseServer(index, absl::StrCat("parameter server ", server.name,
                                 " has lost its part of the model"));
  return false;
}

std::vector<int> JobRun::AwaitedServers() const {
  std::vector<int> awaited;
  // One that came after the end of the run is not on its map.
  const std::vector<ShardMap::Server>& mapped = course_.shards().servers();
  for (int server = 0; server < static_cast<int>(mapped.size()); ++server) {
    if (servers_.at(server).member != 0) continue;
    if (!mapped[server].gone) awaited.push_back(server);
  }
  return awaited;
}

void JobRun::LoseAwaitedServers() {
  std::vector<std::pair<int, std::string>> awaited;
  {
    absl::MutexLock lock(&mu_);
    for (const int server : AwaitedServers()) {
      awaited.emplace_back(server, servers_.at(server).name);
    }
  }
  for (const auto& [server, name] : awaited) {
    LoseServer(server,
               absl::StrCat("parameter server ", name,
                            " has not come back after a restart of the "
                            "coordinator, and its part of the model is lost"));
  }
}

void JobRun::LoseServer(int server, absl::string_view why) {
  journal::RunEvent event;
  event.mutable_server_lost()->set_server(server);
  *event.mutable_server_lost()->mutable_why() =
      ToWire(absl::UnavailableError(why));
  Take(std::move(event)).IgnoreError();
}

absl::Status JobRun::OnServerMessage(uint64_t member,
                                     const v1::ServerMessage& message) {
  journal::RunEvent event;
  {
    absl::MutexLock lock(&mu_);
    const std::optional<int> server = servers_.Find(member);
    const auto& shards = course_.shards().shards();
    // One that was too late: the run goes on without it, and what it says of
    // the copies that it still has may come with its next session.
    if (!server.has_value()) return absl::OkStatus();
    // One of a release without backups has the shard that it began with, and
    // does not name it.
    const auto shard = static_cast<int>(
        servers_.at(*server).replicates ? message.shard() : *server);
    if (shard < 0 || shard >= static_cast<int>(shards.size())) {
      return absl::InvalidArgumentError("the server has no such part here");
    }
    // The last words of one that is the shard's primary no more.
    const bool about_backups = message.has_backup() || message.has_promoted();
    if (!about_backups && shards[shard].primary != *server) {
      return absl::OkStatus();
    }
    event.mutable_server_said()->set_server(*server);
    event.mutable_server_said()->set_shard(shard);
    *event.mutable_server_said()->mutable_message() = message;
  }
  return Take(std::move(event));
}

void JobRun::OnServerDisconnected(uint64_t member) {
  std::optional<int> server;
  std::string name;
  {
    absl::MutexLock lock(&mu_);
    server = servers_.Find(member);
    if (!server.has_value()) return;
    name = servers_.at(*server).name;
  }
  LoseServer(*server, absl::StrCat("parameter server ", name,
                                   " is gone, and its part of the model is "
                                   "lost"));
}

std::optional<int> JobRun::FindServer(uint64_t member) const {
  absl::MutexLock lock(&mu_);
  return servers_.Find(member);
}

void JobRun::OnServerLink(uint64_t member, uint64_t link, bool connected) {
  const std::optional<int> server = FindServer(member);
  if (!server.has_value()) return;
  journal::RunEvent event;
  event.mutable_server_linked()->set_server(*server);
  event.mutable_server_linked()->set_link(link);
  event.mutable_server_linked()->set_connected(connected);
  Take(std::move(event)).IgnoreError();
}

void JobRun::OnServerLeaving(uint64_t member, bool leaving) {
  const std::optional<int> server = FindServer(member);
  if (!server.has_value()) return;
  journal::RunEvent event;
  event.mutable_server_leaves()->set_server(*server);
  event.mutable_server_leaves()->set_leaving(leaving);
  Take(std::move(event)).IgnoreError();
}

void JobRun::Cancel(const absl::Status& reason) {
  journal::RunEvent event;
  *event.mutable_cancel() = ToWire(reason);
  Take(std::move(event)).IgnoreError();
}

void JobRun::LoseEnd() {
  if (lost_end_.exchange(true)) return;
  log_.Remove();
  Cancel(absl::CancelledError(kLostEnd));
}

void JobRun::Pause(absl::Duration evaluate_for) {
  journal::RunEvent event;
  event.set_pause_ns(absl::ToInt64Nanoseconds(evaluate_for));
  Take(std::move(event)).IgnoreError();
}

absl::Status JobRun::Resume() {
  journal::RunEvent event;
  event.set_resume(true);
  return Take(std::move(event));
}

void JobRun::Update(const JobPlan& plan) {
  journal::RunEvent event;
  *event.mutable_update() = plan.spec;
  Take(std::move(event)).IgnoreError();
}

absl::Status JobRun::Switch(const ParadigmSpec& paradigm,
                            absl::string_view reason,
                            std::optional<Batching> batching,
                            bool with_closing) {
  journal::RunEvent event;
  event.mutable_paradigm()->set_paradigm(FormatParadigm(paradigm));
  event.mutable_paradigm()->set_reason(std::string(reason));
  if (batching.has_value()) {
    event.mutable_paradigm()->set_batching(
        *batching == Batching::kEven ? "even" : "balanced");
  }
  event.mutable_paradigm()->set_with_closing(with_closing);
  return Take(std::move(event));
}

absl::Status JobRun::WriteCheckpoint(const std::string& id,
                                     const std::string& folder) {
  journal::RunEvent event;
  event.mutable_checkpoint()->set_id(id);
  event.mutable_checkpoint()->set_folder(folder);
  return Take(std::move(event));
}

std::string JobRun::WritingCheckpoint() const {
  absl::MutexLock lock(&mu_);
  return course_.checkpoints().writing_id();
}

v1::JobProgress JobRun::Progress() const {
  absl::MutexLock lock(&mu_);
  return ProgressAt(Now());
}

v1::JobProgress JobRun::ProgressAt(absl::Time now) const {
  if (course_.core() == nullptr) {
    v1::JobProgress progress = setup_.before;
    progress.set_paradigm(course_.paradigm());
    progress.set_phase("loading");
    return progress;
  }
  v1::JobProgress progress;
  progress.set_paradigm(course_.paradigm());
  progress.set_phase(course_.stage() < RunStage::kEvaluating ? "training"
                                                             : "evaluating");
  std::map<WorkerId, std::string> names;
  for (const WorkerId worker : course_.members().Present()) {
    const RunMember& member = *course_.members().Find(worker);
    if (member.trainer()) names.emplace(worker, member.name);
  }
  record_.Progress(ViewOf(course_.core()), names, now, progress);
  if (const std::optional<GradientNoise> noise = course_.noise()) {
    *progress.mutable_gradient_noise() = ToWire(*noise);
  }
  if (end_.has_value()) {  // Those are of now.
    progress.clear_samples_per_second();
    progress.clear_seconds_left();
  }
  if (const v1::Advice* const advice = PresentAdvice();
      advice != nullptr && !end_.has_value()) {
    *progress.mutable_advice() = *advice;
    progress.mutable_advice()->clear_options();
  }
  // What was measured before a pause is the newest until the next evaluation.
  const v1::JobProgress& before = setup_.before;
  if (!progress.has_accuracy() && progress.metrics().empty()) {
    if (before.has_accuracy()) progress.set_accuracy(before.accuracy());
    *progress.mutable_metrics() = before.metrics();
  }
  return progress;
}

std::string JobRun::Report() const {
  std::optional<RunRecord> record;
  TrainingView view;
  {
    absl::MutexLock lock(&mu_);
    if (course_.core() == nullptr) return "";
    record = record_;
    view = ViewOf(course_.core());
  }
  // A long job's document takes long; grants do not wait for it.
  return record->Result(view).dump();
}

v1::JobSpec JobRun::Spec() const {
  absl::MutexLock lock(&mu_);
  return PresentSpec();
}

v1::JobSpec JobRun::PresentSpec() const {
  v1::JobSpec spec = spec_;
  // That of a planned switch, too, and of one that waits for a closing.
  spec.set_paradigm(course_.next_paradigm());
  return spec;
}

std::optional<TrainingPaces> JobRun::Paces() const {
  absl::MutexLock lock(&mu_);
  const SyncCore* const core = course_.core();
  if (core == nullptr || core->sealed() || end_.has_value()) {
    return std::nullopt;
  }
  TrainingPaces seen;
  seen.seconds = course_.SecondsAt(Now());
  const v1::JobProgress progress = ProgressAt(Now());
  if (progress.has_seconds_left()) seen.seconds_left = progress.seconds_left();
  const BatchedParadigm present = Present();
  seen.present = present.paradigm;
  seen.switching = core->switching();
  seen.job = {.batch_size = spec_.batch_size(),
              .micro_batch = spec_.micro_batch(),
              .batching = present.batching};
  if (setup_.plan.round_strength == RoundStrength::kAdaScale) {
    seen.job.ada_scale = true;
    seen.job.noise = course_.noise_of_batch();
  }
  for (const WorkerId worker : core->Members()) {
    const RunMember* const member = course_.members().Find(worker);
    if (member == nullptr) continue;
    const auto linked = members_.find(worker);
    seen.workers.push_back(
        {member->name, member->wishes, paces_.Of(worker),
         linked == members_.end() ? "" : linked->second.pool});
  }
  return seen;
}

BatchedParadigm JobRun::Present() const {
  return {.paradigm = *ParseParadigm(course_.next_paradigm()),
          .batching = *ParseBatching(spec_.batching())};
}

bool JobRun::Advise(const BatchedParadigm& present, v1::Advice advice,
                    bool news) {
  absl::MutexLock lock(&mu_);
  const std::string under = FormatBatchedParadigm(present);
  if (under != FormatBatchedParadigm(Present())) return false;
  if (news) {
    // As a rule the reason begins with it.
    const bool named = absl::StartsWith(advice.reason(), advice.paradigm());
    TellDecision(Now(), "job", "advice",
                 named ? advice.reason()
                       : absl::StrCat(advice.paradigm(), ": ", advice.reason()),
                 /*costs_work=*/false);
  }
  advice_ = std::move(advice);
  advised_under_ = under;
  return true;
}

const v1::Advice* JobRun::PresentAdvice() const {
  if (advised_under_.empty()) return nullptr;
  return advised_under_ == FormatBatchedParadigm(Present()) ? &advice_
                                                            : nullptr;
}

std::optional<v1::Advice> JobRun::Advice() const {
  absl::MutexLock lock(&mu_);
  const v1::Advice* const advice = PresentAdvice();
  if (advice == nullptr) return std::nullopt;
  return *advice;
}

double JobRun::SecondsBefore() const {
  absl::MutexLock lock(&mu_);
  return record_.seconds_before();
}

int64_t JobRun::DoneBy(const std::string& name, bool evaluator) const {
  absl::MutexLock lock(&mu_);
  return evaluator
             ? static_cast<int64_t>(course_.evaluations().accuracy().size())
             : record_.SamplesOf(name);
}

bool JobRun::WantsEvaluator() const {
  absl::MutexLock lock(&mu_);
  return course_.evaluations().wants_evaluator();
}

bool JobRun::Loading() const {
  absl::MutexLock lock(&mu_);
  return course_.core() == nullptr;
}

bool JobRun::TrainingEnds() const {
  absl::MutexLock lock(&mu_);
  const SyncCore* const core = course_.core();
  return core != nullptr && core->finished();
}

bool JobRun::TrainingOver() const {
  absl::MutexLock lock(&mu_);
  return course_.stage() >= RunStage::kEvaluating || course_.saving_delayed();
}

}  // namespace paceline
