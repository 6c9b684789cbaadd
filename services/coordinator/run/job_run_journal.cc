// How a run is written down, and goes on in another life of the coordinator.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "common/job/job_plan.h"
#include "common/plain_name.h"
#include "common/safetensors/input_file.h"
#include "common/status.h"
#include "common/utf8.h"
#include "services/coordinator/run/job_memory.h"
#include "services/coordinator/run/job_run.h"
#include "services/coordinator/run/journal/event_check.h"
#include "services/coordinator/run/journal/run_events.h"
#include "services/coordinator/run/phase_times.h"
#include "services/coordinator/run/run_setup.h"

namespace paceline {
namespace {

using journal::RunEvent;

// Lives that have gone on with a run and ended before anybody trained: it may
// be the run that takes them down.
constexpr int kMostIdleLives = 3;

// While it is read it has another name: one that no life survives is not read
// again and again.
std::string NameWhileRead(const std::string& path) {
  return absl::StrCat(path, ".reading");
}

absl::Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return FileError(errno, absl::StrCat("rename ", from));
}

// What a worker has said of itself, as metrics have it.
LinkedMember Known(const v1::WorkerHello& hello) {
  const std::string& device =
      hello.gpu_model().empty() ? hello.device() : hello.gpu_model();
  LinkedMember member;
  member.name = hello.name();
  member.evaluator = hello.evaluator();
  member.pool = std::string(CutUtf8(hello.pool(), kPlainNameMax));
  member.gpu_model = std::string(CutUtf8(device, kPlainNameMax));
  member.connections = hello.connections();
  return member;
}

}  // namespace

absl::Status JobRun::Take(RunEvent event, const Links& links) {
  const auto name_of = [this](int server) {
    absl::MutexLock lock(&mu_);
    return servers_.at(server).name;
  };
  PACELINE_ASSIGN_OR_RETURN(const RunInput input, ToInput(event, name_of));
  return Step(
      input, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { Accept(event, links); },
      [&](absl::Time now)
          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { RecordEvent(now, event); });
}

void JobRun::OnDeadline() {
  RunEvent event;
  event.mutable_time_passed();
  Step(
      TimePassed{}, [] {},
      [&](absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
        const SyncCore* const core = course_.core();
        event.mutable_time_passed()->set_samples(
            core == nullptr ? 0 : core->samples_counted());
        RecordEvent(now, event);
      })
      .IgnoreError();
}

void JobRun::RecordEvent(absl::Time now, RunEvent& event) {
  if (!log_.active() || replays()) return;
  event.set_at_ns(absl::ToUnixNanos(now));
  std::string record;
  AppendRecord(event, record);
  Record(record);
  log_.CountEvent();
}

void JobRun::Leave() {
  RunEvent event;
  event.mutable_left();
  std::string record;
  AppendRecord(event, record);
  log_.Leave(record);
}

void JobRun::Accept(const RunEvent& event, const Links& links) {
  if (event.has_came()) {
    const v1::WorkerHello& hello = event.came().hello();
    const auto worker = static_cast<WorkerId>(event.came().worker());
    LinkedMember member = Known(hello);
    member.session = links.session;
    if (member.session == nullptr) {  // It was another life's.
      member.session = std::make_shared<RunSession>(
          std::weak_ptr<JobRun>(), worker, std::weak_ptr<WorkerPeer>());
      next_worker_ = std::max(next_worker_.load(), ToNumber(worker) + 1);
      incarnations_.Next();
      sessions_.emplace(worker, ReplayedSession(hello, event.came().session()));
    }
    members_.emplace(worker, std::move(member));
  } else if (event.has_said()) {
    AcceptReport(static_cast<WorkerId>(event.said().worker()),
                 event.said().message());
  } else if (event.has_server_came()) {
    servers_.Add(links.server != nullptr ? *links.server
                                         : FromEvent(event.server_came()));
  } else if (event.has_server_returned()) {
    const journal::ServerReturned& returned = event.server_returned();
    servers_.Attach(returned.server(), links.server != nullptr
                                           ? *links.server
                                           : FromEvent(returned.as()));
  } else if (event.has_update()) {
    const v1::JobSpec& spec = event.update();
    spec_.set_learning_rate(spec.learning_rate());
    spec_.set_batching(spec.batching());
    *spec_.mutable_workers() = spec.workers();
    *spec_.mutable_stop() = spec.stop();
    *spec_.mutable_checkpoints() = spec.checkpoints();
    record_.SetStop(spec.stop());
  } else if (event.has_released()) {
    v1::WorkerCommand command;
    *command.mutable_stop() = event.released().stop();
    const auto worker = static_cast<WorkerId>(event.released().worker());
    const auto replayed = sessions_.find(worker);
    if (replayed != sessions_.end()) replayed->second.Released();
    SendToWorker(worker, std::move(command));
  } else if (event.has_paradigm()) {
    spec_.set_paradigm(event.paradigm().paradigm());
    if (!event.paradigm().batching().empty()) {
      spec_.set_batching(event.paradigm().batching());
      Tell([this, to = spec_.batching()] { observer_->BatchingSet(to); });
    }
    if (course_.core() == nullptr) record_.SetParadigm(spec_.paradigm());
    switching_ = course_.core() != nullptr && course_.core()->switching();
    TellRuleBytes();
  }
}

