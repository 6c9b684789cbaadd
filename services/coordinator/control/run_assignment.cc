// Who works for the busy jobs, and what those wait for that have nobody.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/checkpoint/shared_folder.h"
#include "common/job/names.h"
#include "common/log/log.h"
#include "common/rpc/wire_format.h"
#include "common/status.h"
#include "services/coordinator/control/run_control.h"
#include "services/coordinator/fleet/pool_demand.h"
#include "services/coordinator/fleet/server_choice.h"
#include "services/coordinator/fleet/wire_knowledge.h"
#include "services/coordinator/jobs/resource_name.h"

namespace paceline {

absl::Status RunControl::FindWhatItNeeds(
    JobEntry& entry, const std::vector<v1::Server>& servers) const {
  PACELINE_RETURN_IF_ERROR(
      CheckEnough(servers, std::max<uint32_t>(1, entry.job.spec().servers())));
  const v1::JobSpec& spec = entry.job.spec();
  if (!KnownToAll(spec.wire())) {
    PACELINE_RETURN_IF_ERROR(
        fleet_.PickServers(spec.servers(), spec.wire()).status());
  }
  // It would train, and then could not be saved.
  if (!folders_.empty() && !IsUsable(folders_.front().status)) {
    return absl::UnavailableError(
        absl::StrCat("waits for the checkpoint folder: ",
                     folders_.front().status.message()));
  }
  const std::string& from = entry.job.restore_from();
  if (from.empty() || from == entry.from.name()) return absl::OkStatus();
  PACELINE_ASSIGN_OR_RETURN(const CheckpointName name,
                            ParseCheckpointName("restore_from", from));
  PACELINE_ASSIGN_OR_RETURN(entry.from, checkpoints_->Find(entry, name));
  return absl::OkStatus();
}

std::vector<AssignableJob> RunControl::AssignableJobs() {
  std::vector<AssignableJob> jobs;
  const std::vector<v1::Server> servers = fleet_.Servers();
  for (JobEntry* const busy : book_->Busy()) {
    JobEntry& entry = *busy;
    const bool waits =
        entry.job.state() == v1::Job::PENDING && entry.active == nullptr;
    const bool runs = entry.active != nullptr &&
                      !entry.active->outcome().has_value() &&
                      (entry.job.state() == v1::Job::STARTING ||
                       entry.job.state() == v1::Job::RUNNING ||
                       // Its last snapshots are to be evaluated.
                       entry.job.state() == v1::Job::PAUSING ||
                       // It gives its workers back.
                       entry.job.state() == v1::Job::SAVING);
    if (!waits && !runs) continue;
    if (waits) {
      // No worker is held back for a job that it cannot help.
      const absl::Status found = FindWhatItNeeds(entry, servers);
      if (!found.ok()) {
        SetWaiting(entry, found.message());
        continue;
      }
    }
    const v1::WorkerSelector& selector = entry.job.spec().workers();
    AssignableJob job;
    job.number = entry.number;
    job.name_space = ParseJobName("name", entry.job.name())->name_space;
    job.pools = {selector.pools().begin(), selector.pools().end()};
    job.gpu_models = {selector.gpu_models().begin(),
                      selector.gpu_models().end()};
    job.program = std::string(
        ProgramOf(entry.job.spec().model()).value_or(absl::string_view()));
    job.min = static_cast<int>(selector.min());
    job.max = static_cast<int>(selector.max());
    job.priority = entry.job.spec().priority();
    job.running = runs;
    if (runs && entry.active->TrainingOver()) {
      job.trainers = TrainersWanted::kNone;
    } else if (entry.job.state() == v1::Job::PAUSING ||
               !entry.interrupted.empty()) {
      job.trainers = TrainersWanted::kNoMore;
    }
    job.goes_on =
        !entry.interrupted.empty() && entry.job.state() != v1::Job::PAUSING;
    job.evaluation_pending = runs && entry.active->WantsEvaluator();
    job.evaluated_until = entry.evaluated_until;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<AssignableWorker> RunControl::AssignableWorkers() {
  std::map<uint64_t, JobNumber> by_run;
  std::map<JobNumber, v1::WireFormat> formats;  // That not all know.
  for (const JobEntry* const entry : book_->Busy()) {
    const v1::WireFormat format = entry->job.spec().wire();
    if (!KnownToAll(format)) formats.emplace(entry->number, format);
    if (entry->active == nullptr) continue;
    by_run.emplace(entry->active->run(), entry->number);
  }
  std::vector<AssignableWorker> workers;
  for (const FleetMember& member : fleet_.Members()) {
    AssignableWorker worker;
    worker.id = member.id;
    worker.name =
        std::string(absl::StripPrefix(member.worker.name(), "workers/"));
    worker.pool = member.worker.pool();
    worker.gpu_model = member.worker.gpu_model();
    worker.programs = {member.worker.programs().begin(),
                       member.worker.programs().end()};
    worker.evaluator = member.worker.evaluator();
    worker.in_flight = member.in_flight;
    worker.draining = member.worker.draining();
    worker.leaving = member.leaving;
    worker.since = member.since;
    for (const auto& [job, why] : member.unfit_for) {
      const absl::StatusOr<JobEntry*> entry = book_->Find(job);
      if (entry.ok()) worker.unfit_for.emplace((*entry)->number, why);
    }
    for (const auto& [job, format] : formats) {
      if (KnowsFormat(member.formats, format)) continue;
      worker.unfit_for.emplace(
          job,
          absl::StrCat("it ", WhyNotKnown(member.worker.version(), format)));
    }
    const auto run = by_run.find(member.run);
    if (run != by_run.end()) worker.job = run->second;
    workers.push_back(std::move(worker));
  }
  return workers;
}

void RunControl::AssignWorkers() {
  const std::vector<AssignableJob> jobs = AssignableJobs();
  std::map<JobNumber, JobEntry*> by_number;
  for (JobEntry* const entry : book_->Busy()) {
    by_number.emplace(entry->number, entry);
  }
  const std::vector<AssignableWorker> workers = AssignableWorkers();
  absl::btree_set<uint64_t> evaluators;
  for (const AssignableWorker& worker : workers) {
    if (worker.evaluator) evaluators.insert(worker.id);
  }
  AssignmentLimits limits;
  limits.workers_per_namespace = static_cast<int>(options_.quota.workers());
  metrics_->SetPoolDemand(PoolDemand(workers, jobs));
  const AssignmentPlan plan =
      PlanAssignments(clock_->Now(), workers, jobs, limits);
  for (const auto& [number, reason] : plan.waiting) {
    SetWaiting(*by_number.at(number), reason);
  }
  for (const AssignmentPlan::Release& release : plan.release) {
    if (evaluators.contains(release.worker)) {
      by_number.at(release.job)->evaluated_until = clock_->Now();
    }
    fleet_.Release(release.worker, release.reason, absl::StatusCode::kOk);
  }
  for (const JobNumber number : plan.start) StartRun(*by_number.at(number));
  for (const AssignmentPlan::Assign& assign : plan.assign) {
    const JobEntry& entry = *by_number.at(assign.job);
    if (entry.active == nullptr) continue;  // It could not be started.
    const absl::Status assigned =
        fleet_.Assign(assign.worker, entry.active->run());
    // It went away a moment ago; the next turn sees that.
    if (!assigned.ok()) LogInfo(assigned.message());
  }
}

}  // namespace paceline
