#include "services/worker/program/program_arenas.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/usable_memory.h"

namespace paceline {

ArenaLayout LayOut(absl::Span<const uint64_t> sizes) {
  ArenaLayout layout;
  for (const uint64_t size : sizes) {
    constexpr uint64_t kMask = ArenaLayout::kAlignment - 1;
    layout.offsets.push_back((layout.bytes + kMask) & ~kMask);
    // What has no place takes none.
    if (size == 0) {
      layout.offsets.back() = layout.bytes;
      continue;
    }
    layout.bytes = layout.offsets.back() + size;
  }
  return layout;
}

absl::StatusOr<std::shared_ptr<ProgramArenas>> ProgramArenas::Create(
    absl::Span<const ProgramTensor> tensors, DType wire) {
  std::shared_ptr<ProgramArenas> arenas(new ProgramArenas);
  std::vector<uint64_t> weight_bytes;
  for (const ProgramTensor& tensor : tensors) {
    const auto elements = static_cast<uint64_t>(tensor.size);
    arenas->elements_.push_back(elements);
    weight_bytes.push_back(elements * sizeof(float));
    arenas->gradient_bytes_.push_back(
        tensor.pushed() ? EncodedSize(wire, elements) : 0);
  }
  arenas->weights_layout_ = LayOut(weight_bytes);
  arenas->gradients_layout_ = LayOut(arenas->gradient_bytes_);
  // The system would promise more than there is, and end somebody for it.
  const uint64_t wanted = arenas->weights_bytes() + arenas->gradients_bytes();
  const uint64_t usable = UsableMemory("");
  if (usable > 0 && wanted > usable) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the program's weights and gradients take ", wanted,
        " bytes, and this machine has ", usable, ": is a shape wrong?"));
  }
  PACELINE_ASSIGN_OR_RETURN(
      arenas->weights_,
      SharedMemory::Create("paceline-weights", arenas->weights_bytes()));
  PACELINE_ASSIGN_OR_RETURN(
      arenas->gradients_,
      SharedMemory::Create("paceline-gradients", arenas->gradients_bytes()));
  return arenas;
}

absl::Span<float> ProgramArenas::weights(size_t tensor) const {
  char* const data = weights_->data() + weights_layout_.offsets[tensor];
  return {reinterpret_cast<float*>(data), elements_[tensor]};
}

absl::string_view ProgramArenas::gradients(size_t tensor) const {
  const absl::Span<char> bytes = mutable_gradients(tensor);
  return {bytes.data(), bytes.size()};
}

absl::Span<char> ProgramArenas::mutable_gradients(size_t tensor) const {
  return {gradients_->data() + gradients_layout_.offsets[tensor],
          gradient_bytes_[tensor]};
}

}  // namespace paceline
