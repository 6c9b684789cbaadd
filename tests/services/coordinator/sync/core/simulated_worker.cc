#include "tests/services/coordinator/sync/core/simulated_worker.h"

#include <utility>

namespace paceline {

SimulatedWorker::SimulatedWorker(WorkerId id, absl::Duration step,
                                 absl::Duration heartbeat, EventQueue& queue,
                                 Rng& rng, std::vector<FakeServer>& servers,
                                 const CoordinatorCalls& coordinator)
    : id_(id),
      step_(step),
      heartbeat_(heartbeat),
      queue_(queue),
      rng_(rng),
      servers_(servers),
      coordinator_(coordinator),
      from_coordinator_(queue, rng),
      to_coordinator_(queue, rng) {
  for (size_t i = 0; i < servers.size(); ++i) {
    to_servers_.push_back(std::make_unique<Link>(queue, rng));
  }
  Beat();
}

void SimulatedWorker::Send(const Grant& grant) {
  from_coordinator_.Send([=, this] {
    Act([=, this] {
      open_ = grant;
      asks_ = false;
      Pull(grant, 0);
    });
  });
}

void SimulatedWorker::Send(const PlanCommand& plan) {
  from_coordinator_.Send([=, this] {
    Act([=, this] {
      if (!open_ || open_->iteration != plan.iteration || !asks_) return;
      Grant planned = *open_;
      planned.plan = plan.plan;
      Push(planned, ready_samples_);
    });
  });
}

void SimulatedWorker::Send(const RefreshCommand& refresh) {
  from_coordinator_.Send([=, this] {
    Act([=, this] {
      if (!open_ || open_->iteration != refresh.iteration || asks_) return;
      // At the next boundary, after one micro-batch at least.
      const Grant grant = *open_;
      const auto samples =
          static_cast<uint32_t>(1 + rng_.Below(grant.range.size()));
      queue_.After(step_ / 8,
                   [=, this] { Act([=, this] { Computed(grant, samples); }); });
    });
  });
}

void SimulatedWorker::Send(const AbandonCommand& abandon) {
  from_coordinator_.Send([=, this] {
    Act([=, this] {
      if (!open_ || open_->iteration != abandon.iteration) return;
      open_.reset();
      to_coordinator_.Send(
          [=, this] { coordinator_.abandoned(id_, abandon.iteration); });
    });
  });
}

void SimulatedWorker::SendEviction() {
  from_coordinator_.Send([this] { Act([this] { state_ = State::kDead; }); });
}

void SimulatedWorker::Crash() {
  if (state_ == State::kDead) return;
  state_ = State::kDead;
  to_coordinator_.Cut();
  for (const auto& link : to_servers_) link->Cut();
  if (rng_.Chance(1, 3)) return;
  queue_.After(absl::Microseconds(rng_.Below(30000)),
               [this] { coordinator_.stream_breaks(id_); });
}

void SimulatedWorker::Freeze(absl::Duration duration) {
  if (state_ != State::kRunning) return;
  state_ = State::kFrozen;
  queue_.After(duration, [this] {
    if (state_ != State::kFrozen) return;
    state_ = State::kRunning;
    for (auto& action : std::exchange(when_awake_, {})) Act(std::move(action));
  });
}

void SimulatedWorker::Depart() {
  Act([this] {
    state_ = State::kDead;
    to_coordinator_.Send([this] { coordinator_.departs(id_); });
  });
}

void SimulatedWorker::Act(EventQueue::Callback action) {
  if (state_ == State::kRunning) {
    action();  // Which may freeze it.
  } else if (state_ == State::kFrozen) {
    when_awake_.push_back(std::move(action));
  }
}

void SimulatedWorker::Beat() {
  if (state_ == State::kDead) return;
  if (state_ == State::kRunning) {
    to_coordinator_.Send([this] { coordinator_.heard(id_); });
  }
  queue_.After(heartbeat_, [this] { Beat(); });
}

void SimulatedWorker::Pull(const Grant& grant, size_t server) {
  if (server == servers_.size()) {
    Compute(grant);
    return;
  }
  servers_[server].WhenClosed(grant.closing, [=, this] {
    Act([=, this] { Pull(grant, server + 1); });
  });
}

void SimulatedWorker::Compute(const Grant& grant) {
  const absl::Duration took = step_ / 2 + step_ * rng_.Below(1000) / 1000 +
                              std::exchange(stuck_for_, absl::ZeroDuration());
  uint32_t samples = grant.range.size();
  // Stopped in the middle of the batch.
  if (rng_.Chance(1, 8)) {
    samples = static_cast<uint32_t>(rng_.Below(samples + 1));
  }
  queue_.After(took,
               [=, this] { Act([=, this] { Computed(grant, samples); }); });
}

void SimulatedWorker::Computed(const Grant& grant, uint32_t samples) {
  if (!open_ || open_->iteration != grant.iteration || asks_) return;
  if (grant.plan.kind != PushPlan::Kind::kAsk) {
    Push(grant, samples);
    return;
  }
  asks_ = true;
  ready_samples_ = samples;
  to_coordinator_.Send(
      [=, this] { coordinator_.gradient_ready(id_, grant.iteration); });
}

void SimulatedWorker::Push(const Grant& grant, uint32_t samples) {
  open_.reset();
  const bool discarded =
      grant.plan.kind == PushPlan::Kind::kDiscard || rng_.Chance(1, 40);
  if (discarded || samples == 0) {
    Report({.iteration = grant.iteration,
            .samples = samples,
            .discarded = discarded});
    return;
  }
  missing_acks_ = 0;
  for (const FakeServer& server : servers_) missing_acks_ += server.blocks();
  for (size_t i = 0; i < servers_.size(); ++i) {
    PushBlock(grant, samples, i, 0);
  }
}

void SimulatedWorker::PushBlock(const Grant& grant, uint32_t samples,
                                size_t server, int block) {
  if (block == servers_[server].blocks()) return;
  if (in_push_ && rng_.Chance(1, 3)) {
    std::exchange(in_push_, nullptr)();
    Act([=, this] { PushBlock(grant, samples, server, block); });
    return;
  }
  to_servers_[server]->Send([=, this] {
    if (!servers_[server].Take(block, {id_, grant.iteration}, grant.plan,
                               samples)) {
      return;
    }
    const absl::Duration back = absl::Microseconds(50 + rng_.Below(2000));
    queue_.After(
        back, [=, this] { Act([=, this] { Acknowledged(grant, samples); }); });
  });
  // The backward pass makes the blocks one by one.
  queue_.After(absl::Microseconds(rng_.Below(1500)), [=, this] {
    Act([=, this] { PushBlock(grant, samples, server, block + 1); });
  });
}

void SimulatedWorker::Acknowledged(const Grant& grant, uint32_t samples) {
  if (--missing_acks_ > 0) return;
  const uint32_t refused = rng_.Chance(1, 40) ? 1 : 0;
  Report({.iteration = grant.iteration,
          .samples = samples,
          .blocks = 1,
          .blocks_refused = refused});
}

void SimulatedWorker::Report(const PushReport& report) {
  // Now and then a report is repeated: the stream broke before its answer.
  for (int times = rng_.Chance(1, 30) ? 2 : 1; times > 0; --times) {
    to_coordinator_.Send([=, this] { coordinator_.push_done(id_, report); });
  }
}

}  // namespace paceline
