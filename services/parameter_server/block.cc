#include "services/parameter_server/block.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "common/check.h"

namespace paceline {
namespace {

// Whether `state` is the only reference. Under the lock that guards it nobody
// can make another one then, so its owner may write what it points to.
bool IsSoleOwner(const std::shared_ptr<BlockState>& state) {
  if (state.use_count() != 1) return false;
  // use_count() orders nothing. The last reader let go with a decrement that
  // releases; dropping a copy decrements the same counter and acquires, so what
  // that reader read lies before what is written now.
  std::shared_ptr<BlockState> copy = state;
  copy.reset();
  return true;
}

}  // namespace

std::shared_ptr<const BlockState> Block::Read() const {
  absl::MutexLock lock(&mu_);
  return state_;
}

std::shared_ptr<BlockState> Block::MakeState() const {
  return std::make_shared<BlockState>(size_, slots_, memory_);
}

std::shared_ptr<BlockState> Block::Adopt(
    std::shared_ptr<BlockState> state) const {
  if (memory_ == nullptr) return state;
  std::shared_ptr<BlockState> copy = MakeState();
  copy->CopyFrom(*state);
  return copy;
}

absl::StatusOr<bool> Block::Set(const Payload& payload, DType dtype) {
  CHECK(payload.size() == EncodedSize(dtype, size_));
  std::shared_ptr<BlockState> initial = MakeState();
  payload.CopyTo(dtype, initial->weights());
  for (int i = 0; i < slots_; ++i) {
    std::fill_n(initial->slot(i), size_, 0.0f);
  }
  return Begin(std::move(initial));
}

absl::StatusOr<bool> Block::Restore(std::shared_ptr<BlockState> state) {
  CHECK(state->size() == size_ && state->slots() == slots_);
  return Begin(Adopt(std::move(state)));
}

void Block::Put(std::shared_ptr<BlockState> state) {
  CHECK(state->size() == size_ && state->slots() == slots_);
  state = Adopt(std::move(state));
  absl::MutexLock lock(&mu_);
  state_.swap(state);
}

absl::StatusOr<bool> Block::Begin(std::shared_ptr<BlockState> initial) {
  absl::MutexLock lock(&mu_);
  if (state_ != nullptr && state_->steps() > 0) {
    return absl::FailedPreconditionError(
        "the block has been updated; initial values come too late");
  }
  state_.swap(initial);
  return initial == nullptr;
}

void Block::Update(Write write) {
  // Outlives the lock, so that the old state is freed outside it.
  std::shared_ptr<BlockState> next;
  absl::MutexLock lock(&mu_);
  CHECK(state_ != nullptr);
  const uint64_t steps = state_->steps() + 1;
  if (IsSoleOwner(state_)) {
    write(*state_, *state_);
  } else {
    next = MakeState();
    write(*state_, *next);
    state_.swap(next);
  }
  state_->set_steps(steps);
}

}  // namespace paceline
