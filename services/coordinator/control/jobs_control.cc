// The thread that starts and ends runs and assigns workers.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "common/check.h"
#include "common/log/log.h"
#include "common/status.h"
#include "common/status_details.h"
#include "common/trace_context.h"
#include "services/coordinator/control/jobs.h"
#include "services/coordinator/control/proto_time.h"
#include "services/coordinator/fleet/pool_demand.h"
#include "services/coordinator/jobs/job_quota.h"

namespace paceline {
namespace {

// Between two looks when nothing was heard.
constexpr absl::Duration kTurn = absl::Milliseconds(200);

// Workers of the same node may come one by one; a job that could start with
// the first of them gains by looking again soon, not by waiting.
constexpr absl::Duration kGrain = absl::Milliseconds(5);

// Of the jobs that do not run, so many, those that changed last, still have
// metrics and events: the others are thousands.
constexpr size_t kIdleKept = 32;

// What the coordinator sees is possible, or the state machine is wrong.
void Advance(v1::Job& job, JobEvent event) {
  const auto next = NextState(job.state(), event, job.name());
  CHECK(next.ok());
  job.set_state(*next);
}

JobEvent EndOf(const RunOutcome& outcome) {
  if (!outcome.status.ok()) return JobEvent::kFailed;
  return outcome.paused ? JobEvent::kInterrupted : JobEvent::kFinished;
}

// Of the job's state, which `outcome` has brought about.
std::string ReasonAfter(const RunOutcome& outcome, const v1::Job& job,
                        const std::string& interrupted) {
  switch (job.state()) {
    case v1::Job::PENDING:
      if (!interrupted.empty()) return interrupted;
      return outcome.out_of_servers ? "a parameter server has left: waits for "
                                      "others"
                                    : "its workers are gone: waits for others";
    case v1::Job::PAUSED:
      return "paused";
    case v1::Job::FAILED:
      return absl::StrCat(absl::StatusCodeToString(outcome.status.code()), ": ",
                          outcome.status.message());
    case v1::Job::CANCELLED:
      return job.state_reason();  // By whom.
    default:
      return "";
  }
}

}  // namespace

Jobs::~Jobs() {
  {
    absl::MutexLock lock(&wake_mu_);
    stopping_ = true;
  }
  if (control_.joinable()) control_.join();
  // Outside of the lock, which the runs' ends take.
  Entries entries;
  {
    absl::MutexLock lock(&mu_);
    for (auto& [name, entry] : entries_) {
      if (entry.active == nullptr) continue;
      entry.active->run().Cancel(
          absl::CancelledError("the coordinator is stopping"));
    }
    entries.swap(entries_);
  }
}

void Jobs::Wake() {
  absl::MutexLock lock(&wake_mu_);
  wake_ = true;
}

void Jobs::Control() {
  const auto woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(wake_mu_) {
    return wake_ || stopping_;
  };
  absl::Time next_look = absl::InfinitePast();
  while (true) {
    {
      absl::MutexLock lock(&wake_mu_);
      wake_mu_.AwaitWithTimeout(absl::Condition(&woken), kTurn);
      if (stopping_) return;
      wake_ = false;
    }
    const absl::Time now = clock_->Now();
    if (now >= next_look) {
      fleet_.EndSilent();
      next_look = now + options_.lease / 4;
    }
    std::vector<std::unique_ptr<ActiveRun>> over;
    {
      absl::MutexLock lock(&mu_);
      Turn(over);
      CountStates();
      LetGoOfIdle();
    }
    over.clear();  // Joins their threads, which are about to end.
    absl::MutexLock lock(&wake_mu_);
    wake_mu_.AwaitWithTimeout(absl::Condition(&stopping_), kGrain);
  }
}

void Jobs::Turn(std::vector<std::unique_ptr<ActiveRun>>& over) {
  // The process ends, so its members' streams do: that is no word on any job.
  if (drained_) return;
  const std::vector<std::string> names(busy_.begin(), busy_.end());
  for (const std::string& name : names) {
    Entry& entry = entries_.at(name);
    TakeNews(entry);
    Save(entry);
    if (entry.active == nullptr || !entry.active->outcome().has_value()) {
      continue;
    }
    fleet_.RemoveRun(entry.active->run().run());
    over.push_back(std::move(entry.active));
    RunEnded(entry, over.back()->run(), *over.back()->outcome());
  }
  if (draining_) return;
  LeaveServers();
  AssignWorkers();
}

void Jobs::TakeNews(Entry& entry) {
  if (entry.news == nullptr) return;
  const RunNews::Changes changes = entry.news->Take();
  v1::Job job = entry.job;
  bool changed = false;
  if (changes.started) {
    Advance(job, JobEvent::kStarted);
    if (job.state() == v1::Job::RUNNING) job.set_state_reason("");
    if (!job.has_start_time()) *job.mutable_start_time() = ToProto(absl::Now());
    changed = true;
  }
  if (changes.paradigm.has_value()) {
    job.mutable_spec()->set_paradigm(*changes.paradigm);
    changed = true;
  }
  bool over = false;
  std::vector<v1::WatchJobResponse> events;
  for (const v1::Checkpoint& news : changes.checkpoints) {
    *events.emplace_back().mutable_checkpoint() = NoteCheckpoint(entry, news);
    over = over || news.state() != v1::Checkpoint::WRITING;
    if (news.state() != v1::Checkpoint::READY) continue;
    // One of the course that the job takes now: whatever happens, it goes on
    // from here, not from one of a course that somebody went back from.
    job.set_restore_from(events.back().checkpoint().name());
    changed = true;
  }
  if (changed) {
    Note(entry, std::move(job));
  } else if (!events.empty()) {
    Save(entry);
  }
  for (v1::WatchJobResponse& event : events) {
    entry.events->Append(std::move(event));
  }
  if (over) PruneCheckpoints(entry);
}

void Jobs::RunEnded(Entry& entry, const JobRun& run,
                    const RunOutcome& outcome) {
  TakeNews(entry);  // What it said last.
  const std::string interrupted = std::exchange(entry.interrupted, "");
  v1::Job job = entry.job;
  const std::string report = run.Report();
  // One that did not come to train knows nothing of what was before.
  if (!report.empty()) {
    // What was admitted counts for the quota, statistics too.
    const int64_t admitted = job.progress().parameters();
    *job.mutable_progress() = run.Progress();
    job.mutable_progress()->set_parameters(admitted);
  }
  if (!report.empty()) entry.unsaved.reports = {{job.uid(), report}};
  if (outcome.paused && !outcome.checkpoint.empty()) {
    job.set_restore_from(
        absl::StrCat(job.name(), "/checkpoints/", outcome.checkpoint));
  }
  Advance(job, EndOf(outcome));
  job.set_state_reason(ReasonAfter(outcome, job, interrupted));
  if (HasEnded(job.state())) *job.mutable_end_time() = ToProto(absl::Now());
  LogInfo("run ended", {{"job", job.name()},
                        {"state", StateName(job.state())},
                        {"reason", job.state_reason()}});
  Note(entry, std::move(job));
}

absl::Status Jobs::FindWhatItNeeds(Entry& entry, size_t servers) const {
  const size_t wanted = std::max<uint32_t>(1, entry.job.spec().servers());
  if (servers < wanted) {
    return absl::UnavailableError(absl::StrCat(
        "waits for ", wanted, " parameter servers: ", servers, " connected"));
  }
  const std::string& from = entry.job.restore_from();
  if (from.empty() || from == entry.from.name()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            ParseCheckpointName("restore_from", from));
  PACELINE_ASSIGN_OR_RETURN(entry.from, FindCheckpoint(name));
  return absl::OkStatus();
}

std::vector<AssignableJob> Jobs::AssignableJobs() {
  std::vector<AssignableJob> jobs;
  const std::vector<v1::Server> all = fleet_.Servers();
  const auto servers = static_cast<size_t>(std::count_if(
      all.begin(), all.end(),
      [](const v1::Server& server) { return !server.leaving(); }));
  const std::vector<std::string> names(busy_.begin(), busy_.end());
  for (const std::string& name : names) {
    Entry& entry = entries_.at(name);
    const bool waits =
        entry.job.state() == v1::Job::PENDING && entry.active == nullptr;
    const bool runs = entry.active != nullptr &&
                      !entry.active->outcome().has_value() &&
                      (entry.job.state() == v1::Job::STARTING ||
                       entry.job.state() == v1::Job::RUNNING ||
                       // Its last snapshots are to be evaluated.
                       entry.job.state() == v1::Job::PAUSING);
    if (!waits && !runs) continue;
    if (waits) {
      // No worker is held back for a job that it cannot help.
      const absl::Status found = FindWhatItNeeds(entry, servers);
      if (!found.ok()) {
        SetWaiting(entry, std::string(found.message()));
        continue;
      }
    }
    const v1::WorkerSelector& selector = entry.job.spec().workers();
    AssignableJob job;
    job.number = entry.number;
    job.name_space = ParseJobName("name", name)->name_space;
    job.pools = {selector.pools().begin(), selector.pools().end()};
    job.gpu_models = {selector.gpu_models().begin(),
                      selector.gpu_models().end()};
    job.min = static_cast<int>(selector.min());
    job.max = static_cast<int>(selector.max());
    job.running = runs;
    if (runs && entry.active->run().TrainingOver()) {
      job.trainers = TrainersWanted::kNone;
    } else if (entry.job.state() == v1::Job::PAUSING ||
               !entry.interrupted.empty()) {
      job.trainers = TrainersWanted::kNoMore;
    }
    job.goes_on =
        !entry.interrupted.empty() && entry.job.state() != v1::Job::PAUSING;
    job.evaluation_pending = runs && entry.active->run().WantsEvaluator();
    job.evaluated_until = entry.evaluated_until;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void Jobs::AssignWorkers() {
  const std::vector<AssignableJob> jobs = AssignableJobs();
  std::map<JobNumber, Entry*> by_number;
  std::map<uint64_t, JobNumber> by_run;
  for (const std::string& name : busy_) {
    Entry& entry = entries_.at(name);
    by_number.emplace(entry.number, &entry);
    if (entry.active != nullptr) {
      by_run.emplace(entry.active->run().run(), entry.number);
    }
  }
  const std::vector<Fleet::Member> members = fleet_.Members();
  std::vector<AssignableWorker> workers;
  absl::btree_set<uint64_t> evaluators;
  for (const Fleet::Member& member : members) {
    AssignableWorker worker;
    worker.id = member.id;
    worker.pool = member.worker.pool();
    worker.gpu_model = member.worker.gpu_model();
    worker.evaluator = member.worker.evaluator();
    worker.draining = member.worker.draining();
    worker.leaving = member.leaving;
    worker.since = member.since;
    for (const std::string& job : member.unfit_for) {
      const auto entry = entries_.find(job);
      if (entry != entries_.end())
        worker.unfit_for.insert(entry->second.number);
    }
    const auto run = by_run.find(member.run);
    if (run != by_run.end()) worker.job = run->second;
    if (worker.evaluator) evaluators.insert(worker.id);
    workers.push_back(std::move(worker));
  }
  AssignmentLimits limits;
  limits.workers_per_namespace = static_cast<int>(options_.quota.workers());
  metrics_.SetPoolDemand(PoolDemand(workers, jobs));
  const AssignmentPlan plan =
      PlanAssignments(clock_->Now(), workers, jobs, limits);
  for (const auto& [number, reason] : plan.waiting) {
    SetWaiting(*by_number.at(number), reason);
  }
  for (const AssignmentPlan::Release& release : plan.release) {
    if (evaluators.contains(release.worker)) {
      by_number.at(release.job)->evaluated_until = clock_->Now();
    }
    fleet_.Release(release.worker, release.reason);
  }
  for (const JobNumber number : plan.start) StartRun(*by_number.at(number));
  for (const AssignmentPlan::Assign& assign : plan.assign) {
    const Entry& entry = *by_number.at(assign.job);
    if (entry.active == nullptr) continue;  // It could not be started.
    const absl::Status assigned =
        fleet_.Assign(assign.worker, entry.active->run().run());
    // It went away a moment ago; the next turn sees that.
    if (!assigned.ok()) LogInfo(assigned.message());
  }
}

void Jobs::SetWaiting(Entry& entry, const std::string& reason) {
  if (entry.job.state_reason() == reason) return;
  v1::Job job = entry.job;
  job.set_state_reason(reason);
  ShowOnly(entry, std::move(job));
}

void Jobs::Prepare(Entry& entry) {
  if (entry.events == nullptr) {
    entry.events = std::make_shared<JobEvents>(View(entry), ids_.Next());
    if (HasEnded(entry.job.state())) entry.events->Close(absl::OkStatus());
  }
}

void Jobs::ForgetNews(Entry& entry) {
  if (entry.news == nullptr) return;
  entry.last_decision = entry.news->last_decision();
  entry.news.reset();
}

void Jobs::StartRun(Entry& entry) {
  auto servers = fleet_.PickServers(entry.job.spec().servers());
  if (!servers.ok()) {
    return SetWaiting(entry, std::string(servers.status().message()));
  }
  const auto last = store_->LastDecisionSequence(entry.job.uid());
  if (!last.ok()) {
    return SetWaiting(entry, std::string(last.status().message()));
  }
  Prepare(entry);
  if (entry.news == nullptr) {
    entry.news = std::make_shared<RunNews>(
        entry.job.uid(), std::max(*last, entry.last_decision), entry.events,
        journal_, [this] { Wake(); });
  }
  const std::string name = entry.job.name();
  if (entry.metrics == nullptr) {
    entry.metrics = std::make_shared<JobMetrics>(*registry_, name);
  }
  RunSetup setup;
  setup.job_name = name;
  setup.run = ids_.Next();
  setup.spec = entry.job.spec();
  setup.lease = options_.lease;
  setup.servers = *std::move(servers);
  setup.checkpoint_root = FolderOf(entry.job);
  if (!entry.job.restore_from().empty()) {
    setup.restore_from = entry.from.directory();
  }
  if (!options_.trace_root.empty()) {
    setup.trace_file = absl::StrFormat("%s/%s-%04x.jsonl", options_.trace_root,
                                       absl::StrReplaceAll(name, {{"/", "_"}}),
                                       setup.run & 0xffff);
  }
  std::optional<TraceContext> trace = ParseTraceparent(entry.job.traceparent());
  if (!trace.has_value()) trace = NewTrace(ids_.Next(), ids_.Next());
  setup.traceparent = ToTraceparent(*trace, setup.run);
  setup.evaluator_exists = [this, name] { return fleet_.HasEvaluator(name); };
  setup.admit_parameters = [this, name](int64_t bytes) {
    return AdmitParameters(name, bytes);
  };
  auto run = std::make_shared<JobRun>(std::move(setup), clock_, entry.news,
                                      entry.metrics);
  fleet_.AddRun(run);
  entry.active =
      std::make_unique<ActiveRun>(std::move(run), [this] { Wake(); });
  LogInfo("run begins", {{"job", name}, {"trace_id", trace->trace_id}});
  v1::Job job = entry.job;
  Advance(job, JobEvent::kAssigned);
  job.set_state_reason("its workers load the data");
  Note(entry, std::move(job));
}

absl::Status Jobs::AdmitParameters(const std::string& name, int64_t bytes) {
  PACELINE_ASSIGN_OR_RETURN(const JobName parsed, ParseJobName("name", name));
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(name);
  if (it == entries_.end()) return NotFound(kJobType, name);
  v1::Job& job = it->second.job;
  const int64_t parameters = bytes / static_cast<int64_t>(sizeof(float));
  PACELINE_RETURN_IF_ERROR(NoteQuota(CheckParameterQuota(
      options_.quota, JobsOf(parsed.name_space), job, parameters)));
  // From now on they count for the others, not only once the run has ended.
  job.mutable_progress()->set_parameters(parameters);
  return absl::OkStatus();
}

absl::Status Jobs::NoteQuota(const absl::Status& checked) {
  if (!checked.ok()) metrics_.quota_refusals.Increment();
  return checked;
}

void Jobs::CountStates() {
  std::map<v1::Job::State, int> jobs;
  for (const auto& [name, entry] : entries_) ++jobs[entry.job.state()];
  for (const auto& [state, gauge] : metrics_.jobs) gauge->Set(jobs[state]);
  std::map<v1::Worker::State, int> members;
  for (const Fleet::Member& member : fleet_.Members()) {
    ++members[member.worker.state()];
  }
  for (const auto& [state, gauge] : metrics_.members) {
    gauge->Set(members[state]);
  }
  metrics_.servers.Set(static_cast<double>(fleet_.Servers().size()));
  const JobJournal::Counts history = journal_->counts();
  const uint64_t lost = history.dropped + history.failed;
  metrics_.history_rows_lost.Increment(static_cast<double>(lost - rows_lost_));
  rows_lost_ = lost;
}

void Jobs::LetGoOfIdle() {
  std::vector<std::tuple<int64_t, int32_t, JobNumber, Entry*>> idle;
  for (auto& [name, entry] : entries_) {
    if (entry.active != nullptr) continue;
    if (entry.metrics == nullptr && entry.events == nullptr) continue;
    const auto& changed = entry.job.update_time();
    idle.emplace_back(changed.seconds(), changed.nanos(), entry.number, &entry);
  }
  if (idle.size() <= kIdleKept) return;
  std::sort(idle.begin(), idle.end());
  idle.resize(idle.size() - kIdleKept);
  for (const auto& [seconds, nanos, number, entry] : idle) {
    entry->metrics.reset();
    ForgetNews(*entry);
    // Only those that nothing follows: somebody may be about to subscribe. Who
    // resumes later begins with the job as it has ended.
    const bool over = HasEnded(entry->job.state());
    if (over && entry->events != nullptr && !entry->events->watched()) {
      entry->events.reset();
    }
  }
}

}  // namespace paceline
