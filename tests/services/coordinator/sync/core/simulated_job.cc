#include "tests/services/coordinator/sync/core/simulated_job.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/overloaded.h"
#include "tests/services/coordinator/sync/core/output_text.h"
#include "tests/services/coordinator/sync/paradigms/policy_of_text.h"

namespace paceline {
namespace {

constexpr absl::Duration kFaultsFor = absl::Seconds(4);
constexpr absl::Duration kPatience = absl::Minutes(10);

}  // namespace

SimulatedJob::SimulatedJob(const SimulatedJobOptions& options)
    : options_(options), rng_(options.seed) {
  sync_.train_samples = static_cast<uint32_t>(50 + rng_.Below(350));
  sync_.epochs = static_cast<uint32_t>(1 + rng_.Below(3));
  sync_.batch_size = static_cast<uint32_t>(1 + rng_.Below(10));
  sync_.servers = static_cast<int>(1 + rng_.Below(3));
  sync_.lease = absl::Seconds(2);
  sync_.eval_every = static_cast<int64_t>(rng_.Below(50));
  sync_.closings_acknowledged = true;
  if (rng_.Chance(1, 3)) sync_.batching = Batching::kBalanced;
  if (options.go_on.has_value()) {
    sync_.train_samples = options.go_on->train_samples;
    sync_.epochs = options.go_on->epochs;
    sync_.start_version = options.go_on->start_version;
    sync_.start = options.go_on->start;
  }
  auto policy = MakePolicy(options.policy);
  CHECK(policy.ok());
  core_ = std::make_unique<SyncCore>(sync_, *std::move(policy));
  checker_ = std::make_unique<HistoryChecker>(sync_, options.max_gap);
  for (int server = 0; server < sync_.servers; ++server) {
    const int blocks = static_cast<int>(rng_.Below(4));
    // Some server hosts something.
    servers_.emplace_back(server, server == 0 ? blocks + 1 : blocks);
    to_servers_.push_back(std::make_unique<Link>(queue_, rng_));
    from_servers_.push_back(std::make_unique<Link>(queue_, rng_));
  }
}

void SimulatedJob::Run() {
  AddWorkers();
  ScheduleFaults();
  const absl::Time give_up = queue_.now() + kPatience;
  while (!core_->finished() && !Broken() && queue_.now() < give_up) {
    const absl::Time deadline = core_->NextDeadline();
    if (queue_.empty() || deadline < queue_.next_at()) {
      if (deadline == absl::InfiniteFuture()) break;
      queue_.AdvanceTo(deadline);
      core_->Tick(queue_.now(), outputs_);
      Deliver();
      continue;
    }
    queue_.RunNext();
  }
  if (Broken()) return;
  if (options_.resume_point_at.has_value()) TakeResumePoint();
  Drain();
  checker_->EndOfJob(*core_, servers_);
}

// Lets what is under way arrive: late pushes, answers and reports.
void SimulatedJob::Drain() {
  queue_.After(absl::Seconds(30), [this] {
    for (const auto& worker : workers_) {
      worker->Crash();
    }
  });
  while (!queue_.empty() && !Broken()) queue_.RunNext();
}

void SimulatedJob::AddWorkers() {
  std::vector<WorkerId> ids;
  // Now and then more than there are rounds.
  for (uint64_t i = 1 + rng_.Below(rng_.Chance(1, 10) ? 40 : 6); i > 0; --i) {
    ids.push_back(MakeWorker().id());
  }
  core_->Start(queue_.now(), ids, outputs_);
  Deliver();
}

SimulatedWorker& SimulatedJob::MakeWorker() {
  const WorkerId id{static_cast<uint32_t>(workers_.size())};
  const absl::Duration step = absl::Milliseconds(
      rng_.Chance(1, 3) ? 100 + rng_.Below(400) : 5 + rng_.Below(30));
  const CoordinatorCalls calls = {
      .heard = [this](WorkerId w) { core_->Heard(queue_.now(), w); },
      .push_done = [this](WorkerId w,
                          const PushReport& report) { PushDone(w, report); },
      .gradient_ready = [this](WorkerId w,
                               Iteration i) { GradientReady(w, i); },
      .abandoned = [this](WorkerId w, Iteration i) { Abandoned(w, i); },
      .departs = [this](WorkerId w) { Leave(w, LossReason::kDeparted); },
      .stream_breaks =
          [this](WorkerId w) { Leave(w, LossReason::kStreamBroken); }};
  workers_.push_back(std::make_unique<SimulatedWorker>(
      id, step, sync_.lease / 4, queue_, rng_, servers_, calls));
  if (!core_->finished()) checker_->Joined(id);
  return *workers_.back();
}

void SimulatedJob::ScheduleFaults() {
  for (uint64_t i = rng_.Below(10); i > 0; --i) {
    queue_.After(kFaultsFor * rng_.Below(1000) / 1000, [this] { Fault(); });
  }
  if (!options_.switch_among.empty()) {
    for (uint64_t i = 1 + rng_.Below(9); i > 0; --i) {
      queue_.After(kFaultsFor * rng_.Below(1000) / 1000,
                   [this] { SwitchPolicy(); });
    }
  }
  if (options_.change_options) {
    for (uint64_t i = 1 + rng_.Below(6); i > 0; --i) {
      queue_.After(kFaultsFor * rng_.Below(1000) / 1000,
                   [this] { ChangeOptions(); });
    }
  }
  if (rng_.Chance(1, 6)) {
    queue_.After(kFaultsFor * rng_.Below(1000) / 1000, [this] {
      if (!core_->finished()) checker_->Sealed();
      core_->Seal(queue_.now(), outputs_);
      Deliver();
    });
  }
  // Somebody is there when the faults are over.
  queue_.After(kFaultsFor, [this] { JoinNew(); });
}

void SimulatedJob::Fault() {
  SimulatedWorker& worker = *workers_[rng_.Below(workers_.size())];
  const absl::Duration duration = absl::Milliseconds(rng_.Below(6000));
  switch (rng_.Below(7)) {
    case 0:
      JoinNew();
      break;
    case 1:
      worker.Crash();
      break;
    case 2:
      worker.InNextPush([&worker] { worker.Crash(); });
      break;
    case 3:
      worker.Freeze(duration);
      break;
    case 4:
      worker.InNextPush([&worker, duration] { worker.Freeze(duration); });
      break;
    case 5:
      worker.GetStuck(10 * duration);
      break;
    default:
      worker.Depart();
  }
}

void SimulatedJob::SwitchPolicy() {
  if (core_->finished() || core_->Members().empty()) return;
  const auto& [spec, max_gap] =
      options_.switch_among[rng_.Below(options_.switch_among.size())];
  auto policy = MakePolicy(spec);
  CHECK(policy.ok());
  checker_->Bound(max_gap);
  core_->Switch(queue_.now(), *std::move(policy), "by chance", outputs_);
  Deliver();
}

void SimulatedJob::ChangeOptions() {
  if (core_->finished()) return;
  if (rng_.Chance(1, 2)) {
    checker_->Balanced();
    core_->SetBatching(rng_.Chance(1, 2) ? Batching::kBalanced
                                         : Batching::kEven);
    return;
  }
  const auto samples = static_cast<int64_t>(
      1 + rng_.Below(2 * sync_.train_samples * sync_.epochs));
  checker_->Limited(samples);
  core_->SetMaxSamples(queue_.now(), samples, outputs_);
  Deliver();
}

void SimulatedJob::TakeResumePoint() {
  if (resume_point_.has_value()) return;
  resume_point_ = core_->TakeResumePoint();
  checker_->Taken(*resume_point_);
  for (size_t i = 0; i < servers_.size(); ++i) {
    to_servers_[i]->Send([=, this] { servers_[i].Snapshot(); });
  }
}

SyncOptions SimulatedJob::rest() const {
  SyncOptions rest = sync_;
  rest.start_version = resume_point_->version;
  rest.start = resume_point_->position;
  return rest;
}

void SimulatedJob::JoinNew() {
  const SimulatedWorker& worker = MakeWorker();
  core_->Join(queue_.now(), worker.id(), outputs_);
  Deliver();
}

void SimulatedJob::Deliver() {
  const std::vector<Output> outputs = std::exchange(outputs_, {});
  for (const Output& output : outputs) {
    if (options_.keep_history) {
      absl::StrAppend(&history_,
                      absl::FormatDuration(queue_.now() - absl::UnixEpoch()),
                      " ", ToText(output), "\n");
    }
    checker_->Observe(output);
    Perform(output);
  }
  checker_->EndOfCall(*core_);
  if (!options_.resume_point_at.has_value() || resume_point_due_) return;
  if (core_->samples_counted() * 1000 <
      core_->samples_total() * *options_.resume_point_at) {
    return;
  }
  resume_point_due_ = true;
  queue_.After(absl::Microseconds(rng_.Below(50'000)),
               [this] { TakeResumePoint(); });
}

void SimulatedJob::Perform(const Output& output) {
  std::visit(
      Overloaded{
          [&](const Grant& o) { workers_[ToNumber(o.worker)]->Send(o); },
          [&](const PlanCommand& o) { workers_[ToNumber(o.worker)]->Send(o); },
          [&](const RefreshCommand& o) {
            workers_[ToNumber(o.worker)]->Send(o);
          },
          [&](const AbandonCommand& o) {
            workers_[ToNumber(o.worker)]->Send(o);
          },
          [&](const Switched&) { ++seen_.switches; },
          [&](const SwitchSettled&) { ++seen_.settled; },
          [&](const CloseCommand& o) {
            for (size_t i = 0; i < servers_.size(); ++i) {
              to_servers_[i]->Send([=, this] {
                servers_[i].Close(o);
                from_servers_[i]->Send(
                    [=, this] { ClosingPerformed(i, o.closing); });
              });
            }
          },
          [&](const FenceCommand& o) { Fence(o.worker); },
          [&](const Evicted& o) {
            ++seen_.losses[o.reason];
            // Those who are cut off never hear of it.
            if (rng_.Chance(3, 4)) {
              workers_[ToNumber(o.worker)]->SendEviction();
            }
            if (rng_.Chance(1, 2)) {
              queue_.After(absl::Milliseconds(rng_.Below(500)),
                           [this] { JoinNew(); });
            }
          },
          [&](const Recorded& o) { ++seen_.decisions[o.decision.kind]; },
          [](const auto&) {}},
      output);
}

void SimulatedJob::Fence(WorkerId worker) {
  for (size_t i = 0; i < servers_.size(); ++i) {
    to_servers_[i]->Send([=, this] {
      const FenceAnswer answer = servers_[i].Fence(worker);
      for (int times = rng_.Chance(1, 10) ? 2 : 1; times > 0; --times) {
        from_servers_[i]->Send([=, this] { FenceAnswered(worker, answer); });
      }
    });
  }
}

void SimulatedJob::FenceAnswered(WorkerId worker, const FenceAnswer& answer) {
  if (answered_.insert({worker, answer.server}).second) {
    checker_->Answered(worker, answer);
  }
  core_->FenceAnswered(queue_.now(), worker, answer, outputs_);
  Deliver();
}

void SimulatedJob::ClosingPerformed(size_t server, Closing closing) {
  core_->ClosingPerformed(queue_.now(), static_cast<int>(server), closing,
                          outputs_);
  Deliver();
}

void SimulatedJob::PushDone(WorkerId worker, const PushReport& report) {
  core_->Heard(queue_.now(), worker);
  checker_->Expect(worker, report);
  Check(core_->PushDone(queue_.now(), worker, report, outputs_));
  Deliver();
}

void SimulatedJob::GradientReady(WorkerId worker, Iteration iteration) {
  core_->Heard(queue_.now(), worker);
  Check(core_->GradientReady(queue_.now(), worker, iteration, outputs_));
  Deliver();
}

void SimulatedJob::Abandoned(WorkerId worker, Iteration iteration) {
  core_->Heard(queue_.now(), worker);
  Check(core_->Abandoned(queue_.now(), worker, iteration, outputs_));
  Deliver();
}

void SimulatedJob::Check(const absl::Status& status) {
  if (options_.keep_history && !status.ok()) {
    absl::StrAppend(&history_, status.ToString(), "\n");
  }
  CHECK(status.ok() || outputs_.empty());
}

void SimulatedJob::Leave(WorkerId worker, LossReason reason) {
  core_->Leave(queue_.now(), worker, reason, outputs_);
  Deliver();
}

std::string SimulatedJob::violation() const {
  if (!Broken()) return "";
  return absl::StrCat("at ",
                      absl::FormatDuration(queue_.now() - absl::UnixEpoch()),
                      ": ", checker_->violation());
}

}  // namespace paceline
