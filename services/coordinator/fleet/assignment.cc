#include "services/coordinator/fleet/assignment.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paceline {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max() / 2;

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct JobState;

struct WorkerState {
  const AssignableWorker* worker;
  JobState* job = nullptr;  // That it has; null also if that is not listed.
  bool free = false;        // To be assigned in this call.
  bool leaving = false;     // Will be free by itself.
  bool reserved = false;    // For a job that waits.
  int choices = 0;          // Jobs that could have it.
};

struct JobState {
  const AssignableJob* job;
  // The first ones of processes, by id, then the others: these go first. Not
  // those leaving or draining.
  std::vector<WorkerState*> staying;
  bool running = false;  // Or starts in this call.
  bool covered = false;  // Waits, and what it waits for is on its way.

  int have() const { return static_cast<int>(staying.size()); }
  int max() const {
    if (job->trainers == TrainersWanted::kNone) return 0;
    return job->max == 0 ? kNoLimit : std::max(job->min, job->max);
  }
  bool wants_more() const {
    return job->trainers == TrainersWanted::kYes && have() < max();
  }
  int above_min() const { return have() - job->min; }
  int priority() const { return job->priority; }
  // What it can do without.
  int spare() const {
    if (running) return std::max(0, above_min());
    return covered ? 0 : have();
  }
};

