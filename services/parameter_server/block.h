#ifndef PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/tensor/payload.h"
#include "services/parameter_server/block_state.h"

namespace paceline {

// The current state of one block. Reading copies a pointer, so a reader holds
// up nobody; an update writes the next state and swaps it in whole, or writes
// the current one in place when nobody else holds it. Updates of one block
// exclude each other, those of different blocks run in parallel. Thread-safe.
class Block {
 public:
  // Its states lie in `memory`, if that is not null, while there is room.
  Block(size_t size, int slots, std::shared_ptr<WeightMemory> memory = nullptr)
      : size_(size), slots_(slots), memory_(std::move(memory)) {}

  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  size_t size() const { return size_; }
  int slots() const { return slots_; }

  // Null until Set().
  std::shared_ptr<const BlockState> Read() const;

  // Sets the initial weights; momentum and moments begin at zero. May be
  // repeated; gives whether it was the first time.
  // FAILED_PRECONDITION once an update has been applied.
  // REQUIRES: size() elements in `payload`.
  absl::StatusOr<bool> Set(const Payload& payload, DType dtype);

  // Sets the initial state, optimizer and steps included, as it was saved;
  // gives whether it was the first. FAILED_PRECONDITION as Set().
  // REQUIRES: the size and the slots of this block, and no other owner.
  absl::StatusOr<bool> Restore(std::shared_ptr<BlockState> state);

  // Sets whatever state, as another server has it.  REQUIRES: as Restore().
  void Put(std::shared_ptr<BlockState> state);

  // Writes the state that follows `current` to `next`, which may be the same
  // object; its steps are counted for it.
  using Write =
      absl::FunctionRef<void(const BlockState& current, BlockState& next)>;

  // Applies one update.  REQUIRES: Set() has been called.
  void Update(Write write);

 private:
  std::shared_ptr<BlockState> MakeState() const;
  // The state, where this block has its own.
  std::shared_ptr<BlockState> Adopt(std::shared_ptr<BlockState> state) const;
  absl::StatusOr<bool> Begin(std::shared_ptr<BlockState> initial);

  const size_t size_;
  const int slots_;
  const std::shared_ptr<WeightMemory> memory_;

  mutable absl::Mutex mu_;
  std::shared_ptr<BlockState> state_ ABSL_GUARDED_BY(mu_);
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_H_
