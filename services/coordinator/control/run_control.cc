#include "services/coordinator/control/run_control.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/job/job_plan.h"
#include "common/job/names.h"
#include "common/log/log.h"
#include "common/proto_time.h"
#include "common/status.h"
#include "common/status_details.h"
#include "common/trace_context.h"
#include "services/coordinator/control/checkpoint_folders.h"
#include "services/coordinator/control/job_report.h"
#include "services/coordinator/control/run_files.h"
#include "services/coordinator/control/state_reason.h"
#include "services/coordinator/jobs/job_quota.h"
#include "services/coordinator/jobs/job_state.h"
#include "services/coordinator/jobs/resource_name.h"
#include "services/coordinator/run/course/course_options.h"
#include "services/coordinator/run/course/time_limits.h"
#include "services/coordinator/run/wire.h"

namespace paceline {
namespace {

// Between two looks when nothing was heard.
constexpr absl::Duration kTurn = absl::Milliseconds(200);

// Workers of the same node may come one by one; a job that could start with
// the first of them gains by looking again soon, not by waiting.
constexpr absl::Duration kGrain = absl::Milliseconds(5);

// How long a coordinator that begins waits for folders of checkpoints, which
// may hang.
constexpr absl::Duration kSettlePatience = absl::Seconds(5);

// What the coordinator sees is possible, or the state machine is wrong.
void Advance(v1::Job& job, JobEvent event) {
  const auto next = NextState(job.state(), event, job.name());
  CHECK(next.ok());
  job.set_state(*next);
}

// The job goes on from where it stands now, and not from so many samples.
void LogLost(const v1::Job& job, int64_t trained) {
  const int64_t lost = trained - job.progress().samples();
  if (lost <= 0) return;
  LogError(
      "what was trained is lost",
      {{"job", job.name()}, {"samples", lost}, {"reason", job.state_reason()}});
}

}  // namespace

RunControl::RunControl(const JobsOptions& options, const Clock* clock,
                       JobStore* store, JobJournal* journal,
                       prometheus::Registry* registry,
                       CoordinatorMetrics* metrics, JobBook* book,
                       Checkpoints* checkpoints)
    : options_(options),
      clock_(clock),
      store_(store),
      journal_(journal),
      registry_(registry),
      metrics_(metrics),
      book_(book),
      checkpoints_(checkpoints),
      history_(store, journal, book, &inbox_),
      fleet_(clock, {.lease = options.lease,
                     .term = options.term,
                     .changed = [this] { Wake(); },
                     .later_term = options.later_term}) {}

RunControl::~RunControl() {
  {
    absl::MutexLock lock(&inbox_.mu);
    inbox_.stopping = true;
  }
  if (control_.joinable()) control_.join();
  // Outside of the lock, which the runs' ends take.
  JobBook::Entries entries;
  {
    absl::MutexLock lock(&book_->mu());
    for (auto& [name, entry] : book_->entries()) {
      if (entry.active == nullptr) continue;
      entry.active->Leave();
      entry.active->Cancel(absl::CancelledError("the coordinator is stopping"));
    }
    entries.swap(book_->entries());
  }
  // Their threads end before what they tell things to.
  for (auto& [name, entry] : entries) {
    if (entry.active != nullptr) fleet_.RemoveRun(entry.active->run());
  }
}

void RunControl::Wake() {
  absl::MutexLock lock(&inbox_.mu);
  inbox_.woken = true;
}

absl::Status RunControl::Start() {
  {
    absl::MutexLock lock(&book_->mu());
    std::set<std::string> go_on;
    // A folder that hangs is waited for once, not by each job.
    settled_by_ = absl::Now() + kSettlePatience;
    for (auto& [name, entry] : book_->entries()) {
      if (GoOn(entry)) go_on.insert(entry.job.uid());
      if (entry.active == nullptr) PACELINE_RETURN_IF_ERROR(TakeOver(entry));
    }
    RemoveOtherJournals(options_.journal_root, go_on);
    servers_awaited_until_ =
        clock_->Now() + std::max(options_.lease, kReturnTime);
  }
  control_ = std::thread([this] { Control(); });
  return absl::OkStatus();
}

bool RunControl::GoOn(JobEntry& entry) {
  const v1::Job::State state = entry.job.state();
  const bool trained = state == v1::Job::RUNNING || state == v1::Job::PAUSING ||
                       state == v1::Job::SAVING;
  if (!trained || options_.journal_root.empty()) return false;
  absl::Status outcome = MakeNews(entry);
  if (outcome.ok()) {
    RunSetup setup = SetupFor(entry);
    setup.restore_worker = [this](const auto& of, WorkerId worker,
                                  const ReplayedSession& session) {
      return fleet_.RestoreWorker(of, worker, session);
    };
    auto run = JobRun::FromJournal(std::move(setup), clock_, entry.news,
                                   entry.metrics);
    if (absl::IsNotFound(run.status())) return false;
    outcome = run.status();
    if (run.ok()) entry.active = *std::move(run);
  }
  if (!outcome.ok()) {
    LogError("the job's run cannot go on from its journal",
             {{"job", entry.job.name()},
              {"reason", std::string(outcome.message())}});
    return false;
  }
  fleet_.AddRun(entry.active);
  v1::Job job = entry.job;
  const auto found =
      checkpoints_->Settle(entry, settled_by_,
                           absl::StrCat(job.name(), "/checkpoints/",
                                        entry.active->WritingCheckpoint()));
  if (found.ok() && !found->empty()) job.set_restore_from(*found);
  entry.restarted_from = job.restore_from();
  Reconcile(*entry.active, *job.mutable_spec());
  // It is busy from now on.
  book_->Write(entry, std::move(job), Durability::kRetried).IgnoreError();
  // It was asked for, and perhaps not told to the run any more.
  if (state == v1::Job::PAUSING) entry.active->Pause(absl::ZeroDuration());
  history_.Tell(entry, "the coordinator has restarted: its run goes on");
  LogInfo("goes on with a run of another life", {{"job", entry.job.name()}});
  return true;
}

void RunControl::Reconcile(JobRun& run, v1::JobSpec& spec) {
  const v1::JobSpec its = run.Spec();
  const auto canonical = [](const std::string& paradigm) {
    const absl::StatusOr<ParadigmSpec> parsed = ParseParadigm(paradigm);
    return parsed.ok() ? FormatParadigm(*parsed) : paradigm;
  };
  // What a run does by itself was perhaps not stored any more.
  bool by_itself = spec.auto_().act();
  if (by_itself) spec.set_batching(its.batching());
  for (const v1::PlannedSwitch& planned : spec.switches()) {
    if (planned.samples() > run.Progress().samples()) break;
    by_itself = canonical(planned.paradigm()) == its.paradigm();
  }
  const bool other = canonical(spec.paradigm()) != its.paradigm();
  if (other && by_itself) spec.set_paradigm(its.paradigm());
  const absl::StatusOr<JobPlan> plan = ParseJob(spec);
  if (!plan.ok()) return;
  // What somebody wants was stored, and perhaps not told any more.
  run.Update(*plan);
  if (!other || by_itself) return;
  const absl::Status switched =
      run.Switch(plan->paradigm, "chosen before the coordinator restarted");
  if (!switched.ok()) LogWarning(switched.message());
}

void RunControl::LoseAwaitedServers() {
  if (clock_->Now() < servers_awaited_until_) return;
  servers_awaited_until_ = absl::InfiniteFuture();
  for (JobEntry* const entry : book_->Busy()) {
    if (entry->active != nullptr) entry->active->LoseAwaitedServers();
  }
}

void RunControl::TendJournals() {
  for (JobEntry* const entry : book_->Busy()) {
    if (entry->active != nullptr) entry->active->log().RemoveRest();
    // What is left to evaluate is done soon, and would be given up.
    if (entry->active == nullptr || !entry->active->log().is_long() ||
        entry->job.state() != v1::Job::RUNNING ||
        entry->active->TrainingEnds()) {
      continue;
    }
    if (checkpoints_->kept()) {
      // It would be SAVING until there is one, and nobody would train.
      const bool can_save =
          folders_.empty() ||
          std::ranges::any_of(folders_, [](const FolderState& folder) {
            return folder.status.ok();
          });
      if (!can_save) continue;
      Interrupt(*entry, "the journal of its run is long and begins anew");
    } else if (!std::exchange(entry->warned_of_journal, true)) {
      LogWarning(
          "the run's journal gets long, for without --checkpoints no new one "
          "can begin: a restart takes seconds for each million of its events",
          {{"job", entry->job.name()}});
    }
  }
}

absl::Status RunControl::TakeOver(JobEntry& entry) {
  v1::Job job = entry.job;
  PACELINE_ASSIGN_OR_RETURN(
      const v1::Job::State state,
      NextState(job.state(), JobEvent::kRestarted, job.name()));
  PACELINE_ASSIGN_OR_RETURN(const std::string found,
                            checkpoints_->Settle(entry, settled_by_));
  // One that was written as the coordinator stopped, without waiting for it.
  const bool saved_after_all = state == v1::Job::PAUSED && !found.empty();
  if (state == job.state() && !saved_after_all) return absl::OkStatus();
  job.set_state(state);
  job.set_state_reason("the coordinator has restarted");
  if (state == v1::Job::PAUSED) {
    // Not simply the newest: the job may have been restored from an earlier
    // one.
    if (!found.empty()) job.set_restore_from(found);
    SetBack(entry, job);
    job.set_state_reason(PausedReason(job.state_reason(), job));
  } else if (state == v1::Job::CANCELLED) {
    *job.mutable_end_time() = ToProto(absl::Now());
  }
  LogWarning(absl::StrCat(job.name(), ": ", job.state_reason()));
  history_.TellState(entry, job);
  return book_->Write(entry, std::move(job), Durability::kStored);
}

void RunControl::Control() {
  const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(inbox_.mu) {
    return inbox_.woken || inbox_.stopping;
  };
  absl::Time next_look = absl::InfinitePast();
  absl::Time awake = clock_->Now();
  while (true) {
    {
      absl::MutexLock lock(&inbox_.mu);
      inbox_.mu.AwaitWithTimeout(absl::Condition(&woken), kTurn);
      if (inbox_.stopping) return;
      inbox_.woken = false;
    }
    const absl::Time now = clock_->Now();
    const absl::Duration late = now - std::exchange(awake, now) - kTurn;
    if (late > options_.frozen_after) {
      LogWarning(
          "the coordinator did not run for a while: no lease goes on "
          "for that time",
          {{"seconds", absl::ToDoubleSeconds(late)}});
      fleet_.Forgive(late);
    }
    if (now >= next_look) {
      fleet_.EndSilent();
      next_look = now + options_.lease / 4;
    }
    std::vector<std::shared_ptr<JobRun>> over;
    {
      absl::MutexLock lock(&book_->mu());
      Turn(over);
      CountStates();
      book_->LetGoOfIdle();
    }
    over.clear();  // Joins their threads, which have nothing left to do.
    absl::MutexLock lock(&inbox_.mu);
    inbox_.mu.AwaitWithTimeout(absl::Condition(&inbox_.stopping), kGrain);
  }
}

void RunControl::Turn(std::vector<std::shared_ptr<JobRun>>& over) {
  // The process ends: what becomes of its members is no word on any job.
  if (!book_->CheckOpen().ok()) return;
  book_->SaveAll();
  checkpoints_->TakeRemoved();
  for (JobEntry* const entry : book_->Busy()) {
    TakeNews(*entry);
    if (entry->active == nullptr || !entry->active->outcome().has_value()) {
      continue;
    }
    fleet_.RemoveRun(entry->active->run());
    over.push_back(std::move(entry->active));
    RunEnded(*entry, *over.back(), *over.back()->outcome());
  }
  if (draining_) return;
  LookAtFolders();
  LoseAwaitedServers();
  TendJournals();
  LeaveServers();
  AssignWorkers();
}

void RunControl::TakeNews(JobEntry& entry) {
  book_->mu().AssertHeld();
  if (entry.news == nullptr) return;
  const RunNews::Changes changes = entry.news->Take();
  v1::Job job = entry.job;
  if (changes.started) {
    Advance(job, JobEvent::kStarted);
    job.mutable_progress()->set_train_samples(changes.train_samples);
    if (job.state() == v1::Job::RUNNING) job.set_state_reason("");
    if (!job.has_start_time()) *job.mutable_start_time() = ToProto(absl::Now());
  }
  if (changes.of_spec()) changes.ApplyTo(*job.mutable_spec());
  if (changes.warning.has_value()) entry.warning = *changes.warning;
  const bool warned =
      changes.warning.has_value() &&
      (job.state() == v1::Job::RUNNING || job.state() == v1::Job::STARTING);
  if (warned) job.set_state_reason(entry.ReasonWhileRunning());
  bool over = false;
  std::vector<v1::WatchJobResponse> events;
  for (const auto& [told, again] : changes.checkpoints) {
    const v1::Checkpoint checkpoint = checkpoints_->Note(entry, told);
    over = over || checkpoint.state() != v1::Checkpoint::WRITING;
    const bool ready = checkpoint.state() == v1::Checkpoint::READY;
    // One of the course that the job takes now: whatever happens, it goes on
    // from here, not from one of a course that somebody went back from.
    // What has diverged would diverge again.
    if (ready && !HasDiverged(told)) {
      job.set_restore_from(checkpoint.name());
    }
    // That one more attempt begins and fails is in the job's reason.
    if (again && !ready) continue;
    *events.emplace_back().mutable_checkpoint() = checkpoint;
  }
  NoteSaving(entry, changes, job);
  if (changes.started || changes.of_spec() || warned ||
      !changes.checkpoints.empty() || changes.delayed.has_value() ||
      changes.saved) {
    book_->Write(entry, std::move(job), Durability::kRetried).IgnoreError();
  }
  if (changes.started) history_.TellState(entry, entry.job);
  for (v1::WatchJobResponse& event : events) {
    entry.events->Append(std::move(event));
  }
  if (over) checkpoints_->Prune(entry);
}

void RunControl::NoteSaving(JobEntry& entry, const RunNews::Changes& changes,
                            v1::Job& job) {
  book_->mu().AssertHeld();
  std::string reason;
  if (changes.saved) {
    entry.unsaved_why.clear();
    Advance(job, JobEvent::kSaved);
    reason = job.state() == v1::Job::PAUSING ? "its weights are saved"
                                             : entry.ReasonWhileRunning();
  } else if (changes.delayed.has_value()) {
    entry.unsaved_why = std::string(changes.delayed->why.message());
    Advance(job, JobEvent::kSavingFails);
    reason = UnsavedReason(*changes.delayed, entry.interrupted);
  } else {
    return;
  }
  // Of one that is cancelled it says by whom.
  if (job.state() != v1::Job::CANCELLING) job.set_state_reason(reason);
}

void RunControl::SetBack(const JobEntry& entry, v1::Job& job) const {
  book_->mu().AssertHeld();
  v1::JobProgress progress;
  progress.set_paradigm(job.spec().paradigm());
  progress.set_parameters(job.progress().parameters());
  progress.set_train_samples(job.progress().train_samples());
  if (const absl::StatusOr<JobPlan> plan = ParseJob(job.spec()); plan.ok()) {
    progress.set_samples_total(
        SamplesWanted(ToRunSettings(*plan).stop,
                      static_cast<uint32_t>(progress.train_samples())));
  }
  const absl::StatusOr<CheckpointName> name =
      ParseCheckpointName("restore_from", job.restore_from());
  if (name.ok()) {
    const auto from = checkpoints_->Find(entry, *name);
    if (from.ok()) {
      progress.set_samples(from->samples());
      progress.set_samples_discarded(from->samples_discarded());
      progress.set_version(from->version());
    }
  }
  *job.mutable_progress() = std::move(progress);
}

void RunControl::RunEnded(JobEntry& entry, JobRun& run,
                          const RunOutcome& outcome) {
  TakeNews(entry);  // What it said last.
  const std::string interrupted = std::exchange(entry.interrupted, "");
  v1::Job job = entry.job;
  const v1::JobProgress progress = run.Progress();
  const std::string report = run.Report();
  // One that did not come to train knows nothing of what was before.
  if (!report.empty()) {
    // What was admitted counts for the quota, statistics too.
    const int64_t admitted = job.progress().parameters();
    *job.mutable_progress() = progress;
    job.mutable_progress()->set_parameters(admitted);
    const auto before = history_.ReportOf(entry);
    if (!before.ok()) LogError(before.status().message());
    entry.unsaved.reports = {
        {job.uid(),
         MergeReports(before.value_or(""), report, run.SecondsBefore())}};
  }
  if (outcome.paused && !outcome.checkpoint.empty()) {
    job.set_restore_from(
        absl::StrCat(job.name(), "/checkpoints/", outcome.checkpoint));
  }
  // What was saved since has samples that count twice.
  if (outcome.lost_end) job.set_restore_from(entry.restarted_from);
  entry.restarted_from.clear();
  Advance(job, EndOf(outcome));
  const auto checkpoints = checkpoints_->List(entry);
  job.set_state_reason(ReasonAfter(outcome, job, interrupted,
                                   checkpoints.ok() ? &*checkpoints : nullptr));
  entry.unsaved_why.clear();
  entry.warning.clear();
  if (job.state() == v1::Job::PAUSED && outcome.left_unsaved) {
    const int64_t trained = job.progress().samples();
    SetBack(entry, job);
    LogLost(job, trained);
  }
  if (HasEnded(job.state())) *job.mutable_end_time() = ToProto(absl::Now());
  const nlohmann::json fields = {{"job", job.name()},
                                 {"state", StateName(job.state())},
                                 {"reason", job.state_reason()}};
  if (job.state() == v1::Job::FAILED) {
    (outcome.diverged ? metrics_->jobs_diverged : metrics_->jobs_failed)
        .Increment();
    LogError("run ended", fields);
  } else if (outcome.out_of_workers) {
    LogWarning("run ended", fields);
  } else {
    LogInfo("run ended", fields);
  }
  history_.TellState(entry, job, progress.seconds());
  book_->Write(entry, std::move(job), Durability::kRetried).IgnoreError();
  if (entry.unsaved.empty()) {
    run.log().Remove();
  } else {
    // Should this life end before it is stored, the next one hears it again.
    run.Leave();
    entry.ended_journal = JournalFile(options_.journal_root, entry.job.uid());
  }
}

void RunControl::Interrupt(JobEntry& entry, const std::string& why) {
  if (entry.active == nullptr || !entry.interrupted.empty()) return;
  TakeNews(entry);  // It may have begun to train.
  if (entry.job.state() == v1::Job::SAVING) {
    // Once it is saved there is no time for anything else.
    entry.interrupted = why;
    entry.active->Pause(absl::ZeroDuration());
    return;
  }
  if (entry.job.state() != v1::Job::STARTING &&
      entry.job.state() != v1::Job::RUNNING) {
    return;  // It ends already, or is paused.
  }
  // There would be nothing to go on from.
  if (entry.job.state() == v1::Job::RUNNING && !checkpoints_->kept()) return;
  entry.interrupted =
      absl::StrCat(why, ": the job is saved and goes on by itself");
  // First: a push of who reads the reason is answered with no grant any more.
  entry.active->Pause(absl::ZeroDuration());
  v1::Job job = entry.job;
  job.set_state_reason(entry.interrupted);
  book_->Write(entry, std::move(job), Durability::kRetried).IgnoreError();
}

void RunControl::LeaveServers() {
  for (const v1::Server& server : fleet_.Servers()) {
    if (!server.leaving()) continue;
    for (const std::string& name : server.jobs()) {
      const absl::StatusOr<JobEntry*> found = book_->Find(name);
      if (!found.ok()) continue;
      JobEntry& entry = **found;
      // What is left to evaluate may be done before the server goes.
      if (entry.active == nullptr || entry.active->TrainingEnds() ||
          entry.active->CanHandOver(
              absl::StripPrefix(server.name(), FormatServerName("")))) {
        continue;
      }
      Interrupt(entry, absl::StrCat(server.name(), " is leaving"));
    }
  }
}

bool RunControl::any_runs() const {
  absl::MutexLock lock(&book_->mu());
  return std::ranges::any_of(book_->Busy(), [](const JobEntry* entry) {
    return entry->active != nullptr;
  });
}

void RunControl::Drain(absl::Duration grace) {
  const absl::Time deadline = clock_->Now() + grace;
  {
    absl::MutexLock lock(&book_->mu());
    draining_ = true;
    for (JobEntry* const entry : book_->Busy()) {
      Interrupt(*entry, "the coordinator is stopping");
      // What could not be saved so far is tried at once.
      if (entry->IsBeingSaved()) entry->active->Pause(absl::ZeroDuration());
    }
  }
  Wake();
  std::vector<std::shared_ptr<JobRun>> over;
  absl::MutexLock lock(&book_->mu());
  const auto saved = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(book_->mu()) {
    const std::vector<JobEntry*> busy = book_->Busy();
    return std::none_of(busy.begin(), busy.end(), [](const JobEntry* entry) {
      return entry->IsBeingSaved();
    });
  };
  book_->mu().AwaitWithTimeout(absl::Condition(&saved),
                               deadline - clock_->Now());
  Turn(over);  // What has ended by now.
  for (JobEntry* const entry : book_->Busy()) {
    if (entry->IsBeingSaved()) LeaveUnsaved(*entry);
  }
  book_->Close();
}

void RunControl::LeaveUnsaved(JobEntry& entry) {
  // One that does not train yet has nothing to lose.
  if (entry.job.state() == v1::Job::STARTING) return;
  entry.active->GiveUp();
  v1::Job job = entry.job;
  Advance(job, JobEvent::kLeftUnsaved);
  if (job.state() == v1::Job::PAUSED) {
    const int64_t trained = entry.active->Progress().samples();
    SetBack(entry, job);
    job.set_state_reason(PausedReason(
        absl::StrCat(
            "the coordinator has stopped before the weights were saved",
            entry.unsaved_why.empty() ? "" : ": ", entry.unsaved_why),
        job));
    LogLost(job, trained);
  } else {
    *job.mutable_end_time() = ToProto(absl::Now());
  }
  history_.TellState(entry, job);
  book_->Write(entry, std::move(job), Durability::kRetried).IgnoreError();
}

void RunControl::LookAtFolders() {
  if (options_.folders == nullptr) return;
  std::vector<FolderState> folders = options_.folders();
  LogChanges(folders_, folders);
  v1::CheckpointFolders known = ToProto(folders);
  const bool others =
      known.SerializeAsString() != ToProto(folders_).SerializeAsString();
  folders_ = std::move(folders);
  if (others) fleet_.SetFolders(std::move(known));
}

void RunControl::SetWaiting(JobEntry& entry, absl::string_view reason) {
  if (entry.job.state_reason() == reason) return;
  v1::Job job = entry.job;
  job.set_state_reason(std::string(reason));
  book_->Write(entry, std::move(job), Durability::kShown).IgnoreError();
}

absl::Status RunControl::MakeNews(JobEntry& entry) {
  PACELINE_RETURN_IF_ERROR(history_.MakeNews(entry));
  if (entry.metrics == nullptr) {
    entry.metrics = std::make_shared<JobMetrics>(*registry_, entry.job.name());
  }
  if (entry.iterations == nullptr)
    entry.iterations = std::make_shared<IterationLog>();
  return absl::OkStatus();
}

RunSetup RunControl::SetupFor(const JobEntry& entry) {
  RunSetup setup;
  setup.job_uid = entry.job.uid();
  setup.version = options_.version;
  setup.journal_file = JournalFile(options_.journal_root, setup.job_uid);
  setup.feed = options_.feed;
  setup.fsync = options_.fsync;
  setup.most_events = options_.most_events;
  setup.lanes = options_.lanes;
  setup.iterations = entry.iterations;
  setup.frozen_after = options_.frozen_after;
  setup.find_evaluator =
      [this, name = entry.job.name(),
       program = std::string(
           ProgramOf(entry.job.spec().model()).value_or(absl::string_view())),
       wire = entry.job.spec().wire()] {
        return fleet_.FindEvaluator(name, program, wire);
      };
  setup.admit_parameters = [this, name = entry.job.name()](int64_t bytes) {
    return AdmitParameters(name, bytes);
  };
  setup.over = [this] { Wake(); };
  return setup;
}

void RunControl::StartRun(JobEntry& entry) {
  // A store that another version has filled may hold what this one refuses.
  absl::StatusOr<JobPlan> plan = ParseJob(entry.job.spec());
  if (!plan.ok()) return SetWaiting(entry, plan.status().message());
  auto servers =
      fleet_.PickServers(entry.job.spec().servers(), entry.job.spec().wire());
  if (!servers.ok()) return SetWaiting(entry, servers.status().message());
  if (const absl::Status made = MakeNews(entry); !made.ok()) {
    return SetWaiting(entry, made.message());
  }
  const std::string name = entry.job.name();
  entry.ended_journal.clear();  // It is written anew.
  RunSetup setup = SetupFor(entry);
  setup.job_name = name;
  setup.run = book_->ids().Next();
  setup.plan = *std::move(plan);
  setup.lease = options_.lease;
  setup.servers = *std::move(servers);
  const v1::JobSpec& spec = setup.plan.spec;
  setup.replicas = spec.has_replicas() ? spec.replicas() : options_.replicas;
  setup.strict = spec.durability() == kStrictDurability;
  setup.checkpoint_root = checkpoints_->FolderOf(entry.job);
  setup.checkpoint_fallbacks = checkpoints_->FallbacksOf(entry.job);
  if (!entry.job.restore_from().empty()) {
    setup.restore_from = entry.from.directory();
  }
  setup.before = entry.job.progress();
  // These are of the run that it was.
  setup.before.clear_workers();
  setup.before.clear_samples_per_second();
  setup.before.clear_seconds_left();
  setup.before.clear_advice();
  if (!options_.trace_root.empty()) {
    setup.trace_file = TraceFile(options_.trace_root, name, setup.run);
  }
  std::optional<TraceContext> trace = ParseTraceparent(entry.job.traceparent());
  if (!trace.has_value())
    trace = NewTrace(book_->ids().Next(), book_->ids().Next());
  setup.traceparent = ToTraceparent(*trace, setup.run);
  entry.active = std::make_shared<JobRun>(std::move(setup), clock_, entry.news,
                                          entry.metrics);
  fleet_.AddRun(entry.active);
  entry.active->Start();
  LogInfo("run begins", {{"job", name}, {"trace_id", trace->trace_id}});
  v1::Job job = entry.job;
  Advance(job, JobEvent::kAssigned);
  job.set_state_reason("its workers load the data");
  book_->Write(entry, std::move(job), Durability::kRetried).IgnoreError();
}

absl::Status RunControl::AdmitParameters(const std::string& name,
                                         int64_t bytes) {
  PACELINE_ASSIGN_OR_RETURN(const JobName parsed, ParseJobName("name", name));
  absl::MutexLock lock(&book_->mu());
  PACELINE_ASSIGN_OR_RETURN(JobEntry* const entry, book_->Find(name));
  const int64_t parameters = bytes / static_cast<int64_t>(sizeof(float));
  const absl::Status admitted = CheckParameterQuota(
      options_.quota, book_->JobsOf(parsed.name_space), entry->job, parameters);
  if (!admitted.ok()) {
    metrics_->quota_refusals.Increment();
    return admitted;
  }
  // From now on they count for the others, not only once the run has ended.
  entry->job.mutable_progress()->set_parameters(parameters);
  return absl::OkStatus();
}

void RunControl::CountStates() {
  std::map<v1::Job::State, int> jobs;
  for (const auto& [name, entry] : book_->entries()) ++jobs[entry.job.state()];
  for (const auto& [state, gauge] : metrics_->jobs) gauge->Set(jobs[state]);
  std::map<v1::Worker::State, int> members;
  for (const FleetMember& member : fleet_.Members()) {
    ++members[member.worker.state()];
  }
  for (const auto& [state, gauge] : metrics_->members) {
    gauge->Set(members[state]);
  }
  metrics_->servers.Set(static_cast<double>(fleet_.Servers().size()));
  const JobJournal::Counts history = journal_->counts();
  const uint64_t lost = history.dropped + history.failed;
  metrics_->history_rows_lost.Increment(static_cast<double>(lost - rows_lost_));
  rows_lost_ = lost;
}

}  // namespace paceline
