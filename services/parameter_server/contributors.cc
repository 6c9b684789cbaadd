#include "services/parameter_server/contributors.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace paceline {

absl::StatusOr<std::optional<PushOutcome>> Contributor::Begin(
    int64_t iteration, uint32_t index, uint32_t samples) {
  CHECK(index < blocks_);
  absl::MutexLock lock(&mu_);
  if (taking_.empty() && !fenced_) taking_.resize(blocks_);
  const auto free = [this, index]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return fenced_ || !taking_[index].busy;
  };
  mu_.Await(absl::Condition(&free));
  if (fenced_) {
    return absl::AbortedError(
        "this incarnation was declared dead; register as a new one");
  }
  if (iteration < iteration_) {
    if (iteration <= completed_) return PushOutcome{};
    return absl::FailedPreconditionError(
        absl::StrCat("iteration ", iteration, " was pushed after iteration ",
                     iteration_, " had begun; drop it"));
  }
  if (iteration > iteration_) {
    iteration_ = iteration;
    taken_ = 0;
    samples_ = samples;
    refused_.clear();
    square_ = 0;
  }
  Taking& block = taking_[index];
  if (block.iteration == iteration) return Outcome();
  block.busy = true;
  ++busy_;
  return std::nullopt;
}

PulledBlocks Contributor::Keep(uint64_t request, PulledBlocks pulled) {
  CHECK(pulled.blocks.size() == blocks_);
  PulledBlocks kept = pulled;
  absl::MutexLock lock(&mu_);
  if (fenced_) return pulled;
  if (request != 0 && kept_for_ == request && !kept_.blocks.empty()) {
    kept = kept_;
    return kept;
  }
  std::swap(kept_, kept);  // What it held is freed after the lock.
  kept_for_ = request;
  return pulled;
}

std::optional<PulledBlocks> Contributor::KeptFor(uint64_t request) {
  absl::MutexLock lock(&mu_);
  if (request == 0 || kept_for_ != request || kept_.blocks.empty()) {
    return std::nullopt;
  }
  return kept_;
}

std::shared_ptr<const BlockState> Contributor::Kept(uint32_t index) {
  absl::MutexLock lock(&mu_);
  return kept_.blocks.empty() ? nullptr : kept_.blocks[index].state;
}

bool Contributor::Finish(int64_t iteration, uint32_t index, uint32_t id,
                         std::optional<double> square) {
  absl::MutexLock lock(&mu_);
  CHECK(busy_ > 0 && taking_[index].busy);
  taking_[index].iteration = iteration;
  // A worker that begins its next iteration without waiting for the
  // acknowledgement of this one no longer asks about it.
  if (iteration != iteration_) return false;
  if (!square.has_value()) refused_.push_back(id);
  if (square_.has_value() && square.has_value()) {
    *square_ += *square;
  } else {
    square_.reset();
  }
  return CountTaken();
}

PushOutcome Contributor::End(uint32_t index) {
  absl::MutexLock lock(&mu_);
  CHECK(busy_ > 0 && taking_[index].busy);
  --busy_;
  taking_[index].busy = false;
  if (taking_[index].iteration != iteration_) return {};
  return Outcome();
}

bool Contributor::CountTaken() {
  if (++taken_ != pushed_) return false;
  completed_ = iteration_;
  return true;
}

std::optional<TakenBlock> Contributor::TakenOf(uint64_t incarnation,
                                               uint32_t index,
                                               uint32_t id) const {
  absl::MutexLock lock(&mu_);
  if (taking_.empty() || taking_[index].iteration == 0) return std::nullopt;
  TakenBlock taken{.incarnation = incarnation,
                   .iteration = taking_[index].iteration};
  if (taken.iteration == iteration_) {
    taken.samples = samples_;
    taken.refused =
        std::find(refused_.begin(), refused_.end(), id) != refused_.end();
  }
  return taken;
}

void Contributor::Replay(uint32_t index, uint32_t id, const TakenBlock& taken) {
  CHECK(index < blocks_);
  absl::MutexLock lock(&mu_);
  if (fenced_) return;
  if (taking_.empty()) taking_.resize(blocks_);
  if (taken.iteration > iteration_) {
    iteration_ = taken.iteration;
    taken_ = 0;
    samples_ = taken.samples;
    refused_.clear();
  }
  Taking& block = taking_[index];
  if (block.iteration >= taken.iteration) return;
  block.iteration = taken.iteration;
  if (taken.iteration != iteration_) return;
  square_.reset();  // The primary has measured it.
  if (taken.refused) refused_.push_back(id);
  CountTaken();
}