void JobRun::AcceptReport(WorkerId worker, const v1::WorkerMessage& message) {
  // What comes after the end is accepted and says nothing.
  if (end_.has_value()) return;
  const double at = course_.SecondsAt(Now());
  if (message.has_abandoned()) return paces_.BrokenOff(worker, at);
  if (!message.has_push_done()) return;
  const v1::PushDone& report = message.push_done();
  const v1::PhaseSeconds& seconds = report.seconds();
  const std::string name = course_.members().NameOf(worker);
  record_.Reported(name, report);
  setup_.iterations->Add(name, at, report);
  paces_.Reported(worker,
                  {.compute = absl::Seconds(seconds.load() + seconds.compute()),
                   .push = absl::Seconds(seconds.push()),
                   .pull = absl::Seconds(seconds.pull()),
                   .samples = report.samples(),
                   .discarded = report.discarded(),
                   .at = at});
  if (AreTimes(seconds)) {
    metrics_->gate_wait_seconds->Observe(seconds.wait());
  }
  metrics_->blocks_refused->Increment(report.blocks_refused());
  if (setup_.trace_file.empty()) return;
  Tell([this, name, report] {
    if (trace_ != nullptr) trace_->Write(name, report);
  });
}

void JobRun::TellRuleBytes() {
  const JobMemory memory =
      MemoryOf(setup_.plan, spec_.workers().max(), course_);
  for (int server = 0; server < servers_.size(); ++server) {
    if (!servers_.at(server).counts_rules) continue;
    for (const v1::HostedShard& hosted :
         RunServers::On(server, course_.shards())) {
      v1::ServerCommand command;
      command.set_rule_bytes(hosted.bytes() * memory.rule);
      SendToServer(server, static_cast<int>(hosted.shard()),
                   std::move(command));
    }
  }
}

absl::StatusOr<std::shared_ptr<JobRun>> JobRun::FromJournal(
    RunSetup setup, const Clock* clock, std::shared_ptr<RunObserver> observer,
    std::shared_ptr<JobMetrics> metrics) {
  const std::string path = setup.journal_file;
  const std::string reading = NameWhileRead(path);
  if (unlink(reading.c_str()) == 0) {
    unlink(path.c_str());
    return absl::DataLossError(
        "the last life of the coordinator ended while it read the journal");
  }
  PACELINE_RETURN_IF_ERROR(Rename(path, reading));
  const auto go_on = [&]() -> absl::StatusOr<std::shared_ptr<JobRun>> {
    PACELINE_ASSIGN_OR_RETURN(RunJournalReader reader,
                              RunJournalReader::Open(reading));
    PACELINE_ASSIGN_OR_RETURN(const auto begun, reader.Next());
    PACELINE_RETURN_IF_ERROR(
        ReadBegin(begun.has_value() ? *begun : RunEvent(), setup));
    std::shared_ptr<JobRun> run = absl::WrapUnique(
        new JobRun(std::move(setup), absl::FromUnixNanos(begun->at_ns()), clock,
                   std::move(observer), std::move(metrics)));
    const absl::StatusOr<int64_t> events = run->Replay(reader);
    absl::Status replayed = events.status();
    if (replayed.ok()) replayed = Rename(reading, path);
    if (replayed.ok()) {
      auto journal = RunJournal::GoOn(path, reader.bytes());
      replayed = journal.status();
      if (journal.ok()) run->log_.GoOn(*std::move(journal), *events);
    }
    run->StartThreads();
    PACELINE_RETURN_IF_ERROR(replayed);
    run->GoOn(run);
    return run;
  };
  auto run = go_on();
  if (!run.ok()) unlink(reading.c_str());
  return run;
}

