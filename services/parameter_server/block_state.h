#ifndef PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_STATE_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_STATE_H_

#include <cstddef>
#include <cstdint>

#include "services/parameter_server/float_buffer.h"

namespace paceline {

// Everything an update of one block changes, as one unit: weights, the
// optimizer's arrays ("slots": none, the momentum, or Adam's m and v) and the
// number of updates behind them. Whoever holds a pointer to const may read it
// for as long as it holds it; only Block writes, and only what nobody holds.
class BlockState {
 public:
  // The arrays are uninitialized.  REQUIRES: 0 <= slots <= 2.
  BlockState(size_t size, int slots)
      : size_(size),
        slots_(slots),
        stride_((size + kLine - 1) / kLine * kLine),
        floats_(MakeFloatBuffer(stride_ * (1 + static_cast<size_t>(slots)))) {}

  BlockState(const BlockState&) = delete;
  BlockState& operator=(const BlockState&) = delete;

  // In elements, of each array.
  size_t size() const { return size_; }
  int slots() const { return slots_; }
  // Updates applied since the initial values; Adam's t.
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

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_BLOCK_STATE_H_