void Contributor::ReplayFence(const FencedPush& answer) {
  absl::MutexLock lock(&mu_);
  fenced_ = true;
  iteration_ = answer.iteration;
  taken_ = answer.blocks_taken;
  samples_ = answer.samples;
}

bool Contributor::Refuse() {
  absl::MutexLock lock(&mu_);
  return !std::exchange(fenced_, true);
}

FencedPush Contributor::Fence() {
  // Whole, and after the lock: states may be the last references to a model.
  std::vector<Taking> taking;
  PulledBlocks kept;
  std::vector<uint32_t> refused;
  absl::MutexLock lock(&mu_);
  fenced_ = true;
  // A push that began before the fence counts wholly; it needs only the time
  // of one block.
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return busy_ == 0;
  };
  mu_.Await(absl::Condition(&idle));
  taking_.swap(taking);
  std::swap(kept_, kept);
  refused_.swap(refused);
  return {.iteration = iteration_,
          .blocks_taken = taken_,
          .blocks = pushed_,
          .samples = samples_};
}

PushOutcome Contributor::Outcome() const {
  // Nobody is at a block then but who has finished it, and not what follows.
  PushOutcome outcome{.complete = taken_ == pushed_ && busy_ == 0,
                      .refused = refused_,
                      .gradient_square = square_};
  std::sort(outcome.refused.begin(), outcome.refused.end());
  return outcome;
}

absl::StatusOr<std::shared_ptr<Contributor>> Contributors::Find(
    uint64_t incarnation) {
  {
    absl::ReaderMutexLock lock(&mu_);
    const auto found = known_.find(incarnation);
    if (found != known_.end()) return found->second;
  }
  absl::MutexLock lock(&mu_);
  const auto found = known_.find(incarnation);
  if (found != known_.end()) return found->second;
  if (unfenced_ >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(unfenced_, " incarnations have pushed and were not fenced",
                     ", the most allowed; fence those that have left"));
  }
  ++unfenced_;
  return known_[incarnation] = std::make_shared<Contributor>(blocks_, pushed_);
}

FencedPush Contributors::Fence(uint64_t incarnation) {
  std::shared_ptr<Contributor> contributor;
  {
    absl::MutexLock lock(&mu_);
    std::shared_ptr<Contributor>& known = known_[incarnation];
    const bool pushed = known != nullptr;
    if (!pushed) known = std::make_shared<Contributor>(blocks_, pushed_);
    if (known->Refuse() && pushed) --unfenced_;
    contributor = known;
  }
  // Outside the lock: it waits for pushes in flight, and other incarnations
  // must not.
  return contributor->Fence();
}

std::vector<TakenBlock> Contributors::TakenOf(uint32_t index,
                                              uint32_t id) const {
  std::vector<TakenBlock> all;
  absl::ReaderMutexLock lock(&mu_);
  for (const auto& [incarnation, contributor] : known_) {
    if (contributor->fenced()) continue;
    const auto taken = contributor->TakenOf(incarnation, index, id);
    if (taken.has_value()) all.push_back(*taken);
  }
  return all;
}

std::vector<std::pair<uint64_t, FencedPush>> Contributors::Fenced() const {
  std::vector<std::pair<uint64_t, std::shared_ptr<Contributor>>> fenced;
  {
    absl::ReaderMutexLock lock(&mu_);
    for (const auto& [incarnation, contributor] : known_) {
      if (contributor->fenced()) fenced.emplace_back(incarnation, contributor);
    }
  }
  std::vector<std::pair<uint64_t, FencedPush>> answers;
  answers.reserve(fenced.size());
  for (const auto& [incarnation, contributor] : fenced) {
    answers.emplace_back(incarnation, contributor->Fence());
  }
  return answers;
}

void Contributors::ReplayFence(uint64_t incarnation, const FencedPush& answer) {
  // Frees what it had, and its place among those that may push.
  Fence(incarnation);
  absl::ReaderMutexLock lock(&mu_);
  known_.at(incarnation)->ReplayFence(answer);
}

bool Contributors::IsFenced(uint64_t incarnation) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto found = known_.find(incarnation);
  return found != known_.end() && found->second->fenced();
}

}  // namespace paceline