// One call: the cluster as it will be once the moves so far are done.
class Planner {
 public:
  Planner(absl::Span<const AssignableWorker> workers,
          absl::Span<const AssignableJob> jobs, int quota)
      : quota_(quota == 0 ? kNoLimit : quota) {
    for (const AssignableJob& job : jobs) {
      JobState state{.job = &job, .staying = {}};
      state.running = job.running;
      jobs_.emplace(job.number, std::move(state));
    }
    for (const AssignableWorker& worker : workers) {
      if (!worker.evaluator) workers_.emplace(worker.id, WorkerState{&worker});
    }
    std::vector<WorkerState*> in_order;
    for (auto& [id, worker] : workers_) in_order.push_back(&worker);
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const WorkerState* a, const WorkerState* b) {
                       return a->worker->in_flight < b->worker->in_flight;
                     });
    for (WorkerState* const worker : in_order) Place(*worker);
    for (auto& [number, job] : jobs_) by_priority_.push_back(&job);
    std::stable_sort(by_priority_.begin(), by_priority_.end(),
                     [](const JobState* a, const JobState* b) {
                       return a->priority() > b->priority();
                     });
  }

  AssignmentPlan Plan() {
    ReleaseWhoMustGo();
    for (JobState* const job : by_priority_) {
      if (job->running && job->wants_more()) Refill(*job);
    }
    for (JobState* const job : by_priority_) {
      if (!job->running) TryToStart(*job);
    }
    SpreadTheRest();
    if (plan_.empty() && !AnyoneLeaving()) EvenOut();
    return std::move(plan_);
  }

 private:
  // What a waiting job needs others to give.
  struct Lack {
    int workers = 0;
    int quota = 0;  // Of its namespace.
  };

  void Place(WorkerState& worker) {
    for (const auto& [number, job] : jobs_) {
      worker.choices += Selects(*job.job, *worker.worker) ? 1 : 0;
    }
    const AssignableWorker& is = *worker.worker;
    if (!is.job.has_value()) {
      worker.free = !is.draining && !is.leaving;
      worker.leaving = !is.draining && is.leaving;
      return;
    }
    const auto job = jobs_.find(*is.job);
    if (job != jobs_.end()) {
      worker.job = &job->second;
      ++used_[job->second.job->name_space];
    }
    worker.leaving = is.leaving && !is.draining;
    if (worker.job != nullptr && !is.leaving && !is.draining) {
      worker.job->staying.push_back(&worker);
      ++staying_[worker.job->job->name_space];
    }
  }

  void ReleaseWhoMustGo() {
    for (auto& [id, worker] : workers_) {
      const AssignableWorker& is = *worker.worker;
      if (!is.job.has_value() || is.leaving) continue;
      if (is.draining) {
        plan_.release.push_back({id, *is.job, "it is drained"});
      } else if (worker.job == nullptr) {
        worker.leaving = true;
        plan_.release.push_back({id, *is.job, "the job has ended"});
      }
    }
    for (auto& [number, job] : jobs_) {
      while (job.have() > job.max()) {
        Release(*job.staying.back(),
                job.max() == 0
                    ? "the training is over"
                    : absl::StrCat("the job's maximum is ", job.max()));
      }
    }
  }

  void Refill(JobState& job) {
    for (WorkerState* worker : FreeFor(job)) {
      if (job.above_min() >= 0 || Room(job) < 1) return;
      Assign(*worker, job);
    }
  }

  void TryToStart(JobState& job) {
    const int need = job.job->min - job.have();
    const std::vector<WorkerState*> free = FreeFor(job);
    if (static_cast<int>(free.size()) >= need && Room(job) >= need) {
      for (int i = 0; i < need; ++i) Assign(*free[i], job);
      job.running = true;
      plan_.start.push_back(job.job->number);
      return;
    }
    Wait(job, need, free);
  }

  // Holds back and releases what covers the job's minimum, if that can be.
  void Wait(JobState& job, int need, const std::vector<WorkerState*>& free) {
    std::vector<WorkerState*> coming = free;
    for (auto& [id, worker] : workers_) {
      if (worker.leaving && !worker.reserved &&
          Selects(*job.job, *worker.worker)) {
        coming.push_back(&worker);
      }
    }
    const std::string& name_space = job.job->name_space;
    const Lack lack{.workers = need - static_cast<int>(coming.size()),
                    .quota = need - (quota_ - staying_[name_space] -
                                     reserved_[name_space])};
    const std::optional<std::vector<WorkerState*>> given =
        ChooseGivers(job, lack);
    plan_.waiting[job.job->number] =
        ReasonOf(job, need, free.size(), lack, given.has_value());
    if (!given.has_value()) return;
    job.covered = true;
    reserved_[name_space] += need;
    for (WorkerState* worker : *given) {
      Release(*worker, absl::StrCat("job ", job.job->number, " waits for it"));
      // Else it only makes room in the quota.
      worker->reserved = Selects(*job.job, *worker->worker);
      if (worker->reserved) --need;
    }
    for (WorkerState* worker : coming) {
      if (need-- > 0) worker->reserved = true;
    }
  }

  // Workers that jobs of no higher priority can do without and that make up for
  // the lack. Nothing if there are not enough. Takes from the job of the lowest
  // priority, of equals from that with the most to spare, then the youngest.
  std::optional<std::vector<WorkerState*>> ChooseGivers(const JobState& job,
                                                        Lack lack) {
    std::vector<WorkerState*> given;
    // Of those that are asked for some: most jobs have nobody.
    std::map<const JobState*, int> left;
    const auto spare = [&left](const JobState* of) -> int& {
      return left.try_emplace(of, of->spare()).first->second;
    };
    while (lack.workers > 0 || lack.quota > 0) {
      using Rank = std::tuple<int, int, int, JobNumber, uint64_t>;
      WorkerState* best = nullptr;
      Rank best_rank;
      for (auto& [id, worker] : workers_) {
        if (!MayGive(worker, job, given) || spare(worker.job) < 1) continue;
        const int helps =
            (lack.workers > 0 && Selects(*job.job, *worker.worker) ? 1 : 0) +
            (lack.quota > 0 && InQuotaOf(worker, job) ? 1 : 0);
        const Rank rank{helps, -worker.job->priority(), spare(worker.job),
                        worker.job->job->number, id};
        if (helps > 0 && (best == nullptr || rank > best_rank)) {
          best = &worker;
          best_rank = rank;
        }
      }
      if (best == nullptr) return std::nullopt;
      given.push_back(best);
      --spare(best->job);
      if (Selects(*job.job, *best->worker)) --lack.workers;
      if (InQuotaOf(*best, job)) --lack.quota;
    }
    return given;
  }

  static bool MayGive(const WorkerState& worker, const JobState& to,
                      const std::vector<WorkerState*>& given) {
    return worker.job != nullptr && worker.job != &to && !worker.leaving &&
           !worker.worker->leaving && !worker.worker->draining &&
           !worker.free && worker.job->priority() <= to.priority() &&
           std::find(given.begin(), given.end(), &worker) == given.end();
  }

  static bool InQuotaOf(const WorkerState& worker, const JobState& job) {
    return worker.job->job->name_space == job.job->name_space;
  }

  void SpreadTheRest() {
    std::vector<WorkerState*> rest;
    for (auto& [id, worker] : workers_) {
      if (worker.free && !worker.reserved) rest.push_back(&worker);
    }
    // Who has few choices goes first; the others even out what that gives.
    std::stable_sort(rest.begin(), rest.end(),
                     [](const WorkerState* a, const WorkerState* b) {
                       return std::pair(a->choices, a->worker->in_flight) <
                              std::pair(b->choices, b->worker->in_flight);
                     });
    for (WorkerState* worker : rest) {
      JobState* best = nullptr;
      for (JobState* const job : by_priority_) {
        if (CouldHave(*job, *worker) && Room(*job) > 0 &&
            (best == nullptr || (job->priority() == best->priority() &&
                                 job->above_min() < best->above_min()))) {
          best = job;
        }
      }
      if (best != nullptr) Assign(*worker, *best);
    }
  }

  void EvenOut() {
    using Rank = std::tuple<bool, int, int, JobNumber>;
    WorkerState* best = nullptr;
    Rank best_rank;
    for (auto& [id, worker] : workers_) {
      JobState* const from = worker.job;
      if (from == nullptr || worker.worker->draining || from->spare() < 1) {
        continue;
      }
      for (const auto& [number, to] : jobs_) {
        const bool within_quota = InQuotaOf(worker, to) || Room(to) > 0;
        if (!within_quota || !CouldHave(to, worker) || !Yields(*from, to)) {
          continue;
        }
        const Rank rank{to.priority() > from->priority(), -from->priority(),
                        from->above_min(), from->job->number};
        if (best == nullptr || rank >= best_rank) {
          best = &worker;
          best_rank = rank;
        }
      }
    }
    if (best == nullptr) return;
    Release(*best, std::get<0>(best_rank) ? "a job of higher priority wants it"
                                          : "another job has fewer workers");
  }

  // Of one that `from` can spare and `to` could have.
  static bool Yields(const JobState& from, const JobState& to) {
    if (from.priority() != to.priority())
      return from.priority() < to.priority();
    return from.above_min() - to.above_min() >= 2;
  }

  bool AnyoneLeaving() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const auto& entry) { return entry.second.leaving; });
  }

  static bool CouldHave(const JobState& job, const WorkerState& worker) {
    return job.running && job.wants_more() && worker.job != &job &&
           Selects(*job.job, *worker.worker);
  }

  // Free workers that the job may have, those first that fewest others could;
  // of these the first of each process, so that every device has work.
  std::vector<WorkerState*> FreeFor(const JobState& job) {
    std::vector<WorkerState*> free;
    for (auto& [id, worker] : workers_) {
      if (worker.free && !worker.reserved &&
          Selects(*job.job, *worker.worker)) {
        free.push_back(&worker);
      }
    }
    std::stable_sort(free.begin(), free.end(),
                     [](const WorkerState* a, const WorkerState* b) {
                       return a->choices < b->choices;
                     });
    return free;
  }

  // Workers that the job's namespace may have now.
  int Room(const JobState& job) {
    const std::string& name_space = job.job->name_space;
    return quota_ - used_[name_space] - reserved_[name_space];
  }

  void Assign(WorkerState& worker, JobState& job) {
    plan_.assign.push_back({worker.worker->id, job.job->number});
    worker.free = false;
    worker.job = &job;
    job.staying.push_back(&worker);
    ++used_[job.job->name_space];
    ++staying_[job.job->name_space];
  }

  // It still counts as used, until it has left.
  void Release(WorkerState& worker, std::string reason) {
    JobState& job = *worker.job;
    plan_.release.push_back(
        {worker.worker->id, job.job->number, std::move(reason)});
    job.staying.erase(
        std::find(job.staying.begin(), job.staying.end(), &worker));
    worker.leaving = true;
    --staying_[job.job->name_space];
  }

  std::string ReasonOf(const JobState& job, int need, size_t free, Lack lack,
                       bool covered) const {
    std::string reason =
        absl::StrCat("needs ", need, need == 1 ? " worker" : " workers");
    if (!job.job->program.empty()) {
      absl::StrAppend(&reason, " with the program ", job.job->program);
    }
    if (!job.job->pools.empty()) {
      absl::StrAppend(&reason, " of pool ",
                      absl::StrJoin(job.job->pools, " or "));
    }
    if (!job.job->gpu_models.empty()) {
      absl::StrAppend(&reason, " with ",
                      absl::StrJoin(job.job->gpu_models, " or "));
    }
    absl::StrAppend(&reason, ", ", free, free == 1 ? " is" : " are", " free",
                    WhoCannot(job), WhyUnfit(job));
    if (covered) {
      absl::StrAppend(&reason, ", the others are leaving their jobs");
    } else if (lack.quota > 0) {
      absl::StrAppend(&reason, "; the namespace may have ", quota_, " in all");
    }
    return reason;
  }

  // Why those who are connected are of no use, where that is the reason.
  std::string WhoCannot(const JobState& job) const {
    const std::string& program = job.job->program;
    size_t others = 0;  // With other programs than the job's, or with any.
    for (const auto& [id, worker] : workers_) {
      others += HasModel(worker.worker->programs, program) ? 0 : 1;
    }
    if (others < workers_.size() || others == 0) return "";
    return program.empty()
               ? "; all workers have programs, none computes built-in models"
               : "; no worker has it";
  }

  // What the first of those said who could not take part.
  std::string WhyUnfit(const JobState& job) const {
    const AssignableWorker* first = nullptr;
    size_t unfit = 0;
    for (const auto& [id, worker] : workers_) {
      if (worker.worker->unfit_for.count(job.job->number) == 0) continue;
      if (++unfit == 1) first = worker.worker;
    }
    if (unfit == 0) return "";
    const absl::string_view why = first->unfit_for.at(job.job->number);
    return absl::StrCat("; ", first->name, " cannot take part: ", why,
                        unfit > 1
                            ? absl::StrCat("; nor can ", unfit - 1,
                                           unfit > 2 ? " others" : " other")
                            : "");
  }

  const int quota_;
  std::map<JobNumber, JobState> jobs_;
  std::vector<JobState*> by_priority_;  // The highest first, then the oldest.
  std::map<uint64_t, WorkerState> workers_;
  // By namespace: all that have a job there; those of them that stay; what is
  // held back.
  std::map<std::string, int> used_;
  std::map<std::string, int> staying_;
  std::map<std::string, int> reserved_;
  AssignmentPlan plan_;
};

}  // namespace

bool CanCompute(const AssignableJob& job, const AssignableWorker& worker) {
  return worker.unfit_for.count(job.number) == 0 &&
         HasModel(worker.programs, job.program);
}

bool Selects(const AssignableJob& job, const AssignableWorker& worker) {
  return CanCompute(job, worker) &&
         (job.pools.empty() || Contains(job.pools, worker.pool)) &&
         (job.gpu_models.empty() || Contains(job.gpu_models, worker.gpu_model));
}

AssignmentPlan PlanAssignments(absl::Time now,
                               absl::Span<const AssignableWorker> workers,
                               absl::Span<const AssignableJob> jobs,
                               const AssignmentLimits& limits) {
  AssignmentPlan plan =
      Planner(workers, jobs, limits.workers_per_namespace).Plan();
  PlanEvaluators(now, workers, jobs, limits.evaluator_hold, plan);
  return plan;
}

}  // namespace paceline
