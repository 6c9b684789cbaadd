#ifndef PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_ARENAS_H_
#define PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_ARENAS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/lane/shared_memory.h"
#include "common/tensor/dtype.h"
#include "services/worker/program/program_messages.h"

namespace paceline {

// Where the tensors lie in an arena, in bytes.
struct ArenaLayout {
  static constexpr uint64_t kAlignment = 64;

  std::vector<uint64_t> offsets;  // By tensor.
  uint64_t bytes = 0;             // Of the arena.
};

// Lays arrays of these sizes one behind the other, each at the next multiple of
// kAlignment. Pure.
ArenaLayout LayOut(absl::Span<const uint64_t> sizes);

// The weights and the gradients of a program's model, where agent and program
// both have them. Thread-compatible.
class ProgramArenas {
 public:
  // `wire`: of the gradients. RESOURCE_EXHAUSTED as SharedMemory.
  static absl::StatusOr<std::shared_ptr<ProgramArenas>> Create(
      absl::Span<const ProgramTensor> tensors, DType wire);

  absl::Span<float> weights(size_t tensor) const;
  // Empty of one that is not pushed.
  absl::string_view gradients(size_t tensor) const;
  absl::Span<char> mutable_gradients(size_t tensor) const;

  uint64_t weights_bytes() const { return weights_layout_.bytes; }
  uint64_t gradients_bytes() const { return gradients_layout_.bytes; }
  // The weights' and the gradients', while they are open.
  std::array<int, 2> descriptors() const {
    return {weights_->fd(), gradients_->fd()};
  }
  // That of the gradients stays open: servers of this machine have them too.
  void CloseWeightsDescriptor() { weights_->CloseDescriptor(); }
  std::shared_ptr<const SharedMemory> shared_gradients() const {
    return gradients_;
  }

 private:
  ProgramArenas() = default;

  std::vector<uint64_t> elements_;        // By tensor.
  std::vector<uint64_t> gradient_bytes_;  // By tensor.
  ArenaLayout weights_layout_;
  ArenaLayout gradients_layout_;
  std::unique_ptr<SharedMemory> weights_;
  std::shared_ptr<SharedMemory> gradients_;
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PROGRAM_PROGRAM_ARENAS_H_
