#include "tests/services/coordinator/fleet/small_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace paceline {

uint64_t SmallCluster::AddWorkers(int count, const std::string& pool,
                                  const std::string& gpu_model) {
  const uint64_t first = last_worker_ + 1;
  for (int i = 0; i < count; ++i) {
    AssignableWorker worker;
    worker.id = ++last_worker_;
    worker.name = absl::StrCat("w", worker.id);
    worker.pool = pool;
    worker.gpu_model = gpu_model;
    workers_[worker.id] = worker;
  }
  return first;
}

uint64_t SmallCluster::AddEvaluator() {
  const uint64_t id = AddWorkers(1);
  workers_[id].evaluator = true;
  return id;
}

JobNumber SmallCluster::AddJob(int min, int max,
                               std::vector<std::string> pools) {
  AssignableJob job;
  job.number = ++last_job_;
  job.name_space = "main";
  job.pools = std::move(pools);
  job.min = min;
  job.max = max;
  jobs_[job.number] = job;
  return job.number;
}

std::string SmallCluster::Step() {
  // Backwards, for the order must not matter.
  std::vector<AssignableWorker> workers;
  for (auto it = workers_.rbegin(); it != workers_.rend(); ++it) {
    workers.push_back(it->second);
  }
  std::vector<AssignableJob> jobs;
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    jobs.push_back(it->second);
  }
  plan_ = PlanAssignments(now, workers, jobs, limits);
  std::vector<std::string> done;
  for (const auto& move : plan_.release) done.push_back(Do(move));
  for (const auto& move : plan_.assign) done.push_back(Do(move));
  for (const JobNumber number : plan_.start) {
    AssignableJob& job = jobs_.at(number);
    EXPECT_FALSE(job.running);
    EXPECT_GE(WorkersOf(number, /*leaving_too=*/false), job.min);
    EXPECT_EQ(plan_.waiting.count(number), 0u);
    job.running = true;
    done.push_back(absl::StrCat("start ", number));
  }
  for (const auto& [number, job] : jobs_) {
    EXPECT_EQ(job.running, plan_.waiting.count(number) == 0) << number;
  }
  CheckQuota();
  return absl::StrJoin(done, "; ");
}

std::string SmallCluster::Do(const AssignmentPlan::Release& move) {
  AssignableWorker& worker = workers_.at(move.worker);
  EXPECT_EQ(worker.job, move.job);
  EXPECT_FALSE(worker.leaving);
  worker.leaving = true;
  const auto job = jobs_.find(move.job);
  if (job != jobs_.end() && job->second.running && !worker.draining &&
      !worker.evaluator && job->second.trainers != TrainersWanted::kNone) {
    EXPECT_GE(WorkersOf(move.job, /*leaving_too=*/false), job->second.min)
        << "job " << move.job << " fell below its minimum";
  }
  return absl::StrCat("release ", move.worker, " of ", move.job, ": ",
                      move.reason);
}

std::string SmallCluster::Do(const AssignmentPlan::Assign& move) {
  AssignableWorker& worker = workers_.at(move.worker);
  const AssignableJob& job = jobs_.at(move.job);
  EXPECT_FALSE(worker.job.has_value())
      << "worker " << move.worker << " has one";
  EXPECT_FALSE(worker.draining);
  worker.job = move.job;
  worker.since = now;
  if (worker.evaluator) {
    EXPECT_TRUE(job.running && job.evaluation_pending);
  } else {
    EXPECT_TRUE(Selects(job, worker));
    if (job.max > 0) {
      EXPECT_LE(WorkersOf(move.job, /*leaving_too=*/false), job.max);
    }
  }
  return absl::StrCat("assign ", move.worker, " to ", move.job);
}

void SmallCluster::CheckQuota() const {
  if (limits.workers_per_namespace == 0) return;
  std::map<std::string, int> used;
  for (const auto& [number, job] : jobs_) {
    used[job.name_space] += WorkersOf(number);
  }
  for (const auto& [name_space, count] : used) {
    EXPECT_LE(count, limits.workers_per_namespace) << name_space;
  }
}

void SmallCluster::AllLeave() {
  for (auto& [id, worker] : workers_) {
    if (!worker.leaving) continue;
    const auto job = jobs_.find(worker.job.value_or(0));
    if (worker.evaluator && job != jobs_.end()) {
      now += absl::Nanoseconds(1);  // No two at the same moment.
      job->second.evaluated_until = now;
    }
    worker.job.reset();
    worker.leaving = false;
  }
}

int SmallCluster::Settle(int steps_max) {
  int moves = 0;
  for (int step = 0; step < steps_max; ++step) {
    AllLeave();
    Step();
    if (plan_.empty()) return moves;
    moves += static_cast<int>(plan_.release.size() + plan_.assign.size() +
                              plan_.start.size());
  }
  ADD_FAILURE() << "it does not come to rest: " << Layout();
  return moves;
}

int SmallCluster::WorkersOf(JobNumber job, bool leaving_too) const {
  return static_cast<int>(
      std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
        const AssignableWorker& worker = entry.second;
        return !worker.evaluator && worker.job == job &&
               (leaving_too || !worker.leaving);
      }));
}

std::string SmallCluster::Layout() const {
  std::map<JobNumber, std::vector<uint64_t>> by_job;
  std::vector<uint64_t> free;
  for (const auto& [id, worker] : workers_) {
    if (worker.job.has_value()) {
      by_job[*worker.job].push_back(id);
    } else {
      free.push_back(id);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [job, ids] : by_job) {
    parts.push_back(absl::StrCat(job, ": ", absl::StrJoin(ids, " ")));
  }
  if (!free.empty()) {
    parts.push_back(absl::StrCat("free: ", absl::StrJoin(free, " ")));
  }
  return absl::StrJoin(parts, " | ");
}

}  // namespace paceline