absl::StatusOr<int64_t> JobRun::Replay(RunJournalReader& reader) {
  int64_t events = 0;
  int idle_lives = 0;
  absl::Time at = began_;
  EventCheck check(static_cast<int>(setup_.servers.size()));
  while (true) {
    PACELINE_ASSIGN_OR_RETURN(auto event, reader.Next());
    if (!event.has_value()) break;
    PACELINE_RETURN_IF_ERROR(check.Take(*event));
    if (event->has_restarted()) ++idle_lives;
    if (event->said().message().has_push_done()) idle_lives = 0;
    if (event->has_left()) {
      idle_lives = 0;
      ++events;
      continue;
    }
    // For a course time never goes back, whatever is written there.
    at = std::max(at, absl::FromUnixNanos(event->at_ns()));
    ReplayAt(at);
    ++events;
    if (event->has_time_passed()) {
      absl::MutexLock lock(&mu_);
      const SyncCore* const core = course_.core();
      const int64_t samples = core == nullptr ? 0 : core->samples_counted();
      if (samples != event->time_passed().samples()) {
        return absl::FailedPreconditionError(
            "what it says happens otherwise in this coordinator");
      }
    }
    if (event->has_said()) {
      absl::MutexLock lock(&mu_);
      const auto it =
          sessions_.find(static_cast<WorkerId>(event->said().worker()));
      if (it != sessions_.end()) it->second.Received(event->said().message());
    }
    // What was refused then is refused again.
    Take(*std::move(event)).IgnoreError();
  }
  PACELINE_RETURN_IF_ERROR(CheckReplayed(idle_lives));
  return events;
}

absl::Status JobRun::CheckReplayed(int idle_lives) {
  absl::MutexLock lock(&mu_);
  if (course_.stage() < RunStage::kTraining || course_.core() == nullptr) {
    return absl::FailedPreconditionError("the run had not begun to train");
  }
  // Nobody trains while weights are saved that the servers alone have.
  if (idle_lives >= kMostIdleLives && course_.stage() == RunStage::kTraining) {
    return absl::FailedPreconditionError(
        absl::StrCat("the coordinator has ended ", idle_lives,
                     " times since anybody trained: the run may be why"));
  }
  return absl::OkStatus();
}

void JobRun::GoOn(const std::shared_ptr<JobRun>& self) {
  RunEvent event;
  event.mutable_restarted();
  for (const WorkerId worker : RestoreWorkers(self)) {
    event.mutable_restarted()->add_awaited(ToNumber(worker));
  }
  Go();
  {
    absl::MutexLock lock(&mu_);
    if (end_.has_value()) {
      // It was not told any more.
      return Tell([this, outcome = *end_] { TellEnd(outcome); });
    }
  }
  Take(std::move(event)).IgnoreError();
}

std::vector<WorkerId> JobRun::RestoreWorkers(
    const std::shared_ptr<JobRun>& self) {
  std::map<WorkerId, ReplayedSession> sessions;
  {
    absl::MutexLock lock(&mu_);
    sessions = std::exchange(sessions_, {});
  }
  std::vector<WorkerId> restored;
  if (setup_.restore_worker == nullptr) return restored;
  for (const auto& [worker, replayed] : sessions) {
    if (!replayed.resumable()) continue;
    auto session = setup_.restore_worker(self, worker, replayed);
    if (session == nullptr) continue;
    absl::MutexLock lock(&mu_);
    members_.at(worker).session = std::move(session);
    restored.push_back(worker);
  }
  return restored;
}

}  // namespace paceline
