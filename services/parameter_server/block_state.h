#ifndef PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_STATE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_STATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "services/parameter_server/weight_memory.h"

namespace paceline {

// A cache line, and the widest vector.
inline constexpr std::align_val_t kFloatBufferAlignment{64};

struct FreeFloatBuffer {
  void operator()(float* floats) const {
    if (from != nullptr) {
      from->TakeBack(reinterpret_cast<char*>(floats), bytes);
    } else {
      ::operator delete[](floats, kFloatBufferAlignment);
    }
  }

  std::shared_ptr<WeightMemory> from = nullptr;  // Null: the heap.
  uint64_t bytes = 0;                            // Of what is there.
};

// An owned array of floats that begins on a cache line. Unlike a vector it
// starts uninitialized: whoever fills it does so in the pass that computes.
using FloatBuffer = std::unique_ptr<float[], FreeFloatBuffer>;

inline FloatBuffer MakeFloatBuffer(size_t count) {
  return FloatBuffer(static_cast<float*>(
      ::operator new[](count * sizeof(float), kFloatBufferAlignment)));
}

// The same in memory that workers may read, while there is room. Null: none.
inline FloatBuffer MakeFloatBuffer(size_t count,
                                   const std::shared_ptr<WeightMemory>& from) {
  const uint64_t bytes = count * sizeof(float);
  char* const data = from == nullptr ? nullptr : from->Take(bytes);
  if (data == nullptr) return MakeFloatBuffer(count);
  return FloatBuffer(reinterpret_cast<float*>(data), {from, bytes});
}

// Everything an update of one block changes, as one unit: weights, the
// optimizer's arrays ("slots": none, the momentum and what it is to take up
// later, or Adam's m and v) and the
// number of updates behind them. Whoever holds a pointer to const may read it
// for as long as it holds it; only Block writes, and only what nobody holds.
class BlockState {
 public:
  // The arrays are uninitialized. `memory`: where they lie, if it is not null
  // and has room.  REQUIRES: 0 <= slots <= 2.
  BlockState(size_t size, int slots,
             const std::shared_ptr<WeightMemory>& memory = nullptr)
      : size_(size),
        slots_(slots),
        stride_((size + kLine - 1) / kLine * kLine),
        floats_(MakeFloatBuffer(stride_ * (1 + static_cast<size_t>(slots)),
                                memory)) {}

  BlockState(const BlockState&) = delete;
  BlockState& operator=(const BlockState&) = delete;

  // What one of the same size and slots has, with its steps.
  void CopyFrom(const BlockState& other) {
    std::copy_n(other.floats_.get(),
                stride_ * (1 + static_cast<size_t>(slots_)), floats_.get());
    steps_ = other.steps_;
  }

  // In elements, of each array.
  size_t size() const { return size_; }
  int slots() const { return slots_; }
  // Updates applied since the initial values; Adam's t, and what a delayed
  // momentum counts by.
  uint64_t steps() const { return steps_; }
  void set_steps(uint64_t steps) { steps_ = steps; }

  const float* weights() const { return floats_.get(); }
  float* weights() { return floats_.get(); }

  // Null where there is no such slot.
  const float* slot(int i) const {
    return i < slots_ ? floats_.get() + Offset(i) : nullptr;
  }
  float* slot(int i) {
    return i < slots_ ? floats_.get() + Offset(i) : nullptr;
  }

 private:
  static constexpr size_t kLine = 16;  // Floats in a cache line.

  size_t Offset(int slot) const {
    return stride_ * (1 + static_cast<size_t>(slot));
  }

  size_t size_;
  int slots_;
  size_t stride_;  // From one array to the next.
  uint64_t steps_ = 0;
  FloatBuffer floats_;
};

struct PulledBlock {
  uint32_t id = 0;
  // Never null. Holding it keeps these bytes as they are and delays nobody.
  std::shared_ptr<const BlockState> state;
};

// What a pull or a snapshot gives: references to all hosted blocks.
struct PulledBlocks {
  int64_t closing = 0;  // Applied to all of them; some may be further.
  std::vector<PulledBlock> blocks;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_STATE_H_
